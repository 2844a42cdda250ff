"""evaluate: the search quality of a memory base, measured on questions with known evidence."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from memorybase.cli.command import through_stack
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import table_console
from memorybase.core import errors
from memorybase.features.lab.commands.questions import ResolvedQuestion, ask_all, load, resolve

if TYPE_CHECKING:
    from memorybase_client import Client, models

    from memorybase.features.lab.calibration import Scored
    from memorybase.features.lab.metrics import Judged

TOP = 10
FEW = 30  # fewer questions give wide intervals
MAX_LINES_NAMED = 10


class Mode(StrEnum):
    hybrid = "hybrid"
    keyword = "keyword"
    dense = "dense"


@dataclass(frozen=True, slots=True)
class Answered:
    """A question and the results of its search."""

    question: ResolvedQuestion
    results: Sequence[models.Hit]
    took_ms: float

    @property
    def found(self) -> list[str]:
        return [str(hit.message_id) for hit in self.results]

    @property
    def missed(self) -> bool:
        return bool(self.question.evidence) and not self.question.evidence & set(self.found)


@dataclass(frozen=True, slots=True)
class Variant:
    """A mode with its weights, and the results for all questions: a row of the report."""

    name: str
    mode: Mode
    answered: Sequence[Answered]

    @property
    def judged(self) -> list[Judged]:
        from memorybase.features.lab.metrics import judge, with_small_merged

        return with_small_merged(
            [
                judge(a.question.question.category, a.found, a.question.evidence)
                for a in self.answered
                if a.question.evidence
            ]
        )

    @property
    def scored(self) -> list[Scored]:
        from memorybase.features.lab.calibration import Scored

        return [
            Scored(each.question.evidence, [(str(hit.message_id), hit.score) for hit in each.results])
            for each in self.answered
            if each.question.evidence or each.question.has_no_answer
        ]

    @property
    def latency(self) -> tuple[float, float]:
        """The median and the 95th percentile, in milliseconds."""
        took = sorted(each.took_ms for each in self.answered)
        return statistics.median(took), took[min(len(took) - 1, int(len(took) * 0.95))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What is compared."""

    modes: Annotated[
        list[Mode] | None,
        typer.Option(
            "--mode", help="A search mode; repeat the option for more. (default: all three)", show_default=False
        ),
    ] = None
    default_weights: Annotated[
        bool, typer.Option("--default-weights", help="Compare the memory base's own weights with the default ones.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How the searches score."""

    weights: Annotated[
        str | None,
        typer.Option(help="Factors for the parts of the score, as meaning=1.5,words=0.5.", show_default=False),
    ] = None
    half_life: Annotated[
        float | None, typer.Option(help="Half-life in days; 0: age does not count.", show_default=False)
    ] = None

    def request(self) -> dict[str, Any]:
        """Fields of a search. The API checks the names and bounds."""
        fields: dict[str, Any] = {} if self.half_life is None else {"half_life_days": self.half_life}
        for pair in self.weights.split(",") if self.weights else ():
            part, _, factor = pair.partition("=")
            try:
                fields.setdefault("weights", {})[part.strip()] = float(factor)
            except ValueError as exc:
                raise errors.InvalidRequest(f"--weights must be as meaning=1.5,words=0.5 (got {pair!r}).") from exc
        return fields


@through_stack
def evaluate(
    client: Client,
    file: Annotated[
        Path | None, typer.Argument(help="Questions, one JSON object per line.", show_default=False)
    ] = None,
    *,
    memory: Annotated[str, typer.Option(help="The memory base's name.")],
    compared: Compared,
    labels: Annotated[
        bool, typer.Option("--labels", help="Measure on the results that were marked right or wrong, instead of FILE.")
    ] = False,
    scoring: Scoring,
    report: Annotated[Path | None, typer.Option("--json", help="Write all figures and results to this file.")] = None,
) -> None:
    """Measure the search quality of a memory base, on questions with known evidence."""
    if (file is None) != labels:
        raise errors.InvalidRequest("Either FILE or --labels must be given.")
    setting = scoring.request()
    if report is not None and not report.absolute().parent.is_dir():
        raise errors.InvalidRequest(f"{report} cannot be written: its folder does not exist.")
    base = find_memory_base(client, memory)
    own = client.get_search_weights(base.id).stored
    if compared.default_weights and own is None:
        raise errors.InvalidRequest(
            f"{memory} has no weights of its own to compare. Fit some with: memorybase tune FILE --memory {memory}"
        )
    questions = load(client, base, file) if file else _labelled(client, base)
    if not any(each.evidence for each in questions):
        raise errors.InvalidRequest("At least one question must have evidence, because only those are measured.")
    variants = _ask(client, base, questions, compared, setting)
    _show(memory, questions, variants, tuned=own is not None)
    if own is not None and not compared.default_weights:
        typer.echo("hint: --default-weights compares the memory base's own weights with the default weights.")
    if report is not None:
        _write(report, base, variants)
        typer.echo(f"written to {report}")


def _labelled(client: Client, base: models.MemoryBaseView) -> list[ResolvedQuestion]:
    text = client.export_labels(memory_base_id=base.id)
    if not text:
        raise errors.InvalidRequest(f"No result of {base.name} is marked. Mark some in the playground.")
    return resolve(client, base, text)


def _ask(
    client: Client,
    base: models.MemoryBaseView,
    questions: Sequence[ResolvedQuestion],
    compared: Compared,
    setting: dict[str, Any],
) -> list[Variant]:
    variants = []
    for mode in dict.fromkeys(compared.modes or Mode):
        for default in (False, True) if compared.default_weights and mode is not Mode.dense else (False,):
            name = f"{mode}, default weights" if default else str(mode)
            body = {"mode": str(mode), "top_k": TOP, "default_weights": default, **setting}
            found = [
                Answered(each, answer.results, answer.took_ms)
                for each, answer in ask_all(client, base, questions, name, **body)
            ]
            variants.append(Variant(name, mode, found))
    return variants


# What is printed


def _show(memory: str, questions: Sequence[ResolvedQuestion], variants: Sequence[Variant], *, tuned: bool) -> None:
    with_evidence = sum(bool(each.evidence) for each in questions)
    weights = "its own weights" if tuned else "the default weights"
    typer.echo(
        f"{memory}, {weights}: {len(questions)} questions, {with_evidence} with evidence, "
        f"{sum(each.has_no_answer for each in questions)} without an answer\n"
    )
    console = table_console()
    console.print(_figures(variants))
    typer.echo("\nIn brackets: 95 % intervals by bootstrap. NDCG is the mean over the categories.")
    for line in _differences(variants):
        typer.echo(line)
    categories = _categories(variants)
    if categories.row_count > 1:
        typer.echo("")
        console.print(categories)
    first = variants[0]
    typer.echo(f"\nScores of {first.name}, first {TOP} results\n")
    for table in (_bands(first.scored), _best(first.scored), _cuts(first.scored)):
        console.print(table)
        typer.echo("")
    for line in _wrong(variants):
        typer.echo(line)
    for line in _hints(first, with_evidence, sum(each.has_no_answer for each in questions)):
        typer.echo(line)


def plain_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, expand=False, padding=(0, 2, 0, 0))
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    return table


def _figures(variants: Sequence[Variant]) -> Table:
    from memorybase.features.lab.metrics import summarize

    table = plain_table("mode", f"NDCG@{TOP}", "", f"Recall@{TOP}", "", "right result first", "p50 ms", "p95 ms")
    for variant in variants:
        found = summarize(variant.judged)
        half, most = variant.latency
        table.add_row(
            variant.name,
            f"{found.macro_ndcg:.3f}",
            interval(found.macro_ndcg_interval),
            f"{found.whole.recall:.3f}",
            interval(found.recall_interval),
            percent(found.whole.first),
            f"{half:.1f}",
            f"{most:.1f}",
        )
    return table


def _differences(variants: Sequence[Variant]) -> list[str]:
    """For each mode measured with both weights, the gain of the memory base's own weights."""
    from memorybase.features.lab.metrics import difference

    lines = []
    for own, default in pairwise(variants):
        if own.mode == default.mode:
            gained, (low, high) = difference(own.judged, default.judged)
            sure = "" if low > 0 or high < 0 else ", which may be chance"
            lines.append(
                f"In mode {own.mode} the memory base's own weights gain {gained:+.3f} [{low:+.3f}, {high:+.3f}] "
                f"NDCG@{TOP} over the default weights{sure}."
            )
    if lines:
        lines.append("If they were fitted on these questions, the gain on other questions is smaller.")
    return lines


def _categories(variants: Sequence[Variant]) -> Table:
    from memorybase.features.lab.metrics import summarize

    found = [summarize(variant.judged).categories for variant in variants]
    table = plain_table(f"NDCG@{TOP} by category", "questions", *(variant.name for variant in variants))
    for name, figures in found[0].items():
        table.add_row(name, str(figures.questions), *(f"{each[name].ndcg:.3f}" for each in found))
    return table


def _bands(scored: Sequence[Scored]) -> Table:
    from memorybase.features.lab.calibration import bands

    table = plain_table("score", "results", "right")
    for band in reversed(bands(scored)):
        right = percent(band.right / band.results) if band.results else "-"
        table.add_row(f"{band.low:g} to {band.high:g}", str(band.results), right)
    return table


def _best(scored: Sequence[Scored]) -> Table:
    from memorybase.features.lab.calibration import best_scores

    table = plain_table("best score", "questions", "5th percentile", "median", "95th percentile")
    kinds = (("questions with evidence", True), ("questions without an answer", False))
    for name, has_evidence in kinds:
        found = best_scores([each for each in scored if bool(each.evidence) == has_evidence])
        if found is not None:
            table.add_row(name, str(found.questions), *(f"{value:.3f}" for value in (found.p5, found.p50, found.p95)))
    return table


def _cuts(scored: Sequence[Scored]) -> Table:
    from memorybase.features.lab.calibration import cuts

    table = plain_table("min_score", "false alarms", "missed")
    for cut in cuts(scored):
        shares = (cut.false_alarms, cut.missed)
        table.add_row(f"{cut.min_score:g}", *("-" if share is None else percent(share) for share in shares))
    return table


def _wrong(variants: Sequence[Variant]) -> list[str]:
    """For each variant, the number of hits that somebody marked as wrong."""
    marked = sum(len(answered.question.wrong) for answered in variants[0].answered)
    if not marked:
        return []
    lines = []
    for variant in variants:
        found = sum(len(each.question.wrong & set(each.found)) for each in variant.answered)
        lines.append(f"{variant.name} has {found} of {marked} results marked wrong among its first {TOP}.")
    return lines


def _hints(variant: Variant, with_evidence: int, without: int) -> list[str]:
    legend = "False alarms: the share of questions without an answer that still have a result at this min_score. "
    legend += f"Missed: the share of questions without any of their evidence among the first {TOP} results."
    lines = [legend]
    missed = [each.question.question.line for each in variant.answered if each.missed]
    if missed:
        named = ", ".join(map(str, missed[:MAX_LINES_NAMED])) + (", ..." if len(missed) > MAX_LINES_NAMED else "")
        lines.append(f"{variant.name} found no evidence for {len(missed)} of {with_evidence} questions: line {named}.")
    if with_evidence < FEW:
        lines.append(
            f"hint: only {with_evidence} questions with evidence; with {FEW} or more the intervals are narrower."
        )
    if not without:
        lines.append('hint: add questions without an answer ("evidence": []) to measure false alarms.')
    return lines


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def interval(bounds: tuple[float, float]) -> str:
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]"


# What is written


def _write(report: Path, base: models.MemoryBaseView, variants: Sequence[Variant]) -> None:
    shown = {"id", "name", "embedding_model", "capture", "total_processed"}
    document = {
        "memory_base": base.model_dump(mode="json", include=shown),
        "variants": {variant.name: _of(variant) for variant in variants},
    }
    try:
        report.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as exc:
        raise errors.InvalidRequest(f"{report} cannot be written: {exc.strerror}.") from exc


def _of(variant: Variant) -> dict[str, Any]:
    from memorybase.features.lab.calibration import bands, best_scores, cuts
    from memorybase.features.lab.metrics import summarize

    half, most = variant.latency
    best = {
        name: found and asdict(found)
        for name, has_evidence in (("with_evidence", True), ("without", False))
        for found in [best_scores([each for each in variant.scored if bool(each.evidence) == has_evidence])]
    }
    return {
        "mode": str(variant.mode),
        **asdict(summarize(variant.judged)),
        "took_ms_p50": half,
        "took_ms_p95": most,
        "bands": [asdict(each) for each in bands(variant.scored)],
        "best_scores": best,
        "cuts": [asdict(each) for each in cuts(variant.scored)],
        "questions": [_question(each) for each in variant.answered],
    }


def _question(answered: Answered) -> dict[str, Any]:
    question, evidence = answered.question.question, answered.question.evidence
    return {
        "line": question.line,
        "question": question.text,
        "category": question.category,
        "evidence": sorted(evidence),
        "results": [
            {"message_id": name, "score": hit.score, "evidence": name in evidence}
            for name, hit in zip(answered.found, answered.results, strict=True)
        ],
        "took_ms": answered.took_ms,
    }
