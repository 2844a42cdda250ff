"""Token counters by name, each created once per process.

estimate           needs nothing; the default without bpe-openai
openai:ENCODING    exact counts of o200k_base and cl100k_base by the package bpe-openai, which contains the vocabularies
hf:MODEL           a Hugging Face tokenizer: of the bundled model, a folder, a file or the hub
tiktoken:ENCODING  OpenAI's; the package must be installed and its cache must hold the encoding: nothing is downloaded
"""

from __future__ import annotations

import hashlib
import importlib
import re
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

from memorybase.core.conversation.view.tokens import ESTIMATE, TextCounter, TokenCounter
from memorybase.core.embedding import text_counter
from memorybase.core.errors import InvalidRequest, ModelUnavailable, lacks_extra
from memorybase.core.settings import Settings, tiktoken_cache

ENCODINGS = ("o200k_base", "cl100k_base")

_TIKTOKEN_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
# OpenAI's older models. All later ones use o200k_base, which is also the best guess for models of others.
_CL100K_MODEL = re.compile(r"gpt-4(-|$)|gpt-3\.?5|text-embedding-")


@lru_cache(maxsize=16)
def counter_named(name: str) -> TokenCounter:
    """The counter of that name. Raises InvalidRequest for an unknown name, ModelUnavailable without its files."""
    kind, _, model = name.partition(":")
    if name in {"estimate", ESTIMATE.name}:
        return ESTIMATE
    if kind == "openai" and model in ENCODINGS:
        return _openai(name, model)
    if kind == "hf" and model:
        return TextCounter(name, text_counter(model))
    if kind == "tiktoken" and model:
        return _tiktoken(name, model)
    raise InvalidRequest(
        f"counter must be estimate, openai:o200k_base, openai:cl100k_base, hf:MODEL or tiktoken:ENCODING "
        f"(got {name[:100]!r})",
        field="counter",
        value=name[:100],
    )


def counter_for(settings: Settings, model: str | None = None) -> TokenCounter:
    """The counter that the setting token_counters names for a model, or for "", every other; else the default."""
    named = settings.token_counters.get(model or "", settings.token_counters.get(""))
    return default_counter(model) if named is None else counter_named(named)


def default_counter(model: str | None = None) -> TokenCounter:
    """Exact counts of an OpenAI model's encoding, of o200k_base for any other; without bpe-openai the estimate."""
    if find_spec("bpe_openai") is None:
        return ESTIMATE
    return counter_named("openai:cl100k_base" if _CL100K_MODEL.match(model or "") else "openai:o200k_base")


def _openai(name: str, encoding: str) -> TokenCounter:
    package = find_spec("bpe_openai")
    # Its public class makes a list of the tokens, and refuses texts of more than 200,000. The package imports tables
    # for it, which takes 0.6 s of a process's first context: only the module below is loaded.
    spec = PathFinder.find_spec("_bindings", package.submodule_search_locations) if package is not None else None
    if spec is None or spec.loader is None:
        raise ModelUnavailable(lacks_extra(f"The token counter {name}", "tokens"), model=name)
    bindings = module_from_spec(spec)
    spec.loader.exec_module(bindings)
    tokenizer = bindings.tokenizer_for_encoding(encoding)

    def tokens_of(text: str) -> int:
        return int(tokenizer.count(text.encode("utf-8", "replace").decode()))  # a lone surrogate has no UTF-8

    return TextCounter(name, tokens_of)


def _tiktoken(name: str, encoding: str) -> TokenCounter:
    if find_spec("tiktoken") is None:
        raise ModelUnavailable("tiktoken is not installed: pip install tiktoken", model=name)
    # tiktoken names a cached file by the digest of its URL. Without the file it would download it.
    file = hashlib.sha1(_TIKTOKEN_URL.format(encoding).encode(), usedforsecurity=False).hexdigest()
    cache = tiktoken_cache()
    if cache is None or not (cache / file).is_file():
        raise ModelUnavailable(
            f"tiktoken's cache must hold {encoding}: put its file into the folder TIKTOKEN_CACHE_DIR.", model=name
        )
    encode = importlib.import_module("tiktoken").get_encoding(encoding).encode_ordinary
    return TextCounter(name, lambda text: len(encode(text)))
