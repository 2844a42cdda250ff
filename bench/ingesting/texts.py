"""The messages that are captured: the turns of a LoCoMo file, or made ones of the same length."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Self

from memorybase.core.import_export import conversation_files

WORDS = (  # noqa: SIM905 - a list of words is read as words
    "harbour boat berth winter engine oil rope captain ticket island ferry coffee market letter garden doctor school"
    " train bicycle piano lesson recipe flour oven birthday cousin wedding photograph museum river bridge storm"
).split()
WORDS_A_MESSAGE = 26  # about 34 tokens, as in recorded conversations
LONG = 240  # words of a long message: two chunks
MADE = 2_000


class Corpus:
    """Texts to capture, handed out once each: nobody who keeps vectors of known texts can gain by it."""

    def __init__(self, texts: Sequence[str], questions: Sequence[str], source: str, sha256: str) -> None:
        self.source, self.sha256 = source, sha256
        self.distinct = len(texts)
        self._texts = self._endless(texts)
        self._questions = list(questions)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """The turns of a file in LoCoMo's format, and its questions."""
        raw = path.read_bytes()
        text = raw.decode()
        messages = [
            message for run in conversation_files.read_runs(text, namespace=path.stem) for message in run.messages
        ]
        asked = [each["question"] for document in json.loads(text) for each in document.get("qa", [])]
        return cls([each["content"] for each in messages], asked, path.name, hashlib.sha256(raw).hexdigest())

    @classmethod
    def made(cls, long_share: float = 0.0) -> Self:
        """Messages that differ, the same in every run of the benchmark; so many of them as long as an answer."""
        dice, lengths = random.Random(17), random.Random(18)
        texts = [
            f"{n}: " + " ".join(dice.choices(WORDS, k=LONG if lengths.random() < long_share else WORDS_A_MESSAGE))
            for n in range(MADE)
        ]
        questions = ["What about the " + " and the ".join(dice.sample(WORDS, 3)) + "?" for _ in range(500)]
        return cls(texts, questions, "made texts", hashlib.sha256("\n".join(texts).encode()).hexdigest())

    def take(self, number: int) -> list[str]:
        """The next texts, none of which was handed out before."""
        return [next(self._texts) for _ in range(number)]

    def questions(self, number: int) -> list[str]:
        """Questions that differ, as many as there are; the same at each call."""
        return list(dict.fromkeys(self._questions))[:number]

    @staticmethod
    def _endless(texts: Sequence[str]) -> Iterator[str]:
        yield from texts
        for turn in count(2):  # once more, with a number behind each: one or two tokens longer
            yield from (f"{text} ({turn})" for text in texts)
