"""Prompts: the words that a model was trained to see before a query, and before a passage."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorybase.errors import ModelUnavailable

CONFIG_FILE = "config_sentence_transformers.json"
# Models name theirs differently; the first that says anything counts.
QUERY_NAMES = ("query",)
PASSAGE_NAMES = ("document", "passage", "corpus")
_MARK = "/passage-"
_SUFFIX = re.compile(rf"{_MARK}[0-9a-f]{{8}}$")


@dataclass(frozen=True, slots=True)
class Prompts:
    """What stands before a query and before a passage; the passage's decides what is stored."""

    query: str = ""
    passage: str = ""

    def suffix(self, own: Prompts) -> str:
        """What these add to the identity of a model with prompts of its own, which its revision covers."""
        if self.passage == own.passage:
            return ""
        return f"{_MARK}{hashlib.sha256(self.passage.encode()).hexdigest()[:8]}"


NO_PROMPTS = Prompts()


def without_passage_prompt(identity: str) -> str:
    """An embedder's identity less what a passage prompt of somebody's choice added to it."""
    return _SUFFIX.sub("", identity)


def prompts_in(folder: Path) -> Prompts:
    """What the model in this folder wants; raises ModelUnavailable when its configuration cannot be read."""
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        stated: Mapping[str, Any] = config.get("prompts") or {}
        default = config.get("default_prompt_name")
        return Prompts(
            query=_chosen(stated, QUERY_NAMES, PASSAGE_NAMES, default),
            passage=_chosen(stated, PASSAGE_NAMES, QUERY_NAMES, default),
        )
    except FileNotFoundError:
        return NO_PROMPTS  # older models have no such file
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ModelUnavailable(
            f"{folder / CONFIG_FILE} does not say which prompts the model wants ({type(error).__name__}).",
            model=folder.name,
        ) from error


def _chosen(stated: Mapping[str, Any], names: tuple[str, ...], others: tuple[str, ...], default: str | None) -> str:
    # sentence-transformers writes an empty "query" and "document" into every model that it saves, so an empty prompt
    # says nothing. A default that is named for the other side is not meant for this one.
    candidates = [*names, default] if default and default not in others else names
    found = next((stated[name] for name in candidates if stated.get(name)), "")
    if not isinstance(found, str):
        raise TypeError
    return found
