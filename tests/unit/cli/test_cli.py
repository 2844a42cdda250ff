from __future__ import annotations

import errno
import io
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from harness.hits import client_hit
from harness.rows import each_row
from harness.waiting import wait_until
from memorybase_client import Client, models
from memorybase_client import errors as client_errors
from rich.console import Console
from typer.testing import CliRunner

from memorybase import __version__, cli
from memorybase.cli import bulk, dead_letters, doctor, options
from memorybase.cli.demo import MARKER, _fresh
from memorybase.cli.search import TURN_CHARS, table_of, table_of_facts
from memorybase.core import errors
from memorybase.core.settings import Settings
from memorybase.stack import redis_server
from memorybase.stack import run as stack_run
from memorybase.stack.state import DataDir, RunningStack

COMMANDS = (
    "up",
    "demo",
    "doctor",
    "export",
    "import",
    "search",
    "migrate",
    "prepare",
    "sweep",
    "reconcile",
    "dead-letters",
)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"MEMORYBASE_{name.upper()}", raising=False)


def run_main(monkeypatch: pytest.MonkeyPatch, *words: str) -> str | int | None:
    """The exit code of `memorybase WORDS`; a string is an error message, with status 1."""
    monkeypatch.setattr(sys, "argv", ["memorybase", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code


class TestCommands:
    def test_help_names_every_command(self) -> None:
        result = CliRunner().invoke(cli.app, ["--help"])
        assert result.exit_code == 0
        for name in COMMANDS:
            assert f" {name} " in result.output
        assert "─ Commands ─" not in result.output  # each is in a group

    def test_each_command_has_help(self, subtests: pytest.Subtests) -> None:
        for name in COMMANDS:
            with subtests.test(name):
                result = CliRunner().invoke(cli.app, [name, "--help"])
                assert result.exit_code == 0
                assert "Usage" in result.output

    def test_it_has_completion_for_each_shell(self, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
        monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
        for shell in ["bash", "zsh", "fish"]:
            with subtests.test(shell):
                result = CliRunner().invoke(cli.app, ["--show-completion", shell], prog_name="memorybase")
                assert "_MEMORYBASE_COMPLETE" in result.output

    def test_completion_offers_the_commands(self) -> None:
        asked = {"_MEMORYBASE_COMPLETE": "complete_bash", "COMP_WORDS": "memorybase do", "COMP_CWORD": "1"}
        assert CliRunner().invoke(cli.app, [], prog_name="memorybase", env=asked).output.split() == ["doctor"]

    def test_version(self) -> None:
        assert CliRunner().invoke(cli.app, ["--version"]).output.strip() == __version__

    def test_search_without_a_stack_says_how_to_start_one(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        said = run_main(monkeypatch, "search", "what", "--memory", "m", "--data-dir", str(tmp_path))
        assert said == (f"error: No stack is running in {tmp_path}. Start it with: memorybase up --data-dir {tmp_path}")

    def test_search_shows_the_passage_with_a_mark_where_the_message_continues(self) -> None:
        text = "Before. The zebra\nsleeps. Behind."
        whole = client_hit(text)
        hit = client_hit(text, snippet="The zebra\nsleeps.", snippet_start=8, snippet_end=25)
        turn = models.Turn(
            message_id=UUID(int=4),
            run_id=UUID(int=3),
            seq=2,
            role="user",
            sender_name="Ada",
            content="What [b]\nsleeps?",
            timestamp=whole.timestamp,
        )
        within = whole.model_copy(update={"before": [turn], "after": [turn.model_copy(update={"content": "x" * 200})]})
        table = table_of([hit, whole, within], {(UUID(int=2), "s"): "At the [zoo]"})
        around = [
            "[dim]Ada: What \\[b] sleeps?[/dim]",
            text.replace("\n", " "),
            f"[dim]Ada: {'x' * TURN_CHARS} …[/dim]",
        ]
        assert list(table.columns[-1].cells) == [
            "… The zebra sleeps. …",
            "Before. The zebra sleeps. Behind.",
            "\n".join(around),
        ]
        assert next(iter(table.columns[1].cells)) == r"At the \[zoo]"

    def test_search_shows_a_dim_line_about_the_other_message_of_a_correction(self) -> None:
        values, denial = {"kind": "name", "was": "Ada", "now": "[bo]"}, {"kind": "denial", "was": None, "now": None}
        other = {"message_id": UUID(int=4)}
        later, earlier = client_hit(corrects=other | values), client_hit(corrected_by=other | values)
        denied = client_hit(corrects=other | denial)
        assert list(table_of([later, earlier, denied]).columns[-1].cells) == [
            "text\n[dim]Now \\[bo], was Ada[/dim]",
            "text\n[dim]Corrected later: was Ada, now \\[bo][/dim]",
            "text\n[dim]Another message says the opposite[/dim]",
        ]

    @each_row(
        ("fields", "line"),
        [
            ({"exact_match": "whole"}, "Exact match"),
            ({"exact_match": "part"}, "Exact match of a part"),
            ({"reply_to": UUID(int=4)}, "Reply to the exact match"),
        ],
    )
    def test_search_says_why_a_result_is_first_whatever_its_score(self, fields: dict[str, Any], line: str) -> None:
        assert list(table_of([client_hit(**fields)]).columns[-1].cells) == [f"text\n[dim]{line}[/dim]"]

    def test_a_fact_is_shown_with_when_and_the_number_of_its_messages(self) -> None:
        fact = models.FactHit(
            fact_id=UUID(int=1),
            memory_base_id=UUID(int=2),
            session_id="s",
            kind="fact",
            derived=True,
            who="Mira",
            what="Mira sails [home]",
            when="in May",
            said_at=datetime(2026, 3, 2, tzinfo=UTC),
            score=0.5,
            source_message_ids=[UUID(int=3), UUID(int=4)],
        )
        shown = [next(iter(column.cells)) for column in table_of_facts([fact]).columns]
        assert shown == ["0.500", "s", "Mira", "2026-03-02", r"Mira sails \[home] (in May)", "2"]

    def test_a_url_without_a_key_asks_for_one(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        words = ("search", "what", "--memory", "m", "--data-dir", str(tmp_path), "--url", "http://x")
        assert "MEMORYBASE_API_KEY" in str(run_main(monkeypatch, *words))

    def test_the_key_of_a_data_directory_is_sent_to_no_other_address(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        own = DataDir(tmp_path)
        own.api_key(Settings())
        monkeypatch.setattr(DataDir, "running", lambda _: RunningStack(1, "http://127.0.0.1:1", "", ""))
        key = own.known_api_key(Settings())
        assert options.address(tmp_path, None, None) == ("http://127.0.0.1:1", key)
        assert options.address(tmp_path, "http://127.0.0.1:1/", None) == ("http://127.0.0.1:1/", key)
        words = ("search", "what", "--memory", "m", "--data-dir", str(tmp_path), "--url", "http://x")
        assert "http://x requires an API key" in str(run_main(monkeypatch, *words))

    def test_a_missing_file_is_a_one_line_error(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        missing = tmp_path / "missing.jsonl"
        assert run_main(monkeypatch, "import", str(missing)) == (
            f"error: {missing} cannot be read: No such file or directory."
        )

    def test_a_full_or_read_only_disk_is_a_one_line_error_with_the_cause(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, subtests: pytest.Subtests
    ) -> None:
        for number, cause in (
            (errno.ENOSPC, "No space left on device. Free some space"),
            (errno.EROFS, "Read-only file"),
        ):

            def fail(*_: object, number: int = number, **__: object) -> None:
                raise OSError(number, os.strerror(number), str(tmp_path / "up.lock"))

            with subtests.test(cause), monkeypatch.context() as patch:
                patch.setattr(stack_run, "end_leftovers", fail)
                said = str(run_main(patch, "up", "--data-dir", str(tmp_path)))
                assert said.startswith(f"error: {tmp_path / 'up.lock'} cannot be written: {cause}")
            with subtests.test(f"the lock: {cause}"), monkeypatch.context() as patch:
                patch.setattr(os, "ftruncate", fail)
                said = str(run_main(patch, "up", "--data-dir", str(tmp_path)))
                assert said.startswith(f"error: The data directory {tmp_path} cannot be written: {cause[:9]}")

    def test_a_foreign_address_is_no_taken_port(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        said = str(run_main(monkeypatch, "up", "--host", "192.0.2.1", "--data-dir", str(tmp_path)))
        assert said.startswith("error: 192.0.2.1 is no address of this machine.")

    def test_a_misspelt_setting_is_refused_with_the_nearest_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMORYBASE_LEASE_SECOND", "5")
        monkeypatch.setenv("MEMORYBASE_SWEEP_SECONDS", "5")
        said = str(run_main(monkeypatch, "sweep", "--once"))
        assert "MEMORYBASE_LEASE_SECOND is not a setting; did you mean MEMORYBASE_LEASE_SECONDS?" in said
        assert "MEMORYBASE_SWEEP_SECONDS is not a setting; unset it" in said

    def test_an_invalid_setting_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMORYBASE_LEASE_SECONDS", "soon")
        said = str(run_main(monkeypatch, "sweep", "--once"))
        assert said.startswith("error: MEMORYBASE_LEASE_SECONDS: ")
        assert "\n" not in said

    def test_an_error_is_one_line_with_field_and_limit(self) -> None:
        error = errors.InvalidRequest("Too\nlong.", field="query", value=9, limit=3)
        assert cli.describe(error) == "Too long. (field: query, value: 9, limit: 3)"

    def test_an_error_of_the_api_is_one_line_with_field_limit_and_what_to_do(self) -> None:
        refused = client_errors.InvalidRequest("Too long.", field="query", value=9, limit=3, status=422)
        away = client_errors.ConnectionFailed("No answer from http://x: refused")
        said = [cli.describe(each) for each in (refused, away, client_errors.Unauthorized("A key is required."))]
        assert said == [
            "Too long. (field: query, value: 9, limit: 3)",
            "No answer from http://x: refused. Is the stack running? Start it with: memorybase up",
            "A key is required. Pass the key with --key or MEMORYBASE_API_KEY.",
        ]

    def test_ids_of_dead_letters_must_not_be_empty(self) -> None:
        with pytest.raises(errors.InvalidRequest, match="must not be empty"):
            dead_letters._act(cast("Client", None), "retry", [""], {}, all_=False, dry_run=False)


class TestBulk:
    def test_dead_letters_are_chosen_in_one_way(self, subtests: pytest.Subtests) -> None:
        choices: list[tuple[list[str] | None, dict[str, str], bool]] = [
            (None, {}, False),
            (None, {"memory_base_id": "b"}, False),
            (["i"], {"cause": "c"}, False),
            (["i"], {}, True),
        ]
        said = "ids of dead letters, a filter, or --all"
        for ids, wanted, all_ in choices:
            with subtests.test(f"{ids} {wanted} {all_}"), pytest.raises(errors.InvalidRequest, match=said):
                dead_letters._act(cast("Client", None), "discard", ids, wanted, all_=all_, dry_run=False)

    def test_all_dead_letters_are_those_of_a_memory_base(self) -> None:
        with pytest.raises(errors.InvalidRequest, match="--all requires --memory"):
            dead_letters._act(cast("Client", None), "discard", None, {}, all_=True, dry_run=False)

    def test_calls_are_repeated_until_nothing_is_left(self) -> None:
        answers = [
            SimpleNamespace(taken=t, remaining=r, dry_run=False, skipped={"due": r}) for t, r in ((2, 1), (1, 0))
        ]
        assert bulk.repeat(lambda: answers.pop(0)) == (3, {"due": 0})
        assert answers == []

    def test_a_call_that_takes_nothing_is_the_last(self) -> None:
        answers = [SimpleNamespace(taken=0, remaining=5, dry_run=False, skipped={})]
        assert bulk.repeat(lambda: answers.pop(0)) == (0, {})

    def test_a_dry_run_is_one_call(self) -> None:
        answers = [SimpleNamespace(taken=5, remaining=5, dry_run=True, skipped={"due": 2, "running": 1})]
        taken, skipped = bulk.repeat(lambda: answers.pop(0))
        assert (taken, bulk.left_alone(skipped)) == (5, "; left alone: 2 due, 1 running")

    def test_an_age_has_a_number_and_a_unit(self, subtests: pytest.Subtests) -> None:
        for age in ["", "3", "3w", "-3d", "999999999999d"]:
            with subtests.test(age=age), pytest.raises(errors.InvalidRequest, match="--older-than"):
                bulk.Filter(older_than=age).request(cast("Client", None), "cause")

    def test_an_age_is_a_moment(self) -> None:
        chosen = bulk.Filter(flow="f", older_than="7d").request(cast("Client", None), "cause")
        assert chosen["flow_id"] == "f"
        assert set(chosen) == {"flow_id", "until"}
        assert timedelta(days=7) <= datetime.now(UTC) - chosen["until"] < timedelta(days=8)


class TestDemoDirectory:
    def test_it_empties_only_directories_of_a_demo(self, tmp_path: Path) -> None:
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "precious").write_text("kept")
        with pytest.raises(errors.InvalidRequest):
            _fresh(mine)
        assert (mine / "precious").read_text() == "kept"
        made = _fresh(tmp_path / "demo")
        (made / "old").write_text("gone")
        assert [path.name for path in _fresh(made).iterdir()] == [MARKER]

    def test_questions_are_packaged_beside_the_code(self) -> None:
        path = Path(cli.__file__).parents[1] / "samples" / "questions.json"
        assert {"question", "expected", "session"} == set(json.loads(path.read_text())[0])


class TestDoctor:
    def test_without_a_stack_it_names_only_what_would_keep_one_from_starting(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(doctor, "SUPPORTED", ())
        result = CliRunner().invoke(cli.app, ["doctor", "--data-dir", str(tmp_path)])
        lines = result.stdout.splitlines()
        assert (result.exit_code, len(lines)) == (1, 3)
        assert "is not supported" in lines[0]
        assert lines[2].startswith(f"No stack is running in {tmp_path}. Start it with: memorybase up")

    def test_without_redis_it_offers_one_process_which_needs_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(redis_server, "_candidates", list)
        asked = ["doctor", "--data-dir", str(tmp_path)]
        assert "or memorybase up --one-process, which needs none" in CliRunner().invoke(cli.app, asked).stdout
        monkeypatch.setenv("MEMORYBASE_ONE_PROCESS", "true")
        (line,) = CliRunner().invoke(cli.app, asked).stdout.splitlines()
        assert f"Start it with: memorybase up --one-process --data-dir {tmp_path}" in line

    def test_with_services_elsewhere_it_checks_each(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMORYBASE_REDIS_URL", "redis://127.0.0.1:1/0")
        monkeypatch.setattr(doctor, "checks_of", lambda _: list(doctor.CHECKS[:1]))
        result = CliRunner().invoke(cli.app, ["doctor", "--data-dir", str(tmp_path)])
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "all 1 checks passed")

    def test_of_one_process_no_check_and_no_fix_names_a_part_that_it_lacks(self, tmp_path: Path) -> None:
        settings = Settings(one_process=True, data_dir=tmp_path)
        checks = doctor.checks_of(settings)
        names = [check.name for check in checks]
        assert not {"redis", "redis-server", "queue"} & set(names)
        assert names.index("database") < names.index("chroma") < names.index("embedding model")
        fixes = {check.name: check.fix(doctor.DoctorContext(settings, None)) for check in checks}
        assert {fixes[name] for name in ("chroma", "worker", "sweeper")} == {"memorybase up --one-process"}
        assert fixes["jobs"] == f"read {tmp_path / 'logs' / 'memorybase.log'}"

    def test_a_damaged_database_fails_its_check_and_is_the_reason_of_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "damaged.db"
        file.write_bytes(b"no database" * 1_000)
        monkeypatch.setenv("MEMORYBASE_DATABASE_URL", f"sqlite:///{file}")
        checks = [each for each in doctor.CHECKS if each.name in {"database", "jobs"}]
        monkeypatch.setattr(doctor, "checks_of", lambda _: checks)
        result = CliRunner().invoke(cli.app, ["doctor", "--data-dir", str(tmp_path)])
        database, fix, jobs, reason, last = result.stdout.splitlines()
        assert database.endswith("file is not a database")
        assert fix.endswith(f"-> fix: memorybase migrate --data-dir {tmp_path}")
        assert jobs.endswith("The database is unavailable: file is not a database")
        assert reason.endswith("-> see the database above")
        assert last == "2 of 2 checks failed"

    def test_what_is_down_beside_the_database_has_its_own_fix(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_standby() -> int:
            raise errors.DatabaseUnavailable("The server for reads is no standby")

        away = "postgresql://u@127.0.0.1:1/away"
        services = SimpleNamespace(database=SimpleNamespace(replica_bytes_behind=no_standby))
        monkeypatch.setattr(doctor.DoctorContext, "services", services)
        checks = {check.name: check for check in doctor.CHECKS}
        replicated = Settings(database_url="postgresql://u@db/memorybase", database_read_url=away)
        result = checks["read replica"].run(doctor.DoctorContext(replicated, None))
        assert result.fix == "fix: start the standby, or correct MEMORYBASE_DATABASE_READ_URL"
        (tmp_path / "memorybase.db").touch()
        file = f"sqlite:///{tmp_path / 'memorybase.db'}"
        context = doctor.DoctorContext(Settings(database_url=file, pgvector_url=away), None)
        assert checks["database memory"].run(context).ok

    def test_it_names_the_settings_that_were_changed_and_no_secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (check,) = [each for each in doctor.CHECKS if each.name == "settings"]
        context = doctor.DoctorContext(Settings(), None)
        assert check.run(context).detail == "all have their default"
        monkeypatch.setenv("MEMORYBASE_CHUNK_TOKENS", "128")
        monkeypatch.setenv("MEMORYBASE_API_KEY", "a-secret")
        monkeypatch.setenv("MEMORYBASE_LEASE_SECONDS", "60")
        result = check.run(context)
        assert (result.ok, result.detail) == (True, "not the default: MEMORYBASE_API_KEY, MEMORYBASE_CHUNK_TOKENS")


class TestProgress:
    def test_a_long_command_shows_its_progress_in_a_pipe(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(options, "LINE_SECONDS", 0.01)
        pipe = io.StringIO()
        with options.progress(Console(file=pipe)) as bar:
            bar.add_task("fitting", total=None)
            bar.advance(bar.add_task("capturing", total=10), 3)
            wait_until(lambda: "  capturing: 3 of 10\n" in pipe.getvalue())
            assert "  fitting ...\n" in pipe.getvalue()

    def test_a_short_command_prints_no_progress_in_a_pipe(self) -> None:
        pipe = io.StringIO()
        with options.progress(Console(file=pipe)) as bar:
            bar.add_task("capturing", total=10)
        assert pipe.getvalue() == ""
