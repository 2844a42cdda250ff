"""The hook script as agents run it, against a served API."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from harness.coding_agents import (
    PATIENCE,
    PROJECT,
    TRANSCRIPTS,
    ClaudeTranscript,
    CodexTranscript,
    Machine,
    OpencodeDatabase,
    cursor_fields,
    shared_fields,
)
from harness.rows import each_row
from harness.secret_texts import TOKEN
from harness.served import Served
from harness.waiting import wait_until
from memorybase_client.coding_agents import capture, spool
from memorybase_client.coding_agents.events import FLOW, MAX_TEXT, now
from memorybase_client.coding_agents.files import locked, read_json
from memorybase_client.coding_agents.recall import HEADING

pytestmark = pytest.mark.slow

SECRET = "AKIAIOSFODNN7EXAMPLE"
AGENTS = list(TRANSCRIPTS)
OWN_IDS = {"claude-code": "00000000-0000-4000-8000-", "codex": "item-", "codex before 0.149": ""}


def stored(served: Served, session: str) -> list[tuple[str, str]]:
    """The captured messages of a session, oldest first."""
    return [(message["role"], message["content"]) for message in messages(served, session)]


def messages(served: Served, session: str) -> list[dict[str, Any]]:
    page = served.api.get("/messages", flow_id=FLOW, session_id=session, size=200)
    found: list[dict[str, Any]] = page["items"]
    return sorted(found, key=lambda message: message["seq"])


def session_of(machine: Machine, served: Served, kind: str, session: str = "s-1") -> Any:
    """An agent with hooks, and a new session's transcript."""
    machine.install(kind.partition(" ")[0], served.url, served.api.secret)
    return TRANSCRIPTS[kind](machine.home, session)


def stop(machine: Machine, transcript: Any, event: str = "Stop", **fields: Any) -> None:
    agent = "claude-code" if isinstance(transcript, ClaudeTranscript) else "codex"
    assert machine.run(agent, event, **shared_fields(transcript), **fields) == ""


def reply(machine: Machine, transcript: Any, text: str) -> None:
    """The agent says this and ends its turn."""
    transcript.assistant(text)
    stop(machine, transcript, last_assistant_message=text)
    machine.settle()


def pause(machine: Machine, transcript: Any, event: str) -> None:
    stop(machine, transcript, event, **{"PreCompact": {"trigger": "auto"}, "SessionEnd": {"reason": "other"}}[event])
    machine.settle()


@pytest.mark.parametrize("kind", AGENTS)
def test_a_session_is_captured_turn_by_turn(machine: Machine, served: Served, kind: str) -> None:
    transcript = session_of(machine, served, kind)
    agent = kind.partition(" ")[0]
    machine.run(agent, "SessionStart", **shared_fields(transcript), source="startup")
    machine.run(agent, "UserPromptSubmit", **shared_fields(transcript), prompt="Why does checkout fail?")
    transcript.user("Why does checkout fail?")
    transcript.tool("Bash", {"command": "env"}, f"AWS_KEY={SECRET}")
    transcript.assistant("The cart is empty.")
    stop(machine, transcript, stop_hook_active=False, last_assistant_message="The cart is empty.")
    machine.settle()
    first = stored(served, "s-1")
    transcript.user("Fix it.")
    transcript.assistant("I look at the cart first.")
    pause(machine, transcript, "PreCompact")
    in_turn = stored(served, "s-1")
    transcript.assistant("Fixed.")
    pause(machine, transcript, "SessionEnd")

    assert first == [("user", "Why does checkout fail?"), ("assistant", "The cart is empty.")]
    assert in_turn[2:] == [("user", "Fix it."), ("assistant", "I look at the cart first.")]
    assert stored(served, "s-1")[4:] == [("assistant", "Fixed.")]
    runs = [message["run_id"] for message in messages(served, "s-1")]
    assert [runs.index(run) for run in runs] == [0, 0, 2, 2, 2]  # a run is a turn
    ids = [message["external_id"] for message in messages(served, "s-1")]
    assert all(name.startswith(f"{agent}:s-1:{OWN_IDS[kind]}") for name in ids)
    metadata = messages(served, "s-1")[1]["metadata"]
    assert (metadata["agent"], metadata["cwd"], metadata["tools"]) == (agent, PROJECT, ["Bash"])
    assert metadata["model"] in ("claude-opus-4-7", "gpt-5.5")
    assert machine.status()[agent]["messages"] == 5


@pytest.mark.parametrize("kind", AGENTS)
def test_a_repeated_stop_stores_nothing_twice_without_its_place(machine: Machine, served: Served, kind: str) -> None:
    transcript = session_of(machine, served, kind)
    transcript.user("Yes")
    transcript.assistant("Done.")
    transcript.user("Yes")  # a genuine repetition is kept
    transcript.assistant("Done.")
    for _ in range(2):
        stop(machine, transcript, last_assistant_message="Done.")
        machine.settle()
    once = messages(served, "s-1")
    shutil.rmtree(machine.state / "transcripts")
    stop(machine, transcript, last_assistant_message="Done.")
    machine.settle()

    assert [message["content"] for message in once] == ["Yes", "Done.", "Yes", "Done."]
    assert messages(served, "s-1") == once


def test_a_transcript_whose_beginning_was_sent_posts_only_the_rest(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "claude-code")
    transcript.user("One")
    reply(machine, transcript, "1")
    written = transcript.path.read_text()  # what was read already is not read again: it would be other messages
    transcript.path.write_text(written.replace("00000000-0000-4000", "99999999-0000-4000"))
    transcript.user("Two")
    reply(machine, transcript, "2")

    assert [text for _, text in stored(served, "s-1")] == ["One", "1", "Two", "2"]


def test_only_what_was_said_is_captured_of_claude_code(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "claude-code")
    transcript.write({"type": "summary", "summary": "Earlier work", "leafUuid": "x"})
    transcript.write({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    transcript.user("Caveat: generated", isMeta=True)
    transcript.user("This session is being continued", isCompactSummary=True)
    transcript.user("<command-name>/clear</command-name>")
    transcript.user("<local-command-stdout>cleared</local-command-stdout>")
    transcript.user("Find the bug", isSidechain=True)
    transcript.assistant("API Error", isApiErrorMessage=True)
    thinking = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Really said."}]
    transcript.user("Really typed.<system-reminder>a reminder</system-reminder>")
    transcript.write(transcript.line("assistant", thinking))
    transcript.tool("Read", {"file_path": ".env"}, SECRET)
    for mode, prompt in (("prompt", "Also typed."), ("task-notification", "A task has ended")):  # while it was at work
        queued = {"type": "queued_command", "commandMode": mode, "prompt": prompt}
        transcript.write(transcript.line("attachment", None, attachment=queued, message=None))
    recalled = {"type": "hook_additional_context", "content": ["What these hooks recalled"]}
    transcript.write(transcript.line("attachment", None, attachment=recalled, message=None))
    stop(machine, transcript, last_assistant_message="Really said.")
    machine.settle()

    said = [("user", "Really typed."), ("assistant", "Really said."), ("user", "Also typed.")]
    assert stored(served, "s-1") == said


@pytest.mark.parametrize("kind", AGENTS)
def test_tool_results_are_captured_only_on_request(machine: Machine, served: Served, kind: str) -> None:
    transcript = session_of(machine, served, kind)
    machine.configure(tools=True)
    transcript.user("Run the tests")
    transcript.tool("Bash", {"command": "make test"}, "3 failed" + "!" * 10_000)
    reply(machine, transcript, "Three fail.")
    _, call, result, answer = messages(served, "s-1")

    assert [message["role"] for message in (call, result, answer)] == ["assistant", "tool", "assistant"]
    assert "make test" in call["tool_calls"][0]["function"]["arguments"]
    assert result["content"].startswith("3 failed!!!")
    assert len(result["content"]) < capture.MAX_RESULT + 20
    assert result["tool_call_id"] == call["tool_calls"][0]["id"]


def test_cursor_is_captured_from_what_its_events_say(machine: Machine, served: Served) -> None:
    machine.install("cursor", served.url, served.api.secret)
    asked = cursor_fields("c-1", "g-1")
    machine.run("cursor", "sessionStart", **asked, session_id="c-1", composer_mode="agent")
    printed = machine.run("cursor", "beforeSubmitPrompt", **asked, prompt="Rename it", attachments=[])
    for _ in range(2):  # an event that comes twice
        assert machine.run("cursor", "afterAgentResponse", **asked, text="Looking.") == ""
        machine.settle()
    machine.run("cursor", "afterAgentResponse", **asked, text="Renamed.")
    machine.run("cursor", "beforeSubmitPrompt", **cursor_fields("c-1", "g-2"), prompt="Thanks")
    for event in ("preCompact", "stop", "sessionEnd"):
        assert machine.run("cursor", event, **cursor_fields("c-1", "g-2"), status="completed") == ""
    machine.settle()

    assert json.loads(printed) == {"continue": True}
    texts = [("user", "Rename it"), ("assistant", "Looking."), ("assistant", "Renamed."), ("user", "Thanks")]
    assert stored(served, "c-1") == texts
    assert messages(served, "c-1")[1]["metadata"]["model"] == "gpt-5.5-medium"


def test_opencode_is_captured_from_its_database(machine: Machine, served: Served) -> None:
    machine.install("opencode", served.url, served.api.secret)
    database = OpencodeDatabase(machine.home)
    for session in ("ses_1", "ses_2"):
        database.session(session)
        database.user(session, f"What is {session}?")
        database.assistant(session, f"The session {session}.")
    database.session("ses_3", parent="ses_1")
    database.user("ses_3", "Look for it")
    machine.configure(url=f"http://127.0.0.1:{closed_port()}")
    for session in ("ses_1", "ses_2", "ses_1", "ses_3"):
        assert machine.run("opencode", "Stop", session_id=session, cwd=PROJECT) == ""
    machine.join()
    machine.configure(url=served.url)
    database.user("ses_2", "Thanks")
    machine.run("opencode", "Stop", session_id="ses_2", cwd=PROJECT)
    machine.settle()

    texts = {name: [("user", f"What is {name}?"), ("assistant", f"The session {name}.")] for name in ("ses_1", "ses_2")}
    assert stored(served, "ses_1") == texts["ses_1"]
    assert stored(served, "ses_2") == [*texts["ses_2"], ("user", "Thanks")]
    assert stored(served, "ses_3") == []


def test_opencode_recalls_at_the_first_prompt_of_a_session_and_not_of_a_resumed_one(
    machine: Machine, served: Served
) -> None:
    known = {"role": "user", "content": "The staging port is 6543", "metadata": {"project": PROJECT}}
    served.api.post(f"/flows/{FLOW}/runs", {"session_id": "s-old", "messages": [known]}, expect=201)
    machine.install("opencode", served.url, served.api.secret)
    now = {"session_id": "ses_1", "cwd": PROJECT}
    start, prompt = {"source": "startup"}, {"prompt": "staging port"}
    printed = [
        machine.run("opencode", "UserPromptSubmit" if "prompt" in event else "SessionStart", **now, **event)
        for event in (prompt, prompt, start, {"source": "compact"}, prompt)
    ]

    assert [HEADING in text and "6543" in text for text in printed] == [True, False, False, True, True]


def test_hooks_of_claude_code_do_nothing_inside_cursor_or_a_subagent(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "claude-code")
    transcript.user("Hello")
    transcript.assistant("Hi")
    said = {"last_assistant_message": "Hi"}
    stop(machine, transcript, cursor_version="3.9.16", **said)
    stop(machine, transcript, agent_id="agent-1", agent_type="Explore", **said)

    assert machine.spooled() == []
    assert not (machine.state / "lock").exists()  # no process was started


def test_a_forked_session_is_captured_whole_although_it_copies_ids(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "claude-code")
    transcript.user("Hello")
    reply(machine, transcript, "Hi")
    fork = ClaudeTranscript.of(machine.home, "s-fork")
    shutil.copy(transcript.path, fork.path)
    fork.lines = transcript.lines
    reply(machine, fork, "Another way")

    assert stored(served, "s-fork") == [*stored(served, "s-1"), ("assistant", "Another way")]
    assert len(stored(served, "s-1")) == 2


def test_a_line_that_is_being_written_is_captured_when_it_is_complete(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "claude-code")
    transcript.user("Hello")
    whole = json.dumps(transcript.line("assistant", [{"type": "text", "text": "Good morning"}]))
    with transcript.path.open("a") as file:
        file.write(whole[:100])
    pause(machine, transcript, "PreCompact")
    before = stored(served, "s-1")
    with transcript.path.open("a") as file:
        file.write(whole[100:] + "\n")
    stop(machine, transcript, last_assistant_message="Good morning")
    machine.settle()

    assert before == [("user", "Hello")]
    assert stored(served, "s-1") == [("user", "Hello"), ("assistant", "Good morning")]


@pytest.mark.parametrize("kind", AGENTS)
def test_an_answer_written_after_the_stop_hook_is_captured(machine: Machine, served: Served, kind: str) -> None:
    machine.config = {"flush_seconds": PATIENCE}
    transcript = session_of(machine, served, kind)
    transcript.user("Hello")
    stop(machine, transcript, last_assistant_message="Late, but here")
    wait_until(lambda: stored(served, "s-1") == [("user", "Hello")], PATIENCE, "the background process has started")
    transcript.assistant("Late, but here")
    machine.settle()

    assert stored(served, "s-1")[1:] == [("assistant", "Late, but here")]


def test_capturing_outlives_the_agent(machine: Machine, served: Served) -> None:
    """An agent that ends kills what it started: its process group."""
    machine.config = {"flush_seconds": PATIENCE}
    transcript = session_of(machine, served, "claude-code")
    transcript.user("Hello")
    event = {"hook_event_name": "Stop", **shared_fields(transcript), "last_assistant_message": "Bye"}
    command = ["/bin/sh", "-c", machine.command("claude-code", "Stop")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as agent:
        agent.communicate(json.dumps(event).encode(), timeout=PATIENCE)
    wait_until(lambda: stored(served, "s-1") == [("user", "Hello")], PATIENCE, "the background process has started")
    with suppress(ProcessLookupError):
        os.killpg(agent.pid, signal.SIGKILL)
    transcript.assistant("Bye")
    machine.settle()

    assert stored(served, "s-1")[1:] == [("assistant", "Bye")]


def test_a_huge_transcript_is_sent_in_bounded_parts(machine: Machine, served: Served) -> None:
    """The API of this test takes 50 messages and 200,000 bytes at once."""
    transcript = session_of(machine, served, "claude-code")
    transcript.user("Begin")
    transcript.tool("Read", {}, "x" * (capture.MAX_LINE_BYTES + 10))  # longer than a line that is read
    for number in range(120):
        transcript.assistant(f"{number} " + "word " * 600)
    transcript.assistant("long " * 10_000)
    pause(machine, transcript, "SessionEnd")
    texts = [text for _, text in stored(served, "s-1")]

    assert [text.split()[0] for text in texts] == ["Begin", *map(str, range(120)), "long"]
    assert texts[-1].endswith("[cut off]")
    assert len(texts[-1]) < MAX_TEXT + 20


def test_a_message_that_memory_refuses_does_not_keep_the_others(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "claude-code")
    transcript.user("One")
    transcript.assistant("字" * 30_000)  # more bytes than this API takes in one message
    transcript.assistant("Two \ud800\x00")  # text that no database stores
    pause(machine, transcript, "SessionEnd")
    again = served.api.get("/messages", flow_id=FLOW, session_id="s-1")["total"]

    assert stored(served, "s-1") == [("user", "One"), ("assistant", "Two ?")]
    assert again == machine.status()["claude-code"]["messages"] == 2
    assert machine.status()["claude-code"]["error"] == "memory answered 422 invalid_request"


def test_a_run_that_memory_refuses_is_reported_and_does_not_keep_the_session(machine: Machine, served: Served) -> None:
    served.api.patch(f"/flows/{FLOW}", {"secrets": "refuse"})
    transcript = session_of(machine, served, "claude-code")
    transcript.user(f"The key is {TOKEN}")  # and the user interrupts
    transcript.user("Hello")
    reply(machine, transcript, "Hi")
    status = machine.status()["claude-code"]
    transcript.user("Again")
    pause(machine, transcript, "SessionEnd")

    assert status["error"] == "memory answered 422 secret_refused"
    assert status["messages"] == 2
    assert stored(served, "s-1") == [("user", "Hello"), ("assistant", "Hi"), ("user", "Again")]
    assert "error" not in machine.status()["claude-code"]


# Recall


def test_a_prompt_recalls_other_sessions_and_a_start_the_project(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "codex", "s-old")
    transcript.user("Which port has the staging database?")
    reply(machine, transcript, "The staging database of shop listens on port 6543.")
    now = {"session_id": "s-new", "transcript_path": None, "cwd": PROJECT}
    prompted = machine.run("codex", "UserPromptSubmit", **now, prompt="What port does the staging database have?")
    started = machine.run("codex", "SessionStart", **now, source="startup")
    elsewhere = machine.run("codex", "SessionStart", **{**now, "cwd": "/work/other"}, source="startup")
    itself = machine.run("codex", "UserPromptSubmit", **{**now, "session_id": "s-old"}, prompt="staging database port")
    command = machine.run("codex", "UserPromptSubmit", **now, prompt="/compact the staging database")

    answer = json.loads(prompted)["hookSpecificOutput"]
    assert answer["hookEventName"] == "UserPromptSubmit"
    assert answer["additionalContext"].startswith(HEADING)
    assert "port 6543" in answer["additionalContext"]
    assert "port 6543" in json.loads(started)["hookSpecificOutput"]["additionalContext"]
    assert (elsewhere, itself, command) == ("", "", "")


@pytest.mark.parametrize("kind", AGENTS)
def test_what_was_recalled_is_recorded_with_its_turn(
    machine: Machine, served: Served, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = session_of(machine, served, kind, "s-old")
    machine.configure(recall="each")
    old.user("Which port has the staging database?")
    reply(machine, old, "The staging database of shop listens on port 6543.")
    monkeypatch.setattr(type(old), "moment", lambda _: now())
    transcript, agent = TRANSCRIPTS[kind](machine.home, "s-new"), kind.partition(" ")[0]
    shown = [machine.run(agent, "SessionStart", **shared_fields(transcript), source="startup")]
    for prompt in ("Hi", "What port does the staging database have?", "And the production database?"):
        if prompt.startswith("And"):
            blocked = "Which port has the staging database?"  # by another hook: the transcript does not have it
            assert machine.run(agent, "UserPromptSubmit", **shared_fields(transcript), prompt=blocked) != ""
            shown.append(machine.run(agent, "SessionStart", **shared_fields(transcript), source="compact"))
        # For so short a prompt as the first nothing is recalled.
        shown.append(machine.run(agent, "UserPromptSubmit", **shared_fields(transcript), prompt=prompt))
        transcript.user(prompt)
        transcript.assistant(f"I look for it: {prompt}")
    stop(machine, transcript, last_assistant_message="I look for it: And the production database?")
    machine.settle()

    runs = dict.fromkeys(message["run_id"] for message in messages(served, "s-new"))
    nodes = [served.api.get(f"/flows/{FLOW}/runs/{run}/memory")["nodes"] for run in runs]
    assert [[node["node_id"] for node in each] for each in nodes] == [
        ["SessionStart"],
        ["UserPromptSubmit"],
        ["SessionStart", "UserPromptSubmit"],
    ]
    given = [node["messages"][0]["content"] for each in nodes for node in each]
    assert given == [json.loads(each)["hookSpecificOutput"]["additionalContext"] for each in shown if each]
    assert all(node["sources"][0]["message_ids"] for each in nodes for node in each)
    assert not list((machine.state / "given").iterdir())


def test_cursor_recalls_at_the_start_of_a_session(machine: Machine, served: Served) -> None:
    machine.install("cursor", served.url, served.api.secret)
    old = cursor_fields("c-old", "g-1")
    machine.run("cursor", "beforeSubmitPrompt", **old, prompt="The shop uses tabs.")
    machine.run("cursor", "stop", **old, status="completed")
    machine.settle()
    started = machine.run("cursor", "sessionStart", **cursor_fields("c-new", ""), session_id="c-new")
    machine.configure(recall="off")
    silent = machine.run("cursor", "sessionStart", **cursor_fields("c-other", ""), session_id="c-other")

    assert silent == ""
    assert "The shop uses tabs." in json.loads(started)["additional_context"]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_the_mode_says_when_memories_come(machine: Machine, served: Served, agent: str) -> None:
    old = session_of(machine, served, agent, "s-old")
    old.user("Which port has the staging database?")
    reply(machine, old, "The staging database of shop listens on port 6543.")
    prompts = [{"prompt": "staging port"}, {"prompt": "production port"}]
    events: list[dict[str, Any]] = [{"source": "startup"}, *prompts, {"source": "compact"}, *prompts]
    shown = {}
    for mode in ("first", "each", "off"):
        machine.configure(recall=mode)
        now = {"session_id": f"s-{mode}", "cwd": PROJECT}
        kinds = ["UserPromptSubmit" if "prompt" in event else "SessionStart" for event in events]
        printed = [machine.run(agent, kind, **now, **event) for kind, event in zip(kinds, events, strict=True)]
        shown[mode] = ["6543" in text for text in printed]

    assert shown["first"] == [True, True, False, True, True, False]
    assert shown["each"] == [True] * 6
    assert shown["off"] == [False] * 6


def test_the_first_prompt_is_the_first_one_that_was_searched_for(machine: Machine, served: Served) -> None:
    served.api.capture("The staging port is 6543", flow=FLOW, session="s-old")
    machine.install("codex", served.url, served.api.secret)
    machine.configure(url=f"http://127.0.0.1:{closed_port()}")
    now = {"session_id": "s-new", "cwd": PROJECT}
    away = machine.run("codex", "UserPromptSubmit", **now, prompt="staging port")
    machine.configure(url=served.url)
    early = [machine.run("codex", "UserPromptSubmit", **now, prompt=prompt) for prompt in ("/status", "Hi")]
    first = machine.run("codex", "UserPromptSubmit", **now, prompt="staging port")
    later = machine.run("codex", "UserPromptSubmit", **now, prompt="staging port")

    assert [away, *early, later] == ["", "", "", ""]
    assert "6543" in first


def test_without_the_vector_store_words_are_recalled(machine: Machine, served: Served) -> None:
    served.api.capture("The staging port is 6543", flow=FLOW, session="s-old")
    machine.install("codex", served.url, served.api.secret)
    served.api.vectors.away = True

    assert "6543" in machine.run("codex", "UserPromptSubmit", session_id="s-new", cwd=PROJECT, prompt="staging port")


def test_an_edit_made_in_memory_stays(machine: Machine, served: Served) -> None:
    transcript = session_of(machine, served, "claude-code")
    transcript.user("My password is hunter2")
    pause(machine, transcript, "PreCompact")
    (message,) = messages(served, "s-1")
    served.api.patch(f"/messages/{message['id']}", {"content": "My password is [removed]"})
    shutil.rmtree(machine.state / "transcripts")
    reply(machine, transcript, "Change it.")

    assert stored(served, "s-1") == [("user", "My password is [removed]"), ("assistant", "Change it.")]


def test_a_line_that_reads_otherwise_later_is_no_conflict(machine: Machine, served: Served) -> None:
    """As when another version of the hooks cuts a text elsewhere."""
    transcript = session_of(machine, served, "claude-code")
    transcript.user("Hello")
    pause(machine, transcript, "PreCompact")
    shutil.rmtree(machine.state / "transcripts")
    transcript.path.write_text(transcript.path.read_text().replace("Hello", "Hello there"))
    reply(machine, transcript, "Hi")

    assert stored(served, "s-1") == [("user", "Hello"), ("assistant", "Hi")]


def test_recall_is_limited_to_the_end_user(machine: Machine, served: Served) -> None:
    served.api.capture("The staging port is 6543", flow=FLOW, session="s-old", end_user_id="bob")
    machine.install("codex", served.url, served.api.secret, end_user="ann", recall="each")
    now = {"session_id": "s-new", "cwd": PROJECT, "prompt": "staging port"}

    assert machine.run("codex", "UserPromptSubmit", **now) == ""
    machine.configure(end_user="bob")
    assert "6543" in machine.run("codex", "UserPromptSubmit", **now)


# Memory is away


def closed_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def endless_server() -> Iterator[str]:
    """A server that sends a byte now and then and never ends its answer, so that no time limit of a read applies."""
    ended = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)

    def serve() -> None:
        clients: list[socket.socket] = []
        while not ended.wait(0.05):
            with suppress(TimeoutError):
                clients.append(listener.accept()[0])
                clients[-1].sendall(b"HTTP/1.1 200 OK\r\nX: ")
            for client in clients:
                with suppress(OSError):  # it has gone
                    client.sendall(b"x")
        for client in clients:
            client.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        thread.join()
        listener.close()


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_hook_ends_in_silence_while_memory_never_ends_its_answer(machine: Machine, agent: str) -> None:
    """The server outlives the hooks: without the deadline this test would not end."""
    with endless_server() as url:
        machine.config = {"deadline_seconds": 0.5}
        machine.install(agent, url, "key")
        transcript = TRANSCRIPTS[agent](machine.home, "s-1")
        transcript.user("Hello")
        fields = shared_fields(transcript)

        assert machine.run(agent, "SessionStart", **fields, source="startup") == ""
        assert machine.run(agent, "UserPromptSubmit", **fields, prompt="Where is the port?") == ""
        machine.configure(deadline_seconds=PATIENCE, request_seconds=0.5)
        assert machine.run(agent, "Stop", **fields, last_assistant_message=None) == ""
        assert len(machine.spooled()) == 1
    wait_until(lambda: "error" in machine.status().get(agent, {}), PATIENCE, "the background process gave up")
    assert len(machine.spooled()) == 1


def test_a_hook_ends_although_the_agent_never_closes_its_input(machine: Machine) -> None:
    machine.install("codex", f"http://127.0.0.1:{closed_port()}", "key")
    machine.configure(deadline_seconds=0.5)
    command = ["/bin/sh", "-c", machine.command("codex", "UserPromptSubmit")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(PATIENCE) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""


@pytest.mark.parametrize("kind", AGENTS)
def test_what_was_said_while_memory_was_away_is_captured_later(machine: Machine, served: Served, kind: str) -> None:
    agent = kind.partition(" ")[0]
    machine.install(agent, f"http://127.0.0.1:{closed_port()}", served.api.secret)
    transcript = TRANSCRIPTS[kind](machine.home, "s-1")
    assert machine.run(agent, "UserPromptSubmit", **shared_fields(transcript), prompt="Where is the port?") == ""
    transcript.user("Hello")
    transcript.assistant("Hi")
    stop(machine, transcript, last_assistant_message="Hi")
    wait_until(lambda: "error" in machine.status().get(agent, {}), PATIENCE, "the background process gave up")
    machine.join()
    modes = [path.stat().st_mode & 0o777 for path in machine.spooled()]
    machine.configure(url=served.url)
    machine.run(agent, "SessionStart", session_id="s-2", cwd=PROJECT, source="startup")
    machine.settle()

    assert modes == [0o600]
    assert stored(served, "s-1") == [("user", "Hello"), ("assistant", "Hi")]
    assert "error" not in machine.status()[agent]


def test_a_wrong_key_keeps_what_was_said(machine: Machine, served: Served) -> None:
    machine.install("claude-code", served.url, "wrong")
    transcript = ClaudeTranscript.of(machine.home, "s-1")
    transcript.user("Hello")
    stop(machine, transcript, "SessionEnd", reason="other")
    wait_until(lambda: "error" in machine.status().get("claude-code", {}), PATIENCE, "memory refused the key")
    machine.join()

    assert "401" in machine.status()["claude-code"]["error"]
    assert len(machine.spooled()) == 1


def test_an_unknown_format_is_reported(machine: Machine, served: Served) -> None:
    machine.config = {"flush_seconds": 0.0}
    transcript = session_of(machine, served, "claude-code")
    transcript.write({"kind": "something new", "text": "Hello"})
    stop(machine, transcript, last_assistant_message="Hi")
    machine.settle()

    assert "no message was recognized" in machine.status()["claude-code"]["error"]


@each_row("sent", ["", "not JSON", "[]", '{"hook_event_name": 7}', '{"hook_event_name": "Stop"}'])
def test_any_input_ends_in_silence(machine: Machine, sent: str) -> None:
    machine.install("codex", f"http://127.0.0.1:{closed_port()}", "key")

    assert machine.start("codex", "Stop", sent) == ""


def test_a_missing_configuration_or_script_never_stops_the_agent(machine: Machine) -> None:
    machine.install("codex", f"http://127.0.0.1:{closed_port()}", "key")
    settings = machine.home / ".codex/hooks.json"
    (machine.home / ".config/memorybase/hooks.json").unlink()
    without_configuration = machine.start("codex", "Stop", "{}")
    settings.write_text(settings.read_text().replace("/hook.py", "/gone.py"))
    command = machine.command("codex", "Stop")
    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", capture_output=True, check=False)

    assert without_configuration == ""
    assert (done.returncode, done.stdout) == (0, b"")


def test_only_one_process_sends_at_a_time(machine: Machine, served: Served) -> None:
    """A second one leaves the work to the first, which looks again after it released the lock."""
    transcript = session_of(machine, served, "claude-code")
    transcript.user("Hello")
    lock = machine.state / "lock"
    with locked(str(lock)) as held:
        assert held
        with locked(str(lock)) as second:
            assert not second
    for _ in range(5):
        pause(machine, transcript, "PreCompact")

    assert stored(served, "s-1") == [("user", "Hello")]


def test_the_oldest_events_are_given_up_when_too_many_wait(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MAX_FILES", 3)
    config = {"spool": str(machine.state / "spool"), "state_dir": str(machine.state)}
    for number in range(5):
        spool.spool(config, {"agent": "codex", "number": number})

    assert [read_json(path)["number"] for path in spool.waiting(config)] == [2, 3, 4]
    assert len(machine.spooled()) == 3


def test_a_codex_session_without_a_word_is_no_error(machine: Machine, served: Served) -> None:
    machine.install("codex", served.url, served.api.secret)
    transcript = CodexTranscript(machine.home / "none.jsonl", "s-1")
    pause(machine, transcript, "SessionEnd")

    assert "error" not in machine.status()["codex"]
