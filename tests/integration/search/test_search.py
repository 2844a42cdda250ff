"""Search: what is found, what filters leave out, what is pending, and what an outage answers.

Messages are captured, ingested, edited and deleted as the product does it. Two tests write to the vector store
themselves, and say why.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness import wait_until
from harness.doubles import FakeEmbedder, InMemoryVectors
from harness.rows import each_row
from harness.world import WorkerKilled, World, build_world, crash_after

from memorybase.core import errors
from memorybase.core.embedding import Embedders
from memorybase.core.embedding.source import DEFAULT_MODEL
from memorybase.core.memory_bases import deletion, regenerate
from memorybase.core.models import Capture, LedgerEntry, MemoryBase
from memorybase.core.search import search as message_search
from memorybase.core.search.bands import MIN_SCORE
from memorybase.core.search.request import MAX_SNIPPET_CHARS, SearchRequest
from memorybase.core.sessions import edits
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.chunk_ids import chunk_id
from memorybase.core.vectors.store import VectorHit, VectorRecord

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Corpus:
    """What is searched: flows, memory bases and messages in a World, whose worker runs in `ingest` alone."""

    product: World
    user_id: UUID
    seconds: Iterator[int] = field(default_factory=itertools.count)

    @property
    def vectors(self) -> InMemoryVectors:
        return self.product.vectors

    def flow(self) -> UUID:
        return self.product.new_flow()

    def base(self, flow_id: UUID, *, model: str = "fake", **changes: Any) -> UUID:
        """Nothing is ingested before `ingest`."""
        return self.product.new_base(flow_id=flow_id, embedding_model=model, threshold=10_000, **changes)

    def say(
        self,
        flow_id: UUID,
        *texts: str,
        session_id: str = "s",
        role: str = "assistant",
        end_user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: datetime | None = None,
    ) -> list[UUID]:
        """Captures messages, a second apart unless all have one timestamp."""
        messages = [
            {
                "role": role,
                "content": text,
                "metadata": metadata or {},
                "timestamp": (timestamp or START + timedelta(seconds=next(self.seconds))).isoformat(),
            }
            for text in texts
        ]
        captured = self.product.say(session_id, *messages, flow_id=flow_id, end_user_id=end_user_id)
        return [message.id for message in captured.messages]

    def ingest(self, base_id: UUID, session_id: str | None = "s") -> None:
        """Flushes the session, or all of them, and lets a worker do the jobs."""
        self.product.flush(base_id, session_id)
        self.product.drain()

    def edit(self, message_id: UUID, text: str) -> None:
        edits.edit_message(self.product.services, self.user_id, message_id, {"content": text})

    def delete(self, message_id: UUID) -> None:
        edits.delete_message(self.product.services, self.user_id, message_id)

    def search(self, query: str, **wanted: Any) -> list[message_search.Hit]:
        """By vectors alone, whose scores are known here to the last digit."""
        request = SearchRequest(query=query, **{"mode": "dense", **wanted})
        return message_search.search(self.product.services, self.user_id, request).results


@pytest.fixture
def world(world: World) -> Corpus:
    return Corpus(world, world.user_id)


@pytest.fixture
def flow_id(world: Corpus) -> UUID:
    return world.flow()


@pytest.fixture
def base_id(world: Corpus, flow_id: UUID) -> UUID:
    return world.base(flow_id)


def ids(hits: Sequence[message_search.Hit]) -> list[UUID]:
    return [hit.message_id for hit in hits]


# What is found.


def test_the_nearest_message_comes_first_with_all_that_a_hit_says(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    _, wanted = world.say(flow_id, "the weather is grey", "the cat sleeps on the sofa", metadata={"topic": "pets"})
    world.ingest(base_id)

    answer = message_search.search(
        world.product.services,
        world.user_id,
        SearchRequest(memory_base_id=base_id, query="where the cat sleeps", mode="dense"),
    )

    hit = answer.results[0]
    assert (hit.message_id, hit.memory_base_id, hit.session_id, hit.seq) == (wanted, base_id, "s", 2)
    assert (hit.role, hit.content, hit.snippet) == ("assistant",) + ("the cat sleeps on the sofa",) * 2
    assert (hit.pending, hit.metadata, hit.before, hit.after, hit.parts) == (False, {"topic": "pets"}, [], [], None)
    assert hit.timestamp == START + timedelta(seconds=1)
    assert 0.5 < hit.score < 1
    assert [hit.score for hit in answer.results] == sorted((hit.score for hit in answer.results), reverse=True)
    assert answer.took_ms > 0


def test_equal_scores_put_the_later_message_first(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    said = [*world.say(flow_id, "yes", "yes"), *world.say(flow_id, "yes", "yes", timestamp=START)]
    world.ingest(base_id)

    found = ids(world.search("yes", memory_base_id=base_id))

    assert found == [said[1], *sorted([said[0], *said[2:]], key=str)]


def test_many_chunks_are_one_row(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    (said,) = world.say(flow_id, "first words. second words about zebras.")  # short enough to be one passage
    world.ingest(base_id)
    (vector,) = world.product.embedder.embed(["second words about zebras"])
    # By hand: of a text that is short enough to be shown whole, a worker makes one chunk.
    more = VectorRecord(chunk_id(base_id, said, 1, 1), vector, "second words about zebras", {"message_id": str(said)})
    world.vectors.upsert(world.product.ref(base_id), [more])
    (stale,) = world.search("second words about zebras", memory_base_id=base_id)
    assert stale.score < 0.99  # the ledger says that there is one chunk
    with world.product.services.database.transaction() as db:
        db.execute(sa.update(LedgerEntry).where(LedgerEntry.message_id == said).values(chunks=2))

    (hit,) = world.search("second words about zebras", memory_base_id=base_id, explain=True)

    assert (hit.message_id, hit.snippet, hit.score) == (said, hit.content, pytest.approx(1))
    assert hit.parts == {"dense": hit.score, "chunk": 1, "source": "store"}


def test_of_a_long_message_the_passage_is_shown_and_its_place(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    around = "Nothing of the kind is said in this sentence. " * 30
    (said,) = world.say(flow_id, f"{around}The zebra lives in Basel. {around}")
    world.ingest(base_id)

    (hit,) = world.search("zebra Basel", memory_base_id=base_id)

    assert hit.message_id == said
    assert "The zebra lives in Basel." in hit.snippet
    assert len(hit.snippet) <= MAX_SNIPPET_CHARS
    assert hit.content[hit.snippet_start : hit.snippet_end] == hit.snippet
    (short,) = world.search("zebra Basel", memory_base_id=base_id, snippet_chars=80)
    assert "The zebra lives in Basel." in short.snippet
    assert len(short.snippet) <= 80


def test_neighbours_are_the_turns_around_a_hit(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    one, two = world.say(flow_id, "one", "two")
    world.say(flow_id, "a tool's noise", role="tool")
    (hit_id,) = world.say(flow_id, "zebra")
    three, _four = world.say(flow_id, "three", "four")
    world.say(flow_id, "elsewhere", session_id="other")
    world.ingest(base_id)

    (hit,) = world.search("zebra", memory_base_id=base_id, top_k=1, neighbors=2)
    (narrow,) = world.search("zebra", memory_base_id=base_id, top_k=1, neighbors=1, exclude_message_ids=[three])

    assert hit.message_id == hit_id
    assert [turn["message_id"] for turn in hit.before] == [one, two]
    assert [turn["content"] for turn in hit.after] == ["three", "four"]
    assert set(hit.after[0]) == {"message_id", "run_id", "seq", "role", "sender_name", "content", "timestamp"}
    assert [turn["content"] for turn in narrow.before] == ["two"]
    assert narrow.after == []


def test_many_hits_have_their_own_neighbours(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    for first in range(0, 60, 10):
        turns = [f"{word} {number}" for number in range(first, first + 10) for word in ("before", "zebra", "after")]
        world.say(flow_id, *turns, session_id=f"s{first}")
    world.ingest(base_id, None)

    hits = world.search("zebra", memory_base_id=base_id, top_k=60, neighbors=1)

    zebras = [hit for hit in hits if str(hit.content).startswith("zebra")]
    assert len(zebras) > 50
    for hit in zebras:
        number = hit.content.split()[1]
        assert [turn["content"] for turn in hit.before + hit.after] == [f"before {number}", f"after {number}"]


# Filters.


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"session_id": "b"}, {"b assistant"}),
    ({"end_user_id": "ann"}, {"a user", "a assistant"}),
    ({"end_user_id": "nobody"}, set()),
    ({"roles": ["user"]}, {"a user"}),
    ({"since": START + timedelta(seconds=1)}, {"a assistant", "b assistant"}),
    ({"until": START + timedelta(seconds=1)}, {"a user", "a assistant"}),
    ({"until": START}, {"a user"}),
    ({"metadata": {"topic": "pets"}}, {"b assistant"}),
    ({"metadata": {"topic": "cars"}}, set()),
    ({"metadata": {"done": True}}, {"b assistant"}),
    ({"metadata": {"done": 1}}, set()),
    ({"roles": []}, set()),
]


@pytest.mark.parametrize("ingested", [True, False])
@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_filters_hold_for_ingested_and_pending(world: Corpus, flow_id: UUID, base_id: UUID, ingested: bool) -> None:
    world.say(flow_id, "a user", role="user", session_id="a", end_user_id="ann")
    world.say(flow_id, "a assistant", session_id="a")
    world.say(flow_id, "b assistant", session_id="b", metadata={"topic": "pets", "done": True})
    if ingested:
        world.ingest(base_id, "a")
        world.ingest(base_id, "b")

    wrong = []
    for wanted, expected in FILTERS:
        hits = world.search("a user", memory_base_id=base_id, **wanted)
        found = {(hit.content, hit.pending) for hit in hits}
        if found != {(content, not ingested) for content in expected}:
            wrong.append(f"{wanted}: {found}")
    assert not wrong, "\n".join(wrong)


def test_excluded_messages_make_room_for_others(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    first, second = world.say(flow_id, "zebra", "zebra stripes")
    world.ingest(base_id)

    found = ids(world.search("zebra", memory_base_id=base_id, top_k=1, exclude_message_ids=[first]))

    assert found == [second]


def test_min_score_leaves_out_lower_scores(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    wanted, _, pending = world.say(flow_id, "zebra", "something else entirely", "zebra zebra")
    world.ingest(base_id)

    assert set(ids(world.search("zebra", memory_base_id=base_id, min_score=0.99))) == {wanted, pending}


def fill(world: Corpus, flow_id: UUID, base_id: UUID, count: int, **said: Any) -> list[UUID]:
    found = world.say(flow_id, *(f"zebra number {number}" for number in range(count)), **said)
    world.ingest(base_id, said.get("session_id", "s"))
    return found


def test_a_small_session_is_found(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    fill(world, flow_id, base_id, 300, session_id="large")
    few = fill(world, flow_id, base_id, 3, session_id="small", role="user")
    world.say(flow_id, "quite unlike the query", session_id="small")
    world.ingest(base_id, "small")
    world.vectors.calls.clear()

    hits = world.search("zebra number 250", memory_base_id=base_id, session_id="small")

    assert set(few) < set(ids(hits))
    assert len(hits) == 4
    assert (world.vectors.calls["query"], world.vectors.calls["fetch"]) == (0, 1)


def test_a_renamed_small_session_is_found_by_its_new_name(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    fill(world, flow_id, base_id, 100, session_id="large")
    few = fill(world, flow_id, base_id, 3, session_id="old")
    edits.update_session(world.product.services, world.user_id, flow_id, "old", new_session_id="new")

    assert set(ids(world.search("zebra number 50", memory_base_id=base_id, session_id="new"))) == set(few)


def test_a_rare_role_is_found(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    fill(world, flow_id, base_id, 300)
    (rare,) = world.say(flow_id, "quite unlike the query", role="user")
    world.ingest(base_id)
    world.vectors.calls.clear()

    assert ids(world.search("zebra number 250", memory_base_id=base_id, roles=["user"])) == [rare]
    assert world.vectors.calls["query"] == 3  # 32, 128, and 512 are all there are


def test_a_match_that_no_larger_query_reaches_is_found_by_the_stores_own_filter(
    world: Corpus, flow_id: UUID, base_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybase.core.search.vector_search.MAX_FETCH", 40)
    fill(world, flow_id, base_id, 100)
    (rare,) = world.say(flow_id, "quite unlike the query", role="user")
    world.ingest(base_id)
    later = START + timedelta(seconds=100)

    assert ids(world.search("zebra number 50", memory_base_id=base_id, roles=["user"])) == [rare]
    assert ids(world.search("zebra number 50", memory_base_id=base_id, since=later)) == [rare]


def test_a_large_session_is_found(world: Corpus, flow_id: UUID, base_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybase.core.search.vector_search.MAX_FETCH", 40)
    monkeypatch.setattr("memorybase.core.search.vector_search.COMPARED_CHUNKS", 2)
    fill(world, flow_id, base_id, 100, session_id="large")
    wanted = world.say(flow_id, *(f"unlike {number}" for number in range(5)), session_id="other")
    world.ingest(base_id, "other")

    assert set(ids(world.search("zebra number 50", memory_base_id=base_id, session_id="other"))) == set(wanted)


def test_in_a_large_memory_base_more_chunks_are_compared_than_a_filter_is_worth(
    world: Corpus, flow_id: UUID, base_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybase.core.search.vector_search.COMPARED_CHUNKS", 2)
    wanted = world.say(flow_id, *(f"zebra {number}" for number in range(8)))
    world.ingest(base_id)
    find = partial(world.search, "zebra number 5", memory_base_id=base_id, session_id="s")

    assert set(ids(find())) == set(wanted)
    asked = world.vectors.calls["query"]
    world.product.execute(sa.update(MemoryBase).values(chunks_stored=400))
    assert set(ids(find())) == set(wanted)
    assert world.vectors.calls["query"] == asked > 0
    world.say(flow_id, "one more than that")
    world.ingest(base_id)
    assert set(wanted) < set(ids(find()))
    assert world.vectors.calls["query"] > asked


# SQL decides.


def test_a_deleted_message_is_not_found_though_the_store_has_it(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    gone, kept = world.say(flow_id, "zebra", "zebra stripes")
    world.ingest(base_id)
    world.delete(gone)

    assert ids(world.search("zebra", memory_base_id=base_id)) == [kept]


def test_chunks_of_deleted_messages_do_not_displace_hits(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    fill(world, flow_id, base_id, 100, session_id="deleted")
    kept = world.say(flow_id, "something else", "another thing")
    world.ingest(base_id)
    edits.delete_session(world.product.services, world.user_id, flow_id, "deleted")

    assert set(ids(world.search("zebra number 50", memory_base_id=base_id))) == set(kept)


def test_an_edited_message_is_found_by_its_new_text_at_once(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    edited, other = world.say(flow_id, "the zebra is striped", "nothing of note")
    world.ingest(base_id)
    world.edit(edited, "a giraffe stands tall")

    (hit,) = world.search("giraffe stands tall", memory_base_id=base_id, min_score=0.6)
    assert (hit.message_id, hit.pending, hit.snippet) == (edited, True, "a giraffe stands tall")
    assert world.search("the zebra is striped", memory_base_id=base_id, min_score=0.6) == []
    assert ids(world.search("giraffe", memory_base_id=base_id, include_pending=False)) == [other]


def test_another_users_memory_base_is_not_found(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    world.say(flow_id, "zebra")
    world.ingest(base_id)
    stranger = replace(world, user_id=uuid4())

    with pytest.raises(errors.NotFound):
        stranger.search("zebra", memory_base_id=base_id)
    with pytest.raises(errors.NotFound):
        stranger.search("zebra", flow_id=flow_id)


def test_a_chunk_that_names_another_flows_message_is_dropped(world: Corpus, base_id: UUID) -> None:
    (foreign,) = world.say(world.flow(), "zebra")
    # By hand: no worker writes it.
    (vector,) = world.product.embedder.embed(["zebra"])
    record = VectorRecord(chunk_id(base_id, foreign, 1, 0), vector, "zebra", {"message_id": str(foreign)})
    world.vectors.upsert(world.product.ref(base_id), [record])

    assert world.search("zebra", memory_base_id=base_id) == []


def test_a_memory_base_that_is_being_deleted_is_not_found(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    world.vectors.away = True
    assert not deletion.delete_memory_base(world.product.services, world.user_id, base_id)
    world.vectors.away = False

    with pytest.raises(errors.NotFound):
        world.search("zebra", memory_base_id=base_id)
    assert world.search("zebra", flow_id=flow_id) == []


@each_row("mode", ["dense", "hybrid"])
def test_a_memory_base_is_deleted_during_the_search(world: Corpus, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def delete_before_the_query(base_id: UUID) -> None:
        query = world.vectors.query

        def delete_first(*args: Any, **options: Any) -> list[VectorHit]:
            monkeypatch.undo()
            assert deletion.delete_memory_base(world.product.services, world.user_id, base_id)
            return query(*args, **options)

        monkeypatch.setattr(world.vectors, "query", delete_first)

    flow_id = world.flow()
    kept, named, other = (world.base(flow_id) for _ in range(3))
    (wanted,) = world.say(flow_id, "zebra")
    for base_id in (kept, named, other):
        world.ingest(base_id)
    delete_before_the_query(named)
    with pytest.raises(errors.NotFound):
        world.search("zebra", memory_base_id=named, mode=mode)
    delete_before_the_query(other)
    assert [hit.message_id for hit in world.search("zebra", flow_id=flow_id, mode=mode)] == [wanted]


# What is pending.


def test_a_captured_message_is_found_before_any_ingestion(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    _, wanted = world.say(flow_id, "the weather is grey", "the cat sleeps")

    hit = world.search("the cat sleeps", memory_base_id=base_id, explain=True)[0]

    assert (hit.message_id, hit.pending, hit.score) == (wanted, True, pytest.approx(1))
    assert hit.parts == {"dense": hit.score, "chunk": 0, "source": "pending"}
    assert world.search("the cat sleeps", memory_base_id=base_id, include_pending=False) == []


def test_only_messages_that_the_base_captures_are_pending(world: Corpus, flow_id: UUID) -> None:
    outputs = world.base(flow_id, capture=Capture.OUTPUTS)
    world.say(flow_id, "zebra", role="user")
    world.say(flow_id, "zebra", role="tool")
    (wanted,) = world.say(flow_id, "zebra")

    assert ids(world.search("zebra", memory_base_id=outputs)) == [wanted]


def test_messages_before_the_cursor_are_not_pending(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    old, new = f"zebra {uuid4()}", f"zebra {uuid4()}"  # never remembered from another test
    world.say(flow_id, old)
    world.ingest(base_id)
    world.say(flow_id, new)
    world.product.embedder.embedded.clear()

    hits = world.search("zebra", memory_base_id=base_id)

    assert {hit.content: hit.pending for hit in hits} == {old: False, new: True}
    assert world.product.embedder.embedded == ["zebra", new]


def test_a_pending_text_is_embedded_once(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    text = f"zebra {uuid4()}"
    world.say(flow_id, text)
    for _ in range(3):
        world.search("query", memory_base_id=base_id)

    assert world.product.embedder.embedded.count(text) == 1


def test_a_pending_text_that_is_rejected_hides_no_others(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    world.product.embedder.reject("poison")
    _, wanted = world.say(flow_id, "poison zebra", "zebra stripes")

    assert ids(world.search("zebra", memory_base_id=base_id)) == [wanted]


def test_a_message_is_pending_until_its_worker_has_advanced(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    (said,) = world.say(flow_id, "zebra")
    world.vectors.after_upsert = crash_after()
    with pytest.raises(WorkerKilled):
        world.ingest(base_id)

    (hit,) = world.search("zebra", memory_base_id=base_id)

    assert (hit.message_id, hit.pending) == (said, True)
    assert world.search("zebra", memory_base_id=base_id, include_pending=False) == []


def test_a_message_ingested_while_the_search_runs_is_not_missed(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    (said,) = world.say(flow_id, "zebra")

    def ingest_meanwhile(_texts: Sequence[str]) -> None:
        world.product.embedder.before_embed = None
        world.ingest(base_id)

    world.product.embedder.before_embed = ingest_meanwhile
    (hit,) = world.search("zebra", memory_base_id=base_id)

    assert (hit.message_id, hit.pending) == (said, False)


def test_of_many_pending_messages_the_newest_are_searched(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    said = world.say(flow_id, *(f"zebra {number}" for number in range(200)))
    (other,) = world.say(flow_id, "zebra elsewhere", session_id="other")

    found = set(ids(world.search("zebra", memory_base_id=base_id, top_k=100)))

    assert found == {other, *said[-63:]}


def test_of_many_sessions_with_pending_messages_the_latest_are_searched(
    world: Corpus, flow_id: UUID, base_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybase.core.search.vector_search.PENDING_SESSIONS", 2)
    for name in ("one", "two", "three"):
        world.say(flow_id, f"zebra {name}", session_id=name)
    world.say(flow_id, "zebra again", session_id="one")

    found = {hit.content for hit in world.search("zebra", memory_base_id=base_id)}

    assert found == {"zebra three", "zebra one", "zebra again"}


def test_of_long_pending_messages_only_the_beginning_is_embedded(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    world.product.embedder.max_tokens = 20
    texts = [f"{uuid4()} " + " ".join(f"word{n}." for n in range(200)) for _ in range(40)]
    world.say(flow_id, *texts)
    world.product.embedder.embedded.clear()

    for _ in range(2):  # the second time everything that may be looked at is remembered
        hits = world.search(texts[-1], memory_base_id=base_id, top_k=100)
        assert {hit.content for hit in hits} == set(texts[-32:])

    queries, chunks = 3, 128  # the text, its last sentence, and that with the one before
    assert len(world.product.embedder.embedded) == queries + chunks


@pytest.mark.slow
@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_the_search_of_pending_messages_costs_the_same_whatever_the_history(world: Corpus) -> None:
    steps = []
    for ingested, pending in ((0, 70), (2_000, 70), (0, 2_000)):
        flow_id = world.flow()
        base_id = world.base(flow_id, capture=Capture.OUTPUTS)
        if ingested:
            fill(world, flow_id, base_id, ingested)
        world.say(flow_id, *(f"zebra {number}" for number in range(pending)))
        search = partial(world.search, "unlike", memory_base_id=base_id, min_score=0.99)
        search()  # the texts are remembered from here on
        steps.append(steps_of(world, search))

    assert max(steps) < 1.2 * min(steps)


def steps_of(world: Corpus, call: Callable[[], object]) -> int:
    """How many of its virtual machine's steps SQLite takes."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def listen(connection: Any, _record: object, _proxy: object) -> None:
        connection.set_progress_handler(count, 10)

    # At each checkout: the pool keeps its connections.
    engine = world.product.services.database.engine
    sa.event.listen(engine, "checkout", listen)
    try:
        call()
    finally:
        sa.event.remove(engine, "checkout", listen)
    return steps


# Several memory bases.


def test_a_flows_memory_bases_are_merged_one_row_a_message(world: Corpus, flow_id: UUID) -> None:
    outputs, everything = world.base(flow_id, capture=Capture.OUTPUTS), world.base(flow_id)
    other_model = world.base(flow_id, model="other")
    (user,) = world.say(flow_id, "zebra question", role="user")
    (assistant,) = world.say(flow_id, "zebra answer")
    for base_id in (outputs, everything, other_model):
        world.ingest(base_id)

    hits = world.search("zebra answer", flow_id=flow_id)

    assert ids(hits) == [assistant, user]
    assert not any(hit.pending for hit in hits)
    assert hits[1].memory_base_id in {everything, other_model}


def test_a_search_in_one_memory_base_shows_nothing_of_the_flows_others(world: Corpus, flow_id: UUID) -> None:
    outputs, everything = world.base(flow_id, capture=Capture.OUTPUTS), world.base(flow_id)
    (user,) = world.say(flow_id, "zebra question", role="user")
    world.ingest(everything)

    assert world.search("zebra", memory_base_id=outputs) == []
    assert ids(world.search("zebra", memory_base_id=everything)) == [user]


def test_a_message_pending_in_one_base_alone_is_shown_as_ingested(world: Corpus, flow_id: UUID) -> None:
    world.base(flow_id)
    done = world.base(flow_id)
    world.base(flow_id)
    world.say(flow_id, "zebra")
    world.ingest(done)

    (hit,) = world.search("zebra", flow_id=flow_id)

    assert (hit.memory_base_id, hit.pending) == (done, False)


def test_a_flow_without_memory_bases_has_nothing_to_find(world: Corpus, flow_id: UUID) -> None:
    world.say(flow_id, "zebra")

    assert world.search("zebra", flow_id=flow_id) == []


# When something is away.


def test_a_store_that_is_away_is_an_error_and_not_an_empty_answer(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    assert world.search("zebra", memory_base_id=base_id) == []
    world.say(flow_id, "zebra")
    world.vectors.away = True

    with pytest.raises(errors.VectorStoreUnavailable):
        world.search("zebra", memory_base_id=base_id)
    with pytest.raises(errors.VectorStoreUnavailable):
        world.search("zebra", flow_id=flow_id)


def test_a_lost_collection_is_an_error(world: Corpus, flow_id: UUID, base_id: UUID) -> None:
    world.vectors.replace_collection(world.product.ref(base_id).name)

    with pytest.raises(errors.CollectionMissing):
        world.search("zebra", flow_id=flow_id)


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_search_without_a_collection_shows_the_mismatch(
    world: Corpus, flow_id: UUID, base_id: UUID, mode: str
) -> None:
    world.say(flow_id, "zebra")
    world.ingest(base_id)
    world.product.sweep()
    assert world.product.base(base_id).mismatch is False
    world.vectors.delete_collection(world.product.ref(base_id).name)

    with pytest.raises(errors.CollectionMissing):
        world.search("zebra", memory_base_id=base_id, mode=mode)
    # Of two threads that find it missing at once, one marks it, and the other waits for nothing.
    wait_until(lambda: world.product.base(base_id).mismatch is True, what="the mismatch is shown")


def test_a_model_whose_weights_have_changed_is_an_error(world: Corpus, base_id: UUID) -> None:
    world.product.embedder.identity = "fake/fake/2"
    with pytest.raises(errors.ModelUnavailable, match="regenerate"):
        world.search("zebra", memory_base_id=base_id)

    world.product.embedder.identity = "another-backend/fake/1"
    assert world.search("zebra", memory_base_id=base_id) == []


def test_another_passage_prompt_leaves_the_store_alone(world: Corpus, base_id: UUID) -> None:
    world.product.embedder.identity = "fake/fake/1/passage-0123abcd"
    assert world.search("zebra", memory_base_id=base_id) == []


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
@each_row(
    ("wanted", "named"),
    [
        ({"query": "  "}, "query"),
        ({"query": "\ud800"}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"neighbors": 21}, "neighbors"),
        ({"mode": "sparse"}, "mode"),
        ({"min_score": 1.1}, "min_score"),
        ({"session_id": "\x00"}, "session_id"),
        ({"roles": ["nobody"]}, "roles"),
        ({"since": datetime(2026, 1, 1)}, "since"),  # noqa: DTZ001
        ({"flow_id": uuid4()}, "memory_base_id"),
        ({"exclude_message_ids": [uuid4() for _ in range(1_001)]}, "exclude_message_ids"),
    ],
)
def test_a_request_out_of_bounds_is_refused(world: Corpus, base_id: UUID, wanted: dict[str, Any], named: str) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        world.search(**({"query": "zebra", "memory_base_id": base_id} | wanted))

    assert caught.value.field == named


def test_a_query_that_is_refused_is_the_callers_error(world: Corpus, base_id: UUID) -> None:
    world.product.embedder.reject("poison")

    with pytest.raises(errors.InvalidRequest) as caught:
        world.search("poison", memory_base_id=base_id)

    assert caught.value.field == "query"


# The whole way.


def test_a_message_is_found_after_capture_ingestion_edit_regenerate_and_rename(tmp_path: Path) -> None:
    flow = build_world(f"sqlite:///{tmp_path / 'flow.db'}", tmp_path)
    base_id = flow.new_base(capture=Capture.OUTPUTS)

    def found(query: str) -> list[tuple[Any, bool]]:
        request = SearchRequest(memory_base_id=base_id, query=query, mode="dense", min_score=0.7)
        hits = message_search.search(flow.services, flow.user_id, request).results
        return [(hit.content, hit.pending) for hit in hits]

    (said,) = flow.say("s", "the zebra is striped").messages
    flow.say("s", "something else")
    assert found("the zebra is striped") == [("the zebra is striped", True)]

    flow.flush(base_id)
    flow.settle()
    assert found("the zebra is striped") == [("the zebra is striped", False)]

    edits.edit_message(flow.services, flow.user_id, said.id, {"content": "a giraffe stands tall"})
    assert found("the zebra is striped") == []
    assert found("a giraffe stands tall") == [("a giraffe stands tall", True)]
    flow.settle()
    assert found("a giraffe stands tall") == [("a giraffe stands tall", False)]

    regenerate.regenerate(flow.services, flow.user_id, base_id)
    assert found("a giraffe stands tall") == [("a giraffe stands tall", False)]
    flow.say("s", "an ostrich runs")
    assert found("an ostrich runs") == [("an ostrich runs", True)]
    flow.settle()
    assert found("a giraffe stands tall") == [("a giraffe stands tall", False)]

    edits.update_session(flow.services, flow.user_id, flow.flow_id, "s", new_session_id="renamed")
    assert found("a giraffe stands tall") == [("a giraffe stands tall", True)]
    flow.settle()
    assert found("a giraffe stands tall") == [("a giraffe stands tall", False)]

    edits.delete_message(flow.services, flow.user_id, said.id)
    assert found("a giraffe stands tall") == []
    flow.settle()
    assert found("a giraffe stands tall") == []
    flow.close()


# The real parts.


def test_search_works_with_a_real_store_and_model(world: Corpus, chroma_url: str, model_cache: Path) -> None:
    chroma = ChromaStore(chroma_url, timeout_seconds=10)
    settings = world.product.services.settings.model_copy(
        update={"model_dir": model_cache, "embedding_model": DEFAULT_MODEL}
    )
    services = replace(world.product.services, settings=settings, vectors=chroma, embedders=Embedders(settings))
    real = replace(world, product=replace(world.product, services=services))
    flow_id = real.flow()
    base_id = real.base(flow_id, model=DEFAULT_MODEL)
    try:
        invoice, cat = real.say(flow_id, "The invoice is due on the third of May.", "My cat is called Fritz.")
        real.say(flow_id, *(f"Small talk number {number}." for number in range(60)), session_id="small talk")
        real.ingest(base_id)
        real.ingest(base_id, "small talk")
        (wine,) = real.say(flow_id, "We drank a bottle of Riesling.", session_id="tonight")

        assert ids(real.search("What is the pet's name?", memory_base_id=base_id, top_k=1)) == [cat]
        assert ids(real.search("When must I pay?", memory_base_id=base_id, session_id="s")) == [invoice, cat]
        (hit,) = real.search("white wine", memory_base_id=base_id, top_k=1)
        assert (hit.message_id, hit.pending) == (wine, True)
        for unknown in ("hi", "thank you", "Where is the boat?", "zeppelin"):
            assert real.search(unknown, memory_base_id=base_id, mode="hybrid", min_score=MIN_SCORE) == [], unknown
        real.ingest(base_id, "tonight")

        def found() -> message_search.Hit:
            (one,) = real.search("white wine", memory_base_id=base_id, top_k=1)
            return one

        # On a busy machine Chroma's index follows an acknowledged write a moment later.
        wait_until(lambda: found().message_id == wine and not found().pending, what="the ingested message is found")
        assert found().score == pytest.approx(hit.score, abs=1e-4)
        assert len(real.search("talk", memory_base_id=base_id, session_id="small talk", top_k=100)) == 60
    finally:
        chroma.close()


def test_the_fake_embedder_of_these_tests_ranks_by_shared_words() -> None:
    one, other, unlike = FakeEmbedder().embed(["the cat sleeps", "the cat is awake", "grey weather today"])

    assert one @ other > one @ unlike
