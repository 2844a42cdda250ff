"""Search with a cross-encoder: a tiny one of random weights, whose order no other signal gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.world import World

from memorybase.embedding import CrossEncoderReranker
from memorybase.errors import ModelUnavailable
from memorybase.search import search as answer
from memorybase.search.request import SearchRequest
from memorybase.search.search import Hit
from memorybase.settings import Settings
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
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, num_labels=labels, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(vocab=vocabulary).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


def reranker(model: str) -> CrossEncoderReranker:
    return CrossEncoderReranker(Settings(reranker_model=model))


def search(world: World, reranker: CrossEncoderReranker | None, **wanted: object) -> list[Hit]:
    services = replace(world.services, reranker=reranker)
    request = SearchRequest(flow_id=world.flow_id, query=QUERY, **wanted)  # type: ignore[arg-type]
    return answer.search(services, world.user_id, request).results


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_the_reranker_scores_the_fused_candidates(world: World, cross_encoder: str) -> None:
    world.new_base(threshold=1)
    world.say("s", *SAID)
    own = reranker(cross_encoder)
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


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_reranker_that_cannot_be_had_is_an_error_that_names_the_setting(world: World, tmp_path: Path) -> None:
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


def test_it_is_off_unless_set_and_loaded_when_first_asked(tmp_path: Path) -> None:
    for model, made in (("", False), ("/no/such/folder", True)):
        services = build(Settings(data_dir=tmp_path, reranker_model=model))
        assert (services.reranker is not None) is made
        close(services)
