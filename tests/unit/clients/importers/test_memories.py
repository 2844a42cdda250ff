"""mem0, Letta, Zep and agent-memory-server: systems that keep memories beside messages."""

from __future__ import annotations

import json
from typing import Any

from harness import exports
from harness.exports import Json
from harness.rows import each_row
from memorybase_client.importers import agent_memory_server, letta, mem0, zep
from memorybase_client.importers.records import RawRecord, Report
from memorybase_client.importers.runs import Part, runs_of

from memorybase.cli.import_runs import check


def parts_of(system: Any, *values: Any, report: Report | None = None) -> list[Part]:
    report = report or Report()
    records = [RawRecord(f"f.json[{n}]", value, "f") for n, value in enumerate(values)]
    return list(runs_of(system.read(records, report), flow="flow", into_one_flow=False, report=report, check=check))


def messages_of(system: Any, *values: Any, report: Report | None = None) -> list[Json]:
    return [message for part in parts_of(system, *values, report=report) for message in part.messages]


class TestMem0:
    def test_memories_are_sorted_and_its_scope_is_the_session(self) -> None:
        parts = parts_of(mem0, exports.mem0())
        assert [(part.session_id, part.end_user_id, [each["content"] for each in part.messages]) for part in parts] == [
            ("ada/r1", "ada", ["I live in Riga", "Noted."]),
            ("ada", "ada", ["Lives in Riga"]),
            ("ada/cook", "ada", ["Allergic to nuts"]),
        ]

    def test_a_message_keeps_its_role_and_a_memory_is_an_answer(self) -> None:
        said, _, fact, _ = messages_of(mem0, exports.mem0())
        assert (said["role"], said["sender_name"], said["metadata"]) == ("user", "Ada", {"run_id": "r1"})
        assert (fact["role"], fact["metadata"]) == ("assistant", {"topic": "home", "categories": ["places"]})

    def test_a_list_and_lines_are_read_like_the_answer(self) -> None:
        assert parts_of(mem0, *exports.mem0()["results"]) == [
            Part(
                part.flow,
                None,
                part.session_id,
                part.end_user_id,
                part.run_id,
                {},
                part.messages,
                tuple(place.replace("[0].results", "") for place in part.places),
            )
            for part in parts_of(mem0, exports.mem0())
        ]

    @each_row("memory", [None, {}, {"id": "m"}, {"id": "m", "memory": " "}, {"id": 3, "memory": "x"}])
    def test_an_odd_memory_is_reported_and_the_others_are_kept(self, memory: Any) -> None:
        report = Report()
        kept = {"id": "kept", "memory": "x", "created_at": "never"}
        (part,) = parts_of(mem0, {"results": [memory, kept]}, report=report)
        assert (part.session_id, part.messages[0]["id"]) == ("memories", "kept")
        assert (report.total("lost"), report.total("changed")) == (1, 1)


class TestLetta:
    def test_answers_are_what_the_agent_sent_and_results_are_unpacked(self) -> None:
        messages = messages_of(letta, exports.letta())
        assert [(each["role"], each["content"]) for each in messages] == [
            ("system", "You are the harbour."),
            ("user", "Where is my boat?"),
            ("assistant", "I have to look."),
            ("tool", "berth 12"),
            ("assistant", "At berth 12."),
            ("user", "Thanks"),
            ("assistant", "Ada has a boat."),
        ]
        assert (messages[2]["is_output"], messages[3]["tool_call_id"]) == (False, "c-1")
        assert "tool_calls" not in messages[4]
        assert messages[6]["metadata"] == {"label": "human", "description": "The person"}

    def test_ids_stay_when_a_later_file_counts_anew(self) -> None:
        later = exports.letta()
        later["agents"][0]["messages"] = later["agents"][0]["messages"][3:]
        for number, message in enumerate(later["agents"][0]["messages"]):
            message["id"] = f"message-{number}"
        first = [message["id"] for message in messages_of(letta, exports.letta())]
        assert [message["id"] for message in messages_of(letta, later)][-3:] == first[-3:]

    def test_genuine_repeats_are_kept(self) -> None:
        same = {"role": "user", "content": "yes", "created_at": "2026-03-01T10:00:00Z"}
        ids = [message["id"] for message in messages_of(letta, {"name": "a", "messages": [same, same]})]
        assert len(set(ids)) == 2

    def test_a_users_json_is_no_event(self) -> None:
        text = json.dumps({"type": "order", "message": "two boats"})
        (message,) = messages_of(letta, {"name": "a", "messages": [{"role": "user", "content": text}]})
        assert message["content"] == text

    def test_a_failed_tool_and_an_approval(self) -> None:
        call = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
        failed = json.dumps({"status": "Failed", "message": "no money"})
        report = Report()
        asked, result = messages_of(
            letta,
            {
                "name": "a",
                "messages": [
                    {"role": "approval", "content": [], "tool_calls": [call]},
                    {"role": "approval", "approve": True},
                    {"role": "tool", "content": failed, "tool_call_id": "c"},
                ],
            },
            report=report,
        )
        assert (asked["role"], asked["content"], asked["is_output"]) == ("assistant", None, False)
        assert (result["status"], result["content"]) == ("failed", "no money")
        assert report.total("skipped") == 1

    @each_row("document", [None, {}, {"agents": 3}, {"agents": [{}]}, {"agents": [None]}, {"messages": [], "name": ""}])
    def test_an_odd_file_is_reported(self, document: Any) -> None:
        report = Report()
        assert len(messages_of(letta, document, exports.letta(), report=report)) == 7
        assert (report.total("lost"), report.total("skipped")) == (1, 1)  # the second is the heartbeat of the sample

    @each_row("message", [None, {}, {"role": "summary", "content": "x"}, {"role": "user", "content": []}])
    def test_an_odd_message_is_reported(self, message: Any) -> None:
        report = Report()
        kept = {"role": "user", "content": "kept"}
        assert len(messages_of(letta, {"name": "a", "messages": [message, kept]}, report=report)) == 1
        assert report.total("skipped") == 1

    def test_each_result_of_calls_in_parallel_and_of_the_client_is_a_message(self) -> None:
        texts = [{"type": "text", "text": text} for text in ('{"status": "OK", "message": "apples"}', "pears")]
        returns = [{"tool_call_id": "c1", "status": "success"}, {"tool_call_id": "c2", "status": "error"}]
        parallel = {"role": "tool", "content": texts, "tool_returns": returns, "tool_call_id": "c1"}
        approval = {"type": "tool", "tool_call_id": "c3", "tool_return": "plums", "status": "success"}
        decided = {"role": "approval", "content": [], "approvals": [approval]}
        messages = messages_of(letta, {"name": "a", "messages": [parallel, decided]})
        assert [(each["tool_call_id"], each["content"], each.get("status")) for each in messages] == [
            ("c1", "apples", None),
            ("c2", "pears", "failed"),
            ("c3", "plums", None),
        ]

    def test_results_without_ids_of_their_own_answer_the_calls_in_order(self) -> None:
        calls = [{"id": each, "type": "function", "function": {"name": "buy", "arguments": "{}"}} for each in "ab"]
        texts = [
            {"type": "text", "text": json.dumps({"status": "OK", "message": each})} for each in ("apples", "pears")
        ]
        messages = [
            {"role": "assistant", "content": [], "tool_calls": calls},
            {"role": "tool", "content": texts, "tool_call_id": "a"},
        ]
        _, *results = messages_of(letta, {"name": "x", "messages": messages})
        assert [(each["tool_call_id"], each["content"]) for each in results] == [("a", "apples"), ("b", "pears")]

    def test_the_text_of_a_result_may_be_in_its_return_alone(self) -> None:
        returned = {"tool_call_id": "a", "func_response": [{"type": "text", "text": "apples"}]}
        message = {"role": "tool", "content": [], "tool_returns": [returned]}
        (result,) = messages_of(letta, {"name": "x", "messages": [message]})
        assert (result["tool_call_id"], result["content"]) == ("a", "apples")


class TestZep:
    def test_a_file_is_a_thread_unless_its_messages_name_theirs(self) -> None:
        message = {"uuid": "u", "role": "user", "content": "x"}
        sessions = [
            parts_of(zep, value)[0].session_id
            for value in (
                {"messages": [message]},
                {"messages": [message], "thread_id": "t"},
                message,
                {"messages": [message | {"thread_uuid": "t2"}], "uuid": "t"},
            )
        ]
        assert sessions == ["f", "t", "f", "t2"]

    @each_row(
        ("fields", "role", "name"),
        [
            ({"role": "user", "name": "Ada"}, "user", "Ada"),
            ({"role": "Ada", "role_type": "user"}, "user", "Ada"),
            ({"role": "function"}, "tool", None),
            ({"role_type": "norole"}, "user", None),
            ({"graph_uuid": "g", "role_name": "Ada", "name": "title"}, "user", "Ada"),
        ],
    )
    def test_roles_and_names_of_every_version(self, fields: Json, role: str, name: str | None) -> None:
        (message,) = messages_of(zep, {"items": [{"uuid": "u", "content": "x", **fields}]})
        assert (message["role"], message.get("sender_name")) == (role, name)

    @each_row(
        "item",
        [
            None,
            {},
            {"uuid": "u", "role": "user"},
            {"uuid": "u", "content": "x"},
            {"uuid": "u", "content": "x", "role": "judge"},
            {"uuid": "u", "content": "x", "role": 3},
        ],
    )
    def test_an_odd_message_is_reported_and_the_others_are_kept(self, item: Any) -> None:
        report = Report()
        kept = {"uuid": "kept", "role": "user", "content": "x"}
        assert [message["id"] for message in messages_of(zep, {"items": [item, kept]}, report=report)] == ["kept"]
        assert report.total("lost") == 1


class TestAgentMemoryServer:
    @each_row("document", [None, {}, {"sessions": 1, "total": 1}, {"messages": 3}])
    def test_other_answers_are_reported(self, document: Any) -> None:
        report = Report()
        assert parts_of(agent_memory_server, document, report=report) == []
        assert report.total("lost") == 1

    @each_row(
        "document",
        [
            {"messages": [None, {"id": "kept", "role": "user", "content": "x"}]},
            {"messages": [{"role": "user", "content": "x"}, {"id": "kept", "role": "user", "content": "x"}]},
            {
                "messages": [
                    {"id": "m", "role": "robot", "content": "x"},
                    {"id": "kept", "role": "user", "content": "x"},
                ]
            },
            {"messages": None, "memories": [{"id": "m"}, {"id": "kept", "text": "x"}]},
        ],
    )
    def test_an_odd_record_is_reported_and_the_others_are_kept(self, document: Json) -> None:
        report = Report()
        (message,) = messages_of(agent_memory_server, document, report=report)
        assert message["id"].endswith(":kept")
        assert report.total("lost") == 1
