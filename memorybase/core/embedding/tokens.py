"""Tokenizing, shared by the adapters."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memorybase.core.errors import ModelUnavailable, TextRejected

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# Always pass a batch, even for one text: the tokenizer releases other threads only while it works on a batch.
TEXTS_AT_ONCE = 64  # its answer takes a hundred times the memory of the ids


def load(path: Path) -> Tokenizer:
    """Load a tokenizer without its file's padding and truncation: MiniLM's file truncates to 128."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Sequence[int]]:
    """The token ids of each text, with special tokens; raises TextRejected with the text's position."""
    try:
        return [
            array("I", encoding.ids)
            for start in range(0, len(texts), TEXTS_AT_ONCE)
            for encoding in tokenizer.encode_batch_fast(list(texts[start : start + TEXTS_AT_ONCE]))
        ]
    except (TypeError, UnicodeEncodeError):
        for position, text in enumerate(texts):
            check_unicode(text, position)
        raise


def encodings(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoding]:
    """Each text's tokens with ids and character spans, with special tokens; raises TextRejected."""
    for position, text in enumerate(texts):
        check_unicode(text, position)
    return tokenizer.encode_batch(list(texts))


def count_before(tokenizer: Tokenizer, prompt: str) -> int:
    """The number of tokens before a text that follows this prompt: a special token and the prompt's."""
    return 1 + len(offsets(tokenizer, prompt)) if prompt else 0


def offsets(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """The character span of each token, without special tokens; raises TextRejected."""
    check_unicode(text, 0)
    (encoding,) = tokenizer.encode_batch([text], add_special_tokens=False)
    return encoding.offsets


def check_unicode(text: str, position: int) -> None:
    """Raises TextRejected, without quoting the text, for a text that is not valid Unicode."""
    try:
        text.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        # The error's message may quote the text; `from None` keeps it out of logs.
        raise TextRejected(
            "The embedding model cannot encode this text: it is not valid Unicode.",
            position=position,
            reason=type(error).__name__,
        ) from None


def readable(tokenizer: Tokenizer, max_seq_length: int, prompt: str) -> int:
    """The tokens of text that the model reads, without special tokens and the prompt; raises ModelUnavailable."""
    left = max_seq_length - tokenizer.num_special_tokens_to_add(is_pair=False) - len(offsets(tokenizer, prompt))
    if left < 1:
        raise ModelUnavailable(f"its passage prompt leaves no room for text: the model reads {max_seq_length} tokens.")
    return left
