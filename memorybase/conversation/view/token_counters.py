"""Token counters by name, each created once per process.

estimate           needs nothing; the default
hf:MODEL           a Hugging Face tokenizer: of the bundled model, a folder, a file or the hub
tiktoken:ENCODING  OpenAI's; the package must be installed and its cache must hold the encoding: nothing is downloaded
"""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from memorybase.conversation.view.tokens import ESTIMATE, TextCounter, TokenCounter
from memorybase.embedding import text_counter
from memorybase.errors import InvalidRequest, ModelUnavailable
from memorybase.settings import Settings, point_tiktoken_at

_TIKTOKEN_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


@lru_cache(maxsize=16)
def counter_named(name: str, tiktoken_cache: Path | None = None) -> TokenCounter:
    """The counter of that name. Raises InvalidRequest for an unknown name, ModelUnavailable without its files."""
    kind, _, model = name.partition(":")
    if name == ESTIMATE.name:
        return ESTIMATE
    if kind == "hf" and model:
        return TextCounter(name, text_counter(model))
    if kind == "tiktoken" and model:
        return _tiktoken(name, model, tiktoken_cache)
    raise InvalidRequest(
        f"counter must be estimate, hf:MODEL or tiktoken:ENCODING (got {name[:100]!r})",
        field="counter",
        value=name[:100],
    )


def counter_for(settings: Settings, model: str | None) -> TokenCounter:
    """The counter that the setting token_counters names for a model, else the estimate."""
    return counter_named(settings.token_counters.get(model or "", ESTIMATE.name), settings.tiktoken_cache_dir)


def _tiktoken(name: str, encoding: str, cache: Path | None) -> TokenCounter:
    if find_spec("tiktoken") is None:
        raise ModelUnavailable("tiktoken is not installed: pip install tiktoken", model=name)
    # tiktoken names a cached file by the digest of its URL. Without the file it would download it.
    file = hashlib.sha1(_TIKTOKEN_URL.format(encoding).encode(), usedforsecurity=False).hexdigest()
    if cache is None or not (cache / file).is_file():
        raise ModelUnavailable(
            f"tiktoken's cache must hold {encoding}: put its file into tiktoken_cache_dir.", model=name
        )
    point_tiktoken_at(cache)
    encode = importlib.import_module("tiktoken").get_encoding(encoding).encode_ordinary
    return TextCounter(name, lambda text: len(encode(text)))
