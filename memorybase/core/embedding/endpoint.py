"""The adapter for models behind an OpenAI-compatible endpoint, named `openai:NAME`.

An outage is ModelUnavailable, so that jobs are postponed and searches fail: never an answer without vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import tokens
from memorybase.core.embedding.endpoint_client import EndpointClient, InputRefused
from memorybase.core.embedding.exported import TOKENIZER_FILE
from memorybase.core.embedding.fingerprint import TEXTS, fingerprint
from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts
from memorybase.core.embedding.protocol import QueryTokens
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source, label_of
from memorybase.core.errors import DimensionMismatch, ModelUnavailable, TextRejected
from memorybase.core.settings import Settings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PREFIX = "openai:"
REQUESTS_AT_ONCE = 4
REQUEST_TOKENS = 16_000  # estimated; what an endpoint refuses is sent again in halves
SPECIAL_TOKENS = 2  # that most models put around a text
EMPTY = " "  # sent for an empty text, which endpoints refuse
PROBE_TEXT = "The quick brown fox jumps over the lazy dog."


def is_endpoint_model(model: str) -> bool:
    """Whether a name is of a model behind the endpoint."""
    return model.startswith(PREFIX)


class EndpointEmbedder:
    """A model behind an endpoint; raises ModelUnavailable if it does not answer the first request."""

    token_encoding = None  # endpoints give one vector for a text

    def __init__(self, client: EndpointClient, settings: Settings, *, model: str, prompts: Prompts) -> None:
        self.model = model
        self._client = client
        self._tokenizer = _tokenizer(settings.embedding_tokenizer)
        self._prompts = prompts
        self._request_texts = settings.embedding_request_texts
        self._running = ThreadPoolExecutor(REQUESTS_AT_ONCE, thread_name_prefix="embeddings")
        most = settings.embedding_max_tokens
        self.max_tokens = most - SPECIAL_TOKENS - len(tokens.offsets(self._tokenizer, prompts.passage))
        if self.max_tokens < 1:
            raise ModelUnavailable(
                f"its passage prompt leaves no room for text: MEMORYBASE_EMBEDDING_MAX_TOKENS is {most}.", model=model
            )
        self.dimension = 0
        try:
            vectors = self._embed(TEXTS, "")
        except TextRejected as error:  # no caller's text is at fault
            raise ModelUnavailable(
                f"The embedding endpoint at {client.host} gives no usable vectors. Check MEMORYBASE_EMBEDDING_MODEL "
                "and what the endpoint's log says.",
                model=model,
            ) from error
        self.dimension = vectors.shape[1]
        if settings.embedding_dimension not in {0, self.dimension}:
            raise ModelUnavailable(
                f"{model} gives vectors of {self.dimension} dimensions, not the {settings.embedding_dimension} of "
                "MEMORYBASE_EMBEDDING_DIMENSION. Set it to 0 for a model of one dimension.",
                model=model,
            )
        name = label_of(model.removeprefix(PREFIX))
        self.identity = f"openai/{name}/{self.dimension}/{fingerprint(vectors)}{prompts.suffix(NO_PROMPTS)}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(texts, self._prompts.passage)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed([text], self._prompts.query)[0]
        return vector

    def embed_with_tokens(
        self, texts: Sequence[str], tokens_of: Collection[int]
    ) -> tuple[NDArray[np.float32], dict[int, bytes]]:
        del tokens_of
        return self.embed(texts), {}

    def embed_query_with_tokens(self, text: str, query: str) -> tuple[NDArray[np.float32], QueryTokens]:
        del query
        return self.embed_query(text), QueryTokens(np.empty((0, 0), dtype=np.float32), ())

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return tokens.offsets(self._tokenizer, text)

    def _embed(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        sent = [(prompt + self._shortened(text, position)) or EMPTY for position, text in enumerate(texts)]
        sizes = [len(ids) for ids in tokens.ids(self._tokenizer, sent)]
        batches = list(self._batches(sizes))
        run = self._running.map if len(batches) > 1 else map
        rows = run(lambda batch: self._request(sent, sizes, batch), batches)
        return _normalized(np.concatenate(list(rows)))

    def _shortened(self, text: str, position: int) -> str:
        """The text, cut to what the model reads."""
        tokens.check_unicode(text, position)
        if len(text) <= self.max_tokens and text.isascii():
            return text
        spans = tokens.offsets(self._tokenizer, text)
        return text if len(spans) <= self.max_tokens else text[: spans[self.max_tokens - 1][1]]

    def _batches(self, sizes: Sequence[int]) -> Iterator[range]:
        """Positions of neighbouring texts within the limits of a request; one text always fits."""
        start, total = 0, 0
        for position, size in enumerate(sizes):
            is_full = position - start == self._request_texts or total + size > REQUEST_TOKENS
            if is_full and position > start:
                yield range(start, position)
                start, total = position, 0
            total += size
        yield range(start, len(sizes))

    def _request(self, sent: Sequence[str], sizes: Sequence[int], batch: range) -> NDArray[np.float32]:
        """The vectors of a batch. If the endpoint refuses it, halves find the text at fault."""
        try:
            vectors = self._client.embed(
                [sent[position] for position in batch], estimated_tokens=sum(sizes[position] for position in batch)
            )
        except InputRefused:
            if len(batch) == 1:
                self._check_takes_texts(sent[batch.start])
                raise TextRejected("The embedding endpoint refuses this text.", position=batch.start) from None
            middle = len(batch) // 2
            halves = (batch[:middle], batch[middle:])
            return np.concatenate([self._request(sent, sizes, half) for half in halves])
        if self.dimension and vectors.shape[1] != self.dimension:
            raise DimensionMismatch(
                f"{self.model} gave a vector of {vectors.shape[1]} dimensions, and {self.dimension} before. "
                "Has the model behind MEMORYBASE_EMBEDDING_URL changed?"
            )
        return vectors

    def _check_takes_texts(self, refused: str) -> None:
        """Raises ModelUnavailable if the endpoint refuses a harmless text too: then no text is at fault."""
        try:
            if refused != PROBE_TEXT:
                self._client.embed([PROBE_TEXT], estimated_tokens=len(PROBE_TEXT) // 4)
                return
        except InputRefused:
            pass
        raise ModelUnavailable(
            f"The embedding endpoint at {self._client.host} refuses every text. Check MEMORYBASE_EMBEDDING_MODEL, "
            "MEMORYBASE_EMBEDDING_DIMENSION and what the endpoint's log says.",
            model=self.model,
        )


def load(settings: Settings, model: str, *, prompts: Prompts, patient: bool, **options: Any) -> EndpointEmbedder:
    """The embedder of `openai:NAME` by the settings, with further options of its client; raises ModelUnavailable."""
    name = model.removeprefix(PREFIX)
    if not name:
        raise ModelUnavailable("openai: must be followed by the model's name, as in openai:text-embedding-3-small")
    client = EndpointClient(settings, name, patient=patient, **options)
    return EndpointEmbedder(client, settings, model=model, prompts=prompts)


def _tokenizer(stated: str) -> Tokenizer:
    """The tokenizer that counts tokens and places the cuts of chunks. Another one than the model's only estimates."""
    path = Path(stated).expanduser() if stated else find_source(DEFAULT_MODEL).folder
    path = path / TOKENIZER_FILE if path.is_dir() else path
    try:
        return tokens.load(path)
    except Exception as error:  # the library raises bare Exceptions
        raise ModelUnavailable(
            f"{path} must be a {TOKENIZER_FILE}. Correct MEMORYBASE_EMBEDDING_TOKENIZER.", field="embedding_tokenizer"
        ) from error


def _normalized(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors of length 1; raises TextRejected for one that has no direction."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    bad = np.flatnonzero(~np.isfinite(lengths) | (lengths < 1e-12))
    if bad.size:
        raise TextRejected("The embedding endpoint returned no usable vector for this text.", position=int(bad[0]))
    return np.asarray(vectors / lengths[:, None], dtype=np.float32)
