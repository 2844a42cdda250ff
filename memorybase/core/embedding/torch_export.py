"""A model of any architecture to ONNX with torch and sentence-transformers, checked: for all that bert.py refuses."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from memorybase.core.embedding.bert import OPSET
from memorybase.core.embedding.exported import MODEL_FILE, TOKENIZER_FILE, Manifest
from memorybase.core.embedding.onnx import STATES, VECTORS, OnnxEmbedder
from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts, prompts_in
from memorybase.core.embedding.reference import load_model, load_tokenizer, max_seq_length
from memorybase.core.errors import ModelUnavailable

MINIMUM_COSINE = 0.9999
POOLINGS = frozenset({"mean", "cls"})
OTHER_BACKEND = "Set MEMORYBASE_EMBEDDING_BACKEND=sentence-transformers to use it anyway."
# One word, cases, scripts, symbols, and more than any model reads: every kind of padding and truncation.
CHECK_TEXTS = (
    "Hi",
    "The cursor moves only once the memory is stored.",
    "Naïve CAFÉ, 42 % off: 東京 и Москва 🙂",
    "What did we decide about the release date? " * 8,
    "A long report goes on and on, and then some more. " * 400,
)


def export(source: Path, folder: Path) -> None:
    """Write graph, tokenizer and manifest into the folder; raises ModelUnavailable if the export differs."""
    model = load_model(source, device="cpu", plain_attention=True).float().eval()
    _write_graph(model, _pooling(model), folder / MODEL_FILE)
    _write_tokenizer(source, model, folder / TOKENIZER_FILE)
    Manifest(
        dimension=int(model.get_embedding_dimension()),
        max_seq_length=max_seq_length(model),
        pad_id=int(model.tokenizer.pad_token_id or 0),
    ).write(folder)
    _check(model, open_export(folder, prompts_in(source)), prompts_in(source))


def open_export(folder: Path, prompts: Prompts = NO_PROMPTS) -> OnnxEmbedder:
    """The embedder of an exported model, outside the cache too."""
    return OnnxEmbedder(
        folder, model=folder.name, identity=folder.name, batch_size=len(CHECK_TEXTS), threads=0, prompts=prompts
    )


def _pooling(model: Any) -> str:
    """The model's pooling; raises ModelUnavailable for one that the graph does not support."""
    modules = list(model)
    names = [type(module).__name__ for module in modules]
    if names[:2] != ["Transformer", "Pooling"] or set(names[2:]) - {"Normalize"}:
        raise ModelUnavailable(f"its modules are {', '.join(names)}. {OTHER_BACKEND}")
    pooling = modules[1].pooling_mode
    if pooling not in POOLINGS or not modules[1].include_prompt:
        raise ModelUnavailable(f"its pooling is {pooling}. {OTHER_BACKEND}")
    return str(pooling)


def _graph_of(model: Any, pooling: str) -> Any:
    """Token ids and mask to vectors of length 1 and the states of the tokens, as a module of torch."""
    import torch

    class Graph(torch.nn.Module):
        def __init__(self, transformer: torch.nn.Module) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            output = self.transformer({"input_ids": input_ids, "attention_mask": attention_mask})
            states: torch.Tensor = output["token_embeddings"]
            if pooling == "cls":
                vectors = states[:, 0]
            else:
                mask = attention_mask.unsqueeze(-1).to(states.dtype)
                vectors = (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(vectors, p=2.0, dim=1), states

    return Graph(model[0])


def _write_graph(model: Any, pooling: str, path: Path) -> None:
    import torch

    ids = torch.full((2, 8), int(model.tokenizer.unk_token_id or 0), dtype=torch.int64)
    mask = torch.ones((2, 8), dtype=torch.int64)
    mask[1, 5:] = 0
    free = {0: "batch", 1: "tokens"}
    with warnings.catch_warnings(), torch.no_grad():
        # The tracing exporter is deprecated, but as exact as the new one, faster, and needs no other package. The check
        # afterwards covers what it warns about (frozen conditions, negative indices).
        warnings.filterwarnings("ignore", "You are using the legacy TorchScript-based", DeprecationWarning)
        warnings.filterwarnings("ignore", module=r"torch\.onnx")
        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
        try:
            torch.onnx.export(
                _graph_of(model, pooling),
                (ids, mask),
                str(path),
                input_names=["input_ids", "attention_mask"],
                output_names=[VECTORS, STATES],
                dynamic_axes={"input_ids": free, "attention_mask": free, VECTORS: {0: "batch"}, STATES: free},
                opset_version=OPSET,
                dynamo=False,
            )
        except OSError:  # such as a full disk
            raise
        except Exception as error:  # the exporter's errors have no other common base
            raise ModelUnavailable(f"torch cannot export it ({type(error).__name__}). {OTHER_BACKEND}") from error


def _write_tokenizer(source: Path, model: Any, path: Path) -> None:
    published = source / TOKENIZER_FILE
    if published.is_file():
        shutil.copyfile(published, path)
    else:
        load_tokenizer(model).save(str(path))


def _check(model: Any, exported: OnnxEmbedder, prompts: Prompts) -> None:
    """Compare the export with sentence-transformers: in one padded batch, one by one, and as queries."""
    expected = model.encode_document(list(CHECK_TEXTS), prompt=prompts.passage, normalize_embeddings=True)
    queries = model.encode_query(list(CHECK_TEXTS), prompt=prompts.query, normalize_embeddings=True)
    cosines = [
        (exported.embed(CHECK_TEXTS) * expected).sum(axis=1),
        (np.vstack([exported.embed([text]) for text in CHECK_TEXTS]) * expected).sum(axis=1),
        (np.vstack([exported.embed_query(text) for text in CHECK_TEXTS]) * queries).sum(axis=1),
    ]
    worst = float(np.min(cosines))
    if not worst > MINIMUM_COSINE:  # also true for NaN
        raise ModelUnavailable(f"its ONNX form differs from the model (cosine {worst:.4f}). {OTHER_BACKEND}")
