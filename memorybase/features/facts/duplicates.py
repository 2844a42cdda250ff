"""Whether two facts say the same, and whether one may correct the other."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from memorybase.core.comparison import Limits, Relation, Said, compare, covered
from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.features.facts.checks import numbers_of

# Cosine of their vectors.
REPEATED = Limits(same=0.95)
# Of the words of a fact, the share that the fact which corrects it has too.
CORRECTED = 1 / 3


def key_of(who: str, what: str) -> bytes:
    """Equal for facts whose words are the same, whatever their case and punctuation."""
    return hashlib.sha256(" ".join([*_words(who), "|", *_words(what)]).encode()).digest()


def is_duplicate(
    what: str,
    vector: NDArray[np.float32] | None,
    other_what: str,
    other_vector: NDArray[np.float32] | None,
    analyzer: Analyzer,
) -> bool:
    """Whether two facts nearly say the same. Other numbers or a negation make another fact, however near it is."""
    if vector is None or other_vector is None or vector.shape != other_vector.shape:
        return False
    rules = analyzer.of(f"{what} {other_what}").rules
    one, other = (
        Said(frozenset(), frozenset(numbers_of(text, rules)), rules.denials(text)) for text in (what, other_what)
    )
    return compare(one, other, REPEATED, alike=float(vector @ other_vector)) is Relation.REPEATS


def may_correct(who: str, what: str, other_who: str, other_what: str, analyzer: Analyzer) -> bool:
    """Whether a fact is about the same thing as the one that the model says it corrects, and says something else."""
    analyzer = analyzer.of(f"{other_what} {what}")
    older = [*analyzer.terms(other_what), *analyzer.terms(other_who)]
    newer = [*analyzer.terms(what), *analyzer.terms(who)]
    return key_of(who, what) != key_of(other_who, other_what) and covered(older, newer) >= CORRECTED


def _words(text: str) -> list[str]:
    return scripts.WORD.findall(scripts.without_marks(scripts.normal(text)).casefold())
