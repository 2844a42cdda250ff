"""The rows that the benchmark of scale fills in bulk are those of captures and jobs."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.index import stored_postings
from harness.world import World
from scaling import rows
from scaling.bulk import loading
from scaling.embedder import MadeEmbedders
from scaling.rows import LEAVING_MESSAGES, LEAVING_SESSIONS, RowMaker, Target
from scaling.texts import Vocabulary

from memorybase.core.embedding import chunking
from memorybase.core.keyword_index import index
from memorybase.core.memory_bases import consistency
from memorybase.core.models import Session
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest

pytestmark = pytest.mark.slow
MESSAGES, SESSIONS = 300, 20


@pytest.fixture
def filled(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[World, UUID]:
    """A world with made sessions, most of them ingested, and its memory base."""
    monkeypatch.setattr(rows, "PIECE", 25)  # so that some sessions are made in several pieces
    vocabulary = Vocabulary()
    embedders = MadeEmbedders(vocabulary)
    world = replace(world, services=replace(world.services, embedders=embedders))
    base, embedder = world.new_base(threshold=10), embedders.get()
    chunker = chunking.chunker_for(world.services.settings, embedder)
    maker = RowMaker(Target(world.user_id, world.flow_id, base, embedder, chunker), vocabulary)
    with loading(world.services.database.url) as loader:
        for batch in maker.batches(MESSAGES, SESSIONS, leaving=True):
            loader.load(batch)
            world.vectors.upsert(world.ref(base), batch.records)
    return world, base


def test_a_filled_store_is_consistent(filled: tuple[World, UUID]) -> None:
    world, base = filled
    assert len(world.messages()) == MESSAGES + LEAVING_SESSIONS * LEAVING_MESSAGES
    world.assert_exact(base)
    found = consistency.check_mismatch(world.services, world.user_id, base)
    assert (found.state, found.missing_token_vectors) == ("ok", 0)
    assert found.expected > len(world.ledger(base))  # long answers have several chunks


def test_a_filled_keyword_index_is_that_of_the_messages(filled: tuple[World, UUID]) -> None:
    world, _ = filled
    services = world.services
    expected = {
        (term, message.position): times
        for message in world.messages()
        for term, _, times in index._postings(world.flow_id, 0, index.analyze(services, "user", message.content))
    }
    with services.database.reading() as db:
        stored = stored_postings(db)
        sizes = {row.session_id: (row.documents, row.terms) for row in db.scalars(sa.select(Session))}
    assert stored == expected
    for session_id, size in sizes.items():
        said = world.messages(session_id)
        assert size == (sum(bool(m.terms) for m in said), sum(m.terms for m in said))


def test_a_filled_store_goes_on(filled: tuple[World, UUID]) -> None:
    world, base = filled
    waiting = [row for row in world.rows(base) if row.cursor_seq < max(m.seq for m in world.messages(row.session_id))]
    assert [row.session_id for row in waiting] == ["session-7"]
    world.say("session-3", "a kestrel above the quarry")
    world.flush(base)
    world.assert_settled(base)
    wanted = SearchRequest(memory_base_id=base, query="kestrel quarry")
    assert search.search(world.services, world.user_id, wanted).results[0].session_id == "session-3"
