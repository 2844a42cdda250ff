"""Checks that a model gives usable vectors, by known pairs, embedded once, which a damaged file or a wrong pooling gets
wrong."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from memorybase.core.embedding.protocol import Embedder

# A question and the message that answers it; the other messages do not.
PAIRS = (
    ("When do we meet next?", "Our next meeting is on Tuesday at ten."),
    ("Where is the spare key?", "I left the second key under the blue flower pot."),
    ("Which food makes Anna ill?", "Anna is allergic to peanuts and hazelnuts."),
    ("How much does the subscription cost?", "The plan is nine euros a month, billed yearly."),
    ("Why did the deployment fail?", "The release was rolled back because the migration timed out."),
    ("What is the name of her dog?", "Her terrier is called Biscuit."),
    ("Which language is the parser written in?", "We wrote the parser in Rust for speed."),
    ("Who will water the plants?", "Tom looks after the garden while we are away."),
)
LEAST_RIGHT = 6  # MiniLM ranks all eight right, with one layer six; random vectors one
LENGTH_TOLERANCE = 1e-3
SAME_COSINE = 0.999  # of a text alone and among others


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """`problems` is empty if the model is usable. `near`, `far`: mean cosine of pairs and of the others."""

    problems: tuple[str, ...]
    right: int
    near: float
    far: float
    ms_per_text: float
    gives_token_vectors: bool


def probe(embedder: Embedder) -> ProbeResult:
    """Embed the pairs and check them. Raises what the embedder raises."""
    questions, messages = zip(*PAIRS, strict=True)
    embedder.embed(messages[:1])  # the first text is slow
    began = time.perf_counter()
    passages, tokens = embedder.embed_with_tokens(messages, [0] if embedder.token_encoding else [])
    seconds = time.perf_counter() - began
    queries = np.vstack([embedder.embed_query(question) for question in questions])
    alone = embedder.embed(messages[-1:])[0]
    cosines = queries @ passages.T
    own = np.diagonal(cosines)
    right = int((cosines.argmax(axis=1) == np.arange(len(PAIRS))).sum())
    problems = []
    if passages.shape != (len(PAIRS), embedder.dimension) or not np.isfinite(cosines).all():
        problems.append(f"it must give a finite vector of {embedder.dimension} dimensions for each text")
    lengths = np.linalg.norm(np.vstack([passages, queries]), axis=1)
    if not (np.abs(lengths - 1) < LENGTH_TOLERANCE).all():
        problems.append("its vectors must have length 1")
    if not float(alone @ passages[-1]) > SAME_COSINE:
        problems.append("a text must have the same vector alone and among others")
    if right < LEAST_RIGHT:
        problems.append(
            f"it must find the answer of at least {LEAST_RIGHT} of {len(PAIRS)} known questions (found {right}): its "
            "files may be damaged, or its pooling or prefixes wrong"
        )
    if embedder.token_encoding and not tokens.get(0):
        problems.append("it must give token vectors, since it has an encoding for them")
    return ProbeResult(
        problems=tuple(problems),
        right=right,
        near=float(own.mean()),
        far=float((cosines.sum() - own.sum()) / (cosines.size - own.size)),
        ms_per_text=seconds * 1_000 / len(PAIRS),
        gives_token_vectors=bool(tokens),
    )
