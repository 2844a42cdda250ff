"""Splits text into chunks, deterministically. Pure: the caller passes the tokenizer's offsets."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from semantic_text_splitter import TextSplitter

from memorybase.core import errors
from memorybase.core.embedding.protocol import Embedder
from memorybase.core.settings import Settings

KIND = "sentence-tokens"  # of the splitting below; another kind gives other chunks

Offsets = Callable[[str], Sequence[tuple[int, int]]]

# The splitter's time grows with the square of a text without sentence ends (200,000 Chinese characters: 31 s), so it
# gets one window at a time. With eight chunks per window one in eight is split twice, and 1 MB takes seconds.
CHUNKS_PER_WINDOW = 8

OVERLAP = 32  # tokens that neighbours share at most; of short chunks half

# Characters tokenized at once: of a text of 4 MB the tokenizer's answer takes 700 MB.
TOKENIZED_CHARS = 50_000
# Tokenizers start a token at a single space between two letters, so cutting before it changes no token.
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_]) (?=[^\W_])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a message's text that the model reads fully."""

    index: int
    text: str


# A job of a long message is cut off and continues; a second for every 300,000 characters each time would add up.
LONG_CHARS = 100_000


def split_text(text: str, offsets: Offsets, *, max_tokens: int, overlap: int) -> list[Chunk]:
    """Chunks of at most max_tokens that together hold all of the text except outer whitespace; [] for blank text.

    Cuts between paragraphs, else sentences, else words; neighbours share at most `overlap` tokens. Deterministic.
    """
    pieces = _pieces(text.strip(), offsets, max_tokens, overlap)
    return [Chunk(index, piece) for index, (_, piece) in enumerate(pieces)]


_split_long = lru_cache(maxsize=4)(split_text)


def _pieces(text: str, offsets: Offsets, max_tokens: int, overlap: int) -> Iterator[tuple[int, str]]:
    """Each chunk with the position of its first character."""
    if not text:
        return
    # No tokenizer gives more than one token per character plus one, so a short text needs no tokenizing.
    if len(text) < max_tokens and text.isascii():
        yield 0, text
        return
    starts = _token_starts(text, offsets)
    if len(starts) <= max_tokens:
        yield 0, text
        return
    yield from _split_windows(text, starts, offsets, max_tokens, overlap)


def _token_starts(text: str, offsets: Offsets) -> Sequence[int]:
    """The position of each token's first character."""
    starts = array("L")
    begin = 0
    while begin < len(text):
        end = _tokenized_end(text, begin)
        starts.extend(begin + start for start, _ in offsets(text[begin:end]))
        begin = end
    return starts


def _tokenized_end(text: str, begin: int) -> int:
    """The position at which to cut the text for the tokenizer: before the last word within the bound, else at the
    bound."""
    bound = begin + TOKENIZED_CHARS
    if bound >= len(text):
        return len(text)
    cuts = [cut.start() for cut in _BETWEEN_WORDS.finditer(text, bound - TOKENIZED_CHARS // 10, bound)]
    return cuts[-1] if cuts else bound


def _split_windows(
    text: str, starts: Sequence[int], offsets: Offsets, max_tokens: int, overlap: int
) -> Iterator[tuple[int, str]]:
    """Split window by window. A window's edge cut its last chunk, so the next window starts where that chunk did."""
    splitter = TextSplitter.from_callback(
        lambda piece: len(offsets(piece)), max_tokens, overlap=min(overlap, max_tokens // 2)
    )
    begin, width = 0, max_tokens * CHUNKS_PER_WINDOW
    while True:
        end = _window_end(text, starts, begin, width)
        found: list[tuple[int, str]] = splitter.chunk_indices(text[begin:end])
        if end == len(text):
            yield from ((begin + start, piece) for start, piece in found)
            return
        if len(found) < 2 or not found[-1][0]:  # one chunk: without their context tokens merged
            width *= 2
            continue
        yield from ((begin + start, piece) for start, piece in found[:-1])
        begin += found[-1][0]


def _window_end(text: str, starts: Sequence[int], begin: int, width: int) -> int:
    """The end of the window that starts at this character and has `width` tokens of the text."""
    last = bisect_left(starts, begin) + width
    return starts[last] if last < len(starts) else len(text)


@dataclass(frozen=True, slots=True)
class Chunker:
    """Splits texts for one model. With an equal `identity` the same text gives the same chunks."""

    max_tokens: int
    overlap: int
    offsets: Offsets

    @property
    def identity(self) -> str:
        return f"{KIND}/{self.max_tokens}/{self.overlap}"

    @classmethod
    def of(cls, identity: str, embedder: Embedder) -> Chunker:
        """The chunker that a generation was built with; raises ModelUnavailable for an unknown identity."""
        kind, _, numbers = identity.partition("/")
        max_tokens, _, overlap = numbers.partition("/")
        if kind != KIND or not (max_tokens.isdecimal() and overlap.isdecimal()):
            raise errors.ModelUnavailable(
                f"The store was chunked by {identity}, which this version does not know: regenerate it", field="chunker"
            )
        return cls(int(max_tokens), int(overlap), embedder.token_offsets)

    def split(self, text: str) -> Sequence[Chunk]:
        split = split_text if len(text) <= LONG_CHARS else _split_long
        return split(text, self.offsets, max_tokens=self.max_tokens, overlap=self.overlap)


def chunker_for(settings: Settings, embedder: Embedder) -> Chunker:
    """The chunker of the settings, within the model's limit."""
    return Chunker(min(settings.chunk_tokens, embedder.max_tokens), OVERLAP, embedder.token_offsets)
