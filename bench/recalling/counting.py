"""Figures of a ranking at 1, 5 and 10, by message (turn) and by session, as others count them.

`ndcg` and `recall` are those of BEIR: gains discounted by log2(rank + 1), and the share of the evidence. `recall_any`,
`recall_all` and `ndcg_any` are those of LongMemEval's evaluate_retrieval: whether any and whether all of the evidence
is there, and gains discounted by log2(rank) from the second on, so that the second rank counts like the first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from memorybase.features.lab.metrics import ndcg, recall
from recalling.corpora import Conversation, Question

CUTS = (1, 5, 10)
TURN, SESSION = "by turn", "by session"

Figures = dict[str, float]


def at_cuts(ranked: Sequence[str], evidence: Collection[str]) -> Figures:
    """Of one question, whose evidence must not be empty."""
    found: Figures = {}
    for cut in CUTS:
        first = set(ranked[:cut])
        found |= {
            f"ndcg@{cut}": ndcg(ranked, evidence, cut),
            f"recall@{cut}": recall(ranked, evidence, cut),
            f"ndcg_any@{cut}": _ndcg_any(ranked, evidence, cut),
            f"recall_any@{cut}": float(not first.isdisjoint(evidence)),
            f"recall_all@{cut}": float(first.issuperset(evidence)),
        }
    return found


def sessions(ranked: Iterable[str], session_of: Mapping[str, str]) -> list[str]:
    """The sessions of ranked messages, each where its best message is."""
    return list(dict.fromkeys(session_of[id_] for id_ in ranked))


def answering_sessions(question: Question, session_of: Mapping[str, str]) -> frozenset[str]:
    return question.sessions or frozenset(session_of[id_] for id_ in question.evidence)


def has_sessions(conversations: Iterable[Conversation]) -> bool:
    """Whether any conversation has more than one: else the right session is always found."""
    return any(len({run["session_id"] for run in each.runs}) > 1 for each in conversations)


def means(counted: Sequence[Figures]) -> Figures:
    return {name: round(float(np.mean([each[name] for each in counted])), 4) for name in counted[0]}


def shown(figures: Figures) -> str:
    """Each figure's name with its values at the cuts."""
    names = dict.fromkeys(name.partition("@")[0] for name in figures)
    return ", ".join(" ".join([name, *(f"{figures[f'{name}@{cut}']:.3f}" for cut in CUTS)]) for name in names)


def _ndcg_any(ranked: Sequence[str], evidence: Collection[str], cut: int) -> float:
    gained = sum(_gain(rank) for rank, id_ in enumerate(ranked[:cut], start=1) if id_ in evidence)
    return gained / sum(_gain(rank) for rank in range(1, min(cut, len(evidence)) + 1))


def _gain(rank: int) -> float:
    return 1.0 if rank == 1 else 1 / math.log2(rank)
