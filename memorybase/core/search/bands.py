"""Which scores are good: the bands of scores, and the least score of a recall."""

from __future__ import annotations

from dataclasses import dataclass

# The default min_score of everything that recalls for a model. The clients have copies, which a test compares.
MIN_SCORE = 0.05
MIN_COSINE = 0.3  # in mode dense: unrelated sentences seldom reach it, related ones usually do


@dataclass(frozen=True, slots=True)
class Band:
    """A word for scores from `low` up to the next band's bound, wherever a result is shown.

    The bounds are of fused scores (modes hybrid and keyword), and were checked against labelled questions: see "What a
    score says" in docs/explanation/recall.md. A score is no probability, and a cosine (mode dense) has no band.
    """

    name: str
    low: float


STRONG = Band("strong", 0.5)
GOOD = Band("good", 0.2)
FAIR = Band("fair", MIN_SCORE)
WEAK = Band("weak", 0.0)
BANDS = (STRONG, GOOD, FAIR, WEAK)  # best first


def min_score_of(mode: str, wanted: float | None = None) -> float:
    """The min_score of a recall in this mode, unless the caller wants another: 0 keeps everything."""
    if wanted is not None:
        return wanted
    return MIN_COSINE if mode == "dense" else MIN_SCORE


def band_of(score: float) -> Band:
    """The band of a fused score. Below 0 counts as weak."""
    return next((band for band in BANDS if score >= band.low), WEAK)
