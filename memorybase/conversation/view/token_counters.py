"""Token counters by name, each made once a process.

estimate          needs nothing; the default
hf:MODEL          a Hugging Face tokenizer: the bundled model's, a folder's or file's, or a hub's
tiktoken:ENCODING OpenAI's, where the package is installed and its cache holds the encoding: nothing is downloaded
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
    """The counter of that name; raises InvalidRequest for another, ModelUnavailable where its files are missing."""
    kind, _, which = name.partition(":")
    if name == ESTIMATE.name:
        return ESTIMATE
    if kind == "hf" and which:
        return TextCounter(name, text_counter(which))
    if kind == "tiktoken" and which:
        return _tiktoken(name, which, tiktoken_cache)
    raise InvalidRequest("A counter is estimate, hf:MODEL or tiktoken:ENCODING", field="counter", value=name[:100])


def counter_for(settings: Settings, model: str | None) -> TokenCounter:
    """The counter that the setting names for a model; the estimate for every other."""
    return counter_named(settings.token_counters.get(model or "", ESTIMATE.name), settings.tiktoken_cache_dir)


def _tiktoken(name: str, encoding: str, cache: Path | None) -> TokenCounter:
    if find_spec("tiktoken") is None:
        raise ModelUnavailable("tiktoken is not installed: pip install tiktoken", model=name)
    # The package keeps each file under the digest of the address it came from, in the folder that TIKTOKEN_CACHE_DIR
    # names; without the file it would download it.
    file = hashlib.sha1(_TIKTOKEN_URL.format(encoding).encode(), usedforsecurity=False).hexdigest()
    if cache is None or not (cache / file).is_file():
        raise ModelUnavailable(f"tiktoken's cache holds no {encoding}: see tiktoken_cache_dir.", model=name)
    point_tiktoken_at(cache)
    encode = importlib.import_module("tiktoken").get_encoding(encoding).encode_ordinary
    return TextCounter(name, lambda text: len(encode(text)))
