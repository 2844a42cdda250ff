"""tune: fit search weights to a memory base's own questions, store them if the gain is significant, or undo that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from memorybase.cli.command import through_stack
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import progress, table_console
from memorybase.core import errors
from memorybase.features.lab.commands.evaluate import TOP, interval, plain_table
from memorybase.features.lab.commands.questions import ResolvedQuestion, ask_all, load

if TYPE_CHECKING:
    from memorybase_client import Client, models

    from memorybase.features.lab.calibration import Scored
    from memorybase.features.lab.fitting import Fit, JudgedCandidates
    from memorybase.features.lab.metrics import Judged
    from memorybase.features.lab.tuning import Tuned

CANDIDATES = 100  # per question
WEIGHT_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of all questions, ranked by the default weights of the set `name`."""

    name: str
    signals: Sequence[str]
    default: Fit
    asked: Sequence[JudgedCandidates]
    by_session: bool


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of the tuned weights on held-out questions, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        return self.low > 0

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


@through_stack
def tune(
    client: Client,
    file: Annotated[
        Path | None, typer.Argument(help="Questions, one JSON object per line; not with --undo.", show_default=False)
    ] = None,
    *,
    memory: Annotated[str, typer.Option(help="The memory base's name.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Fit and measure, but store nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Store the weights even if the gain may be chance.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Restore the weights from before the last change.")] = False,
) -> None:
    """Fit a memory base's search weights to questions with known evidence."""
    if undo and (file is not None or dry_run or force):
        raise errors.InvalidRequest("--undo takes no FILE, --dry-run or --force.")
    if not undo and file is None:
        raise errors.InvalidRequest("FILE is required. To restore earlier weights, use --undo.")
    base = find_memory_base(client, memory)
    if file is None:
        typer.echo(_undo(client, base))
        return
    questions = load(client, base, file)
    pool = _pool(client, base, questions)
    tuned = _fit(pool)
    gain = _show(base, pool, tuned)
    if dry_run or gain.is_significant or force:
        table_console().print(_weights(pool, tuned))
        typer.echo("")
    if dry_run:
        typer.echo("Nothing was stored: --dry-run.")
    elif gain.is_significant or force:
        _store(client, base, pool, tuned, f"{file.name}: NDCG@{TOP} {gain} on held-out questions")
        typer.echo(
            f"Stored: searches of {memory} use these weights now. Undo: memorybase tune --memory {memory} --undo"
        )
    else:
        typer.echo("Nothing was stored. Add questions, or store these weights anyway with --force.")


def _undo(client: Client, base: models.MemoryBaseView) -> str:
    weights = client.get_search_weights(base.id)
    stored, previous = weights.stored, weights.previous
    if stored is None and previous is None:
        raise errors.InvalidRequest(f"{base.name} never had its own weights: there is nothing to undo.")
    if previous is None:
        client.reset_search_weights(base.id)
    else:
        client.set_search_weights(
            base.id,
            sets=_as_sent(previous),
            fitted_at=previous.fitted_at,
            questions=previous.questions,
            note=previous.note,
            half_life_days=previous.half_life_days,
        )
    return f"{base.name} now uses {described(previous)}. Before: {described(stored)}; run --undo again to restore them."


def _as_sent(weights: models.StoredWeights | None) -> dict[str, dict[str, Any]]:
    return {} if weights is None else {name: each.model_dump() for name, each in weights.sets.items()}


def described(stored: models.StoredWeights | None) -> str:
    if stored is None:
        return "the default weights"
    when = f" of {stored.fitted_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if stored.fitted_at else ""
    count = f", fitted on {stored.questions} questions" if stored.questions else ""
    return f"its own weights{when}{count}"


# Candidates


def _pool(client: Client, base: models.MemoryBaseView, questions: Sequence[ResolvedQuestion]) -> Pool:
    """The candidates of every question with their signals. Raises InvalidRequest if there are too few."""
    import numpy as np

    from memorybase.features.lab import tuning
    from memorybase.features.lab.fitting import Fit, JudgedCandidates

    answers = list(ask_all(client, base, questions, "candidates", top_k=CANDIDATES, explain=True, default_weights=True))
    parts = [hit.parts for _, answer in answers for hit in answer.results if hit.parts is not None]
    name = _set_of(parts)
    signals = list(parts[0].signals or {})
    default = client.get_search_weights(base.id).defaults[name]
    part_of, by_session = tuning.split({_key(each): each.session_id or "" for each in questions if each.evidence})
    asked = []
    for each, answer in answers:
        hits = answer.results
        values = [_values(hit, signals) for hit in hits]
        found = [str(hit.message_id) for hit in hits]
        part = part_of.get(_key(each), each.question.line % tuning.PARTS)
        asked.append(
            JudgedCandidates(
                corpus="",
                group=str(part),
                category=each.question.category,
                evidence=each.evidence,
                found=found,
                values=np.array(values, dtype=np.float64).reshape(len(hits), len(signals)),
            )
        )
    weights = np.array([default.weights.get(signal, 0.0) for signal in signals])
    _check(asked)
    return Pool(name, signals, Fit(weights, default.bias), asked, by_session)


def _values(hit: models.Hit, signals: Sequence[str]) -> list[float]:
    found = (hit.parts.signals if hit.parts is not None else None) or {}
    return [found[signal].value for signal in signals]


def _key(resolved: ResolvedQuestion) -> str:
    """Equal for repeats of a question, so that all are in one part."""
    return f"{resolved.session_id} {resolved.question.text}"


def _set_of(parts: Sequence[models.ScoreParts]) -> str:
    if not parts:
        raise errors.InvalidRequest("No question has a candidate: no search in this memory base has results.")
    if any(each.reranker is not None for each in parts):
        raise errors.InvalidRequest(
            "A reranker decides the order of these searches, so weights have little effect. Unset it first."
        )
    names = {str(each.weight_set) for each in parts}
    if len(names) > 1:
        raise errors.InvalidRequest(f"Searches used several sets of weights ({', '.join(sorted(names))}). Retry later.")
    return names.pop()


def _check(asked: Sequence[JudgedCandidates]) -> None:
    from memorybase.features.lab import tuning

    usable, with_evidence = tuning.usable(asked), sum(bool(each.evidence) for each in asked)
    if usable < tuning.MIN_QUESTIONS:
        raise errors.InvalidRequest(
            f"tune needs at least {tuning.MIN_QUESTIONS} questions with evidence among their {CANDIDATES} best "
            f"candidates (got {usable}, of {with_evidence} with evidence). Add questions to the file."
        )


def _fit(pool: Pool) -> Tuned:
    from memorybase.features.lab import tuning

    with progress(keep=False) as bar:
        bar.add_task("fitting", total=None)
        try:
            return tuning.tune(pool.asked, pool.default)
        except ValueError as exc:
            raise errors.InvalidRequest(f"The questions cannot be split into parts: {exc}.") from exc


# What is printed and stored


def _show(base: models.MemoryBaseView, pool: Pool, tuned: Tuned) -> Gain:
    from memorybase.features.lab import tuning
    from memorybase.features.lab.calibration import calibration_error
    from memorybase.features.lab.metrics import difference, summarize

    with_evidence = sum(bool(each.evidence) for each in pool.asked)
    how = "by session" if pool.by_session else "by question, because the evidence is in few sessions"
    parts = len({each.group for each in pool.asked})
    typer.echo(
        f"{base.name}: {len(pool.asked)} questions, {with_evidence} with evidence.\n"
        f"Cross-validation in {parts} parts {how}: each question is ranked by weights fitted without its part.\n"
    )
    table = plain_table("weights", f"NDCG@{TOP}", "", f"Recall@{TOP}", "", "calibration error")
    # Weights are fitted to the order alone: whether the store answers is a part of a search's scores, but not of these.
    default = [tuning.scored(each, pool.default) for each in pool.asked]
    judged = {"default": _judged(pool.asked, default), "tuned, held out": _judged(pool.asked, tuned.left_out)}
    for (name, rows), scored in zip(judged.items(), (default, tuned.left_out), strict=True):
        found = summarize(rows)
        table.add_row(
            name,
            f"{found.macro_ndcg:.3f}",
            interval(found.macro_ndcg_interval),
            f"{found.whole.recall:.3f}",
            interval(found.recall_interval),
            f"{calibration_error(scored):.3f}",
        )
    table_console().print(table)
    mean, (low, high) = difference(judged["tuned, held out"], judged["default"])
    gain = Gain(mean, low, high)
    typer.echo(
        f"\nIn brackets: 95 % intervals by bootstrap. The calibration error is the difference between the shares that "
        f"the first {TOP} results have in the order and the share of them that is right."
    )
    typer.echo(f"\nThe gain is {gain} NDCG@{TOP}: {verdict(gain)}.\n")
    return gain


def verdict(gain: Gain) -> str:
    if gain.is_significant:
        return "significant"
    return "the default weights are better" if gain.high < 0 else "it may be chance"


def _judged(asked: Sequence[JudgedCandidates], scored: Sequence[Scored]) -> list[Judged]:
    from memorybase.features.lab.metrics import judge, with_small_merged

    return with_small_merged(
        [
            judge(each.category, [name for name, _ in found.results], each.evidence)
            for each, found in zip(asked, scored, strict=True)
            if each.evidence
        ]
    )


def _weights(pool: Pool, tuned: Tuned) -> Table:
    from memorybase.core.search.scoring import SIGNALS

    table = plain_table("signal", "default", "tuned on all", "what it measures")
    table.columns[-1].justify, table.columns[-1].no_wrap = "left", False
    table.add_row("bias", f"{pool.default.bias:.2f}", f"{tuned.fit.bias:.2f}", "added to every message")
    for name, default, weight in zip(pool.signals, pool.default.weights, tuned.fit.weights, strict=True):
        table.add_row(name, f"{default:.2f}", f"{weight:.2f}", SIGNALS.get(name, ""))
    return table


def _store(client: Client, base: models.MemoryBaseView, pool: Pool, tuned: Tuned, note: str) -> None:
    stored = client.get_search_weights(base.id).stored
    weights = {
        name: round(float(weight), WEIGHT_DIGITS) for name, weight in zip(pool.signals, tuned.fit.weights, strict=True)
    }
    fitted = {"bias": round(tuned.fit.bias, WEIGHT_DIGITS), "weights": weights}
    client.set_search_weights(
        base.id,
        sets=_as_sent(stored) | {pool.name: fitted},
        fitted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        questions=sum(bool(each.evidence) for each in pool.asked),
        note=note[-500:],
        half_life_days=None if stored is None else stored.half_life_days,
    )
