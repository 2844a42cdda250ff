"""Made conversations with questions whose answering messages are known: by hand, by rule, and known items.

    files          the form of a conversation, and those of bench/conversations, written by hand
    long_answers   by rule: a user and an assistant with long answers
    topics         what these are about
    two_people     by rule: two people who chat
    in_languages   one conversation in fourteen languages, written by hand
    known_items    questions for any messages: half of the content words of one sentence of one message
    drawing        what the two generators share
    in_time        events that happen several times, and questions for the first and the latest
    wishes         statements among them, and questions that share no word with those

What `by_rule` and `known_items` make depends on the seed alone: the same seed always gives the same.
"""

from __future__ import annotations

import random
from typing import Any, cast

from made import long_answers, two_people
from made.files import FOLDER, MadeConversation, by_hand
from made.known_items import QUESTION_WORDS, known_items

LONG_ANSWERS = long_answers.KIND
TWO_PEOPLE = two_people.KIND
_MAKERS = {LONG_ANSWERS: long_answers.long_answers, TWO_PEOPLE: two_people.two_people}
KINDS_BY_RULE = tuple(_MAKERS)

__all__ = [
    "FOLDER",
    "KINDS_BY_RULE",
    "LONG_ANSWERS",
    "QUESTION_WORDS",
    "TWO_PEOPLE",
    "MadeConversation",
    "by_hand",
    "by_rule",
    "known_items",
]


def by_rule(seed: int, kind: str) -> dict[str, Any]:
    """A conversation of one of KINDS_BY_RULE, the same one for the same seed."""
    if kind not in _MAKERS:
        raise ValueError(f"kind must be one of {', '.join(KINDS_BY_RULE)} (got {kind!r})")
    return cast("dict[str, Any]", _MAKERS[kind](random.Random(f"{kind} {seed}"), seed))
