"""How many tokens a text is to a model, by its tokenizer alone: no weights are needed or loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memorybase.embedding import tokens
from memorybase.embedding.exported import TOKENIZER_FILE
from memorybase.embedding.source import DEFAULT_MODEL, find_source
from memorybase.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def text_counter(model: str) -> Callable[[str], int]:
    """A function that counts a text's tokens for the default model, for a folder with a tokenizer.json or such a file,
    or for a model that the hub or its local cache holds; raises ModelUnavailable."""
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
        raise ModelUnavailable(f"There is no tokenizer at {path}.", model=model)
    return _from_hub(model)


def _from_hub(model: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(model, TOKENIZER_FILE))
    except Exception as error:  # the hub client raises its own, the transport's and the system's errors
        raise ModelUnavailable(
            f"{model} is neither a folder with a {TOKENIZER_FILE} nor a model whose tokenizer the hub gives "
            f"({type(error).__name__}).",
            model=model,
        ) from error


def _load(path: Path, model: str) -> Tokenizer:
    try:
        return tokens.load(path)
    except Exception as error:  # the library raises bare Exceptions
        raise ModelUnavailable(f"The tokenizer at {path} does not load.", model=model) from error
