"""Counts a text's tokens for a model with its tokenizer alone: no weights are loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memorybase.core.embedding import tokens
from memorybase.core.embedding.exported import TOKENIZER_FILE
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source
from memorybase.core.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def text_counter(model: str) -> Callable[[str], int]:
    """A function that counts a text's tokens for the default model, a tokenizer.json or its folder, or a model of the
    hub or its local cache; raises ModelUnavailable."""
    tokenizer = _load(_tokenizer_file(model), model)

    def count(text: str) -> int:
        return len(tokens.offsets(tokenizer, text))

    return count


def _tokenizer_file(model: str) -> Path:
    if model.removeprefix("sentence-transformers/") == DEFAULT_MODEL:
        return find_source(model).folder / TOKENIZER_FILE
    path = Path(model).expanduser()
    if path.is_dir():
        path /= TOKENIZER_FILE
    if path.is_file():
        return path
    if model.startswith((".", "/", "~")):
        raise ModelUnavailable(f"{path} must be a tokenizer file, but it does not exist.", model=model)
    return _from_hub(model)


def _from_hub(model: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(model, TOKENIZER_FILE))
    except Exception as error:  # errors of the hub client, the transport and the system
        raise ModelUnavailable(
            f"{model} must be a folder with a {TOKENIZER_FILE} or a model with a tokenizer on the hub "
            f"({type(error).__name__}).",
            model=model,
        ) from error


def _load(path: Path, model: str) -> Tokenizer:
    try:
        return tokens.load(path)
    except Exception as error:  # the library raises bare Exceptions
        raise ModelUnavailable(f"The tokenizer at {path} does not load.", model=model) from error
