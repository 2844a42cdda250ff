"""Prompts: the text that a model expects before a query or a passage."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorybase.core.errors import ModelUnavailable

CONFIG_FILE = "config_sentence_transformers.json"
# Models use different names; the first non-empty prompt counts.
QUERY_NAMES = ("query",)
PASSAGE_NAMES = ("document", "passage", "corpus")
_MARK = "/passage-"
_SUFFIX = re.compile(rf"{_MARK}[0-9a-f]{{8}}$")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The text before a query and before a passage; the latter affects stored vectors."""

    query: str = ""
    passage: str = ""

    def suffix(self, own: Prompts) -> str:
        """The suffix for a model's identity if the passage prompt is not the model's own."""
        if self.passage == own.passage:
            return ""
        return f"{_MARK}{hashlib.sha256(self.passage.encode()).hexdigest()[:8]}"


NO_PROMPTS = Prompts()


def without_passage_prompt(identity: str) -> str:
    """An embedder's identity without the suffix of a custom passage prompt."""
    return _SUFFIX.sub("", identity)


def prompts_in(folder: Path) -> Prompts:
    """The prompts of the model in this folder; raises ModelUnavailable if its configuration cannot be read."""
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
            f"{folder / CONFIG_FILE} must be a valid configuration with the model's prompts ({type(error).__name__}).",
            model=folder.name,
        ) from error


def _chosen(stated: Mapping[str, Any], names: tuple[str, ...], others: tuple[str, ...], default: str | None) -> str:
    # sentence-transformers writes an empty "query" and "document" into every model that it saves, so an empty prompt
    # means nothing. A default with the other side's name does not apply to this one.
    candidates = [*names, default] if default and default not in others else names
    found = next((stated[name] for name in candidates if stated.get(name)), "")
    if not isinstance(found, str):
        raise TypeError
    return found
