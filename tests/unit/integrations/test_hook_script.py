"""The hook script runs where memorybase is not installed, with any Python from 3.9 on."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memorybase.integrations.coding_agents import hook

SOURCE = Path(hook.__file__).read_text(encoding="utf-8")
NEWER = {"tomllib"}  # modules that Python 3.9 does not have


def imported() -> set[str]:
    nodes = list(ast.walk(ast.parse(SOURCE)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in plain | {str(n.module) for n in nodes if isinstance(n, ast.ImportFrom)}}


def test_it_imports_the_standard_library_only() -> None:
    assert imported() <= sys.stdlib_module_names - NEWER


def test_it_has_the_grammar_of_python_3_9() -> None:
    ast.parse(SOURCE, feature_version=(3, 9))


def test_its_start_imports_neither_http_nor_processes() -> None:
    """They take longer than the rest of a hook that only writes to the spool."""
    script = f"import runpy, sys; runpy.run_path({hook.__file__!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)

    assert not {"http.client", "ssl", "subprocess", "asyncio", "memorybase"} & set(done.stdout.split())


def test_a_line_that_is_too_long_is_skipped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "MAX_LINE_BYTES", 20)
    long = b"x" * 20 + b'{"n": 1}\n'  # its end alone would be an object
    file = io.BytesIO(b'{"n": 0}\n' + long + b'{"n": 2}\n[]\nno JSON\n' + b'{"n": 3}\n' + b"x" * 50)

    assert [line["n"] for line in hook.lines(file)] == [0, 2, 3]


def test_a_turn_is_posted_in_bounded_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[list[Any]] = []

    def call(_: Any, path: str, body: Any) -> tuple[int, Any]:
        assert path == "/v1/flows/a%20flow/runs"
        posted.append(body["messages"])
        return 201, {"messages": [{"created": True}] * len(body["messages"])}

    monkeypatch.setattr(hook, "call", call)
    answers = [*["short"] * 120, *["long " * 6_000] * 10]
    lines = [
        {"type": "assistant", "uuid": f"u-{number}", "message": {"content": [{"type": "text", "text": text}]}}
        for number, text in enumerate(answers)
    ]
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    event = {
        "agent": "claude-code", "session": "s", "transcript": str(transcript), "said": "", "turn": "", "cwd": "",
        "project": "", "branch": "", "model": "", "at": hook.now(),
    }  # fmt: skip

    assert hook.send_transcript({"flow": "a flow", "state_dir": str(tmp_path)}, event, float("inf")) == 130
    assert max(len(part) for part in posted) <= hook.BATCH_MESSAGES
    assert max(sum(len(each["content"]) for each in part) for part in posted) <= hook.BATCH_CHARS + hook.MAX_TEXT


def test_places_of_the_oldest_transcripts_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "MAX_FILES", 4)
    folder = tmp_path / "transcripts"
    for number in range(5):
        hook.write_json(str(folder / f"{9 - number}.json"), {"number": number})
        os.utime(folder / f"{9 - number}.json", (number, number))
    hook.Capture({"state_dir": str(tmp_path)}, {"agent": "codex", "transcript": "new"})

    assert sorted(hook.read_json(str(path))["number"] for path in folder.iterdir()) == [3, 4]


@pytest.mark.parametrize("is_worktree", [False, True])
def test_project_and_branch_are_those_of_the_repository(tmp_path: Path, *, is_worktree: bool) -> None:
    git = tmp_path / "real" if is_worktree else tmp_path / "shop" / ".git"
    (tmp_path / "shop" / "src").mkdir(parents=True)
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/feature/cart\n")
    if is_worktree:
        (tmp_path / "shop" / ".git").write_text(f"gitdir: {git}\n")

    assert hook.project_of(str(tmp_path / "shop" / "src")) == (str(tmp_path / "shop"), "feature/cart")
    assert hook.project_of(str(tmp_path)) == (str(tmp_path), "")
    assert hook.project_of("") == ("", "")
