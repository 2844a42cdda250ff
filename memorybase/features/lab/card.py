"""Reads a model's card and files for people: its licence, and prefixes that its configuration lacks."""

from __future__ import annotations

import re
from pathlib import Path

from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts
from memorybase.core.embedding.source import CARD_FILE

MAX_CARD_BYTES = 1_000_000
E5_PREFIXES = Prompts("query: ", "passage: ")
UNKNOWN_LICENCE = "not stated"
# The first lines of a licence file, by the licence's identifier.
_LICENCES = {
    "apache-2.0": re.compile(r"apache license\s+version 2\.0", re.IGNORECASE),
    "mit": re.compile(r"\bmit license\b|permission is hereby granted, free of charge", re.IGNORECASE),
    "bsd": re.compile(r"redistribution and use in source and binary forms", re.IGNORECASE),
    "gpl-3.0": re.compile(r"gnu general public license\s+version 3", re.IGNORECASE),
}
_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*\n", re.DOTALL)
_FIELD = r"^{}:[ \t]*['\"]?([^'\"\n#]+?)['\"]?[ \t]*(?:#.*)?$"
_E5 = re.compile(r"(?:^|[-_/])e5(?:[-_]|$)", re.IGNORECASE)


def licence_of(folder: Path) -> str:
    """The licence that the model's card states, else that of its licence file, else `not stated`."""
    front = _FRONT_MATTER.match(_text(folder / CARD_FILE))
    if front:
        for name in ("license_name", "license"):
            if found := re.search(_FIELD.format(name), front[1], re.MULTILINE):
                return found[1].strip()[:100]
    for path in sorted(folder.glob("LICENSE*")):
        text = _text(path)
        return next((name for name, form in _LICENCES.items() if form.search(text[:5_000])), f"see {path.name}")
    return UNKNOWN_LICENCE


def named_prefixes(folder: Path, name: str) -> Prompts:
    """Prefixes that the card or the name tells of, for models of e5's kind; the caller decides whether to use them."""
    text = _text(folder / CARD_FILE)
    in_card = re.search(r"['\"`]query: ", text) and re.search(r"['\"`]passage: ", text)
    is_e5 = _E5.search(name) and "instruct" not in name.lower()
    return E5_PREFIXES if in_card or is_e5 else NO_PROMPTS


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_CARD_BYTES).decode(errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""
