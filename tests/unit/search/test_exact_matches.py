"""Which message has the text that is searched for, as a whole or as a part; the order of leads over searches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from harness.rows import each_row

from memorybase.core.search.exact_matches import extent_of, leads_of
from memorybase.core.search.hits import Hit
from memorybase.features.hit_corrections import marking
from memorybase.features.hit_corrections.pairs import Correction


@each_row(
    ("said", "searched", "extent"),
    [
        ("Where is my boat?", "where is  my boat", "whole"),
        ("OK", "ok!", "whole"),
        ("Berth\u00a012", "berth 12", "whole"),
        ("I asked: where is my boat? At berth 12.", "Where is my boat?", "part"),
        ("Where is my boat?", "Hello Ada. Where is my boat? Yours, Bo", "part"),
        ("Where is my boathouse?", "Where is my boat", None),  # inside of a word
        ("My boat is here.", "my boat", None),  # two words
        ("My boat", "Where is my boat?", None),
        ("It cost 1.249,90 € then.", "1 249,90 €", None),  # a value
        ("1 249,90 €", "1 249,90", "whole"),
        ("Thanks a lot!", "Thanks a lot! Where is my boat?", None),  # asks for nothing
        ("Thanks a lot!", "thanks a lot", "whole"),
        ("我的护照在哪里。请告诉我", "我的护照在哪里", "part"),
        ("我的护照在哪里", "护照", None),
        ("👍", "👍 !", None),  # no words
        ("Where is my boat?", "Where is her boat?", None),
    ],
)
def test_the_whole_text_or_a_part_of_three_words(said: str, searched: str, extent: str | None) -> None:
    assert extent_of(said, searched, "detect") == extent


def hit(number: int, content: str, day: int = 1, **fields: Any) -> Hit:
    values: dict[str, Any] = dict.fromkeys(("snippet", "session_id", "role"), "x")
    values |= {"memory_base_id": UUID(int=0), "run_id": UUID(int=0), "sender_name": None, "metadata": {}, "score": 0.1}
    values |= {"snippet_start": 0, "snippet_end": 1, "pending": False, "seq": 1}
    return Hit(
        message_id=UUID(int=number), content=content, timestamp=datetime(2026, 3, day, tzinfo=UTC), **values | fields
    )


def test_leads_of_several_searches_are_three_with_the_reply_behind_each() -> None:
    searched = "Where is my boat? When do we sail?"
    part: dict[str, Any] = {"exact_match": "part"}
    found = [
        hit(1, "Where is my boat?", day=9, **part),
        hit(2, searched, day=1, exact_match="whole"),
        hit(3, "When do we sail?", day=2, **part),
        hit(4, f"You asked: {searched}", day=3, **part),
        hit(5, "At berth 12.", reply_to=UUID(int=2)),
        hit(6, "At noon.", reply_to=UUID(int=3)),
        hit(2, searched, day=1),  # of a search that did not compare it
    ]
    leads = leads_of(found, searched)
    assert [id_.int for id_ in sorted(leads, key=lambda id_: leads[id_].place)] == [2, 5, 4, 1]
    assert leads[UUID(int=5)].reply_to == UUID(int=2)
    assert leads_of([hit(7, "x"), hit(8, "y")], searched) == {}


def test_a_correction_stays_behind_an_exact_match_and_its_reply() -> None:
    for fields, order in (
        ({}, [3, 1, 2]),
        ({"exact_match": "whole"}, [1, 2, 3]),
        ({"reply_to": UUID(int=9)}, [1, 2, 3]),
    ):
        hits = [hit(1, "At berth 12.", **fields), hit(2, "At noon."), hit(3, "At berth 31 now.", day=2)]
        marked = {each.message_id: each for each in hits}
        found = [Correction(0, 2, "number", "berth 12", "berth 31")]
        assert [each.message_id.int for each in marking._ordered(marked, hits, found)] == order, fields
