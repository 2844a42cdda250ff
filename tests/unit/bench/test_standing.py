"""bench/standing.py: what is found, and which messages state the same."""

from __future__ import annotations

import standing
from recalling.corpora import Conversation, Corpus

SAID = [
    ("1", "user", "I prefer simple, minimal dependencies."),
    ("2", "assistant", "I prefer that too."),
    ("3", "user", "Never use emojis."),
    ("4", "user", "As I said, I prefer simple and minimal dependencies."),
]
MESSAGES = [{"id": id_, "role": role, "content": text} for id_, role, text in SAID]
TALK = Conversation("made", "talk", [{"session_id": "s", "run_id": "r", "messages": MESSAGES}], [])


def test_messages_that_state_the_same_stand_for_one_another() -> None:
    assert standing.repetitions(TALK) == {"1": {"1", "4"}, "3": {"3"}, "4": {"1", "4"}}


def test_only_messages_of_users_are_searched() -> None:
    figures = standing.measure_finder(Corpus("made", [TALK]), show=False)
    assert (figures["messages"], figures["statements"]) == (3, 3)
