"""`memorybase hooks import` against a served API: with the live hooks before and after it, and killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
from click.testing import Result
from harness.coding_agents import (
    PATIENCE,
    PROJECT,
    TRANSCRIPTS,
    ClaudeTranscript,
    CopilotTranscript,
    CursorDatabase,
    GeminiTranscript,
    Machine,
    cursor_fields,
    shared_fields,
)
from harness.served import Served
from harness.waiting import wait_until
from memorybase_client import Client, models
from memorybase_client.coding_agents.events import FLOW
from typer.testing import CliRunner

from memorybase import cli
from memorybase.core import errors

pytestmark = pytest.mark.slow

AGENTS = list(TRANSCRIPTS)


@pytest.fixture(autouse=True)
def _worker(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker does what a flush enqueues."""
    flush = Client.flush_memory_base

    def flushed(client: Client, base_id: Any, **options: Any) -> models.FlushResult:
        try:
            return flush(client, base_id, **options)
        finally:
            served.api.work()

    monkeypatch.setattr(Client, "flush_memory_base", flushed)
    monkeypatch.setenv("MEMORYBASE_API_KEY", served.api.secret)
    monkeypatch.setenv("MEMORYBASE_URL", served.url)


def run(*words: object) -> Result:
    result = CliRunner().invoke(cli.app, ["hooks", "import", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit | errors.MemorybaseError):
        raise result.exception
    return result


def messages(served: Served, **chosen: Any) -> list[dict[str, Any]]:
    page = served.api.get("/messages", flow_id=FLOW, order="asc", size=200, **chosen)
    assert page["total"] <= 200
    found: list[dict[str, Any]] = page["items"]
    return found


def talk(transcript: Any, *prompts: str) -> None:
    for prompt in prompts:
        transcript.user(prompt)
        transcript.tool("Bash", {"command": "make"}, "done")
        transcript.assistant(f"Answer to {prompt}")


def stop(machine: Machine, agent: str, transcript: Any) -> None:
    machine.run(agent, "Stop", **shared_fields(transcript))
    machine.settle()


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("tools", [False, True])
def test_what_the_hooks_captured_is_known_to_an_import(
    machine: Machine, served: Served, kind: str, *, tools: bool
) -> None:
    agent = kind.partition(" ")[0]
    transcript = TRANSCRIPTS[kind](machine.home, "s-1")
    machine.install(agent, served.url, served.api.secret, tools=tools)
    talk(transcript, "One", "Two")
    stop(machine, agent, transcript)
    captured = messages(served)
    talk(transcript, "Three")
    first, second = run(), run()

    count = 12 if tools else 6
    assert first.output.splitlines()[0].endswith(f"{count} messages: {count // 3} new, {count // 3 * 2} already there")
    assert second.output.splitlines()[0].endswith(f"{count} messages: 0 new, {count} already there")
    assert len(messages(served)) == count
    assert [each["id"] for each in messages(served)][: len(captured)] == [each["id"] for each in captured]
    runs = [each["run_id"] for each in messages(served)]
    assert len(set(runs)) == 3  # a turn each


@pytest.mark.parametrize("kind", AGENTS)
def test_what_was_imported_is_known_to_the_hooks(machine: Machine, served: Served, kind: str) -> None:
    agent = kind.partition(" ")[0]
    transcript = TRANSCRIPTS[kind](machine.home, "s-1")
    talk(transcript, "One", "Two")
    assert run().exit_code == 0
    imported = messages(served)
    machine.install(agent, served.url, served.api.secret)
    talk(transcript, "Three")
    stop(machine, agent, transcript)

    assert [each["content"] for each in imported] == ["One", "Answer to One", "Two", "Answer to Two"]
    assert messages(served)[:4] == imported
    assert [each["content"] for each in messages(served)[4:]] == ["Three", "Answer to Three"]
    assert messages(served)[5]["metadata"] == imported[1]["metadata"]  # also the tools before the answer


@pytest.mark.parametrize("transcript", [CopilotTranscript, GeminiTranscript])
def test_sessions_of_copilot_and_gemini_are_imported_once(
    machine: Machine, served: Served, transcript: type[CopilotTranscript | GeminiTranscript]
) -> None:
    talk(transcript.of(machine.home, "s-1"), "One", "Two")
    run()
    assert run("--tools").output.splitlines()[0].endswith("8 messages: 4 new, 4 already there")
    said = [each for each in messages(served, session_id="s-1") if each["role"] != "tool" and each["content"]]
    assert [each["content"] for each in said] == ["One", "Answer to One", "Two", "Answer to Two"]
    assert {(each["metadata"]["project"], each["metadata"]["cwd"]) for each in said} == {(PROJECT, PROJECT)}
    assert said[1]["metadata"]["tools"] == ["Bash"]


def test_what_a_subagent_of_copilot_says_is_left_out(machine: Machine, served: Served) -> None:
    transcript = CopilotTranscript.of(machine.home, "s-1")
    transcript.user("One")
    transcript.assistant("From below.", agentId="a-1")
    run()
    assert [each["content"] for each in messages(served)] == ["One"]


def test_the_hooks_of_gemini_capture_what_an_import_reads(machine: Machine, served: Served) -> None:
    transcript = GeminiTranscript.of(machine.home, "s-1")
    machine.install("gemini", served.url, served.api.secret)
    talk(transcript, "One")
    machine.run("gemini", "AfterAgent", **shared_fields(transcript), prompt="One", prompt_response="Answer to One")
    machine.settle()
    captured = messages(served)

    recalled = machine.run("gemini", "BeforeAgent", **shared_fields(transcript) | {"session_id": "s-2"}, prompt="One")

    assert json.loads(recalled)["hookSpecificOutput"]["additionalContext"].count("Answer to One") == 1
    assert [each["content"] for each in captured] == ["One", "Answer to One"]
    assert run().output.splitlines()[0].endswith("2 messages: 0 new, 2 already there")


def test_a_session_of_cursor_is_one_whether_captured_or_imported(machine: Machine, served: Served) -> None:
    bubbles = []
    machine.install("cursor", served.url, served.api.secret)
    for turn, prompt in (("g-1", "Rename it"), ("g-2", "Thanks")):
        asked = cursor_fields("c-1", turn)
        bubbles.append({"type": 1, "requestId": turn, "text": prompt})
        machine.run("cursor", "beforeSubmitPrompt", **asked, prompt=prompt)
        for text in ("Looking.", f"Done: {prompt}"):
            bubbles.append({"type": 2, "text": text})
            machine.run("cursor", "afterAgentResponse", **asked, text=text)
        machine.settle()
    captured = messages(served)
    CursorDatabase(machine.home).session("c-1", bubbles)
    result = run("--agent", "cursor")

    assert len(captured) == 6
    assert result.output.splitlines()[0].endswith("6 messages: 0 new, 6 already there")
    assert messages(served) == captured


def test_a_turn_that_cursor_names_otherwise_later_is_stored_once(machine: Machine, served: Served) -> None:
    machine.install("cursor", served.url, served.api.secret)
    bubbles: list[dict[str, Any]] = []
    for turn, prompt in (("g-1", "Go on"), ("g-2", "Go on")):
        machine.run("cursor", "beforeSubmitPrompt", **cursor_fields("c-1", turn), prompt=prompt)
        machine.run("cursor", "afterAgentResponse", **cursor_fields("c-1", turn), text=f"Done: {turn}")
        machine.settle()
        bubbles += [{"type": 1, "text": prompt}, {"type": 2, "text": f"Done: {turn}"}]
    captured = messages(served)
    database = CursorDatabase(machine.home)
    database.session("c-1", [*bubbles, {"type": 1, "text": "Thanks"}])  # whose turns have no names yet
    run("--agent", "cursor")
    imported = messages(served)
    database.session("c-1", [*bubbles, {"type": 1, "text": "Thanks", "requestId": "r-3"}])
    run("--agent", "cursor")

    assert imported[:4] == captured
    assert [each["content"] for each in imported[4:]] == ["Thanks"]
    assert messages(served) == imported


def test_a_dry_run_counts_by_project_and_stores_nothing(machine: Machine, served: Served) -> None:
    talk(ClaudeTranscript.of(machine.home, "s-1"), "One", "Two")
    CursorDatabase(machine.home).session("c-1", [{"type": 1, "requestId": "g", "text": "Hi"}])
    report = machine.home / "report.jsonl"
    result = run("--dry-run", "--report", report)
    lines = [line.split() for line in result.output.splitlines()]

    assert result.exit_code == 0
    assert result.output.startswith("1 flow, 2 sessions, 3 runs, 5 messages would be imported; nothing was stored\n")
    assert ["claude-code", PROJECT, "1", "4", "2026-11-20", "2026-11-20"] in lines
    assert ["cursor", PROJECT, "1", "1", "2026-11-20", "2026-11-20"] in lines
    left_out = [json.loads(line) for line in report.read_text().splitlines()]
    assert {each["reason"] for each in left_out} == {"tool calls and results, unless --tools"}
    assert len(left_out) == 4
    assert served.api.get("/messages", flow_id=FLOW)["total"] == 0


def test_options_of_the_command_precede_the_hooks_configuration(machine: Machine, served: Served) -> None:
    machine.install("codex", served.url, served.api.secret, end_user="ann")
    talk(ClaudeTranscript.of(machine.home, "s-1"), "One")
    talk(TRANSCRIPTS["codex"](machine.home, "s-2"), "Two")
    assert run("--agent", "claude-code").exit_code == 0
    assert run("--agent", "codex", "--flow", "other", "--end-user", "bob", "--tools").exit_code == 0
    other = served.api.get("/messages", flow_id="other")["items"]

    assert [(each["session_id"], each["end_user_id"]) for each in messages(served)] == [("s-1", "ann")] * 2
    assert [(each["session_id"], each["end_user_id"]) for each in other] == [("s-2", "bob")] * 4
    assert served.api.get("/memories", flow_id="other")["items"][0]["capture"] == "all"


@pytest.mark.usefixtures("machine")
def test_wrong_options_say_what_is_allowed() -> None:
    for words, text in (
        (("--agent", "vim"), "--agent must be one of claude-code, codex, copilot, gemini, cursor, opencode"),
        (("--since", "soon"), "--since must be a day like 2026-05-31, or an age like 90d"),
    ):
        with pytest.raises(Exception, match=text):
            raise CliRunner().invoke(cli.app, ["hooks", "import", *words]).exception or AssertionError
    assert "looked in" in run().output


def test_a_file_that_cannot_be_read_fails_the_command_after_the_others(machine: Machine, served: Served) -> None:
    transcript = ClaudeTranscript.of(machine.home, "s-1")
    talk(transcript, "One")
    gone = transcript.path.with_name("gone.jsonl")
    gone.symlink_to("/nowhere")
    result = run()

    assert result.exit_code == 1
    assert f"{gone} cannot be read: No such file or directory" in result.output
    assert [each["content"] for each in messages(served)] == ["One", "Answer to One"]


def test_an_import_that_is_killed_goes_on_when_it_is_repeated(machine: Machine, served: Served) -> None:
    prompts = [f"Question {number}" for number in range(400)]
    for name in ("s-1", "s-2", "s-3"):
        talk(ClaudeTranscript.of(machine.home, name), *prompts)

    def count() -> int:
        total: int = served.api.get("/messages", flow_id=FLOW)["total"]
        return total

    command = [sys.executable, "-m", "memorybase", "hooks", "import"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ) as importing:
        wait_until(lambda: count() > 0, PATIENCE, "the first messages are stored")
        importing.kill()
    result = run()
    contents = [
        [each["content"] for page in range(1, 5) for each in _page(served, name, page)]
        for name in ("s-1", "s-2", "s-3")
    ]

    assert result.exit_code == 0
    counted = re.search(
        r"([\d,]+) new, ([\d,]+) already there", result.output
    )  # the last request may end after the kill
    assert counted
    new, stored = (int(number.replace(",", "")) for number in counted.groups())
    assert new + stored == 2_400
    assert stored > 0
    assert contents == [[text for each in prompts for text in (each, f"Answer to {each}")]] * 3


def _page(served: Served, session: str, page: int) -> list[dict[str, Any]]:
    answer = served.api.get("/messages", flow_id=FLOW, session_id=session, order="asc", size=200, page=page)
    found: list[dict[str, Any]] = answer["items"]
    return found


def test_a_transcript_that_grows_is_imported_further(machine: Machine, served: Served) -> None:
    transcript = ClaudeTranscript.of(machine.home, "s-1")
    talk(transcript, "One")
    whole = json.dumps(transcript.line("user", "Two"))
    with transcript.path.open("a") as file:
        file.write(whole[:50])
    run()
    before = [each["content"] for each in messages(served)]
    with transcript.path.open("a") as file:
        file.write(whole[50:] + "\n")
    run()
    fork = ClaudeTranscript.of(machine.home, "s-fork")
    shutil.copy(transcript.path, fork.path)
    run()

    assert before == ["One", "Answer to One"]
    assert [each["content"] for each in messages(served, session_id="s-1")] == [*before, "Two"]
    assert [each["content"] for each in messages(served, session_id="s-fork")] == [*before, "Two"]
