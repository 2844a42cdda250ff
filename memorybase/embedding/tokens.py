"""Tokenizing, shared by the adapters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memorybase.errors import ModelUnavailable, TextRejected

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


def load(path: Path) -> Tokenizer:
    """A tokenizer from its file, without the padding and cutting of its training run: MiniLM's file cuts to 128."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


# Of one text too, a batch is asked for: the tokenizer lets other threads run only while it works on a batch.


def ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The number of each token of each text, with the special ones; raises TextRejected with the text's position."""
    try:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]
    except (TypeError, UnicodeEncodeError):
        for position, text in enumerate(texts):
            check_unicode(text, position)
        raise


def encodings(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoding]:
    """Each text's tokens with their numbers and character spans, special ones included; raises TextRejected."""
    for position, text in enumerate(texts):
        check_unicode(text, position)
    return tokenizer.encode_batch(list(texts))


def count_before(tokenizer: Tokenizer, prompt: str) -> int:
    """How many tokens stand before a text that follows this prompt: a special one, and the prompt's."""
    return 1 + len(offsets(tokenizer, prompt)) if prompt else 0


def offsets(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """The character span of each token, without special ones; raises TextRejected."""
    check_unicode(text, 0)
    (encoding,) = tokenizer.encode_batch([text], add_special_tokens=False)
    return encoding.offsets


def check_unicode(text: str, position: int) -> None:
    """Raises TextRejected, which quotes no text, for one that no tokenizer takes."""
    try:
        text.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        # The error's own words may quote the text; `from None` keeps them out of logs.
        raise TextRejected(
            "The embedding model cannot encode this text: it is not valid Unicode.",
            position=position,
            reason=type(error).__name__,
        ) from None


def readable(tokenizer: Tokenizer, max_seq_length: int, prompt: str) -> int:
    """Tokens of a passage that the model reads, less the special ones and the prompt; raises ModelUnavailable."""
    left = max_seq_length - tokenizer.num_special_tokens_to_add(is_pair=False) - len(offsets(tokenizer, prompt))
    if left < 1:
        raise ModelUnavailable(f"its passage prompt leaves no room for text: the model reads {max_seq_length} tokens.")
    return left
