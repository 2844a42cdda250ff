"""Text to chunks with deterministic ids. Pure: the caller passes in the tokenizer's offsets."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from semantic_text_splitter import TextSplitter

Offsets = Callable[[str], Sequence[tuple[int, int]]]

# The splitter's time grows with the square of a text that has no sentence ends (200,000 Chinese characters: 31 s),
# so it sees a window at a time. Eight chunks a window cost one chunk in eight twice and keep 1 MB to seconds.
CHUNKS_PER_WINDOW = 8

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NUMBER = "0|[1-9][0-9]{0,17}"
_CHUNK_ID = re.compile(f"({_UUID}):({_UUID}):({_NUMBER}):({_NUMBER})")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a message's text, small enough for the model to read whole."""

    index: int
    text: str


class ChunkId(NamedTuple):
    """What a chunk's id in the vector store says."""

    base_id: UUID
    message_id: UUID
    version: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks a chunk's id for


def split_text(text: str, offsets: Offsets, *, max_tokens: int, overlap: int) -> list[Chunk]:
    """Chunks of at most max_tokens that together hold all of the text but outer whitespace; [] for blank text.

    Cuts between paragraphs, else sentences, else words; neighbours share at most `overlap` tokens. Deterministic.
    """
    pieces = _pieces(text.strip(), offsets, max_tokens, overlap)
    return [Chunk(index, piece) for index, (_, piece) in enumerate(pieces)]


def _pieces(text: str, offsets: Offsets, max_tokens: int, overlap: int) -> Iterator[tuple[int, str]]:
    """Each chunk with the character that it begins at."""
    if not text:
        return
    # No tokenizer makes more of such a text than a token a character and one before the first: it is not asked.
    if len(text) < max_tokens and text.isascii():
        yield 0, text
        return
    spans = offsets(text)
    if len(spans) <= max_tokens:
        yield 0, text
        return
    yield from _split_windows(text, [start for start, _ in spans], offsets, max_tokens, overlap)


def _split_windows(
    text: str, starts: list[int], offsets: Offsets, max_tokens: int, overlap: int
) -> Iterator[tuple[int, str]]:
    """Window by window; a window's last chunk was cut by its edge, so the next window begins where that one began."""
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
        if len(found) < 2 or not found[-1][0]:  # one chunk: tokens merge when seen without their surroundings
            width *= 2
            continue
        yield from ((begin + start, piece) for start, piece in found[:-1])
        begin += found[-1][0]


def _window_end(text: str, starts: list[int], begin: int, width: int) -> int:
    """Where the window that begins at this character has `width` of the whole text's tokens."""
    last = bisect_left(starts, begin) + width
    return starts[last] if last < len(starts) else len(text)


def chunk_id(base_id: UUID, message_id: UUID, version: int, index: int) -> str:
    """The id under which a chunk is stored: writing it again overwrites it."""
    return f"{base_id}:{message_id}:{version}:{index}"


def chunk_ids(base_id: UUID, message_id: UUID, version: int, count: int) -> list[str]:
    """The ids of a message's chunks, in order."""
    beginning = chunk_id(base_id, message_id, version, 0)[:-1]  # a search makes hundreds, and a UUID is slow to write
    return [f"{beginning}{index}" for index in range(count)]


def parse_chunk_id(text: str) -> ChunkId | None:
    """What chunk_id was given, or None when the id is not one of its making."""
    parsed = _CHUNK_ID.fullmatch(text)
    if parsed is None:
        return None
    base, message, version, index = parsed.groups()
    return ChunkId(UUID(base), UUID(message), int(version), int(index))


def chunker_identity(max_tokens: int, overlap: int) -> str:
    """Names the way of splitting; two jobs with the same identity make the same chunks of the same text."""
    return f"sentence-tokens/{max_tokens}/{overlap}"
