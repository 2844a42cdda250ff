"""What every embedder promises: each backend with the default model, a model with prefixes, one behind an endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from harness.constants import constants
from harness.doubles import FakeEmbedder
from harness.embedding_endpoint import KEY, serving_embeddings

from memorybase.core.embedding import Embedder, Embedders, registry
from memorybase.core.embedding.chunking import chunker_for
from memorybase.core.embedding.compatibility import check_searchable, check_writable
from memorybase.core.errors import ModelUnavailable, TextRejected
from memorybase.core.settings import Settings

REQUEST_TOKENS = "memorybase.core.embedding.endpoint.REQUEST_TOKENS"
PREFIXES = {"query": "query: ", "passage": "passage: "}
KINDS = (
    "onnx",
    "onnx-int8",
    "endpoint-prefixed",
    "double",
    # Other configurations of the same code.
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("prefixed", "endpoint", "endpoint-128")),
    pytest.param("sentence-transformers", marks=[pytest.mark.slow, pytest.mark.tools]),
)
TEXTS = [
    "ok",
    "The release moved to Thursday, since the migration takes longer than a night.",
    "Wann ist die nächste Besprechung? Am Dienstag, 14:30 Uhr.",
    "東京タワーは赤い。🗼" * 6,
    "\0 a NUL and a \u200b zero width space",
    "What did we say about the invoice of March? " * 10,
    *(f"Note {number}" for number in range(64)),
]


@pytest.fixture(scope="module")
def settings(model_cache: Path) -> Settings:
    return Settings(data_dir=model_cache, model_dir=model_cache, embedding_threads=1)


@pytest.fixture(scope="module", params=KINDS)
def embedder(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Embedder]:
    kind: str = request.param
    if kind == "double":
        yield FakeEmbedder()
    elif kind.startswith("endpoint"):
        with serving_embeddings(Embedders(settings).get()) as endpoint, constants({REQUEST_TOKENS: 500}):
            stated = {"embedding_url": endpoint.url, "embedding_key": KEY}
            if kind.endswith("-128"):
                stated["embedding_dimension"] = 128
            if kind.endswith("-prefixed"):
                stated["embedding_prompts"] = {"openai:some": PREFIXES}
            yield registry.load(Settings.model_validate(settings.model_dump() | stated), "openai:some")
    elif kind == "prefixed":
        stated = {"embedding_prompts": {settings.embedding_model: PREFIXES}}
        yield Embedders(settings.model_copy(update=stated)).get()
    else:
        yield Embedders(settings.model_copy(update={"embedding_backend": kind})).get()


def test_vectors_have_length_one_and_the_texts_order(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1])[::-1], vectors, atol=1e-5)
    assert embedder.embed_query(TEXTS[0]).shape == (embedder.dimension,)


def test_similar_texts_are_nearer_than_others(embedder: Embedder) -> None:
    query = embedder.embed_query("When is our next meeting?")
    scores = embedder.embed(["Our next meeting is on Tuesday.", "The cat sleeps in warm sunshine."]) @ query
    assert scores[0] > scores[1] + 0.2


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_invalid_unicode_is_rejected_and_not_quoted(embedder: Embedder) -> None:
    for call in (lambda text: embedder.embed(["fine", text]), embedder.embed_query, embedder.token_offsets):
        with pytest.raises(TextRejected) as caught:
            call("secret \ud800 words")
        assert "secret" not in f"{caught.value!r} {caught.value.details}"


def test_a_long_text_is_cut_into_chunks_that_are_read_fully(embedder: Embedder, settings: Settings) -> None:
    text = "The harbour has twelve berths, and each has a number. " * 60
    chunks = chunker_for(settings, embedder).split(text)
    assert len(chunks) > 2
    assert max(len(embedder.token_offsets(chunk.text)) for chunk in chunks) <= embedder.max_tokens
    assert embedder.embed([text, *(chunk.text for chunk in chunks)]).shape == (len(chunks) + 1, embedder.dimension)


def test_token_vectors_come_with_the_same_vectors_or_not_at_all(embedder: Embedder) -> None:
    texts = ["The boat is moored at berth twelve.", "Another message."]
    vectors, tokens = embedder.embed_with_tokens(texts, [0])
    np.testing.assert_allclose(vectors, embedder.embed(texts), atol=1e-5)
    assert tokens.keys() == (set() if embedder.token_encoding is None else {0})
    vector, query = embedder.embed_query_with_tokens("boat", "Where is the boat?")
    np.testing.assert_allclose(vector, embedder.embed_query("boat"), atol=1e-5)
    assert len(query.vectors) == len(query.spans)


def test_an_embedder_compares_with_its_own_identity_alone(embedder: Embedder) -> None:
    for check in (check_searchable, check_writable):
        check(embedder, embedder.identity, remedy="regenerate")
        for other in ("onnx-int8/other-model/53aa5117", f"{embedder.identity}/passage-01234567"):
            if check is check_writable or "other" in other:
                with pytest.raises(ModelUnavailable, match="regenerate"):
                    check(embedder, other, remedy="regenerate")
