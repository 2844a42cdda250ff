"""What a model would be given for a question: messages with their tokens, and what is left out and why. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memorybase.core.conversation import View
from memorybase.core.conversation.context import RECALL_HEADING
from memorybase.core.conversation.context_report import ContextReport
from memorybase.core.conversation.view.build import Source
from memorybase.core.messages import message_text
from memorybase.core.search.demotion import normalized
from memorybase.core.search.hits import Hit

KINDS = {
    "standing": "Standing statements",
    "recall": "Recalled",
    "fact": "Derived fact",
    "history": "History",
    "summary": "Summary",
    "predefined": "Predefined",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A message that the model gets. `lines`: of recalled memories, one each."""

    kind: str
    role: str
    text: str
    tokens: int
    lines: tuple[str, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """All of it. `left_out`: how many for each reason, without results below the limit, which are listed apart."""

    rows: list[Row]
    bar: list[tuple[str, int]]
    tokens: int
    budget: int
    left_out: list[tuple[int, str]]
    degraded: bool
    over_budget: bool


def describe(view: View, hits: Sequence[Hit], limit: float) -> Given:
    report = view.report
    assert isinstance(report, ContextReport)  # noqa: S101 - of a context
    rows = [_row(message, source) for message, source in zip(view.messages, view.sources, strict=True)]
    spent = report.spent
    return Given(
        rows=rows,
        bar=[
            ("summary", spent.summary),
            ("standing", spent.standing),
            ("recalled", spent.recall),
            ("history", spent.history),
        ],
        tokens=report.tokens_after,
        budget=report.budget or 0,
        left_out=_left_out(view, hits, limit),
        degraded=bool(report.degraded),
        over_budget=report.over_budget,
    )


def _row(message: dict[str, object], source: Source) -> Row:
    text = message_text(message.get("content"))
    lines: tuple[str, ...] = ()
    if source.kind == "recall":
        lines = tuple(line for line in text.removeprefix(RECALL_HEADING).strip().split("\n") if line)
        text = RECALL_HEADING
    return Row(
        KINDS.get(source.kind, source.kind), str(message.get("role", "")), text, source.tokens, lines, source.score
    )


def _left_out(view: View, hits: Sequence[Hit], limit: float) -> list[tuple[int, str]]:
    """Results that fit and are not among the memories, and messages of the session that are not in the history, by
    reason."""
    recalled = {each for source in view.sources if source.kind == "recall" for each in source.message_ids}
    kept = set(view.report.kept)
    shown = {normalized(message_text(message.get("content"))) for message in view.messages}
    counts: Counter[str] = Counter()
    for hit in hits:
        if str(hit.message_id) in recalled:
            continue
        if str(hit.message_id) in kept or normalized(message_text(hit.content)) in shown:
            counts["found, in the history already"] += 1
        elif hit.score >= limit:
            counts["found, did not fit, or only repeat what is given"] += 1
    for removed in view.report.removed:
        counts[f"of the history: {removed.reason.replace('_', ' ')}"] += 1
    return [(count, reason) for reason, count in counts.most_common()]
