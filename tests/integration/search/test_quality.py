"""Compares each mode of search with a naive search of its kind, on generated conversations of seven kinds.

The default embedding model embeds the conversations of bench/made. A figure is NDCG@10, the mean over the categories of
a conversation's questions. Known items are assistants' sentences, asked for in half of their words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import made
import numpy as np
import pytest
from harness.world import World, build_world
from numpy.typing import NDArray
from recalling import corpora, naive
from recalling.corpora import Conversation, Question

from memorybase.core.embedding import Embedder, Embedders
from memorybase.core.search import request as search_request
from memorybase.core.search import search as answer
from memorybase.core.search.request import SearchRequest
from memorybase.core.settings import Settings
from memorybase.features.lab.metrics import TOP, judge, summarize

pytestmark = pytest.mark.slow

BM25, VECTORS = "plain BM25", "plain vectors"
NAIVE: Mapping[str, Sequence[str]] = {"hybrid": (BM25, VECTORS), "keyword": (BM25,), "dense": (VECTORS,)}
# The minimum lead of each mode over the better of its naive searches, as the mean over the conversations. When this was
# written hybrid led by 0.147 and keyword by 0.245; without the correction for length, and with neighboring turns
# counting fully at any length, hybrid led by 0.087 and keyword by 0.156. Dense was 0.005 behind: it leaves asking words
# such as "when" out of the question's vector, and they help here.
MARGINS = {"hybrid": 0.115, "keyword": 0.21, "dense": -0.03}
# How far hybrid may be behind the better naive search in one conversation. It was behind by 0.044 in planning and ahead
# in all others.
BEHIND = 0.07

SEED = 1  # of conversations made by rule and of known items
LONG_SESSIONS = 6  # of 20; embedding the answers of all of them would take as long as the rest
KNOWN_ITEMS = 10  # sentences of each conversation
KNOWN_FOUND = 0.9  # the share of known items among the first ten; all 58 of each category were


class EachTextOnce:
    """The default model; the vector of each text is computed once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._passages: dict[str, NDArray[np.float32]] = {}
        self._queries: dict[str, NDArray[np.float32]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def get(self, _model: str | None = None) -> EachTextOnce:
        """The embedder for any model, like a registry."""
        return self

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        unknown = [text for text in dict.fromkeys(texts) if text not in self._passages]
        if unknown:
            self._passages.update(zip(unknown, self._embedder.embed(unknown), strict=True))
        return np.array([self._passages[text] for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if text not in self._queries:
            self._queries[text] = self._embedder.embed_query(text)
        return self._queries[text]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A conversation, its known items, and searches from a query to message ids, best first."""

    kind: str
    conversation: Conversation
    known_items: Sequence[Question]
    searches: Mapping[str, Callable[[str], list[str]]]

    def figure(self, search: str) -> float:
        questions = [each for each in self.conversation.questions if each.evidence]
        found = self.searches[search]
        return summarize([judge(each.category, found(each.text), each.evidence) for each in questions]).macro_ndcg


def load(world: World, document: Mapping[str, Any]) -> Loaded:
    """Capture and ingest a generated conversation as its own flow."""
    conversation = corpora.chat("made", document)
    messages = list(conversation.messages)
    # First, because it embeds the whole conversation at once.
    plain_vectors = naive.PlainVectors(messages, world.embedder)
    flow_id = world.new_flow()
    base = world.new_base(flow_id=flow_id)
    names: dict[UUID, str] = {}
    for run in conversation.runs:
        captured = world.capture(run["session_id"], [world.message(raw) for raw in run["messages"]], flow_id=flow_id)
        names |= {message.id: raw["id"] for message, raw in zip(captured.messages, run["messages"], strict=True)}
    world.flush(base)
    world.settle()

    def searching(mode: str) -> Callable[[str], list[str]]:
        def search(query: str) -> list[str]:
            request = SearchRequest(memory_base_id=base, query=query, mode=mode, top_k=TOP)
            return [names[hit.message_id] for hit in answer.search(world.services, world.user_id, request).results]

        return search

    known = made.known_items(messages, seed=SEED, count=KNOWN_ITEMS, roles={"assistant"})
    return Loaded(
        kind=document["kind"],
        conversation=conversation,
        known_items=[Question(each["question"], each["category"], frozenset(each["evidence"])) for each in known],
        searches={mode: searching(mode) for mode in search_request.MODES}
        | {BM25: naive.PlainBm25(messages).ranked, VECTORS: plain_vectors.ranked},
    )


def shortened(document: Mapping[str, Any], sessions: int) -> dict[str, Any]:
    """The first sessions of a conversation and the questions that they answer."""
    kept = list(dict.fromkeys(each["session"] for each in document["messages"]))[:sessions]
    messages = [each for each in document["messages"] if each["session"] in kept]
    ids = {each["id"] for each in messages}
    questions = [each for each in document["questions"] if ids.issuperset(each["evidence"])]
    return {**document, "messages": messages, "questions": questions}


@pytest.fixture(scope="session")
def loaded(model_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Loaded]]:
    """The conversations by hand and one of each kind by rule, ingested."""
    folder = tmp_path_factory.mktemp("recall-quality")
    world = build_world(f"sqlite:///{folder / 'memorybase.db'}", folder)
    settings = Settings(data_dir=folder, model_dir=model_cache)
    model: Any = EachTextOnce(Embedders(settings).get())
    services = replace(world.services, settings=settings, embedders=model)
    real = replace(world, services=services, embedders=model)
    by_rule = {kind: made.by_rule(SEED, kind) for kind in made.KINDS_BY_RULE}
    by_rule[made.LONG_ANSWERS] = shortened(by_rule[made.LONG_ANSWERS], LONG_SESSIONS)
    yield [load(real, document) for document in (*made.by_hand(), *by_rule.values())]
    world.close()


@pytest.fixture(scope="session")
def figures(loaded: Sequence[Loaded]) -> dict[str, dict[str, float]]:
    """The figures of each search for each kind of conversation."""
    return {each.kind: {search: each.figure(search) for search in each.searches} for each in loaded}


def table(figures: Mapping[str, Mapping[str, float]], searches: Sequence[str]) -> str:
    return "\n".join(
        f"{kind:28}" + "  ".join(f"{search} {row[search]:.3f}" for search in searches) for kind, row in figures.items()
    )


@pytest.mark.parametrize("mode", MARGINS)
def test_each_mode_beats_its_naive_searches(figures: Mapping[str, Mapping[str, float]], mode: str) -> None:
    means = {search: float(np.mean([row[search] for row in figures.values()])) for search in (mode, *NAIVE[mode])}
    better = max(NAIVE[mode], key=means.__getitem__)
    ahead = means[mode] - means[better]

    assert ahead >= MARGINS[mode], (
        f"{mode} ({means[mode]:.3f}) must be {MARGINS[mode]:+.3f} or more from {better} ({means[better]:.3f}) in mean "
        f"NDCG@10 and is {ahead:+.3f}:\n{table(figures, list(means))}"
    )


def test_hybrid_keeps_up_with_the_better_naive_search_everywhere(figures: Mapping[str, Mapping[str, float]]) -> None:
    far_behind = []
    for kind, row in figures.items():
        better = max(NAIVE["hybrid"], key=row.__getitem__)
        if row[better] - row["hybrid"] > BEHIND:
            far_behind.append(f"{kind}: {row[better] - row['hybrid']:.3f} behind {better}")

    assert not far_behind, (
        f"hybrid may be at most {BEHIND} behind the better naive search in NDCG@10; {', '.join(far_behind)}:\n"
        f"{table(figures, ['hybrid', *NAIVE['hybrid']])}"
    )


@pytest.mark.parametrize("category", ["known-said", "known-bare"])
def test_hybrid_finds_sentences_of_assistants(loaded: Sequence[Loaded], category: str) -> None:
    """Asked as "What did you say about ..." and in bare words, each sentence is among the first ten."""
    asked = [(each, item) for each in loaded for item in each.known_items if item.category == category]
    missed = [
        f"{each.kind}: {item.text}"
        for each, item in asked
        if not item.evidence.intersection(each.searches["hybrid"](item.text))
    ]

    found = 1 - len(missed) / len(asked)
    assert found >= KNOWN_FOUND, (
        f"hybrid must find {KNOWN_FOUND:.0%} of {len(asked)} {category} items among the first {TOP} and finds "
        f"{found:.0%}; it misses\n" + "\n".join(missed)
    )
