"""Which statements still hold: a later one replaces an earlier one that it repeats or contradicts. Pure.

Two statements are about the same if both set the same thing (how to address the person, the language, the units, the
length of answers, emojis), or if their words are mostly the same: "always answer in metric units" and "answer in
imperial units from now on". A statement that a person deleted still hides earlier ones that say the same, but brings
back what it contradicted.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from memorybase.core.comparison import STANDING, STANDING_DELETED, STANDING_REPEATED, Relation, Said, compare
from memorybase.core.keyword_index.analyzer import analyzer

# What an end user sets once. A statement with a condition ("when I ask about prices") sets it for that case only.
_SLOTS = (
    ("name", re.compile(r"\b(?:call me|address me as|refer to me as)\b", re.IGNORECASE)),
    ("pronouns", re.compile(r"\bmy pronouns\b", re.IGNORECASE)),
    ("emojis", re.compile(r"\bemojis?\b", re.IGNORECASE)),
    ("units", re.compile(r"\b(?:metric|imperial|celsius|fahrenheit|kelvin)\b", re.IGNORECASE)),
    (
        "language",
        re.compile(
            r"\b(?:answer|respond|reply|write|speak|talk)\b[^,;]* in (?:english|german|french|spanish|portuguese"
            r"|italian"
            r"|dutch|polish|russian|turkish|arabic|hindi|chinese|mandarin|japanese|korean)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "length",
        re.compile(
            r"\b(?:short|brief|concise|terse|detailed|long|longer|shorter)\b[^,;]*\b(?:answers?|replies|responses"
            r"|explanations)\b|\b(?:answers?|replies|responses|explanations)\b[^,;]*\b(?:short|brief|concise|terse"
            r"|detailed|long|longer|shorter)\b|^(?:please )?be (?:more )?(?:concise|brief|terse|detailed)\b",
            re.IGNORECASE,
        ),
    ),
)
_CONDITION = re.compile(r"\b(?:when(?:ever)?|if|for|about|every time|each time|while|in case)\b", re.IGNORECASE)
# The words that make a statement standing do not say what it is about.
_MARKERS = frozenset(
    analyzer("english").terms(
        "always never please prefer preference rather want like hate dislike from now on going forward future whenever "
        "every time make sure remember ask again use stop avoid"
    )
)


class AnyStatement(Protocol):
    @property
    def found(self) -> str: ...

    @property
    def edited(self) -> str | None: ...

    @property
    def deleted_at(self) -> datetime | None: ...


class Replacements(NamedTuple):
    """The indexes of the statements that hold, and by index the one that replaces it."""

    holding: list[int]
    replaced_by: dict[int, int]


def text_of(statement: AnyStatement) -> str:
    """The text that a person wrote instead, else the one that was found."""
    return statement.found if statement.edited is None else statement.edited


def topic_of(text: str) -> Said:
    """What a statement is about: the one thing that it sets, and its words."""
    words = frozenset(analyzer("english").terms(text)) - _MARKERS
    is_general = _CONDITION.search(text) is None
    return Said(words, subject=next((name for name, form in _SLOTS if is_general and form.search(text)), None))


def is_repetition(newer: AnyStatement, older: AnyStatement) -> bool:
    """Whether both have most of their words in common."""
    return compare(topic_of(text_of(newer)), topic_of(text_of(older)), STANDING_REPEATED) is Relation.REPEATS


def holding(statements: Sequence[AnyStatement]) -> Replacements:
    """For statements from the latest to the earliest. Of three that repeat one another, the latest replaces both."""
    kept: list[int] = []
    replaced_by: dict[int, int] = {}
    by_slot: dict[Hashable, int] = {}
    by_word: dict[str, list[int]] = {}
    said = [topic_of(text_of(statement)) for statement in statements]

    def is_replaced(index: int, other: int) -> bool:
        limits = STANDING if statements[other].deleted_at is None else STANDING_DELETED
        return compare(said[other]._replace(subject=None), said[index], limits) is not Relation.NONE

    for index, each in enumerate(said):
        is_deleted = statements[index].deleted_at is not None
        later = by_slot.get(each.subject) if each.subject is not None else None
        if later is None:
            candidates = sorted({other for word in each.words for other in by_word.get(word, ())})
            later = next((other for other in candidates if is_replaced(index, other)), None)
        if later is not None:
            replaced_by[index] = replaced_by.get(later, later)
        elif not is_deleted:
            kept.append(index)
        if each.subject is not None and not is_deleted:
            by_slot.setdefault(each.subject, index)
        for word in each.words:
            by_word.setdefault(word, []).append(index)
    return Replacements(kept, replaced_by)
