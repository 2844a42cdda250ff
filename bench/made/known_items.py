"""Questions for any messages: half of the content words of one sentence of one message."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.keyword_index.languages import ENGLISH

QUESTION_WORDS = 6  # a sentence with fewer content words makes no known item

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LIST_MARK = re.compile(r"^\s*(?:[-*+>#]+|\d+[.)])\s+")
_CONTRACTION = re.compile(r"\b\w+(?:n['\u2019]t|['\u2019](?:ll|ve|re|d|m|clock))\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026:;])\s+")


def known_items(
    messages: Sequence[Mapping[str, Any]], *, seed: int, count: int, roles: Collection[str]
) -> list[dict[str, Any]]:
    """Questions for at most `count` sentences of messages of these roles, in half of their content words.

    A user's sentence gives the bare words; an assistant's also a question about what it said. A sentence whose words
    another message says too is left out.
    """
    rng = random.Random(seed)
    said = [[(words, set(words)) for words in _sentences(str(message["content"]))] for message in messages]
    drawn = {
        index: rng.sample(long, len(long))
        for index, sentences in enumerate(said)
        if messages[index]["role"] in roles
        and (long := [words for words, distinct in sentences if len(distinct) >= QUESTION_WORDS])
    }
    questions: list[dict[str, Any]] = []
    left = count
    while left and drawn:
        index = rng.choice(list(drawn))
        words = drawn[index].pop()
        if not drawn[index]:
            del drawn[index]
        asked = _half(rng, words)
        others = (distinct for other, each in enumerate(said) if other != index for _, distinct in each)
        if any(distinct.issuperset(asked) for distinct in others):
            continue
        left -= 1
        evidence = [messages[index]["id"]]
        if messages[index]["role"] == "assistant":
            verb = rng.choice(("say", "recommend"))
            text = f"What did you {verb} about {' '.join(asked)}?"
            questions.append({"question": text, "category": "known-said", "evidence": evidence})
        questions.append({"question": " ".join(asked), "category": "known-bare", "evidence": list(evidence)})
    return questions


def _sentences(text: str) -> Iterator[list[str]]:
    """The content words of each sentence outside code, in order."""
    words_of = analyzer("english").words
    for line in _FENCED.sub("\n", text).splitlines():
        for sentence in _SENTENCE_END.split(_LIST_MARK.sub("", line)):
            yield [word for word in words_of(_CONTRACTION.sub(" ", sentence)) if word not in ENGLISH.words]


def _half(rng: random.Random, words: Sequence[str]) -> list[str]:
    """Half of the distinct words, in their order."""
    distinct = list(dict.fromkeys(words))
    kept = sorted(rng.sample(range(len(distinct)), (len(distinct) + 1) // 2))
    return [distinct[position] for position in kept]
