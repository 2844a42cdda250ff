from __future__ import annotations

from typing import Any
from uuid import uuid4

from harness.exports import Json, langflow_rows
from harness.rows import each_row
from memorybase_client.importers import langflow as importer
from memorybase_client.importers.records import RawRecord, Report
from memorybase_client.importers.runs import Part, runs_of

from memorybase.cli.import_runs import check


def parts_of(*values: Any, report: Report | None = None) -> list[Part]:
    report = report or Report()
    records = [RawRecord(f"at {n}", value) for n, value in enumerate(values)]
    return list(
        runs_of(importer.read(records, report), flow="langflow", into_one_flow=False, report=report, check=check)
    )


def first(**changes: Any) -> Json:
    return langflow_rows()[0] | changes


def test_a_page_of_an_answer_is_read_like_its_rows() -> None:
    assert [part.messages for part in parts_of({"items": langflow_rows()})] == [
        part.messages for part in parts_of(*langflow_rows())
    ]


def test_a_row_without_flow_and_run_belongs_to_the_flow_of_the_import() -> None:
    (part,) = parts_of(first(flow_id=None, run_id=None))
    assert (part.flow, part.run_id) == ("langflow", "talk#00000000-0000-4000-8000-000000000001")


@each_row(
    ("stored", "expected"),
    [
        ("m1@1 u1@1 m2@2 u2@2", "u1 m1 u2 m2"),
        ("m2@1 u1@1 u2@1 m1@1", "u1 m1 u2 m2"),  # those of one run together
        ("u1@1 u2@2 m1@2 m2@2", "u1 m1 u2 m2"),
        ("u1@1 m1@2 m2@3 u2@4", "u1 m1 m2 u2"),
        ("m1@ u1@", "m1 u1"),  # without a time, the order of the rows
    ],
)
def test_an_answer_follows_its_question_of_the_same_second(stored: str, expected: str) -> None:
    rows = []
    for word in stored.split():
        name, second = word.split("@")
        sender, run = ("User" if name[0] == "u" else "Machine"), f"00000000-0000-4000-8000-00000000001{name[1]}"
        when = f"2026-01-01 10:00:0{second}" if second else None
        rows.append(first(id=str(uuid4()), sender=sender, text=name, run_id=run, timestamp=when))
    messages = [message for part in parts_of(*rows) for message in part.messages]
    assert " ".join(message["text"] for message in messages) == expected


def test_a_run_with_two_sessions_becomes_two_runs() -> None:
    one, two = parts_of(first(), first(id="00000000-0000-4000-8000-00000000000a", session_id="other"))
    assert one.run_id != two.run_id


def test_formatting_is_left_out() -> None:
    ((message,),) = (part.messages for part in parts_of(first()))
    assert message["metadata"] == {}


@each_row(
    "row",
    [
        None,
        {},
        first(id="m-1"),
        first(id=None),
        first(session_id=None, flow_id=None),
        first(sender="Robot"),
        first(sender=None),
        first(text=None),
        first(text="", files="[]"),
    ],
)
def test_an_odd_row_is_reported_and_the_others_are_kept(row: Any) -> None:
    report = Report()
    kept = first(id="00000000-0000-4000-8000-00000000000b")
    parts = parts_of(row, kept, report=report)
    assert [message["id"] for part in parts for message in part.messages] == [kept["id"]]
    assert report.total("lost") + report.total("skipped") == 1
