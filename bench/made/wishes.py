"""Generated conversations in which a user states what later questions need and share no word with."""

from __future__ import annotations

import random
from typing import Any

from made import LONG_ANSWERS, by_rule

SHARES_NO_WORD = "shares no word"
# What is said once, and what is asked later and needs it.
PAIRS = (
    ("Always answer in metric units.", "How far is it from Lisbon to Madrid?"),
    ("Never use emojis.", "Can you congratulate Ines on her exam?"),
    ("Call me Sam.", "Draft a reminder with a greeting."),
    ("I'm vegetarian.", "What could we cook on Sunday?"),
    ("I prefer light frameworks.", "Which stack suits a small shop online?"),
    ("I hate flying.", "Plan the trip to Vienna."),
    ("From now on, keep your answers short.", "Who was Ada Lovelace?"),
    ("I never work on Fridays.", "When could the review take place?"),
    ("Please use British spelling from now on.", "Write a paragraph about a rainbow."),
    ("I'd rather get blunt criticism than praise.", "Is this poem any good?"),
)


def conversations(seeds: tuple[int, ...] = (1, 2)) -> list[dict[str, Any]]:
    """Chats with an assistant of about 120 messages, the statements at random places among the user's."""
    return [_with_statements(by_rule(seed, LONG_ANSWERS), seed) for seed in seeds]


def _with_statements(document: dict[str, Any], seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    messages = list(document["messages"])
    questions = list(document["questions"])
    places = sorted(rng.sample([i for i, each in enumerate(messages) if each["role"] == "user"], len(PAIRS)))
    for number, ((statement, question), place) in reversed(list(enumerate(zip(PAIRS, places, strict=True)))):
        id_ = f"wish-{number}"
        messages.insert(place, {**messages[place], "id": id_, "content": statement})
        questions.append({"question": question, "category": SHARES_NO_WORD, "evidence": [id_]})
    return {**document, "id": f"standing-{seed}", "messages": messages, "questions": questions}
