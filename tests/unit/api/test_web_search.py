"""The search page: its address, excerpts of messages, and the breakdown of a score."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from api.web import score_breakdown
from api.web.pages.search import Query
from api.web.search_results import CONTEXT_CHARS, SHOWN_CHARS, excerpt
from memorybase import errors


def explained(**signals: float) -> dict[str, Any]:
    parts = {name: {"value": 1.0, "share": share} for name, share in signals.items()}
    return {"signals": parts, "bias": -5.0, "recency": 1.0, "chunk": 0, "source": "store"}


class TestScoreBreakdown:
    def test_signals_add_up_in_groups_with_penalties_apart(self) -> None:
        contributions = score_breakdown.contributions_of(
            explained(dense=1.5, nearby=2.0, topic=0.5, speaker=0.4, long=-0.3, coverage=0.0)
        )
        assert [(each.group.name, each.share) for each in contributions] == [
            ("Meaning", 1.5), ("Words", 2.0), ("Context", 0.5), ("Attributes", 0.4), ("Penalties", -0.3)
        ]  # fmt: skip
        assert score_breakdown.describe(contributions) == (
            "Meaning +1.50, Words +2.00, Context +0.50, Attributes +0.40, Penalties \N{MINUS SIGN}0.30"
        )

    def test_a_bar_is_as_long_as_its_score(self) -> None:
        contributions = score_breakdown.contributions_of(explained(dense=1.5, nearby=2.0, topic=0.5, long=-3.0))
        segments = score_breakdown.bar_segments(contributions, 0.08)
        assert [group.name for group, _ in segments] == ["Meaning", "Words", "Context"]
        assert sum(length for _, length in segments) == pytest.approx(0.08)
        assert segments[1][1] == pytest.approx(0.04)

    def test_a_bar_without_a_raising_signal_is_empty(self) -> None:
        assert score_breakdown.bar_segments(score_breakdown.contributions_of(explained(long=-3.0)), 0.001) == []

    @pytest.mark.parametrize(("score", "weak"), [(0.004, True), (0.0999, True), (0.1, False), (0.9, False)])
    def test_a_score_that_is_seldom_right_is_weak(self, score: float, weak: bool) -> None:
        assert score_breakdown.is_weak(score, explained(dense=1.0)) is weak

    def test_a_cosine_is_never_called_weak(self) -> None:
        assert not score_breakdown.is_weak(0.01, {"dense": 0.01})

    def test_a_cosine_alone_is_meaning(self) -> None:
        (contribution,) = score_breakdown.contributions_of({"dense": 0.75, "chunk": 0, "source": "store"})
        assert (contribution.group.name, contribution.share) == ("Meaning", 0.75)

    def test_lines_begin_with_the_start_then_the_strongest_signal(self) -> None:
        lines = score_breakdown.lines_of(explained(coverage=0.2, dense=1.5, long=-0.4, date=0.0))
        assert [line.name for line in lines] == ["start", "dense", "long", "coverage"]
        assert lines[0].share == "\N{MINUS SIGN}5.00"


class TestExcerpt:
    def test_marks_the_passage_that_matched(self) -> None:
        assert excerpt("one. two. three.", 5, 9) == ("one. ", "two.", " three.")

    @pytest.mark.parametrize(("start", "end"), [(0, 6), (0, 5), (0, 0)])
    def test_marks_nothing_where_all_or_nothing_matched(self, start: int, end: int) -> None:
        assert excerpt("whole\n", start, end) == ("whole\n", "", "")

    def test_a_long_message_is_shown_around_the_passage(self) -> None:
        before, passage, after = excerpt("a" * SHOWN_CHARS + "here" + "b" * SHOWN_CHARS, SHOWN_CHARS, SHOWN_CHARS + 4)
        assert (before, passage, after) == ("…" + "a" * CONTEXT_CHARS, "here", "b" * CONTEXT_CHARS + "…")


class TestQuery:
    def test_an_address_has_the_changed_values_and_is_read_back(self) -> None:
        query = Query(q="who?", mode="dense", roles="user,tool", top_k="5")
        assert query.changed == {"q": "who?", "mode": "dense", "roles": "user,tool", "top_k": "5"}
        assert Query.of(query.changed | {"utm": "x"}) == query
        assert query.filter_count == 2

    def test_limits_of_the_page_apply_to_the_request(self) -> None:
        request = Query(q="x", since="2026-01-02T03:04", top_k="1000", neighbors="", pending="no").request(uuid4())
        assert request.since == datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
        assert (request.top_k, request.neighbors, request.include_pending, request.explain) == (50, 0, False, True)

    @pytest.mark.parametrize(("field", "text"), [("min_score", "much"), ("top_k", "nan"), ("until", "soon")])
    def test_an_invalid_value_names_its_field(self, field: str, text: str) -> None:
        with pytest.raises(errors.InvalidRequest) as caught:
            Query.of({"q": "x", field: text}).request(uuid4())
        assert (caught.value.field, caught.value.value) == (field, text)
