"""Past sessions in the files of the agents: what becomes a message, with which ids, and what is left out and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from harness.coding_agents import (
    PROJECT,
    ClaudeTranscript,
    CodexTranscript,
    CursorDatabase,
    Machine,
    OldCodexTranscript,
    OpencodeDatabase,
    machine_at,
)
from memorybase_client.coding_agents import history
from memorybase_client.coding_agents.events import digest
from memorybase_client.coding_agents.opencode import messages_after
from memorybase_client.coding_agents.transcripts import opencode_entries
from memorybase_client.importers.records import Found, Report


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machine_at(tmp_path / "home") as made:
        yield made


def read(report: Report | None = None, *, tools: bool = False, **chosen: Any) -> list[Found]:
    report = Report() if report is None else report
    sessions = history.past_sessions(history.places(), report, **chosen)
    return [found for each in sessions for found in history.messages_of(each, {"tools": tools}, report)]


def said(found: list[Found]) -> list[tuple[str, str, str]]:
    return [(each.session_id, each.message["role"], each.message["content"]) for each in found]


def reasons(report: Report) -> set[str]:
    return {reason for kind, reason in report.counts if kind == "skipped"}


def test_a_claude_session_keeps_what_was_said_and_names_what_was_not(machine: Machine) -> None:
    transcript = ClaudeTranscript.of(machine.home, "s-1")
    transcript.write({"type": "summary", "summary": "Earlier work", "leafUuid": "x"})
    transcript.write({"type": "system", "subtype": "compact_boundary", "content": "Compacted"})
    transcript.user("Generated", isMeta=True)
    transcript.user("It continues", isCompactSummary=True)
    transcript.user("Look for it", isSidechain=True)
    image = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
    transcript.write(transcript.line("user", [image, {"type": "text", "text": "What is this?"}]))
    transcript.tool("Read", {"file_path": ".env"}, "SECRET=1")
    transcript.assistant("A cat.")
    transcript.write({"type": "from-the-future", "uuid": "u"})
    with transcript.path.open("ab") as file:
        file.write(b"\xff\xfe no JSON\n" + b'{"type": "user", "mess')
    report = Report()
    found = read(report)

    assert said(found) == [("s-1", "user", "What is this?"), ("s-1", "assistant", "A cat.")]
    assert [each.message["timestamp"] for each in found] == ["2026-11-20T10:00:05.005Z", "2026-11-20T10:00:08.008Z"]
    assert found[1].message["metadata"] == {
        "agent": "claude-code",
        "cwd": PROJECT,
        "project": PROJECT,
        "branch": "main",
        "model": "claude-opus-4-7",
        "tools": ["Read"],
    }
    assert reasons(report) == {
        "records in which nobody says anything, of the type summary",
        "records in which nobody says anything, of the type system compact_boundary",
        "records in which nobody says anything, of the type from-the-future",
        "notes that the agent made",
        "summaries of a compaction",
        "lines of subagents",
        "tool calls and results, unless --tools",
        "lines that are not JSON objects",
        "a last line that is incomplete",
    }
    assert not report.total("lost")
    assert [each.message["role"] for each in read(tools=True)] == ["user", "assistant", "tool", "assistant"]


def test_files_of_claudes_subagents_are_left_out(machine: Machine) -> None:
    transcript = ClaudeTranscript.of(machine.home, "s-1")
    transcript.user("Hello")
    folder = transcript.path.parent
    for path in (folder / "agent-17.jsonl", folder / "s-1/subagents/agent-18.jsonl"):
        ClaudeTranscript(path, "s-1").user("Look for it")
    report = Report()

    assert said(read(report)) == [("s-1", "user", "Hello")]
    assert report.counts == {("skipped", "files of subagents"): 2}


def test_codex_sessions_of_each_age_are_read_and_those_of_subagents_are_not(machine: Machine) -> None:
    sessions = machine.home / ".codex/sessions/2025/06/01"
    oldest = CodexTranscript(sessions / "rollout-2025-06-01-11111111-2222-3333-4444-555555555555.jsonl", "o")
    oldest.write({"id": "old", "timestamp": "2025-06-01T08:00:00.000Z", "instructions": None})
    oldest.write({"record_type": "state"})
    oldest.write(oldest.item("user", "<environment_context>bash</environment_context>"))
    oldest.write(oldest.item("user", "Yes"), oldest.item("assistant", "Done."), oldest.item("user", "Yes"))
    OldCodexTranscript.of(machine.home, "middle").user("Hi")
    (machine.home / ".codex/sessions/2026").rename(machine.home / ".codex/archived_sessions")
    CodexTranscript.of(machine.home, "new").user("Good morning")
    child = CodexTranscript(sessions / "rollout-2025-06-02-child.jsonl", "child")
    child.add("session_meta", {"id": "child", "cwd": PROJECT, "source": {"subagent": {"thread_spawn": {}}}})
    child.user("Look for it")
    found = read()

    assert said(found) == [
        ("old", "user", "Yes"),
        ("old", "assistant", "Done."),
        ("old", "user", "Yes"),
        ("new", "user", "Good morning"),
        ("middle", "user", "Hi"),
    ]
    assert len({each.message["id"] for each in found}) == 5
    assert found[0].message["timestamp"] == "2025-06-01T08:00:00Z"
    assert found[3].message["metadata"]["cwd"] == PROJECT


def lexical(*lines: str) -> str:
    paragraphs = [{"type": "paragraph", "children": [{"type": "text", "text": line}]} for line in lines]
    return json.dumps({"root": {"type": "root", "children": paragraphs}})


def test_a_cursor_session_has_the_ids_that_its_hooks_make(machine: Machine) -> None:
    database = CursorDatabase(machine.home)
    database.session(
        "c-1",
        [
            {"type": 1, "requestId": "g-1", "text": "", "richText": lexical("Rename it", "please")},
            {"type": 2, "thinking": {"text": "hm"}, "text": ""},
            {"type": 2, "text": "", "toolFormerData": {"name": "edit_file", "rawArgs": '{"to": "b"}', "result": "{}"}},
            {"type": 2, "text": "Renamed."},
            {"type": 1, "text": "Thanks"},
        ],
    )
    database.session("c-2", [{"type": 1, "text": "Look"}], subagentInfo={"parentComposerId": "c-1"})
    database.session("c-3", [])
    report = Report()
    found = read(report)

    assert said(found) == [
        ("c-1", "user", "Rename it\nplease"),
        ("c-1", "assistant", "Renamed."),
        ("c-1", "user", "Thanks"),
    ]
    answer = f"cursor:c-1:g-1:{digest('Renamed.')[:16]}"
    assert [each.message["id"] for each in found] == ["cursor:c-1:g-1:user", answer, "cursor:c-1:b-4:user"]
    assert [each.run_id for each in found] == ["cursor:c-1:g-1", "cursor:c-1:g-1", "cursor:c-1:b-4"]
    assert found[1].message["timestamp"] == "2026-11-20T10:00:03.000+00:00"
    assert found[1].message["metadata"]["tools"] == ["edit_file"]
    assert found[1].message["metadata"]["project"] == PROJECT
    assert reasons(report) >= {"thinking", "sessions of subagents", "sessions without a message"}


def test_a_cursor_session_of_an_old_version_has_its_bubbles_inside_and_its_folder_elsewhere(machine: Machine) -> None:
    database = CursorDatabase(machine.home)
    bubbles = [
        {"type": 1, "bubbleId": "x", "text": "Hi", "timingInfo": {"clientRpcSendTime": 1_735_689_600_000}},
        {"type": 2, "bubbleId": "y", "text": "Hello", "timingInfo": {"clientRpcSendTime": 17.5}},
    ]
    database.session("c-1", [], conversation=bubbles, workspaceIdentifier=None, createdAt=1_735_000_000_000)
    database.workspace("/work/my shop", "c-1")
    found = read()

    assert said(found) == [("c-1", "user", "Hi"), ("c-1", "assistant", "Hello")]
    assert [each.message["metadata"]["cwd"] for each in found] == ["/work/my shop"] * 2
    assert [each.message["timestamp"] for each in found] == ["2025-01-01T00:00:00.000+00:00"] * 2


def test_what_cannot_be_read_is_named_and_the_rest_is_read(machine: Machine) -> None:
    transcript = ClaudeTranscript.of(machine.home, "s-1")
    transcript.user("Hello")
    gone = transcript.path.with_name("gone.jsonl")
    gone.symlink_to("/nowhere")
    database = CursorDatabase(machine.home)
    database.path.write_bytes(b"no database" * 100)
    report = Report()

    assert said(read(report)) == [("s-1", "user", "Hello")]
    assert {reason for kind, reason in report.counts if kind == "lost"} == {
        f"{gone} cannot be read: No such file or directory",
        f"{database.path} cannot be read: file is not a database",
    }


def test_sessions_are_chosen_by_folder_and_time_and_come_oldest_first(machine: Machine) -> None:
    def session(name: str, cwd: str, *days: str) -> None:
        transcript = ClaudeTranscript.of(machine.home, name)
        for day in days:
            transcript.user(f"{name} {day}", cwd=cwd, timestamp=f"2026-{day}T10:00:00.000Z")

    session("a-late", "/work/shop/api", "03-02", "11-02")
    session("b-early", "/work/shop", "02-01")
    session("c-other", "/work/shopping", "11-03")
    folders = {Path("/work/shop")}
    since = datetime(2026, 11, 1, tzinfo=UTC)

    assert [each.message["content"] for each in read(folders=folders)] == [
        "b-early 02-01",
        "a-late 03-02",
        "a-late 11-02",
    ]
    assert {each.session_id for each in read(since=since)} == {"a-late", "c-other"}
    assert {each.session_id for each in read(folders=folders, since=since)} == {"a-late"}


def test_a_session_of_opencode_keeps_what_was_typed_and_answered(machine: Machine) -> None:
    database = OpencodeDatabase(machine.home)
    database.session("ses_1")
    database.session("ses_2", parent="ses_1")
    database.user("ses_2", "Look for it")
    added = ({"synthetic": True}, {"ignored": True})
    typed = [{"type": "text", "text": text} for text in ("Which port?", "And which host?")]
    database.message("ses_1", "user", *typed, *({"type": "text", "text": "Added"} | mark for mark in added))
    state = {"status": "completed", "input": {"path": "a"}, "output": "PORT=1"}
    database.message("ses_1", "assistant", {"type": "tool", "tool": "read", "callID": "c-1", "state": state})
    database.assistant("ses_1", "Port 1 of localhost.")
    database.message("ses_1", "user", {"type": "compaction"})
    database.assistant("ses_1", "They talked of ports.", summary=True)
    database.message("ses_1", "user", {"type": "text", "text": "Continue", "synthetic": True})
    database.message("ses_1", "assistant", {"type": "reasoning", "text": "Hm."})
    database.assistant("ses_1", "Not yet sai", time={"created": database.START})
    report = Report()
    found = read(report)

    texts = [("ses_1", "user", "Which port?\n\nAnd which host?"), ("ses_1", "assistant", "Port 1 of localhost.")]
    assert said(found) == texts
    assert [each.message["id"] for each in found] == ["opencode:ses_1:msg_2", "opencode:ses_1:msg_4"]
    assert [each.run_id for each in found] == ["opencode:ses_1:msg_2"] * 2
    assert found[1].message["timestamp"] == "2026-11-20T10:00:04.000Z"
    about = {"agent": "opencode", "cwd": PROJECT, "project": PROJECT, "model": "claude-sonnet-4-5", "tools": ["read"]}
    assert found[1].message["metadata"] == about
    assert reasons(report) == {
        "sessions of subagents",
        "tool calls and results, unless --tools",
        "messages without text",
    }
    call, result = (each.message for each in read(tools=True)[1:3])
    assert call["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path": "a"}'}
    assert (result["tool_call_id"], result["content"]) == ("c-1", "PORT=1")


def test_an_answer_of_opencode_counts_once_it_is_complete_or_given_up(machine: Machine) -> None:
    database = OpencodeDatabase(machine.home)
    database.session("ses_1")
    database.user("ses_1", "One")
    unfinished = {"time": {"created": database.START}}
    given_up = database.assistant("ses_1", "A begi", **unfinished)
    place = None

    def texts() -> list[str]:
        nonlocal place
        found = list(messages_after(str(database.path), "ses_1", place))
        place = found[-1][0] if found else place
        return [entry["text"] for _, message in found for entry in opencode_entries(message, {})]

    assert texts() == ["One"]
    database.user("ses_1", "Two")
    answer = database.assistant("ses_1", "An answer", **unfinished)
    assert texts() == ["A begi", "Two"]
    database.complete(answer)
    assert texts() == ["An answer"]
    database.complete(given_up)
    assert texts() == []


def test_a_database_of_opencode_that_cannot_be_read_is_named(machine: Machine) -> None:
    database = OpencodeDatabase(machine.home)
    database.path.write_bytes(b"SQLite format 3" + bytes(200))
    report = Report()

    assert read(report) == []
    assert any(str(database.path) in reason for kind, reason in report.counts if kind == "lost")
