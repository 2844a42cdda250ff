"""The default adapter: the exported model in ONNX Runtime, the tokenizer beside it, no torch."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memorybase.embedding import tokens
from memorybase.embedding.exported import MODEL_FILE, TOKENIZER_FILE, Manifest
from memorybase.embedding.prompts import NO_PROMPTS, Prompts
from memorybase.errors import EmbeddingFailed, ModelUnavailable, TextRejected

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCHES_A_THREAD = 2  # at least: with one each, whoever has the long texts would have the others wait


class OnnxEmbedder:
    """An exported model; raises ModelUnavailable when its folder does not load."""

    def __init__(
        self,
        folder: Path,
        *,
        model: str,
        identity: str,
        batch_size: int,
        threads: int,
        prompts: Prompts = NO_PROMPTS,
    ) -> None:
        self.model = model
        self.identity = identity
        self._folder = folder
        self._batch_size = batch_size
        # A batch each: threads that share one wait for each other at every operator.
        self._threads = threads or os.cpu_count() or 1
        self._running = ThreadPoolExecutor(self._threads, thread_name_prefix="onnx")
        self._prompts = prompts
        try:
            self._manifest = Manifest.read(folder)
            self._tokenizer = _load_tokenizer(folder, self._manifest.max_seq_length)
            self._session = _load_session(folder)
        except Exception as error:  # the runtime's and the tokenizer's errors share no base but this
            raise ModelUnavailable(
                f"The exported model in {folder} does not load ({type(error).__name__}). "
                "Delete that folder; the model is exported anew.",
                model=model,
            ) from error
        self.dimension = self._manifest.dimension
        self.max_tokens = tokens.readable(self._tokenizer, self._manifest.max_seq_length, prompts.passage)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed([self._prompts.passage + text for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed([self._prompts.query + text])[0]
        return vector

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return tokens.offsets(self._whole_tokenizer, text)

    @cached_property
    def _whole_tokenizer(self) -> Tokenizer:
        # Truncation belongs to the tokenizer, not to the call, so counting takes a second one; a process that only
        # searches never loads it.
        return _load_tokenizer(self._folder, None)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        ids = tokens.ids(self._tokenizer, texts)
        batches = list(self._batches(ids))
        run = self._running.map if len(batches) > 1 else map
        found = run(lambda places: self._run([ids[place] for place in places]), batches)
        for places, rows in zip(batches, found, strict=True):
            vectors[places] = rows
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if bad.size:
            raise TextRejected("The embedding model gave this text a vector that is not finite.", position=int(bad[0]))
        return vectors

    def _batches(self, ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Places of texts of like length together: padding a short text to a long one costs 2.6 times the work.

        As many batches for each thread, the longest first: no thread waits long for another at the end.
        """
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]), reverse=True)
        least = BATCHES_A_THREAD if self._threads > 1 else 1
        turns = max(least, math.ceil(len(order) / self._batch_size / self._threads))
        size = max(1, math.ceil(len(order) / turns / self._threads))
        for start in range(0, len(order), size):
            yield order[start : start + size]

    def _run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        width = max(map(len, batch))
        input_ids = np.full((len(batch), width), self._manifest.pad_id, dtype=np.int64)
        mask = np.zeros((len(batch), width), dtype=np.int64)
        for row, ids in enumerate(batch):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        try:
            (vectors,) = self._session.run(None, {"input_ids": input_ids, "attention_mask": mask})
        except Exception as error:  # the runtime's errors share no base but this
            raise EmbeddingFailed(
                f"The embedding model failed on a batch ({type(error).__name__}).", model=self.model, texts=len(batch)
            ) from error
        result: NDArray[np.float32] = vectors
        return result


def _load_tokenizer(folder: Path, max_length: int | None) -> Tokenizer:
    tokenizer = tokens.load(folder / TOKENIZER_FILE)
    if max_length is not None:
        tokenizer.enable_truncation(max_length)
    return tokenizer


def _load_session(folder: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"])
