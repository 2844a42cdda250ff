from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from harness.exports import Json
from harness.rows import each_row
from memorybase_client import errors as client_errors
from memorybase_client._ids import MAX_ID_CHARS
from memorybase_client.importers import records, runs
from memorybase_client.importers.records import EXAMPLES, MAX_PROBLEMS, Found, Problem, Report
from memorybase_client.importers.runs import Part, runs_of

from memorybase.cli.import_runs import check
from memorybase.core import errors, messages
from memorybase.core.import_export import conversation_files
from memorybase.core.models import ID_LENGTH, NAME_LENGTH

TIME = "2026-01-01T00:00:00Z"


def found(message_id: str = "m", role: str = "user", content: Any = "hello", session: str = "s", **more: Any) -> Found:
    of_found = {name: more.pop(name) for name in ("flow", "end_user_id", "run", "dropped") if name in more}
    message = {"id": message_id, "role": role, "content": content, "timestamp": TIME, **more}
    return Found(f"at {message_id}", session, message, **of_found)


def parts_of(
    *all_found: Found, report: Report | None = None, flow: str = "f", into_one_flow: bool = False
) -> list[Part]:
    return list(runs_of(all_found, flow=flow, into_one_flow=into_one_flow, report=report or Report(), check=check))


def ids(part: Part) -> list[str]:
    return [message["id"] for message in part.messages]


class TestRuns:
    def test_a_run_begins_at_each_user_message_and_is_named_after_it(self) -> None:
        parts = parts_of(found("0", "assistant"), found("1"), found("2", "assistant"), found("3"))
        assert [(part.run_id, ids(part)) for part in parts] == [("s#0", ["0"]), ("s#1", ["1", "2"]), ("s#3", ["3"])]

    def test_sessions_may_alternate(self) -> None:
        parts = parts_of(found("1"), found("2", session="t"), found("3", "assistant"), found("4", "tool", session="t"))
        assert [(part.run_id, ids(part)) for part in parts] == [
            ("s#1", ["1"]),
            ("t#2", ["2"]),
            ("s#1", ["3"]),
            ("t#2", ["4"]),
        ]

    def test_a_long_run_has_several_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(runs, "MESSAGES_PER_PART", 2)
        parts = parts_of(*(found(str(n), "assistant") for n in range(5)))
        assert [(part.run_id, len(part.messages)) for part in parts] == [("s#0", 2), ("s#0", 2), ("s#0", 1)]
        monkeypatch.setattr(runs, "PART_BYTES", 1)
        assert [len(part.messages) for part in parts_of(found("1", run="r"), found("2", run="r"))] == [1, 1]

    def test_given_runs_flows_and_end_users_are_kept(self) -> None:
        one, two = parts_of(found("1", run="r", end_user_id="ada"), found("2", flow="g"))
        assert (one.flow, one.run_id, one.end_user_id) == ("f", "s#r", "ada")
        assert (two.flow, two.end_user_id) == ("g", None)
        assert parts_of(found(flow="g"), flow="mine", into_one_flow=True)[0].flow == "mine"

    def test_long_ids_are_replaced_by_their_hash_and_that_is_reported(self) -> None:
        report = Report()
        long = "x" * 129
        (part,) = parts_of(found(long, session=long), report=report)
        assert {len(part.session_id), len(part.run_id), len(part.messages[0]["id"])} == {64}
        assert report.total("changed") == 1
        assert parts_of(found(long, session=long)) == [part]

    def test_parents_pass_over_what_is_left_out(self) -> None:
        (one,) = parts_of(
            found("1", parent_message_id=None),
            found("2", "assistant", dropped=True, parent_message_id="1"),
            found("3", "assistant", None, parent_message_id="2"),
            found("4", "assistant", parent_message_id="3"),
        )
        assert [message["parent_message_id"] for message in one.messages] == [None, "1"]


class TestOddMessages:
    @each_row(
        ("odd", "field"),
        [
            (found(content=None), None),
            (found(content=3), "content"),
            (found(role="bot"), "role"),
            (found(content=""), None),
            (found(content=[]), None),
            (found(content=[{"text": "no type"}]), "content[0]"),
            (found(metadata=[1]), "metadata"),
            (found(metadata={"x": float("nan")}), "metadata"),
            (found(session=" "), "session_id"),
        ],
    )
    def test_it_is_reported_with_its_field_and_the_others_are_kept(self, odd: Found, field: str | None) -> None:
        report = Report()
        assert [ids(part) for part in parts_of(odd, found("good"), report=report)] == [["good"]]
        ((problem,),) = report.examples.values()
        # Only what says nothing is left out on purpose.
        kind = "skipped" if odd.message["content"] in (None, "", []) else "lost"
        assert (problem.kind, problem.where, problem.field) == (kind, "at m", field)

    def test_a_message_that_is_too_large_is_reported_with_the_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(conversation_files, "MAX_MESSAGE_BYTES", 100)
        report = Report()
        assert parts_of(found(content="x" * 100), report=report) == []
        ((problem,),) = report.examples.values()
        assert problem.limit == 100
        assert problem.value > 100

    def test_files_or_tool_calls_are_enough(self) -> None:
        calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        assert len(parts_of(found("1", content="", files=[{"name": "a.png"}]))) == 1
        assert len(parts_of(found("2", "assistant", None, tool_calls=calls))) == 1

    @each_row(
        ("odd", "field", "kept"),
        [
            ({"timestamp": "yesterday"}, "timestamp", None),
            ({"timestamp": None}, "timestamp", None),
            ({"timestamp": -1}, "timestamp", None),
            ({"sender_name": "n" * 201}, "sender_name", "n" * 200),
            ({"content": "a\x00b"}, "content", "a\ufffdb"),
            ({"content": "a\ud83d"}, "content", "a\ufffd"),
            ({"content": "\ud83d\ude00"}, "content", "\U0001f600"),
            ({"metadata": {"k\x00": ["\x00"]}}, "metadata", {"k\ufffd": ["\ufffd"]}),
        ],
    )
    def test_what_can_be_repaired_is_imported_and_reported(self, odd: Json, field: str, kept: Any) -> None:
        report = Report()
        (part,) = parts_of(found(**odd), report=report)
        assert part.messages[0].get(field) == kept
        assert (report.total("changed"), report.total("skipped")) == (1, 0)


class TestReport:
    def test_it_counts_all_and_keeps_a_few(self) -> None:
        all_of_them: list[Problem] = []
        report = Report(all_of_them.append)
        for n in range(10):
            report.skip(f"[{n}]", f"content[{n}] must be a string", field="content", value="v" * 1_000)
        assert report.counts == {("skipped", "content[] must be a string"): 10}
        assert (len(report.examples["skipped", "content[] must be a string"]), len(all_of_them)) == (EXAMPLES, 10)
        assert all_of_them[0].shown() == f"[0] (field: content, value: {'v' * 80}...)"

    def test_it_is_bounded_whatever_the_file_holds(self) -> None:
        report = Report()
        for n in range(MAX_PROBLEMS + 50):
            report.skip("x", f"reason {n}")
        assert len(report.counts) == MAX_PROBLEMS + 1
        assert report.total("skipped") == MAX_PROBLEMS + 50


class TestLikeTheServer:
    def test_the_bounds_are_the_servers(self) -> None:
        assert (MAX_ID_CHARS, runs.MAX_NAME_CHARS, runs.MAX_DEPTH) == (ID_LENGTH, NAME_LENGTH, messages.MAX_DEPTH)
        assert records.ROLES == messages.ROLES

    @each_row(
        "sent",
        [
            None,
            "2026-01-01T00:00:00",
            " 2026-01-01 00:00:00 UTC",
            "2026-01-01T02:00:00+02:00",
            0,
            1.5,
            -1,
            True,
            float("nan"),
            float("inf"),
            10**12,
            "soon",
            [],
        ],
    )
    def test_a_time_is_read_as_the_server_reads_it(self, sent: Any) -> None:
        assert read_or_refused(records.read_time, sent) == read_or_refused(messages.read_time, sent, "timestamp")


def read_or_refused(read: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns, or the message of the error that it raises."""
    try:
        return read(*arguments)
    except (errors.InvalidRequest, client_errors.InvalidRequest) as exc:
        return exc.message


def test_without_the_servers_check_the_api_decides() -> None:
    report = Report()
    (part,) = runs_of([found(content=3)], flow="f", into_one_flow=False, report=report)
    assert part.messages[0]["content"] == 3
    assert report.counts == {}
