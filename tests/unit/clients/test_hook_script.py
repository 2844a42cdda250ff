"""The hook runs with the standard library alone, where nothing is on the path, with any Python from 3.9 on."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import Any

import pytest
from memorybase_client.coding_agents import agents, capture, given, hook, hosts, memory, spool
from memorybase_client.coding_agents.events import MAX_TEXT, now, project_of
from memorybase_client.coding_agents.files import locked, read_json, write_json
from memorybase_client.coding_agents.recall import describe
from memorybase_client.coding_agents.settings import our_entries, with_hooks, without_hooks

NEWER = {"tomllib"}  # modules that Python 3.9 does not have
PACKAGE = "memorybase_client"
SOURCE = Path(hook.__file__).parents[2]


def files() -> list[Path]:
    """The script with all of the package that it imports, at its start or later."""
    found, ahead = {}, [f"{PACKAGE}.coding_agents.hook"]
    while ahead:
        name = ahead.pop()
        module = SOURCE / f"{name.replace('.', '/')}.py"
        if name not in found and module.exists():
            found[name] = module
            ahead += [each for each in imported(module) if each.startswith(f"{PACKAGE}.")]
    return list(found.values())


def imported(file: Path) -> set[str]:
    """Modules, and what is imported from them, which may be modules."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def test_it_imports_the_standard_library_only() -> None:
    assert len(files()) > 5
    names = {name.partition(".")[0] for file in files() for name in imported(file)}
    assert names - {PACKAGE} <= sys.stdlib_module_names - NEWER


def test_it_has_the_grammar_of_python_3_9() -> None:
    for file in [*files(), SOURCE / PACKAGE / "__init__.py"]:
        ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_its_start_imports_neither_http_nor_processes() -> None:
    """They take longer than the rest of a hook that only writes to the spool."""
    script = f"import runpy, sys; runpy.run_path({hook.__file__!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    slow = {"http.client", "ssl", "subprocess", "asyncio", "hashlib", "pathlib", "dataclasses", "memorybase"}

    assert not slow & set(done.stdout.split())


def test_every_event_that_is_installed_has_an_answer() -> None:
    installed = {agent.name: [hook.event for hook in agent.hooks] for agent in agents.agents().values()}
    by_the_plugin_alone = {"copilot"}
    assert installed == {name: list(hosts.HOSTS[name]) for name in hosts.HOSTS.keys() - by_the_plugin_alone}


class TestWindows:
    """What differs there, with the platform's name alone: its shells, and how a process is left behind."""

    @pytest.fixture(autouse=True)
    def _windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "platform", "win32")

    def test_a_command_without_blanks_is_one_for_every_shell(self) -> None:
        for agent in agents.agents().values():
            command = agent.command([r"C:\py\python.exe", "-I", "-S", r"D:\Jürgen\hook.py", agent.name])

            assert command == f"C:/py/python.exe -I -S D:/Jürgen/hook.py {agent.name}; exit 0"

    @pytest.mark.parametrize(
        ("agent", "written"),
        [
            ("claude-code", """'C:/O'"'"'Hara/my py/python.exe' -I -S 'C:/a b/hook.py'; exit 0"""),
            ("codex", """& 'C:/O''Hara/my py/python.exe' -I -S 'C:/a b/hook.py'; exit 0"""),
            ("cursor", """& 'C:/O''Hara/my py/python.exe' -I -S 'C:/a b/hook.py'; exit 0"""),
        ],
    )
    def test_others_are_quoted_for_the_shell_of_the_agent(self, agent: str, written: str) -> None:
        words = [r"C:\O'Hara\my py\python.exe", "-I", "-S", r"C:\a b\hook.py"]
        command = agents.agents()[agent].command(words)

        assert command == written
        assert agents.words_of(command)[:3] == ["C:/O'Hara/my py/python.exe", "-I", "-S"]

    def test_a_hook_whose_script_is_gone_does_not_block_the_agent(self, tmp_path: Path) -> None:
        command = agents.agents()["claude-code"].command([sys.executable, str(tmp_path / "is gone.py")])
        done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, check=False)

        assert done.returncode == 0
        assert b"No such file" in done.stderr

    def test_settings_with_its_commands_are_recognized(self) -> None:
        for agent in agents.agents().values():
            settings = with_hooks(None, agent, PureWindowsPath(r"C:\a b\hooks.json"))
            assert len(list(our_entries(settings))) == len(agent.hooks)
            assert not without_hooks(settings).get("hooks")

    def test_cmd_leaves_the_semicolon_at_the_word_before(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(json.dumps({"state_dir": str(tmp_path)}))
        event = json.dumps({"hook_event_name": "beforeSubmitPrompt", "prompt": "Hi"})
        arguments = ["--config", str(tmp_path / "config.json"), "cursor;", "exit", "0"]
        command = [sys.executable, "-I", "-S", str(agents.SCRIPT), *arguments]
        done = subprocess.run(command, input=event.encode(), capture_output=True, check=True)
        assert done.stdout == b'{"continue": true}'

    def test_the_background_process_has_a_console_of_its_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started: list[dict[str, Any]] = []
        monkeypatch.setattr(subprocess, "CREATE_NO_WINDOW", 0x08000000, raising=False)
        monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
        monkeypatch.setattr(subprocess, "Popen", lambda _, **options: started.append(options))
        spool.start_drain({"arguments": ["--config", "hooks.json"], "state_dir": str(tmp_path)})

        assert started[0]["creationflags"] == 0x08000200
        assert "start_new_session" not in started[0]


def test_a_line_that_is_too_long_is_skipped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "MAX_LINE_BYTES", 20)
    long = b"x" * 20 + b'{"n": 1}\n'  # its end alone would be an object
    file = io.BytesIO(b'{"n": 0}\n' + long + b'{"n": 2}\n[]\nno JSON\n' + b'{"n": 3}\n' + b"x" * 50)

    assert [line["n"] for line in capture.lines(file)] == [0, 2, 3]


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The messages of each request to a memory that takes everything."""
    requests: list[list[Any]] = []

    def call(_: Any, path: str, body: Any) -> tuple[int, Any]:
        assert path == "/v1/flows/a%20flow/runs"
        assert body["on_conflict"] == "keep"  # otherwise each message of the request would be sent alone
        requests.append(body["messages"])
        return 201, {"messages": [{"created": True}] * len(body["messages"])}

    monkeypatch.setattr(memory, "call", call)
    return requests


def configured(folder: Path) -> dict[str, Any]:
    return {"url": "http://none", "flow": "a flow", "state_dir": str(folder), "spool": str(folder / "spool")}


def event_of(transcript: Path, said: str = "") -> dict[str, Any]:
    named = dict.fromkeys(("turn", "cwd", "project", "branch", "model"), "")
    return {**named, "agent": "claude-code", "session": "s", "transcript": str(transcript), "said": said, "at": now()}


def write(transcript: Path, *answers: str) -> None:
    with transcript.open("a") as file:
        for number, text in enumerate(answers):
            message = {"content": [{"type": "text", "text": text}]}
            file.write(json.dumps({"type": "assistant", "uuid": f"{number} {text[:9]}", "message": message}) + "\n")


def test_a_turn_is_posted_in_bounded_parts(tmp_path: Path, posted: list[list[Any]]) -> None:
    transcript = tmp_path / "t.jsonl"
    write(transcript, *["short"] * 120, *["long " * 6_000] * 10)

    assert capture.send_transcript(configured(tmp_path), event_of(transcript), float("inf")) == 130
    assert max(len(part) for part in posted) <= capture.BATCH_MESSAGES
    assert max(sum(len(each["content"]) for each in part) for part in posted) <= capture.BATCH_CHARS + MAX_TEXT


def test_the_answer_of_a_stop_is_awaited_although_a_later_event_names_none(
    tmp_path: Path, posted: list[list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = tmp_path / "t.jsonl"
    write(transcript, "I look.")
    for said in ("Late", ""):  # the turn's end, and at once the session's
        spool.spool(configured(tmp_path), event_of(transcript, said))
    monkeypatch.setattr(capture, "time", SimpleNamespace(**vars(time) | {"sleep": lambda _: write(transcript, "Late")}))
    spool.drain(configured(tmp_path))

    assert [message["content"] for part in posted for message in part] == ["I look.", "Late"]


def test_a_second_process_sends_nothing(tmp_path: Path, posted: list[list[Any]]) -> None:
    write(tmp_path / "t.jsonl", "One")
    spool.spool(configured(tmp_path), event_of(tmp_path / "t.jsonl"))
    with locked(str(tmp_path / "lock")):
        spool.drain(configured(tmp_path))

    assert posted == []
    assert len(list((tmp_path / "spool").iterdir())) == 1


def test_what_comes_while_a_process_sends_is_sent_by_it(
    tmp_path: Path, posted: list[list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    write(first, "One")
    write(second, "Two")
    config = configured(tmp_path)
    spool.spool(config, event_of(first))
    call = memory.call

    def call_while_another_hook_runs(*arguments: Any) -> tuple[int, Any]:
        if not posted:
            spool.spool(config, event_of(second))
            with locked(str(tmp_path / "lock")) as held:
                assert not held  # so the process that this hook starts ends at once
        return call(*arguments)

    monkeypatch.setattr(memory, "call", call_while_another_hook_runs)
    spool.drain(config)

    assert [message["content"] for part in posted for message in part] == ["One", "Two"]
    assert list((tmp_path / "spool").iterdir()) == []


def test_places_of_the_oldest_transcripts_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "MAX_PLACES", 4)
    folder = tmp_path / "transcripts"
    for number in range(5):
        write_json(str(folder / f"{9 - number}.json"), {"number": number})
        os.utime(folder / f"{9 - number}.json", (number, number))
    capture.Capture({"state_dir": str(tmp_path)}, {"agent": "codex", "transcript": "new", "session": "s"})

    assert sorted(read_json(str(path))["number"] for path in folder.iterdir()) == [3, 4]


@pytest.mark.parametrize("is_worktree", [False, True])
def test_project_and_branch_are_those_of_the_repository(tmp_path: Path, *, is_worktree: bool) -> None:
    git = tmp_path / "real" if is_worktree else tmp_path / "shop" / ".git"
    (tmp_path / "shop" / "src").mkdir(parents=True)
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/feature/cart\n")
    if is_worktree:
        (tmp_path / "shop" / ".git").write_text(f"gitdir: {git}\n")

    assert project_of(str(tmp_path / "shop" / "src")) == (str(tmp_path / "shop"), "feature/cart")
    assert project_of(str(tmp_path)) == (str(tmp_path), "")
    assert project_of("") == ("", "")


def test_a_hit_that_was_corrected_later_says_so() -> None:
    values = {"kind": "number", "was": "300 ms", "now": "250 ms"}
    hits = [
        {"snippet": "It takes 300 ms.", "corrected_by": values},
        {"snippet": "I never sailed.", "corrected_by": {"kind": "denial", "was": None, "now": None}},
        {"snippet": "It takes 250 ms.", "corrected_by": None},
    ]
    assert [line.partition("] ")[2] for line in describe(hits).splitlines()[1:]] == [
        "It takes 300 ms. (corrected later: was 300 ms, now 250 ms)",
        "I never sailed. (a later message says the opposite)",
        "It takes 250 ms.",
    ]


def test_of_too_many_sessions_the_oldest_are_taken_as_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "MAX_SESSIONS", 4)
    config, folder = configured(tmp_path), tmp_path / "prompted"
    sessions = [{"agent": "codex", "session": f"s-{number}"} for number in range(6)]
    for number, session in enumerate(sessions):
        given.note_prompted(config, session)
        for path in folder.iterdir():
            if path.stat().st_mtime > len(sessions):  # the file that was just written
                os.utime(path, (number, number))

    assert [given.has_prompted(config, session) for session in sessions] == [False, False, False, True, True, True]
