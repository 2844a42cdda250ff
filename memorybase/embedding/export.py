"""`python -m memorybase.embedding.export PRECISION SOURCE TARGET`: a sentence-transformers model to ONNX, checked.

PRECISION is fp32 with the model's folder as SOURCE, or int8 with the folder of its fp32 export.
It runs in its own process, so that neither the API nor a worker loads torch. The target appears atomically.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from memorybase.embedding.exported import MODEL_FILE, REFUSED, TOKENIZER_FILE, Manifest
from memorybase.embedding.onnx import STATES, VECTORS, OnnxEmbedder
from memorybase.embedding.prompts import NO_PROMPTS, Prompts, prompts_in
from memorybase.embedding.quantize import quantize_model
from memorybase.embedding.reference import load_model, load_tokenizer, max_seq_length
from memorybase.embedding.source import is_default
from memorybase.embedding.token_vectors import DEFAULT_PROJECTION, PROJECTION_FILE, Projection, calibration_texts
from memorybase.errors import ModelUnavailable

OPSET = 17
MINIMUM_COSINE = 0.9999
MINIMUM_INT8_COSINE = 0.97  # to fp32; MiniLM's minimum over 1,040 chat messages is .982
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


def main() -> int:
    """Export; returns 0 if the target exists, or REFUSED with the reason on the last line."""
    export = {"fp32": export_model, "int8": export_int8}[sys.argv[1]]
    source, target = map(Path, sys.argv[2:4])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target):
            if not target.is_dir():
                _export_whole(export, source, target)
    except (ModelUnavailable, OSError) as error:
        sys.stdout.write(f"{error}\n")
        return REFUSED
    return 0


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Lock the target against other exporting processes; the lock ends with its process."""
    with target.with_name(f"{target.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _export_whole(export: Callable[[Path, Path], None], source: Path, target: Path) -> None:
    for leftover in target.parent.glob(f"{target.name}.part-*"):
        shutil.rmtree(leftover)  # of a dead process, because this one holds the lock
    part = Path(tempfile.mkdtemp(prefix=f"{target.name}.part-", dir=target.parent))
    try:
        part.chmod(0o777 & ~_umask())  # mkdtemp's mode is 0700, and workers of other users may share the folder
        export(source, part)
        _sync(part)
        part.replace(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _umask() -> int:
    os.umask(mask := os.umask(0o077))
    return mask


def _sync(folder: Path) -> None:
    """Sync before the rename, so that a power cut leaves no partial model under the final name."""
    for path in (*folder.glob("*"), folder):
        if path.is_file() or path == folder:
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def export_model(source: Path, folder: Path) -> None:
    """Write model, tokenizer and manifest into the folder; raises ModelUnavailable if the export differs."""
    model = load_model(source, device="cpu", plain_attention=True).float().eval()
    pooling = _pooling(model)
    _write_graph(model, pooling, folder / MODEL_FILE)
    _write_tokenizer(source, model, folder / TOKENIZER_FILE)
    Manifest(
        dimension=int(model.get_embedding_dimension()),
        max_seq_length=max_seq_length(model),
        pad_id=int(model.tokenizer.pad_token_id or 0),
    ).write(folder)
    _check(model, folder, prompts_in(source))
    _write_projection(source, folder)


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


def _write_graph(model: Any, pooling: str, path: Path) -> None:
    import torch

    class Graph(torch.nn.Module):
        """Token ids and mask to vectors of length 1 and the states of the tokens."""

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

    ids = torch.full((2, 8), int(model.tokenizer.unk_token_id or 0), dtype=torch.int64)
    mask = torch.ones((2, 8), dtype=torch.int64)
    mask[1, 5:] = 0
    free = {0: "batch", 1: "tokens"}
    with warnings.catch_warnings(), torch.no_grad():
        # The tracing exporter is deprecated, but as exact as the new one, faster, and needs no other package. The check
        # afterwards covers what it warns about (frozen conditions, negative indices).
        warnings.filterwarnings("ignore", "You are using the legacy TorchScript-based", DeprecationWarning)
        warnings.filterwarnings("ignore", module=r"torch\.onnx")
        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)  # type: ignore[attr-defined]
        try:
            torch.onnx.export(
                Graph(model[0]),
                (ids, mask),
                str(path),
                input_names=["input_ids", "attention_mask"],
                output_names=[VECTORS, STATES],
                dynamic_axes={"input_ids": free, "attention_mask": free, VECTORS: {0: "batch"}, STATES: free},
                opset_version=OPSET,
                dynamo=False,
            )
        except Exception as error:  # the exporter's errors have no other common base
            raise ModelUnavailable(f"torch cannot export it ({type(error).__name__}). {OTHER_BACKEND}") from error


def _write_tokenizer(source: Path, model: Any, path: Path) -> None:
    published = source / TOKENIZER_FILE
    if published.is_file():
        shutil.copyfile(published, path)
    else:
        load_tokenizer(model).save(str(path))


def _write_projection(source: Path, folder: Path) -> None:
    """Write the projection of token vectors: published for the default model, fitted here for others."""
    if is_default(source):
        shutil.copyfile(DEFAULT_PROJECTION, folder / PROJECTION_FILE)
    else:
        states = _exported(folder, NO_PROMPTS).token_states(calibration_texts())
        Projection.fitted(states).write(folder / PROJECTION_FILE)


def export_int8(exported: Path, folder: Path) -> None:
    """Write the int8 form of an fp32 export into the folder; raises ModelUnavailable if it differs."""
    quantize_model(exported, folder)
    vectors = [_exported(path, NO_PROMPTS).embed(CHECK_TEXTS) for path in (exported, folder)]
    worst = float((vectors[0] * vectors[1]).sum(axis=1).min())
    if not worst > MINIMUM_INT8_COSINE:  # also true for NaN
        raise ModelUnavailable(
            f"its int8 form differs from the model (cosine {worst:.4f}). "
            "Set MEMORYBASE_EMBEDDING_BACKEND=onnx to use the model anyway."
        )


def _exported(folder: Path, prompts: Prompts) -> OnnxEmbedder:
    return OnnxEmbedder(
        folder, model=folder.name, identity=folder.name, batch_size=len(CHECK_TEXTS), threads=0, prompts=prompts
    )


def _check(model: Any, folder: Path, prompts: Prompts) -> None:
    """Compare the export with sentence-transformers: in one padded batch, one by one, and as queries."""
    exported = _exported(folder, prompts)
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


if __name__ == "__main__":
    sys.exit(main())
