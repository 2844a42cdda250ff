"""The playground's settings, marks, walks, moves and code, without a server."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.rows import each_row
from starlette.datastructures import QueryParams
from starlette.requests import Request

from api.web.corrections import is_outdated, notes
from api.web.playground import code, shown
from api.web.playground.asked import Asked, Setting
from api.web.playground.compare import moves
from api.web.playground.decided import CORRECTS, REPEATS, REPLACES, REPLIES, Decision, Other
from api.web.rendering import address, render
from memorybase.core import errors
from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.search.bands import GOOD, WEAK
from memorybase.core.search.hits import CorrectionOf, Hit
from memorybase.core.search.part_weights import PartWeights

ENGLISH = analyzer("english")
ASKED = Asked(
    q='it\'s a "berth"?',
    flow="support",
    session="s 1",
    memories=(uuid4(), uuid4()),
    role="user",
    days=7,
    as_of=date(2026, 3, 31),
    fold=False,
    budget=500,
    preset="window",
    a=Setting(mode="keyword", k=5, min_score=0.2, half_life=30, weights=PartWeights(words=1.5)),
    b=Setting(),
)


def hit(score: float = 0.3, content: str = "Berth 12 has power", **fields: Any) -> Hit:
    values: dict[str, Any] = {
        "message_id": uuid4(),
        "memory_base_id": uuid4(),
        "session_id": "s",
        "run_id": uuid4(),
        "seq": 1,
        "role": "assistant",
        "sender_name": None,
        "content": content,
        "snippet": content,
        "snippet_start": 0,
        "snippet_end": len(content),
        "timestamp": datetime.now(UTC),
        "score": score,
        "pending": False,
        "metadata": {},
    }
    return Hit(**values | fields)


def read(path: str) -> Asked:
    return Asked.of(QueryParams(path.partition("?")[2]))


class TestAddress:
    @each_row(
        "asked",
        [
            Asked(q="x"),
            ASKED,
            replace(ASKED, b=None),
            replace(ASKED, b=Setting(mode="dense", half_life=0)),
            Asked(q="x", a=Setting(half_life=7), b=Setting()),
            Asked(q="x", a=Setting(corrections=False), b=Setting()),
            Asked(q="x", a=Setting(corrections=False), b=Setting(corrections=True)),
            Asked(q="x", a=Setting(memory=UUID(int=1)), b=Setting(memory=UUID(int=2))),
            Asked(q="x", a=Setting(memory=UUID(int=1)), b=Setting()),
        ],
    )
    def test_a_copied_address_restores_everything(self, asked: Asked) -> None:
        assert read(address("/playground", **asked.address())) == asked

    def test_defaults_are_not_in_it(self) -> None:
        assert address("/playground", **Asked(q="x").address()) == "/playground?q=x"

    def test_alone_a_searches_the_memories_of_the_question(self) -> None:
        asked = read(f"/playground?q=x&in={UUID(int=1)}&memory={UUID(int=2)}")
        assert asked.searched_by(asked.a) == (UUID(int=2),)
        both = read(f"/playground?q=x&compare=1&in={UUID(int=1)}&memory={UUID(int=2)}&b.mode=hybrid")
        assert both.b is not None
        assert (both.searched_by(both.a), both.searched_by(both.b)) == ((UUID(int=1),), (UUID(int=2),))

    def test_b_begins_as_a(self) -> None:
        assert read("/playground?q=x&compare=1&k=3&w.words=2").b == Setting(k=3, weights=PartWeights(words=2))

    @each_row(
        ("query", "field"),
        [
            ("k=0", "k"),
            ("k=many", "k"),
            ("w.words=3", "w.words"),
            ("mode=other", "mode"),
            ("min=nan", "min"),
            ("memory=mine", "memory"),
            ("compare=1&b.recent=-1", "b.recent"),
            ("corrections=yes", "corrections"),
            ("days=x", "days"),
            ("preset=p", "preset"),
        ],
    )
    def test_what_is_not_valid_is_named(self, query: str, field: str) -> None:
        with pytest.raises(errors.InvalidRequest) as raised:
            read(f"/playground?{query}")
        assert raised.value.field == field


class TestShown:
    def test_words_with_the_same_stem_are_marked(self) -> None:
        pieces = shown.marked("Berths, a berth's price; <b>power</b>", frozenset(ENGLISH.terms("berth power")), ENGLISH)
        assert [piece.text for piece in pieces if piece.marked] == ["Berths", "berth's", "power"]
        assert "".join(piece.text for piece in pieces) == "Berths, a berth's price; <b>power</b>"

    def test_of_text_without_spaces_only_what_matches_is_marked(self) -> None:
        words = ["\u9375", "\u7384\u95a2", "\u0e41\u0e21\u0e27"]
        text = "{}\u306f{}\u306e\u68da \u0e09\u0e31\u0e19{}".format(*words)
        pieces = shown.marked(text, frozenset(ENGLISH.asked(" ".join(words)).terms), ENGLISH)
        assert [piece.text for piece in pieces if piece.marked] == words

    def test_a_long_message_is_shown_from_its_passage_on(self) -> None:
        text = "x " * 1_000 + "the berth" + " y" * 1_000
        found = shown.excerpt(hit(content=text, snippet_start=2_000, snippet_end=2_009))
        assert found.startswith("…the berth")
        assert found.endswith("…")
        assert len(found) <= shown.MAX_CHARS + 2

    def test_a_walk_goes_from_the_start_over_each_part_to_the_score(self) -> None:
        signals = {name: {"value": 1.0, "share": share} for name, share in (("dense", 5.0), ("long_answer", -1.0))}
        steps = shown.walk({"signals": signals, "bias": -4.0, "recency": 0.5}, 0.25, ["berth"])
        amounts = {step.part: step.amount.replace("\N{MINUS SIGN}", "-") for step in steps}
        assert list(amounts) == ["start", "meaning", "kind", "age", "score"]
        assert [amounts[part] for part in ("start", "meaning", "kind", "score")] == ["-4.0", "+5.0", "-1.0", "0.25"]
        assert amounts["age"].endswith("0.50")
        start, meaning, kind = steps[:3]
        assert start.left + start.width == pytest.approx(meaning.left, abs=0.1)  # each begins where the last ended
        assert meaning.left + meaning.width == pytest.approx(kind.left + kind.width, abs=0.1)
        assert kind.against

    @each_row(
        ("score", "evidence", "decided", "amount"),
        [
            (0.4, 0.834, "yes, so its best results are recalled in this order", "83 %"),
            (0.04, 0.834, "yes, but this result is too far behind the best one in the order", "83 %"),
            (0.04, 0.31, "no, so nothing is recalled", "31 %"),
            (0.04, 0.4999, "no, so nothing is recalled", "49 %"),
        ],
    )
    def test_a_walk_has_both_decisions_in_words(self, score: float, evidence: float, decided: str, amount: str) -> None:
        parts = {"signals": {"dense": {"value": 1.0, "share": 4.0}}, "bias": -4.0, "recency": 0.5}
        *_, order, answers, last = shown.walk(parts | {"evidence": evidence}, score, [])
        assert (order.text, order.amount) == ("Order: its share among all results", "25 %")
        assert (answers.text, answers.amount) == (f"Whether the store answers: {decided}", amount)
        assert last.part == "score"

    @each_row(
        ("parts", "decided"),
        [
            ({"lacks_name": True}, "yes, by a rare name alone, which this result lacks"),
            ({"signals": {"says_nothing": {"value": 1.0, "share": -12.0}}}, "yes, but this result says nothing"),
        ],
    )
    def test_a_walk_says_why_a_result_is_not_recalled_though_others_are(
        self, parts: dict[str, Any], decided: str
    ) -> None:
        steps = shown.walk({"signals": {}, "bias": -4.0, "evidence": 0.6, **parts}, 0.01, [])
        assert f"Whether the store answers: {decided}" in [step.text for step in steps]

    @each_row("parts", [{"evidence": None}, {}, {"evidence": 0.8, "reranker": 0.7}])
    def test_a_walk_without_evidence_has_no_decision_about_the_store(self, parts: dict[str, Any]) -> None:
        found = shown.walk({"signals": {"dense": {"value": 1.0, "share": 4.0}}, "bias": -4.0} | parts, 0.5, [])
        assert "Whether the store answers" not in str(found)

    def test_a_walk_names_the_own_score_of_a_message_that_was_raised(self) -> None:
        parts = {"signals": {"dense": {"value": 1.0, "share": 5.0}}, "bias": -4.0, "own_score": 0.31}
        *_, own, score = shown.walk(parts, 0.75, [])
        assert (own.text, own.amount) == ("Its own score, before it took the place of another message", "0.31")
        assert score.amount == "0.75"
        assert "Its own score" not in str(shown.walk(parts, 0.31, []))

    def test_a_lower_score_never_has_a_longer_bar(self) -> None:
        signals = {"dense": {"value": 1.0, "share": 9.0}, "long_answer": {"value": 1.0, "share": -2.0}}
        parts = {"signals": signals, "bias": -4.0}
        rows = [shown.divided({**parts, **more}, score) for score, more in ((0.69, {"own_score": 0.13}), (0.13, {}))]
        assert [sum(length for _, length in row) for row in rows] == pytest.approx([0.69, 0.13])
        assert [name for name, _ in rows[0]] == ["meaning", "lent"]
        assert shown.divided({"dense": 0.6}, 0.6) == []

    @each_row(
        ("fields", "parts", "text", "step"),
        [
            ({}, {"place_of": UUID(int=1), "own_score": 0.1}, REPLACES, "own"),
            ({"corrects": CorrectionOf(UUID(int=1), "number", "1", "2")}, {"place_of": UUID(int=1)}, CORRECTS, "own"),
            ({}, {"echo_of": UUID(int=1)}, REPEATS, "own"),
            ({"reply_to": UUID(int=1)}, {}, REPLIES, ""),
        ],
    )
    def test_the_message_that_lent_or_took_a_place_is_named(
        self, fields: dict[str, Any], parts: dict[str, Any], text: str, step: str
    ) -> None:
        parts = {"signals": {"dense": {"value": 1.0, "share": 5.0}}, "bias": -4.0, **parts}
        other = hit(message_id=UUID(int=1), content="It is 300 ms.")
        rows = shown.show([hit(parts=parts, **fields), other], "berth", ENGLISH, limit=0.1, is_dense=False)
        decided = rows[0].decision
        assert decided == Decision(text, step, Other(UUID(int=1), "“It is 300 ms.”", is_listed=True))
        (alone,) = shown.show([hit(parts=parts, **fields)], "berth", ENGLISH, limit=0.1, is_dense=False)
        assert alone.decision == Decision(text, step, Other(UUID(int=1), "that message", is_listed=False))

    @each_row(
        ("score", "fields", "parts", "text", "step"),
        [
            (0.3, {}, {"evidence": 0.9}, "Most of it: says what you ask", "meaning"),
            (0.3, {"pinned": True}, {"evidence": 0.9}, "It is pinned, so it comes before results that are not", ""),
            (0.04, {"pinned": True}, {"evidence": 0.9}, "It is too far behind the best result", "answers"),
            (0.3, {}, {"evidence": 0.9, "reranker": 0.3}, "The reranker read the question and the message", "reranker"),
            (0.3, {"exact_match": "whole"}, {}, "Exact match of your question, so it comes first", ""),
            (0.04, {}, {"evidence": 0.2}, "The memory does not seem to answer this question", "answers"),
        ],
    )
    def test_the_step_that_decided_is_named(
        self, score: float, fields: dict[str, Any], parts: dict[str, Any], text: str, step: str
    ) -> None:
        parts = {"signals": {"dense": {"value": 1.0, "share": 5.0}}, "bias": -4.0, **parts}
        (row,) = shown.show([hit(score, parts=parts, **fields)], "berth", ENGLISH, limit=0.1, is_dense=False)
        assert row.decision is not None
        assert row.decision.text.startswith(text)
        assert row.decision.step in {"", *(each.part for each in row.steps)}
        assert row.decision.step == step

    @each_row(
        ("non_answer", "text"),
        [({"non_answer": True}, "Says only that something is not known"), ({}, "Only asks the question again")],
    )
    def test_a_walk_says_why_a_message_says_nothing(self, non_answer: dict[str, Any], text: str) -> None:
        parts = {"signals": {"says_nothing": {"value": 1.0, "share": -12.0}}, "bias": -4.0, **non_answer}
        assert (text, "\N{MINUS SIGN}12.0") in [(step.text, step.amount) for step in shown.walk(parts, 0.0, [])]

    @each_row(
        ("why", "text"),
        [
            ({"echo_of": "m"}, "Its own score, lowered since it repeats an earlier message"),
            ({}, "Its own score, before it took the place of another message"),
        ],
    )
    def test_a_walk_says_why_a_message_was_lowered(self, why: dict[str, Any], text: str) -> None:
        parts = {"signals": {"dense": {"value": 1.0, "share": 5.0}}, "bias": -4.0, "own_score": 0.7, **why}
        assert [step.text for step in shown.walk(parts, 0.01, [])][-2] == text

    def test_what_is_first_whatever_its_score_says_why(self) -> None:
        asked = hit(0.01, exact_match="whole")
        rows = shown.show(
            [asked, hit(0.0, reply_to=asked.message_id), hit(0.3)], "berth", ENGLISH, limit=0.1, is_dense=False
        )
        assert [row.why_first for row in rows] == ["Exact match", "Reply to the exact match", ""]

    def test_bands_and_the_limit(self) -> None:
        rows = shown.show([hit(0.3), hit(0.02)], "berth", ENGLISH, limit=0.1, is_dense=False)
        assert [(row.band, row.is_given) for row in rows] == [(GOOD, True), (WEAK, False)]
        assert not shown.nothing_fits(rows)
        assert shown.nothing_fits(rows[1:])

    def test_a_cosine_has_no_band(self) -> None:
        (row,) = shown.show([hit(0.6, parts={"dense": 0.6})], "berth", ENGLISH, limit=0.1, is_dense=True)
        assert (row.band, row.steps) == (shown.COSINE, [])


class TestCorrections:
    EARLIER, LATER = UUID(int=1), UUID(int=2)

    def test_both_messages_name_both_values_and_each_other(self) -> None:
        later = hit(message_id=self.LATER, corrects=CorrectionOf(self.EARLIER, "number", "300 ms", "250 ms"))
        correction = CorrectionOf(self.LATER, "number", "300 ms", "250 ms")
        earlier = hit(message_id=self.EARLIER, corrected_by=correction, superseded_by=self.LATER)
        new, old = shown.show([later, earlier], "latency", ENGLISH, limit=0.1, is_dense=False)
        (above,), (below,) = new.notes, old.notes
        assert (above.text, above.link, above.message_id) == (
            "Now 250 ms, was 300 ms",
            "Earlier message",
            self.EARLIER,
        )
        assert (below.text, below.link, below.message_id) == (
            "Corrected later: was 300 ms, now 250 ms",
            "Later message",
            self.LATER,
        )
        assert above.is_listed
        assert below.is_listed
        assert (new.is_outdated, old.is_outdated) == (False, True)

    def test_a_denial_has_no_values_and_greys_nothing(self) -> None:
        denied = hit(corrected_by=CorrectionOf(self.LATER, "denial", None, None))
        (note,) = notes(denied, ())
        assert (note.text, note.is_listed) == ("Another message says the opposite", False)
        assert not is_outdated(denied)

    def test_a_message_between_two_others_has_both_lines(self) -> None:
        between = hit(
            corrects=CorrectionOf(self.EARLIER, "number", "500 ms", "300 ms"),
            corrected_by=CorrectionOf(self.LATER, "number", "300 ms", "250 ms"),
        )
        assert [note.text for note in notes(between, ())] == [
            "Now 300 ms, was 500 ms",
            "Corrected later: was 300 ms, now 250 ms",
        ]

    def test_most_results_have_none(self) -> None:
        assert notes(hit(), ()) == []

    def test_a_value_is_written_as_text(self) -> None:
        outdated = hit(corrected_by=CorrectionOf(self.LATER, "name", "<b>Ada</b>", "Bo"))
        request = Request({"type": "http", "root_path": "/prefix", "headers": []})
        page = render(
            request,
            "first_minute_search.html",
            q="who",
            error="",
            titles={},
            steps=SimpleNamespace(flow="f", flow_id=None),
            hits=[(outdated, notes(outdated, {self.LATER}), True), (outdated, notes(outdated, ()), True)],
        )
        assert page.count("Corrected later: was &lt;b&gt;Ada&lt;/b&gt;, now Bo") == 2
        assert f'href="#hit-{self.LATER}"' in page
        assert f'href="/prefix/message?id={self.LATER}&amp;back=%2F"' in page


def test_moves_name_each_moved_new_and_gone_result() -> None:
    one, two, three, four = (UUID(int=number) for number in range(4))
    of_a, of_b = moves([one, two, three], [two, four, one])
    assert of_b == {two: "▲1", four: "new", one: "▼2"}
    assert of_a == {one: "▼2", two: "▲1", three: "gone"}


class TestCode:
    def test_a_shell_reads_the_body_of_curl_as_it_is(self) -> None:
        words = shlex.split(code.snippets(ASKED, ASKED.a, "http://host")[0].text)
        assert words[:3] == ["curl", "-sS", "http://host/v1/search"]
        assert json.loads(words[words.index("-d") + 1]) == code.search_body(ASKED, ASKED.a)

    @each_row("asked", [ASKED, Asked(q="it's"), Asked(q="x", flow="f")])
    def test_python_is_python(self, asked: Asked) -> None:
        for snippet in code.snippets(asked, asked.a, "http://host"):
            if snippet.name in {"Python", "LangGraph"}:
                compile(snippet.text, snippet.name, "exec")

    def test_the_body_has_the_scope_and_what_differs_from_the_defaults(self) -> None:
        assert code.search_body(Asked(q="x"), Setting()) == {
            "query": "x",
            "all": True,
            "top_k": 10,
            "mode": "hybrid",
            "fold_alike": True,
        }
        body = code.search_body(ASKED, ASKED.a)
        assert (body["weights"], body["half_life_days"], body["roles"]) == ({"words": 1.5}, 30, ["user"])
        assert body["memory_base_ids"] == [str(each) for each in ASKED.memories]
        assert "flow_id" not in body
        assert body["min_score"] == 0.2

    @each_row("chosen", [True, False])
    def test_whether_later_statements_are_first_is_in_the_body_if_it_was_chosen(self, chosen: bool) -> None:
        assert code.search_body(Asked(q="x"), Setting(corrections=chosen))["corrections"] is chosen
        assert "corrections" not in code.search_body(Asked(q="x"), Setting())
