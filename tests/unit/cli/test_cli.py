from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memorybase import __version__, cli, errors
from memorybase.cli.demo import MARKER, _fresh
from memorybase.cli.search import table_of
from memorybase.settings import Settings
from memorybase.stack.children import _absolute_sqlite, import_path
from memorybase.stack.redis_server import RedisBinary, configure
from memorybase.stack.state import LOG_BYTES, DataDir, RunningStack, settings_in_use

COMMANDS = (
    "up", "demo", "doctor", "export", "import", "search", "migrate", "prepare", "sweep", "reconcile", "dead-letters",
    "keys", "reindex", "sign-in", "evaluate", "tune",
)  # fmt: skip


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

    @pytest.mark.parametrize("name", COMMANDS)
    def test_each_command_has_help(self, name: str) -> None:
        result = CliRunner().invoke(cli.app, [name, "--help"])
        assert result.exit_code == 0
        assert "Usage" in result.output

    def test_version(self) -> None:
        assert CliRunner().invoke(cli.app, ["--version"]).output.strip() == __version__

    def test_search_without_a_stack_says_how_to_start_one(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        said = run_main(monkeypatch, "search", "what", "--memory", "m", "--data-dir", str(tmp_path))
        assert said == (f"error: No stack is running in {tmp_path}. Start it with: memorybase up --data-dir {tmp_path}")

    def test_search_shows_the_passage_with_a_mark_where_the_message_continues(self) -> None:
        text = "Before. The zebra\nsleeps. Behind."
        hit = {
            "score": 0.5, "session_id": "s", "sender_name": None, "role": "user", "timestamp": None, "pending": False,
            "content": text, "snippet": "The zebra\nsleeps.", "snippet_start": 8, "snippet_end": 25,
        }  # fmt: skip
        whole = hit | {"snippet": text, "snippet_start": 0, "snippet_end": len(text)}
        shown = list(table_of([hit, whole]).columns[-1].cells)
        assert shown == ["… The zebra sleeps. …", "Before. The zebra sleeps. Behind."]

    def test_a_url_without_a_key_asks_for_one(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        words = ("search", "what", "--memory", "m", "--data-dir", str(tmp_path), "--url", "http://x")
        assert "MEMORYBASE_API_KEY" in str(run_main(monkeypatch, *words))

    def test_a_missing_file_is_a_one_line_error(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        missing = tmp_path / "missing.jsonl"
        assert run_main(monkeypatch, "import", str(missing)) == (
            f"error: {missing} cannot be read: No such file or directory."
        )

    def test_an_invalid_setting_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMORYBASE_SWEEP_SECONDS", "soon")
        said = str(run_main(monkeypatch, "sweep", "--once"))
        assert said.startswith("error: MEMORYBASE_SWEEP_SECONDS: ")
        assert "\n" not in said

    def test_an_error_is_one_line_with_field_and_limit(self) -> None:
        error = errors.InvalidRequest("Too\nlong.", field="query", value=9, limit=3)
        assert cli.describe(error) == "Too long. (field: query, value: 9, limit: 3)"


class TestDataDir:
    def test_the_key_is_created_once_and_readable_by_its_owner_only(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        key = data.api_key(Settings())
        assert key == data.api_key(Settings()) == data.known_api_key(Settings())
        assert len(key) > 32
        assert data.key_file.stat().st_mode & 0o777 == 0o600

    def test_the_setting_overrides_the_file(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        assert data.api_key(Settings(api_key="chosen")) == "chosen"
        assert not data.key_file.exists()
        assert data.known_api_key(Settings()) is None

    def test_a_second_stack_is_refused_with_the_address_of_the_first(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        data.make()
        data.write_stack(RunningStack(1, "http://127.0.0.1:8000", "redis://", "http://chroma"))
        with data.locked():
            assert data.is_locked()
            with pytest.raises(errors.Conflict, match=r"http://127\.0\.0\.1:8000"), DataDir(tmp_path).locked():
                pytest.fail("both hold the lock")
        assert not data.is_locked()

    def test_files_of_a_killed_stack_do_not_count_as_a_running_stack(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        data.make()
        stack = RunningStack(1, "http://127.0.0.1:8000", "redis://here", "http://chroma")
        data.write_stack(stack)
        assert data.running() is None
        assert settings_in_use(tmp_path).redis_url == Settings().redis_url
        with data.locked():
            assert data.running() == stack
            assert settings_in_use(tmp_path).redis_url == "redis://here"

    def test_the_environment_overrides_the_running_stack(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMORYBASE_REDIS_URL", "redis://stated")
        data = DataDir(tmp_path)
        data.make()
        data.write_stack(RunningStack(1, "http://127.0.0.1:8000", "redis://here", "http://chroma"))
        with data.locked():
            assert settings_in_use(tmp_path).redis_url == "redis://stated"
            assert settings_in_use(tmp_path).chroma_url == "http://chroma"

    def test_a_long_log_is_rotated_once(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        data.make()
        log = data.log_file("api")
        with log.open("a") as child:
            child.write("x" * (LOG_BYTES + 1))
            child.flush()
            data.trim_log("api")
            child.write("after\n")
        assert log.read_text() == "after\n"
        assert log.with_suffix(".log.1").stat().st_size == LOG_BYTES + 1

    def test_a_directory_that_cannot_be_created_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(errors.EnvironmentFailure, match="--data-dir"):
            DataDir(tmp_path / "file" / "below").make()


class TestChildren:
    def test_redis_gets_its_directory_with_quotes_escaped(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path / 'a "quoted" name')
        data.make()
        path = configure(RedisBinary(Path("redis-server"), (7, 2)), data, port=1234, password="secret")
        text = path.read_text()
        assert 'a \\"quoted\\" name/redis-7"' in text
        assert "appendonly yes" in text
        assert "requirepass secret" in text
        assert path.stat().st_mode & 0o777 == 0o600
        assert (data.path / "redis-7").is_dir()

    def test_a_relative_database_is_in_the_callers_directory(self) -> None:
        assert _absolute_sqlite("sqlite:///here.db") == f"sqlite:///{Path.cwd() / 'here.db'}"
        assert _absolute_sqlite("sqlite:////tmp/here.db") == "sqlite:////tmp/here.db"
        assert _absolute_sqlite("postgresql://host/here") == "postgresql://host/here"

    def test_children_import_this_memorybase(self) -> None:
        root = str(Path(cli.__file__).parents[2])
        assert import_path({})["PYTHONPATH"] == root
        assert import_path({"PYTHONPATH": "/theirs"})["PYTHONPATH"] == f"{root}:/theirs"


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
