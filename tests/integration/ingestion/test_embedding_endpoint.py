"""Ingestion and search with a model behind an endpoint: outages, refused messages, another model, and the counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from harness.doubles import FakeEmbedder
from harness.embedding_endpoint import KEY, EmbeddingEndpoint, failing, serving_embeddings
from harness.world import World

from memorybase.core import errors
from memorybase.core.embedding import Embedders, usage
from memorybase.core.embedding.fingerprint import TEXTS
from memorybase.core.embedding.usage import Usage
from memorybase.core.memory_bases import regenerate
from memorybase.core.operations import embedding_usage, exposition
from memorybase.core.queries import token_vectors
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import SearchResults, search

MODEL = "openai:some-model"


@pytest.fixture
def endpoint() -> Iterator[EmbeddingEndpoint]:
    with serving_embeddings(FakeEmbedder()) as found:
        yield found
    usage.OF_THIS_PROCESS.take()


@pytest.fixture
def remote(world: World, endpoint: EmbeddingEndpoint, monkeypatch: pytest.MonkeyPatch) -> World:
    """The world with the endpoint's model as its default."""
    monkeypatch.setattr("memorybase.core.embedding.endpoint_client.ATTEMPTS", 1)
    monkeypatch.setattr("memorybase.core.embedding.endpoint_client.PAUSE_SECONDS", 0.001)
    changes = {
        "embedding_model": MODEL,
        "embedding_url": endpoint.url,
        "embedding_key": KEY,
        "token_prices": {"some-model": {"input": 20.0}},
    }
    return restarted(
        replace(world, services=replace(world.services, settings=world.services.settings.model_copy(update=changes)))
    )


def restarted(world: World) -> World:
    """The world after its processes were started again: they load the model anew."""
    return replace(world, services=replace(world.services, embedders=Embedders(world.services.settings)))  # type: ignore[arg-type]


def find(world: World, base_id: object, query: str) -> SearchResults:
    return search(world.services, world.user_id, SearchRequest(query=query, memory_base_id=base_id))  # type: ignore[arg-type]


def test_an_outage_delays_messages_and_loses_none(remote: World, endpoint: EmbeddingEndpoint) -> None:
    base_id = remote.new_base()
    remote.say("s", "the boat is at berth twelve", "the cat sleeps")
    remote.flush(base_id)
    endpoint.faults = [failing(500)] * 3
    for _ in range(3):
        remote.drain()
        remote.pass_time(120)
        remote.sweep()
    assert remote.dead_letters(base_id) == []
    (job,) = remote.active_jobs(base_id)
    assert (job.error_code, job.outages) == ("model_unavailable", 3)
    remote.settle()
    remote.assert_exact(base_id)
    assert len(remote.ledger(base_id)) == 2


def test_a_search_in_an_outage_is_an_error_and_never_empty(remote: World, endpoint: EmbeddingEndpoint) -> None:
    base_id = remote.new_base()
    said = f"the boat is at berth {uuid4()}"  # vectors of pending messages are cached
    remote.say("s", said)
    endpoint.faults = [failing(503)]
    with pytest.raises(errors.ModelUnavailable):
        find(remote, base_id, "boat")
    # The query's vector is there, and that of the pending message is not.
    endpoint.faults = [lambda _: None, failing(503)]
    with pytest.raises(errors.ModelUnavailable):
        find(remote, base_id, "the boat")
    assert [hit.content for hit in find(remote, base_id, "the boat").results] == [said]


def test_a_refused_message_does_not_hold_up_the_others(remote: World, endpoint: EmbeddingEndpoint) -> None:
    base_id = remote.new_base()
    endpoint.refused = "unspeakable"
    remote.say("s", "one", "an unspeakable thing", "three")
    remote.flush(base_id)
    remote.settle()
    assert [letter.error_code for letter in remote.dead_letters(base_id)] == ["text_rejected"]
    assert len(remote.ledger(base_id)) == 2
    remote.assert_exact(base_id)


def test_another_model_behind_the_name_is_not_mixed_in(remote: World, endpoint: EmbeddingEndpoint) -> None:
    base_id = remote.new_base()
    remote.say("s", "the boat is at berth twelve")
    remote.flush(base_id)
    remote.settle()
    endpoint.embedder = FakeEmbedder("another")
    later = restarted(remote)
    later.say("s", "the cat sleeps")
    later.flush(base_id)
    later.drain()
    (job,) = later.active_jobs(base_id)
    assert job.error_code == "model_unavailable"
    with pytest.raises(errors.ModelUnavailable, match="regenerate"):
        find(later, base_id, "boat")
    regenerate.regenerate(later.services, later.user_id, base_id)
    later.pass_time(120)
    later.settle()
    later.assert_exact(base_id)
    assert find(later, base_id, "the boat").results


def test_an_endpoint_gives_no_token_vectors_and_none_are_missing(remote: World) -> None:
    base_id = remote.new_base()
    remote.say("s", "the boat is at berth twelve")
    remote.flush(base_id)
    remote.settle()
    remote.assert_exact(base_id)
    embedder = remote.services.embedders.get()
    with remote.services.database.reading() as db:
        assert token_vectors.count_bases_without(db, embedder.model, embedder.token_encoding) == 0


def test_requests_and_tokens_are_counted_over_all_processes(remote: World, endpoint: EmbeddingEndpoint) -> None:
    usage.OF_THIS_PROCESS.take()
    words = sum(len(FakeEmbedder().token_offsets(text)) for text in TEXTS)
    remote.services.embedders.get().embed(["three words here"])
    embedding_usage.store(remote.services)
    endpoint.faults = [failing(400)]
    with pytest.raises(errors.TextRejected):
        remote.services.embedders.get().embed_query("a question")
    embedding_usage.store(remote.services)
    embedding_usage.store(remote.services)
    probe = 9
    tokens = words + 3 + probe
    assert embedding_usage.read(remote.services) == {"some-model": Usage(4, 1, len(TEXTS) + 2, tokens)}
    text = exposition.Exposition().text(remote.services).decode()
    for line in (
        'memorybase_embedding_requests_total{model="some-model",outcome="answered"} 3.0',
        'memorybase_embedding_requests_total{model="some-model",outcome="failed"} 1.0',
        f'memorybase_embedding_texts_total{{model="some-model"}} {len(TEXTS) + 2}.0',
        f'memorybase_embedding_tokens_total{{model="some-model"}} {tokens}.0',
        f'memorybase_embedding_cost_total{{model="some-model"}} {tokens * 20 / 1e6}',
    ):
        assert line in text


def test_counts_that_cannot_be_stored_are_kept(remote: World, monkeypatch: pytest.MonkeyPatch) -> None:
    usage.OF_THIS_PROCESS.take()
    usage.OF_THIS_PROCESS.add("m", Usage(requests=1))

    def away(*_: object) -> None:
        raise errors.DatabaseUnavailable

    with monkeypatch.context() as broken:
        broken.setattr(embedding_usage.embedding_usage, "add", away)
        with pytest.raises(errors.DatabaseUnavailable):
            embedding_usage.store(remote.services)
    usage.OF_THIS_PROCESS.add("m", Usage(requests=1))
    embedding_usage.store(remote.services)
    assert embedding_usage.read(remote.services) == {"m": Usage(requests=2)}
