"""Text to chunks with deterministic ids. Pure: the caller passes in the tokenizer's offsets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from semantic_text_splitter import TextSplitter

Offsets = Callable[[str], Sequence[tuple[int, int]]]

# The splitter's time grows with the square of a text that has no sentence ends (200,000 Chinese characters: 31 s),
# so it sees a window at a time. Eight chunks a window cost one chunk in eight twice and keep 1 MB to seconds.
CHUNKS_PER_WINDOW = 8


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a message's text, small enough for the model to read whole."""

    index: int
    text: str


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


def chunker_identity(max_tokens: int, overlap: int) -> str:
    """Names the way of splitting; two jobs with the same identity make the same chunks of the same text."""
    return f"sentence-tokens/{max_tokens}/{overlap}"
