"""The parts of a score, in a user's words: each holds some of the signals, and a request may weigh it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from memorybase.core import errors
from memorybase.core.search.scoring import Weights

MAX_FACTOR: Final = 2.0
# Signals that no part names are of the kind of a message: its length, speaker, dates, times, order.
SIGNALS_OF: Mapping[str, tuple[str, ...]] = {
    "meaning": ("dense", "match"),
    "words": ("nearby", "coverage", "keywords", "named"),
    "around": ("reply", "topic"),
}
KIND = "kind"
PARTS = (*SIGNALS_OF, KIND)

_PART_OF = {signal: part for part, signals in SIGNALS_OF.items() for signal in signals}


def part_of(signal: str) -> str:
    return _PART_OF.get(signal, KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWeights:
    """A factor for each part of the score."""

    meaning: float = 1.0
    words: float = 1.0
    around: float = 1.0
    kind: float = 1.0

    def applied(self, weights: Weights) -> Weights:
        """The weights, each times the factor of its part."""
        factors = asdict(self)
        return Weights(
            weights.name,
            weights.bias,
            {signal: weight * factors[part_of(signal)] for signal, weight in weights.of.items()},
            tuned=weights.tuned,
        )

    @property
    def changes_nothing(self) -> bool:
        return all(factor == 1 for factor in asdict(self).values())


def check_part_weights(weights: PartWeights) -> None:
    """Raises InvalidRequest that names the part."""
    for part, factor in asdict(weights).items():
        if not (math.isfinite(factor) and 0 <= factor <= MAX_FACTOR):
            raise errors.InvalidRequest(
                f"weights.{part} must be a number from 0 to {MAX_FACTOR:g} (got {factor:g})",
                field=f"weights.{part}",
                value=str(factor),
                limit=[0, MAX_FACTOR],
            )


def shares_by_part(shares: Mapping[str, float]) -> dict[str, float]:
    """The sum's parts: what each adds to it, from what each signal adds."""
    sums = dict.fromkeys(PARTS, 0.0)
    for signal, share in shares.items():
        sums[part_of(signal)] += share
    return sums
