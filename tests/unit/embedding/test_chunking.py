from __future__ import annotations

import re
from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from harness.rows import each_row
from hypothesis import example, given
from hypothesis import strategies as st

from memorybase.core.embedding import chunking
from memorybase.core.embedding.chunking import CHUNKS_PER_WINDOW, Chunk, Chunker, split_text
from memorybase.core.vectors.chunk_ids import chunk_id, chunk_ids, parse_chunk_id

Spans = list[tuple[int, int]]

FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
HEBREW = "שלום עולם. "


def words(text: str) -> Spans:
    """Like a word tokenizer: one token per word or symbol."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def letters(text: str) -> Spans:
    """Like a byte tokenizer: every word has many tokens."""
    return [(index, index + 1) for index, letter in enumerate(text) if not letter.isspace()]


def pieces_of_words(text: str) -> Spans:
    """Like WordPiece: four letters per token, and the halves of a word may have more tokens than the word."""
    return [
        (start, min(start + 4, match.end()))
        for match in re.finditer(r"\w+|[^\w\s]", text)
        for start in range(match.start(), match.end(), 4)
    ]


def indices(text: str, offsets: chunking.Offsets, *, max_tokens: int, overlap: int) -> Spans:
    """The chunks' positions in the stripped text; checks that only white space is between them."""
    found: Spans = []
    done = 0
    for start, piece in chunking._pieces(text, offsets, max_tokens, overlap):
        assert text.startswith(piece, start)
        assert not text[done:start].strip(), "text was lost"
        assert not found or found[-1][0] < start, "a chunk does not move on"
        found.append((start, start + len(piece)))
        done = max(done, start + len(piece))
    assert not text[done:].strip(), "the end was lost"
    return found


ALPHABETS = st.sampled_from(
    ["ab .\n", "漢字。", FAMILY + " ", HEBREW, "abc", "\0 a", "é\N{COMBINING ACUTE ACCENT}. ", "\r\n\t\v x", "0.5,-_/"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = st.one_of(
        ALPHABETS.flatmap(lambda letters: st.text(letters, max_size=60)),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    )
    return draw(st.lists(parts, max_size=12).map("".join)) * draw(st.sampled_from([1, 1, 2, 7, 40]))


@given(
    text=texts(),
    offsets=st.sampled_from([words, letters, pieces_of_words]),
    max_tokens=st.integers(4, 40),
    share=st.integers(0, 50),
)
@example(text=FAMILY * 300, offsets=letters, max_tokens=16, share=25)
@example(text=HEBREW * 300, offsets=words, max_tokens=16, share=25)
@example(text="a" * 3000, offsets=letters, max_tokens=16, share=25)
@example(text="\0" * 3000, offsets=letters, max_tokens=16, share=25)
@example(text=" \n\t\u3000" * 50, offsets=words, max_tokens=16, share=25)
@example(text="one " + " " * 5000 + "two three four five", offsets=words, max_tokens=4, share=0)
def test_chunks_hold_the_whole_text_within_their_bounds(
    text: str, offsets: chunking.Offsets, max_tokens: int, share: int
) -> None:
    overlap = max_tokens * share // 100
    chunks = split_text(text, offsets, max_tokens=max_tokens, overlap=overlap)

    assert bool(chunks) == bool(text.strip())
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.text.strip() for chunk in chunks)
    assert all(len(offsets(chunk.text)) <= max_tokens for chunk in chunks)
    stripped = text.strip()
    spans = indices(stripped, offsets, max_tokens=max_tokens, overlap=overlap)
    assert [chunk.text for chunk in chunks] == [stripped[start:end] for start, end in spans]
    assert all(len(offsets(stripped[start:end])) <= overlap for (_, end), (start, _) in pairwise(spans))
    assert chunks == split_text(text, offsets, max_tokens=max_tokens, overlap=overlap)


def test_a_text_that_fits_is_one_chunk_without_the_splitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(chunking, "TextSplitter")
    text = "First line.\n\nSecond  line."
    assert split_text(f" {text}\n", words, max_tokens=6, overlap=2) == [Chunk(0, text)]
    with pytest.raises(NameError):
        split_text(text, words, max_tokens=5, overlap=2)


@each_row("text", ["", " ", "\n\t\u2028\u3000\x1c"])
def test_blank_text_has_no_chunks(text: str) -> None:
    assert split_text(text, words, max_tokens=16, overlap=4) == []


def test_chunks_end_where_sentences_do() -> None:
    text = "We met on Monday. The plan was changed at once. Nobody objected to it. " * 60
    chunks = split_text(text, words, max_tokens=30, overlap=0)
    assert len(chunks) > CHUNKS_PER_WINDOW
    assert all(chunk.text.endswith(".") for chunk in chunks)


def test_neighbours_share_text() -> None:
    spans = indices(" ".join(f"w{number}" for number in range(2000)), words, max_tokens=32, overlap=8)
    assert len(spans) > CHUNKS_PER_WINDOW
    assert all(start < end for (_, end), (start, _) in pairwise(spans))


def test_a_window_leaves_no_short_chunk_behind() -> None:
    chunks = split_text(" ".join(f"w{number}" for number in range(5000)), words, max_tokens=32, overlap=0)
    assert {len(words(chunk.text)) for chunk in chunks[:-1]} == {32}


def test_the_splitter_gets_one_window_at_a_time() -> None:
    seen: list[int] = []

    def offsets(text: str) -> Spans:
        seen.append(len(text))
        return letters(text)

    text = "漢" * 20_000
    split_text(text, offsets, max_tokens=50, overlap=5)
    assert seen[0] == len(text)
    assert max(seen[1:]) <= 50 * CHUNKS_PER_WINDOW
    assert sum(seen) < 100 * len(text)


def test_an_overlap_is_limited_to_half_of_a_chunk() -> None:
    text = " ".join(f"w{number}" for number in range(200))
    assert split_text(text, words, max_tokens=8, overlap=100) == split_text(text, words, max_tokens=8, overlap=4)


def test_an_error_of_the_tokenizer_is_raised() -> None:
    class RefusedError(Exception):
        pass

    def offsets(_: str) -> Spans:
        raise RefusedError

    with pytest.raises(RefusedError):
        split_text("\ud800", offsets, max_tokens=16, overlap=4)


@given(st.uuids(), st.uuids(), st.integers(0, 2**40), st.integers(0, 10_000))
def test_chunk_ids_can_be_parsed(base: UUID, message: UUID, version: int, index: int) -> None:
    assert parse_chunk_id(chunk_id(base, message, version, index)) == (base, message, version, index)


def test_chunk_ids_are_in_order() -> None:
    base, message = UUID(int=1), UUID(int=2)
    assert chunk_ids(base, message, 3, 2) == [f"{base}:{message}:3:0", f"{base}:{message}:3:1"]
    assert chunk_ids(base, message, 3, 0) == []


@each_row(
    "text",
    [
        "",
        ":::",
        "a:b:1:0",
        "{0}:{1}:1",
        "{0}:{1}:1:0:0",
        "{0}:{1}:one:0",
        "{0}:{1}:1:+0",
        "{0}:{1}:01:0",
        "{0.hex}:{1}:1:0",
    ],
)
def test_other_texts_are_no_chunk_ids(text: str) -> None:
    assert parse_chunk_id(text.format(uuid4(), uuid4())) is None


def test_the_chunker_identity_has_its_bounds() -> None:
    assert Chunker(254, 32, offsets=lambda _: []).identity == "sentence-tokens/254/32"


@each_row("offsets", [words, letters, pieces_of_words])
@each_row("text", ["One short sentence. And 2 more, in a line.\n" * 100, HEBREW * 200, "漢字。" * 500])
def test_a_long_text_is_tokenized_in_parts_and_has_the_same_chunks(
    monkeypatch: pytest.MonkeyPatch, offsets: chunking.Offsets, text: str
) -> None:
    whole = split_text(text, offsets, max_tokens=30, overlap=5)
    asked: list[int] = []

    def watched(part: str) -> Spans:
        asked.append(len(part))
        return list(offsets(part))

    monkeypatch.setattr(chunking, "TOKENIZED_CHARS", 1_000)
    assert split_text(text, watched, max_tokens=30, overlap=5) == whole
    assert max(asked) <= 1_000
