"""The descriptions in the OpenAPI document use the terms of docs/glossary.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.contract import CONTRACT

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
# Words of our own for what has a standard name: notify, repair, pending, sent, state.
PRIVATE_WORDS = r"ring|rings|rung|mend|mends|mended|owed|told|doorbell|standing(?! statements?)"


def descriptions(part: Any) -> Iterator[str]:
    """Every description in the document, without pieces of code and without the name of the Chat Memory node."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "description" and isinstance(value, str):
                yield re.sub(r"`[^`]*`|/[\w/{}-]+|Chat Memory", "", value)
            else:
                yield from descriptions(value)
    elif isinstance(part, list):
        for value in part:
            yield from descriptions(value)


DESCRIPTIONS = sorted(set(descriptions(CONTRACT)))
TERMS = re.findall(r"^\| ([^|]+?) \|", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


def spellings(term: str) -> re.Pattern[str]:
    return re.compile(r"\b" + r"[ _-]?".join(term.split()) + r"s?\b(?!-After)", re.IGNORECASE)


def misspelled(term: str, text: str, pattern: re.Pattern[str]) -> str | None:
    """The term in other letters, joined or hyphenated; a sentence may start with a capital."""
    for match in pattern.finditer(text):
        spelled = match[0].removesuffix("s") if not term.endswith("s") else match[0]
        starts_sentence = match.start() == 0 or text[: match.start()].rstrip().endswith((".", ":", ";", "("))
        if spelled not in ({term, term.capitalize()} if starts_sentence else {term}):
            return match[0]
    return None


def test_there_are_terms_and_descriptions() -> None:
    assert len(TERMS) > 30
    assert len(DESCRIPTIONS) > 100


def test_no_description_uses_a_private_word() -> None:
    used = [text for text in DESCRIPTIONS if re.search(rf"\b({PRIVATE_WORDS})\b", text, re.IGNORECASE)]
    assert used == [], "use the words of docs/glossary.md"


def test_a_term_is_spelled_as_in_the_glossary(subtests: pytest.Subtests) -> None:
    assert TERMS
    for term in TERMS:
        with subtests.test(term):
            assert not re.fullmatch(PRIVATE_WORDS, term), "a private word is no term"
            pattern = spellings(term)
            wrong = [(found, text) for text in DESCRIPTIONS if (found := misspelled(term, text, pattern))]
            assert wrong == [], f"docs/glossary.md spells it '{term}'"


def test_another_spelling_is_found() -> None:
    pattern = spellings("memory base")
    for text in ("a memorybase", "a memory-base", "the Memory base", "of memory bases, Memory Bases"):
        assert misspelled("memory base", text, pattern), text
