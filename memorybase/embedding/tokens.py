"""Tokenizing, shared by the adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybase.errors import ModelUnavailable, TextRejected

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


def encode(tokenizer: Tokenizer, text: str, *, special: bool) -> Encoding:
    """The text's tokens, with or without the special ones; raises TextRejected, which quotes no text."""
    try:
        return tokenizer.encode(text, add_special_tokens=special)
    except (TypeError, UnicodeEncodeError) as error:
        # The error's own words may quote the text; `from None` keeps them out of logs.
        raise TextRejected(
            "The embedding model cannot encode this text: it is not valid Unicode.", reason=type(error).__name__
        ) from None


def offsets(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """The character span of each token, without special ones."""
    return encode(tokenizer, text, special=False).offsets


def readable(tokenizer: Tokenizer, max_seq_length: int, prompt: str) -> int:
    """Tokens of a passage that the model reads, less the special ones and the prompt; raises ModelUnavailable."""
    left = max_seq_length - tokenizer.num_special_tokens_to_add(is_pair=False) - len(offsets(tokenizer, prompt))
    if left < 1:
        raise ModelUnavailable(f"its passage prompt leaves no room for text: the model reads {max_seq_length} tokens.")
    return left
