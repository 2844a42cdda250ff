"""The default adapter: the exported model in ONNX Runtime with its tokenizer, without torch."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import token_vectors, tokens
from memorybase.core.embedding.background import niceness
from memorybase.core.embedding.exported import MODEL_FILE, TOKENIZER_FILE, Manifest
from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts
from memorybase.core.embedding.protocol import QueryTokens
from memorybase.core.embedding.token_vectors import PROJECTION_FILE, Projection, TokenFilter
from memorybase.core.errors import EmbeddingFailed, ModelUnavailable, TextRejected

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VECTORS, STATES = "vectors", "states"  # the graph's outputs: per text, per token
BATCHES_PER_THREAD = 2  # at least: with one each, all threads would wait for the one with the long texts
# Tokens in a batch, with padding. The runtime keeps the memory of its largest batch: 64 texts of 256 tokens, 680 MB.
# Larger batches are slower too: 28 ms a text of 256 tokens in batches of 4, 43 ms in batches of 64.
MAX_BATCH_TOKENS = 1_024


class OnnxEmbedder:
    """An exported model; raises ModelUnavailable if its folder does not load."""

    def __init__(
        self, folder: Path, *, model: str, identity: str, batch_size: int, threads: int, prompts: Prompts = NO_PROMPTS
    ) -> None:
        self.model = model
        self.identity = identity
        self._folder = folder
        self._batch_size = batch_size
        # One batch per thread: threads that share a batch wait for each other at every operator.
        self._threads = threads or os.cpu_count() or 1
        self._pools: dict[int, ThreadPoolExecutor] = {}
        self._prompts = prompts
        try:
            self._manifest = Manifest.read(folder)
            self._tokenizer = _load_tokenizer(folder, self._manifest.max_seq_length)
            self._session = _load_session(folder)
            self._filter = TokenFilter(self._tokenizer)
        except Exception as error:  # the runtime's and the tokenizer's errors have no other common base
            raise ModelUnavailable(
                f"The exported model in {folder} does not load ({type(error).__name__}). "
                "Delete that folder to export the model again.",
                model=model,
            ) from error
        self.dimension = self._manifest.dimension
        self.max_tokens = tokens.readable(self._tokenizer, self._manifest.max_seq_length, prompts.passage)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(tokens.ids(self._tokenizer, [self._prompts.passage + text for text in texts]))[0]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vectors, _ = self._embed(tokens.ids(self._tokenizer, [self._prompts.query + text]))
        vector: NDArray[np.float32] = vectors[0]
        return vector

    @property
    def token_encoding(self) -> str:
        return self._projection.encoding

    def embed_with_tokens(
        self, texts: Sequence[str], tokens_of: Collection[int]
    ) -> tuple[NDArray[np.float32], dict[int, bytes]]:
        ids = tokens.ids(self._tokenizer, [self._prompts.passage + text for text in texts])
        before = tokens.count_before(self._tokenizer, self._prompts.passage)
        vectors, states = self._embed(ids, {index: self._filter.kept(ids[index], before) for index in tokens_of})
        return vectors, {index: token_vectors.pack(self._projection.apply(found)) for index, found in states.items()}

    def embed_query_with_tokens(self, text: str, query: str) -> tuple[NDArray[np.float32], QueryTokens]:
        prompt = self._prompts.query
        texts = [prompt + text, prompt + query] if text != query else [prompt + text]  # one pass for both
        encodings = tokens.encodings(self._tokenizer, texts)
        kept = self._filter.kept(encodings[-1].ids, tokens.count_before(self._tokenizer, prompt))
        vectors, states = self._embed([encoding.ids for encoding in encodings], {len(encodings) - 1: kept})
        (found,) = states.values()
        offsets = [encodings[-1].offsets[position] for position in kept]
        spans = [(start - len(prompt), end - len(prompt)) for start, end in offsets]
        return vectors[0], QueryTokens(self._projection.apply(found), spans)

    def token_states(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The states of the texts' tokens that carry meaning, concatenated."""
        ids = tokens.ids(self._tokenizer, texts)
        _, states = self._embed(ids, {index: self._filter.kept(text_ids) for index, text_ids in enumerate(ids)})
        return np.concatenate(list(states.values()))

    @cached_property
    def _projection(self) -> Projection:
        return Projection.read(self._folder / PROJECTION_FILE)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return tokens.offsets(self._whole_tokenizer, text)

    @cached_property
    def _whole_tokenizer(self) -> Tokenizer:
        # Truncation is a property of the tokenizer, so counting needs a second one; a process that only searches never
        # loads it.
        return _load_tokenizer(self._folder, None)

    def _pool(self) -> ThreadPoolExecutor:
        """The threads for callers of this thread's priority, which they inherit from the first of them."""
        priority = niceness()
        if priority not in self._pools:
            self._pools.setdefault(priority, ThreadPoolExecutor(self._threads, thread_name_prefix="onnx"))
        return self._pools[priority]

    def _embed(
        self, ids: Sequence[Sequence[int]], kept: Mapping[int, NDArray[np.intp]] | None = None
    ) -> tuple[NDArray[np.float32], dict[int, NDArray[np.float32]]]:
        """A vector for each text, and for each text in `kept` the states of the tokens listed there."""
        vectors = np.empty((len(ids), self.dimension), dtype=np.float32)
        states: dict[int, NDArray[np.float32]] = {}
        batches = list(self._batches(ids))
        run = self._pool().map if len(batches) > 1 else map
        wanted = kept or {}
        results = run(
            lambda indices: self._run(
                [ids[index] for index in indices], with_states=any(index in wanted for index in indices)
            ),
            batches,
        )
        for indices, (rows, token_states) in zip(batches, results, strict=True):
            vectors[indices] = rows
            for row, index in enumerate(indices):
                if token_states is not None and index in wanted:
                    states[index] = token_states[row, wanted[index]]
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if bad.size:
            raise TextRejected(
                "The embedding model returned a vector that is not finite for this text.", position=int(bad[0])
            )
        return vectors, states

    def _batches(self, ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Batches of indices of texts of similar length: padding short texts to long ones costs 2.6 times the work.

        Each thread gets equally many batches, the longest first, so that no thread waits long at the end, and no batch
        of several texts has more than MAX_BATCH_TOKENS.
        """
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]), reverse=True)
        least = BATCHES_PER_THREAD if self._threads > 1 else 1
        turns = max(least, math.ceil(len(order) / self._batch_size / self._threads))
        size = max(1, math.ceil(len(order) / turns / self._threads))
        start = 0
        while start < len(order):
            width = max(1, len(ids[order[start]]))
            end = start + min(size, max(1, MAX_BATCH_TOKENS // width))
            yield order[start:end]
            start = end

    def _run(
        self, batch: Sequence[Sequence[int]], *, with_states: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        width = max(map(len, batch))
        input_ids = np.full((len(batch), width), self._manifest.pad_id, dtype=np.int64)
        mask = np.zeros((len(batch), width), dtype=np.int64)
        for row, ids in enumerate(batch):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        try:
            vectors, *states = self._session.run(
                [VECTORS, STATES] if with_states else [VECTORS], {"input_ids": input_ids, "attention_mask": mask}
            )
        except Exception as error:  # the runtime's errors have no other common base
            raise EmbeddingFailed(
                f"The embedding model failed on a batch ({type(error).__name__}).", model=self.model, texts=len(batch)
            ) from error
        return vectors, states[0] if states else None


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
