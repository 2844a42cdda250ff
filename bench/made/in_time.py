"""Generated conversations in which one thing happens several times, and questions for the first and the latest."""

from __future__ import annotations

import random
from typing import Any

from made import LONG_ANSWERS, by_rule

FIRST, LATEST = "first", "latest"
# What happens, what it happens with, and the two questions.
EVENTS = (
    (
        "I visited the castle of {}.",
        ("Lindau", "Bregenz", "Konstanz", "Meersburg"),
        "Which castle did I visit on my first visit?",
        "What was the latest castle that I visited?",
    ),
    (
        "I finished a novel by {}.",
        ("Tove Jansson", "Stefan Zweig", "Ali Smith", "Italo Calvino"),
        "By whom was the first novel that I finished?",
        "By whom was my last novel?",
    ),
    (
        "I baked a loaf of bread with {}.",
        ("spelt flour", "rye flour", "walnuts", "sunflower seeds"),
        "What did I bake bread with the first time?",
        "What was in the most recent bread that I baked?",
    ),
    (
        "I ran a race in {}.",
        ("Ulm", "Kempten", "Ravensburg", "Memmingen"),
        "Where was my first race?",
        "Where did I run the last time?",
    ),
    (
        "I had a piano lesson about {}.",
        ("scales", "pedals", "chords", "sight reading"),
        "What did my first piano lesson teach?",
        "What was my latest piano lesson about?",
    ),
)


def conversations(seeds: tuple[int, ...] = (1, 2)) -> list[dict[str, Any]]:
    """Chats with an assistant of about 120 messages, the events at random places among the user's."""
    return [_with_events(by_rule(seed, LONG_ANSWERS), seed) for seed in seeds]


def _with_events(document: dict[str, Any], seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    messages = list(document["messages"])
    questions = []
    for number, (happened, things, first, latest) in enumerate(EVENTS):
        ids = [f"event-{number}-{order}" for order in range(len(things))]
        places = sorted(rng.sample([i for i, each in enumerate(messages) if each["role"] == "user"], len(things)))
        for id_, thing, place in reversed(list(zip(ids, rng.sample(things, len(things)), places, strict=True))):
            messages.insert(place, {**messages[place], "id": id_, "content": happened.format(thing)})
        questions.append({"question": first, "category": FIRST, "evidence": [ids[0]]})
        questions.append({"question": latest, "category": LATEST, "evidence": [ids[-1]]})
    return {**document, "id": f"in-time-{seed}", "messages": messages, "questions": questions}
