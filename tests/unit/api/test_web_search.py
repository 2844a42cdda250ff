"""What the search page makes of an address, of a message and of a score's account."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from api.web import shares
from api.web.hits import AROUND_MARK, SHOWN_CHARS, excerpt
from api.web.pages.search import Asked
from memorybase import errors


def explained(**signals: float) -> dict[str, Any]:
    told = {name: {"value": 1.0, "share": share} for name, share in signals.items()}
    return {"signals": told, "bias": -5.0, "recency": 1.0, "chunk": 0, "source": "store"}


class TestShares:
    def test_signals_add_up_in_groups_and_what_speaks_against_stands_apart(self) -> None:
        pieces = shares.pieces_of(explained(dense=1.5, nearby=2.0, topic=0.5, speaker=0.4, long=-0.3, coverage=0.0))
        assert [(piece.group.name, piece.share) for piece in pieces] == [
            ("Meaning", 1.5), ("Words", 2.0), ("Around it", 0.5), ("Kind", 0.4), ("Against", -0.3)
        ]  # fmt: skip
        assert shares.length_of(pieces) == pytest.approx(4.7)
        assert shares.in_words(pieces) == (
            "Meaning +1.50, Words +2.00, Around it +0.50, Kind +0.40, Against \N{MINUS SIGN}0.30"
        )

    def test_a_cosine_alone_is_meaning(self) -> None:
        (piece,) = shares.pieces_of({"dense": 0.75, "chunk": 0, "source": "store"})
        assert (piece.group.name, piece.share) == ("Meaning", 0.75)

    def test_the_account_begins_at_the_start_and_goes_on_with_the_strongest(self) -> None:
        lines = shares.account_of(explained(coverage=0.2, dense=1.5, long=-0.4, date=0.0))
        assert [line.name for line in lines] == ["start", "dense", "long", "coverage"]
        assert lines[0].share == "\N{MINUS SIGN}5.00"


class TestExcerpt:
    def test_marks_the_passage_that_matched(self) -> None:
        assert excerpt("one. two. three.", 5, 9) == ("one. ", "two.", " three.")

    @pytest.mark.parametrize(("start", "end"), [(0, 6), (0, 5), (0, 0)])
    def test_marks_nothing_where_all_or_nothing_matched(self, start: int, end: int) -> None:
        assert excerpt("whole\n", start, end) == ("whole\n", "", "")

    def test_of_a_long_message_the_part_around_is_shown(self) -> None:
        before, marked, behind = excerpt("a" * SHOWN_CHARS + "here" + "b" * SHOWN_CHARS, SHOWN_CHARS, SHOWN_CHARS + 4)
        assert (before, marked, behind) == ("…" + "a" * AROUND_MARK, "here", "b" * AROUND_MARK + "…")


class TestAsked:
    def test_an_address_names_what_differs_and_is_read_back(self) -> None:
        asked = Asked(q="who?", mode="dense", roles="user,tool", top_k="5")
        assert asked.said == {"q": "who?", "mode": "dense", "roles": "user,tool", "top_k": "5"}
        assert Asked.of(asked.said | {"utm": "x"}) == asked
        assert asked.filters == 2

    def test_becomes_a_request_within_what_a_page_shows(self) -> None:
        request = Asked(q="x", since="2026-01-02T03:04", top_k="1000", neighbors="", pending="no").request(uuid4())
        assert request.since == datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
        assert (request.top_k, request.neighbors, request.include_pending, request.explain) == (50, 0, False, True)

    @pytest.mark.parametrize(("field", "words"), [("min_score", "much"), ("top_k", "nan"), ("until", "soon")])
    def test_says_which_field_is_wrong(self, field: str, words: str) -> None:
        with pytest.raises(errors.InvalidRequest) as caught:
            Asked.of({"q": "x", field: words}).request(uuid4())
        assert (caught.value.field, caught.value.value) == (field, words)
