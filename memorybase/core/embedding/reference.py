"""The reference adapter: sentence-transformers, for models without an export and to check the exports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import token_vectors, tokens
from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts
from memorybase.core.embedding.protocol import QueryTokens
from memorybase.core.embedding.source import is_default
from memorybase.core.embedding.token_vectors import DEFAULT_PROJECTION, Projection, TokenFilter
from memorybase.core.errors import EmbeddingFailed, ModelUnavailable, TextRejected, lacks_extra

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class SentenceTransformerEmbedder:
    """A model in sentence-transformers; raises ModelUnavailable if its folder does not load."""

    def __init__(
        self, folder: Path, *, model: str, identity: str, batch_size: int, threads: int, prompts: Prompts = NO_PROMPTS
    ) -> None:
        self.model = model
        self.identity = identity
        self._batch_size = batch_size
        self._prompts = prompts
        self._folder = folder
        self._model = load_model(folder, threads=threads)
        self._tokenizer = load_tokenizer(self._model)
        self._filter = TokenFilter(self._tokenizer)
        self.dimension = int(self._model.get_embedding_dimension())
        self.max_tokens = tokens.readable(self._tokenizer, max_seq_length(self._model), prompts.passage)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._encode(self._model.encode_document, texts, self._prompts.passage)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._encode(self._model.encode_query, [text], self._prompts.query)[0]
        return vector

    @property
    def token_encoding(self) -> str:
        return self._projection.encoding

    def embed_with_tokens(
        self, texts: Sequence[str], tokens_of: Collection[int]
    ) -> tuple[NDArray[np.float32], dict[int, bytes]]:
        indices = sorted(tokens_of)
        states = self._states(self._model.encode_document, [texts[index] for index in indices], self._prompts.passage)
        packed = [token_vectors.pack(self._projection.apply(token_states)) for token_states in states]
        return self.embed(texts), dict(zip(indices, packed, strict=True))

    def embed_query_with_tokens(self, text: str, query: str) -> tuple[NDArray[np.float32], QueryTokens]:
        prompt = self._prompts.query
        (states,) = self._states(self._model.encode_query, [query], prompt)
        (encoding,) = tokens.encodings(self._tokenizer, [prompt + query])
        kept = self._filter.kept(encoding.ids, tokens.count_before(self._tokenizer, prompt))[: len(states)]
        spans = [tuple(offset - len(prompt) for offset in encoding.offsets[position]) for position in kept]
        return self.embed_query(text), QueryTokens(self._projection.apply(states), spans)

    @cached_property
    def _projection(self) -> Projection:
        if is_default(self._folder):
            return Projection.read(DEFAULT_PROJECTION)
        calibration = token_vectors.calibration_texts()
        return Projection.fitted(np.concatenate(self._states(self._model.encode_document, calibration, "")))

    def _states(self, encode: Callable[..., Any], texts: Sequence[str], prompt: str) -> list[NDArray[np.float32]]:
        """For each text, the states of the tokens that carry meaning."""
        all_states = self._call(encode, texts, prompt, output_value="token_embeddings") if texts else []
        before = tokens.count_before(self._tokenizer, prompt)
        encodings = tokens.encodings(self._tokenizer, [prompt + text for text in texts])
        states: list[NDArray[np.float32]] = []
        for text_states, encoding in zip(all_states, encodings, strict=True):
            rows = text_states.float().cpu().numpy()
            kept = self._filter.kept(encoding.ids, before)
            states.append(rows[kept[kept < len(rows)]])
        return states

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return tokens.offsets(self._tokenizer, text)

    def _encode(self, encode: Callable[..., Any], texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        vectors = self._call(encode, texts, prompt, normalize_embeddings=True)
        result = np.asarray(vectors, dtype=np.float32)
        bad = np.flatnonzero(~np.isfinite(result).all(axis=1))
        if bad.size:
            raise TextRejected(
                "The embedding model returned a vector that is not finite for this text.", position=int(bad[0])
            )
        return result

    def _call(self, encode: Callable[..., Any], texts: Sequence[str], prompt: str, **options: Any) -> Any:
        for position, text in enumerate(texts):
            tokens.check_unicode(text, position)
        try:
            return encode(list(texts), prompt=prompt, batch_size=self._batch_size, show_progress_bar=False, **options)
        except Exception as error:  # torch's and the library's errors have no other common base
            raise EmbeddingFailed(
                f"The embedding model failed on a batch ({type(error).__name__}).", model=self.model, texts=len(texts)
            ) from error


def check_installed(reason: str) -> None:
    """Raises ModelUnavailable with the reason if the extra sentence-transformers is not installed."""
    if find_spec("sentence_transformers") is None:
        raise ModelUnavailable(f"{reason}. {lacks_extra('This installation', 'sentence-transformers')}")


def load_model(folder: Path, *, device: str | None = None, threads: int = 0, plain_attention: bool = False) -> Any:
    """Load the model from these files alone: no request to a hub, no code from the model.

    plain_attention: use products and a softmax instead of torch's own operator, which exports to a larger graph.
    """
    check_installed(f"{folder} is to be loaded with sentence-transformers")
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        if threads:
            torch.set_num_threads(threads)
        return SentenceTransformer(
            str(folder),
            device=device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"attn_implementation": "eager"} if plain_attention else None,
        )
    except Exception as error:  # torch's and the library's errors have no other common base
        raise ModelUnavailable(
            f"sentence-transformers cannot load {folder} ({type(error).__name__}: {error})", model=folder.name
        ) from error


def load_tokenizer(model: Any) -> Tokenizer:
    """A copy of the model's tokenizer without padding and truncation, because every call reconfigures the original."""
    from tokenizers import Tokenizer

    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelUnavailable("its tokenizer is not a fast one, so long texts cannot be split: choose another model.")
    tokenizer = Tokenizer.from_str(backend.to_str())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def max_seq_length(model: Any) -> int:
    """The tokens that the model reads in total; raises ModelUnavailable if its configuration has no such number."""
    if not model.max_seq_length:
        raise ModelUnavailable("it does not say how many tokens it reads: set max_seq_length in its configuration.")
    return int(model.max_seq_length)
