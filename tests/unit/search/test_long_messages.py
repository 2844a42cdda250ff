"""Which passages of long messages are compared with a question."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pytest
from harness.doubles import FakeEmbedder
from harness.rows import each_row

from memorybase.core import errors
from memorybase.core.search import long_messages
from memorybase.core.search.embedded import Embedded
from memorybase.core.search.long_messages import READ, READ_CHARS, LocatedText, LongCandidates, best_of, passages_of
from memorybase.core.search.passages import Span
from memorybase.core.search.query_parser import Question, parse
from memorybase.core.search.scoring import Weights

WEIGHTS = Weights("default", 0.0, {"dense": 1.0})
RARITIES = {"berth": 1.0, "boat": 0.2}
FILLER = "Nothing of the kind is said in this sentence. " * 40
ANSWER = "The berth of the boat is number twelve."
LONG = f"{FILLER}{ANSWER} {FILLER}"


def signals(dense: list[float], is_cut: list[bool]) -> Any:
    return SimpleNamespace(columns={"dense": np.array(dense)}, tokens=SimpleNamespace(is_cut=np.array(is_cut)))


def said_by(*roles: str) -> Any:
    return [SimpleNamespace(features=SimpleNamespace(role=role)) for role in roles]


@each_row(
    ("dense", "is_cut", "expected"),
    [
        ([0.1, 0.9, 0.5], [True, True, True], [1, 2, 0]),
        ([0.1, 0.9, 0.5], [True, False, True], [2, 0]),  # of a short message everything is known
        ([0.5, 0.5], [True, True], [0, 1]),
        ([0.9], [False], []),
    ],
)
def test_the_best_of_those_whose_vectors_are_cut_are_read(
    dense: list[float], is_cut: list[bool], expected: list[int]
) -> None:
    assert best_of(said_by(*["user"] * len(dense)), signals(dense, is_cut), WEIGHTS) == expected


def test_no_more_than_a_few_are_read_and_none_without_token_vectors() -> None:
    assert len(best_of(said_by(*["user"] * 50), signals([0.5] * 50, [True] * 50), WEIGHTS)) == READ
    unknown: Any = SimpleNamespace(columns={"dense": np.array([0.5])}, tokens=None)
    assert best_of(said_by("user"), unknown, WEIGHTS) == []


def test_of_an_assistant_only_the_very_best_are_read() -> None:
    roles = ["assistant"] * 10 + ["user"] * 2
    falling = [1 - 0.01 * number for number in range(12)]
    assert best_of(said_by(*roles), signals(falling, [True] * 12), WEIGHTS) == [0, 1, 2, 10, 11]


def question(query: str) -> Question:
    return parse(query, language="english", speakers=(), now=datetime.now(UTC))


def passages(*texts: str, query: str = "Which berth has the boat?") -> dict[int, str]:
    found: Any = [SimpleNamespace(message_id=UUID(int=number)) for number in range(len(texts))]
    contents = {UUID(int=number): text for number, text in enumerate(texts)}
    located = passages_of(found, range(len(texts)), contents, question(query), RARITIES)
    assert all(contents[UUID(int=number)][slice(*each.span)] == each.text for number, each in located.items())
    return {number: each.text for number, each in located.items()}


def test_the_passage_with_most_of_the_terms_is_taken_wherever_it_stands() -> None:
    for text in (f"{ANSWER} {FILLER}", LONG, f"{FILLER}{ANSWER}"):
        (passage,) = passages(text).values()
        assert ANSWER in passage
        assert len(passage) <= long_messages.PASSAGE_CHARS
    (rarer,) = passages(f"The boat is old. {FILLER}{FILLER} It has a berth.").values()
    assert "berth" in rarer


def test_a_message_without_the_terms_or_without_a_content_has_no_passage() -> None:
    assert list(passages(FILLER, LONG)) == [1]
    found: Any = [SimpleNamespace(message_id=UUID(int=9))]
    assert passages_of(found, [0], {}, question("berth"), RARITIES) == {}


def test_what_is_read_has_a_bound_but_the_best_is_always_read() -> None:
    longest = LONG + FILLER * (READ_CHARS // len(FILLER))
    assert list(passages(longest, LONG)) == [0]
    assert list(passages(LONG, longest, LONG)) == [0]


class Shown(NamedTuple):
    """What a comparison reads of a candidate."""

    passage: Span | None


def located(texts: dict[int, str]) -> dict[int, LocatedText]:
    return {index: LocatedText(text, Span(0, len(text)), 1.0) for index, text in texts.items()}


class TestCompare:
    @pytest.fixture
    def embedder(self) -> FakeEmbedder:
        return FakeEmbedder()

    def compared(self, embedder: FakeEmbedder, texts: dict[int, str]) -> dict[int, tuple[float, bytes]]:
        added: dict[int, tuple[float, bytes]] = {}
        counted: Any = SimpleNamespace(
            add_passage=lambda index, _, cosine, vectors: added.update({index: (cosine, vectors)}),
            update_matches=lambda: None,
        )
        query = Embedded(embedder, embedder.embed_query("berth of the boat"), None)
        embedder.embedded.clear()
        found: Any = [Shown(None) for _ in range(5)]
        compared: Any = LongCandidates(counted, query, located(texts)).compare(found)
        assert {index: each.passage for index, each in enumerate(compared) if each.passage} == {
            index: Span(0, len(text)) for index, text in texts.items()
        }
        return added

    def test_each_passage_is_embedded_once_and_counted_for_its_message(self, embedder: FakeEmbedder) -> None:
        added = self.compared(embedder, {4: "nothing else", 2: "berth of the boat"})
        assert embedder.embedded == ["nothing else", "berth of the boat"]
        assert added[2][0] == pytest.approx(1, abs=1e-4)
        assert 0 <= added[4][0] < 0.9
        assert added[2][1]
        assert self.compared(embedder, {}) == {}
        assert embedder.embedded == []

    @each_row("error", [errors.EmbeddingFailed("no memory"), errors.TextRejected("no text")])
    def test_a_search_goes_on_with_what_is_stored_if_the_model_fails(
        self, embedder: FakeEmbedder, error: errors.MemorybaseError
    ) -> None:
        counted: Any = SimpleNamespace(add_passage=lambda *_: pytest.fail("nothing was compared"))
        query = Embedded(embedder, embedder.embed_query("berth"), None)
        embedder.fail_with(error)
        found: Any = [Shown(None)]
        assert LongCandidates(counted, query, located({0: "berth"})).compare(found) == found
        embedder.fail_with(None)
