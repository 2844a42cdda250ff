"""Search with rerankers whose ranking differs from every other: a double and a tiny cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.world import World
from numpy.typing import NDArray

from memorybase.core.embedding import CrossEncoderReranker, Reranker
from memorybase.core.errors import ModelUnavailable
from memorybase.core.search import search as answer
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.settings import Settings
from memorybase.wiring import build, close

QUERY = "where is the cat"
SAID = ["the cat is in the garden", "a cat", "the dog and the cat sleep", "where is my cat now", "no cat is here"]


def make_cross_encoder(folder: Path, labels: int = 1) -> str:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = sorted({word for text in [QUERY, *SAID] for word in text.split()})
    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])}
    torch.manual_seed(17)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=labels,
        initializer_range=1.0,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(vocab=vocabulary).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


def reranker(model: str) -> CrossEncoderReranker:
    return CrossEncoderReranker(Settings(reranker_model=model))


class Double:
    """Scores that follow from the letters of the texts."""

    def scores(self, _query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([(sum(text.encode()) % 97 + 1) / 99 for text in texts], np.float32)


def search(world: World, reranker: Reranker | None, **wanted: object) -> list[Hit]:
    services = replace(world.services, reranker=reranker)
    request = SearchRequest(flow_id=world.flow_id, query=QUERY, **wanted)  # type: ignore[arg-type]
    return answer.search(services, world.user_id, request).results


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", ["double", pytest.param("cross-encoder", marks=[pytest.mark.slow, pytest.mark.tools])])
def test_the_fused_candidates_are_reranked(world: World, kind: str, request: pytest.FixtureRequest) -> None:
    world.new_base(threshold=1)
    world.say("s", *SAID)
    own = Double() if kind == "double" else reranker(request.getfixturevalue("cross_encoder"))
    expected = dict(zip(SAID, own.scores(QUERY, SAID).tolist(), strict=True))
    assert 0 < min(expected.values()) < max(expected.values()) < 1

    for mode in ("hybrid", "keyword"):
        hits = search(world, own, mode=mode, explain=True)
        assert [hit.content for hit in hits] == sorted(SAID, key=lambda text: -expected[text])
        np.testing.assert_allclose([hit.score for hit in hits], [expected[hit.content] for hit in hits], atol=1e-4)
        assert all(
            hit.parts and hit.parts["reranker"] == hit.score and "nearby" in hit.parts["signals"] for hit in hits
        )

    first, second, *_ = search(world, own)
    assert [hit.content for hit in search(world, own, top_k=1)] == [first.content]
    assert [hit.content for hit in search(world, own, min_score=second.score)] == [first.content, second.content]
    for hits in (search(world, None, explain=True), search(world, own, mode="dense", explain=True)):
        assert len(hits) == len(SAID)
        assert not any(hit.parts and "reranker" in hit.parts for hit in hits)
    assert search(world, own, session_id="another") == []


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_an_unusable_reranker_is_an_error_with_the_setting(world: World, tmp_path: Path) -> None:
    world.new_base(threshold=1)
    world.say("s", *SAID)
    (tmp_path / "empty").mkdir()
    for model, why in (
        (str(tmp_path / "absent"), "does not exist"),
        (str(tmp_path / "empty"), "does not load"),
        (make_cross_encoder(tmp_path / "two", labels=2), "returns 2 scores"),
    ):
        with pytest.raises(ModelUnavailable, match=rf"{why}.*MEMORYBASE_RERANKER_MODEL"):
            search(world, reranker(model))


def test_the_reranker_is_off_by_default_and_loaded_on_first_use(tmp_path: Path) -> None:
    for model, made in (("", False), ("/no/such/folder", True)):
        services = build(Settings(data_dir=tmp_path, reranker_model=model))
        assert (services.reranker is not None) is made
        close(services)
