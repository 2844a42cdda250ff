"""Compares embedding models on the same messages and questions: each message by its best chunk, nothing but vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import Embedder
from memorybase.core.embedding.chunking import Chunker
from memorybase.features.lab.metrics import TOP, Judged, judge, paired_difference
from memorybase.features.lab.model_data import Conversation
from memorybase.features.lab.questions import Question

CHUNKS_AT_ONCE = 64
MIN_QUESTIONS = 30  # fewer give wide intervals


@dataclass(frozen=True, slots=True)
class Answer:
    """The figures of one question: those of `judge`, and 1 divided by the rank of the first right message."""

    judged: Judged
    reciprocal_rank: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A model's answers to all questions, in order, and what it costs."""

    answers: Sequence[Answer]
    chunks: int
    ms_per_text: float
    ms_per_query: float
    vector_bytes: int

    def mean(self, figure: Figure) -> float:
        return float(np.mean([figure(answer) for answer in self.answers]))


Figure = Callable[[Answer], float]
FIGURES: dict[str, Figure] = {
    f"Recall@{TOP}": lambda answer: answer.judged.recall,
    f"NDCG@{TOP}": lambda answer: answer.judged.ndcg,
    "MRR": lambda answer: answer.reciprocal_rank,
}


@dataclass(frozen=True, slots=True)
class Gain:
    """The mean gain of one model over another on the same questions, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        return self.low > 0 or self.high < 0


def measure(
    embedder: Embedder, chunker: Chunker, conversations: Sequence[Conversation], advance: Callable[[int], object]
) -> Measured:
    """Embed all messages and ask all questions. `advance` hears of each message. Raises what the embedder raises."""
    embedder.embed(["The first text is slow."])
    answers: list[Answer] = []
    seconds = query_seconds = 0.0
    chunks = 0
    for conversation in conversations:
        owners, vectors, spent = _embed(embedder, chunker, conversation, advance)
        seconds += spent
        chunks += len(owners)
        for question in conversation.questions:
            began = time.perf_counter()
            query = embedder.embed_query(question.text)
            query_seconds += time.perf_counter() - began
            answers.append(_answer(conversation, question, owners, vectors @ query))
    return Measured(
        answers=answers,
        chunks=chunks,
        ms_per_text=seconds * 1_000 / max(1, chunks),
        ms_per_query=query_seconds * 1_000 / len(answers),
        vector_bytes=4 * embedder.dimension,
    )


def gain(left: Measured, right: Measured, figure: Figure) -> Gain:
    """The gain of the left over the right, paired by question."""
    mean, (low, high) = paired_difference(
        [figure(answer) for answer in left.answers], [figure(answer) for answer in right.answers]
    )
    return Gain(mean, low, high)


def _embed(
    embedder: Embedder, chunker: Chunker, conversation: Conversation, advance: Callable[[int], object]
) -> tuple[NDArray[np.intp], NDArray[np.float32], float]:
    """The position of each chunk's message, the chunks' vectors, and the seconds that these took."""
    owners: list[int] = []
    pieces: list[str] = []
    for position, text in enumerate(conversation.texts):
        found = chunker.split(text.text)
        owners += [position] * len(found)
        pieces += [chunk.text for chunk in found]
    parts = [np.empty((0, embedder.dimension), dtype=np.float32)]
    seconds = 0.0
    for start in range(0, len(pieces), CHUNKS_AT_ONCE):
        batch = pieces[start : start + CHUNKS_AT_ONCE]
        began = time.perf_counter()
        parts.append(embedder.embed(batch))
        seconds += time.perf_counter() - began
        advance(len(batch))
    return np.array(owners, dtype=np.intp), np.concatenate(parts), seconds


def _answer(
    conversation: Conversation, question: Question, owners: NDArray[np.intp], cosines: NDArray[np.float32]
) -> Answer:
    best = np.full(len(conversation.texts), -np.inf)
    np.maximum.at(best, owners, cosines)
    candidates = np.array(conversation.candidates(question), dtype=np.intp)
    ranked = candidates[np.argsort(-best[candidates], kind="stable")]
    evidence = conversation.evidence(question)
    ranks = np.flatnonzero(np.isin(ranked, list(evidence)))
    judged = judge(question.category, [str(each) for each in ranked[:TOP]], {str(each) for each in evidence})
    return Answer(judged, 1 / (1 + int(ranks[0])) if ranks.size else 0.0)
