"""evaluate: how good the searches of a memory base are, on questions whose answering messages are known."""

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

from memorybase import errors
from memorybase.cli.asking import Known, ask_all, load
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, table_console
from memorybase.client import Client, Json

if TYPE_CHECKING:
    from memorybase.evaluation.calibration import Scored
    from memorybase.evaluation.metrics import Judged

TOP = 10
FEW = 30  # questions; below it, intervals are wide
LINES_NAMED = 10


class Mode(StrEnum):
    hybrid = "hybrid"
    keyword = "keyword"
    dense = "dense"


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, and what a search found for it."""

    known: Known
    results: Sequence[Json]
    took_ms: float

    @property
    def found(self) -> list[str]:
        return [hit["message_id"] for hit in self.results]

    @property
    def missed(self) -> bool:
        return bool(self.known.evidence) and not self.known.evidence & set(self.found)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to search, and what it found: a row of the report."""

    name: str
    mode: Mode
    answered: Sequence[Answered]

    @property
    def judged(self) -> list[Judged]:
        from memorybase.evaluation.metrics import judge, with_small_merged

        return with_small_merged(
            [judge(a.known.question.category, a.found, a.known.evidence) for a in self.answered if a.known.evidence]
        )

    @property
    def scored(self) -> list[Scored]:
        from memorybase.evaluation.calibration import Scored

        return [
            Scored(each.known.evidence, [(hit["message_id"], hit["score"]) for hit in each.results])
            for each in self.answered
        ]

    @property
    def latency(self) -> tuple[float, float]:
        """The median and the 95th percentile, in milliseconds."""
        took = sorted(each.took_ms for each in self.answered)
        return statistics.median(took), took[min(len(took) - 1, int(len(took) * 0.95))]


def evaluate(
    file: Annotated[Path, typer.Argument(help="Questions, a JSON object a line.", show_default=False)],
    *,
    memory: Annotated[str, typer.Option(help="The memory base's name.")],
    modes: Annotated[
        list[Mode] | None,
        typer.Option("--mode", help="A mode of the search; repeat for more. (default: all three)", show_default=False),
    ] = None,
    default_weights: Annotated[
        bool, typer.Option("--default-weights", help="Compare the memory base's own weights with the default ones.")
    ] = False,
    report: Annotated[Path | None, typer.Option("--json", help="Write every figure and every result here.")] = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Measure what searches of a memory base find, on questions whose answering messages are known."""
    if report is not None and not report.absolute().parent.is_dir():
        raise errors.InvalidRequest(f"{report} cannot be written: its folder does not exist.")
    with connect(data_dir, url, key) as client:
        base = client.find_memory(memory)
        own = client.weights(base["id"])["stored"]
        if default_weights and own is None:
            raise errors.InvalidRequest(
                f"{memory} has no weights of its own to compare with. Fit some: memorybase tune FILE --memory {memory}"
            )
        known = load(client, base, file)
        if not any(each.evidence for each in known):
            raise errors.InvalidRequest("At least one question must have evidence: figures are of those alone.")
        ways = _ask(client, base, known, modes or list(Mode), both=default_weights)
    _show(memory, known, ways, tuned=own is not None)
    if own is not None and not default_weights:
        typer.echo("hint: --default-weights compares the memory base's own weights with the default ones.")
    if report is not None:
        _write(report, base, ways)
        typer.echo(f"Written to {report}")


def _ask(client: Client, base: Json, known: Sequence[Known], modes: Sequence[Mode], *, both: bool) -> list[Way]:
    ways = []
    for mode in dict.fromkeys(modes):
        for default in (False, True) if both and mode is not Mode.dense else (False,):
            name = f"{mode}, default weights" if default else str(mode)
            body = {"mode": str(mode), "top_k": TOP, "default_weights": default}
            found = [
                Answered(each, answer["results"], answer["took_ms"])
                for each, answer in ask_all(client, base, known, name, **body)
            ]
            ways.append(Way(name, mode, found))
    return ways


# What is printed


def _show(memory: str, known: Sequence[Known], ways: Sequence[Way], *, tuned: bool) -> None:
    with_evidence = sum(bool(each.evidence) for each in known)
    weights = "its own weights" if tuned else "the default weights"
    typer.echo(
        f"{memory}, {weights}: {len(known)} questions, {with_evidence} with evidence, "
        f"{len(known) - with_evidence} that nothing answers\n"
    )
    console = table_console()
    console.print(_figures(ways))
    typer.echo("\nIn brackets: 95 % intervals by bootstrap. NDCG is the mean over the categories.")
    for line in _differences(ways):
        typer.echo(line)
    categories = _categories(ways)
    if categories.row_count > 1:
        typer.echo("")
        console.print(categories)
    first = ways[0]
    typer.echo(f"\nScores of {first.name}, first {TOP} results\n")
    for table in (_bands(first.scored), _best(first.scored), _cuts(first.scored)):
        console.print(table)
        typer.echo("")
    for line in _hints(first, with_evidence, len(known) - with_evidence):
        typer.echo(line)


def plain_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, expand=False, padding=(0, 2, 0, 0))
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    return table


def _figures(ways: Sequence[Way]) -> Table:
    from memorybase.evaluation.metrics import summarize

    table = plain_table("mode", f"NDCG@{TOP}", "", f"Recall@{TOP}", "", "right one first", "p50 ms", "p95 ms")
    for way in ways:
        found = summarize(way.judged)
        half, most = way.latency
        table.add_row(
            way.name,
            f"{found.macro_ndcg:.3f}", interval(found.macro_ndcg_interval),
            f"{found.whole.recall:.3f}", interval(found.recall_interval),
            percent(found.whole.first), f"{half:.1f}", f"{most:.1f}",
        )  # fmt: skip
    return table


def _differences(ways: Sequence[Way]) -> list[str]:
    """For each mode asked both ways, what the memory base's own weights gain."""
    from memorybase.evaluation.metrics import difference

    lines = []
    for own, default in pairwise(ways):
        if own.mode == default.mode:
            gained, (low, high) = difference(own.judged, default.judged)
            sure = "" if low > 0 or high < 0 else ": it may be chance"
            lines.append(
                f"In mode {own.mode} the memory base's own weights gain {gained:+.3f} [{low:+.3f}, {high:+.3f}] "
                f"NDCG@{TOP} over the default ones{sure}."
            )
    if lines:
        lines.append("If they were fitted on these questions, that is more than they gain on others.")
    return lines


def _categories(ways: Sequence[Way]) -> Table:
    from memorybase.evaluation.metrics import summarize

    found = [summarize(way.judged).categories for way in ways]
    table = plain_table(f"NDCG@{TOP} by category", "questions", *(way.name for way in ways))
    for name, figures in found[0].items():
        table.add_row(name, str(figures.questions), *(f"{each[name].ndcg:.3f}" for each in found))
    return table


def _bands(scored: Sequence[Scored]) -> Table:
    from memorybase.evaluation.calibration import bands

    table = plain_table("score", "results", "of them right")
    for band in reversed(bands(scored)):
        right = percent(band.right / band.results) if band.results else "-"
        table.add_row(f"{band.low:g} to {band.high:g}", str(band.results), right)
    return table


def _best(scored: Sequence[Scored]) -> Table:
    from memorybase.evaluation.calibration import best_scores

    table = plain_table("best score", "questions", "5th percentile", "median", "95th percentile")
    kinds = (("questions with evidence", True), ("questions that nothing answers", False))
    for name, wanted in kinds:
        found = best_scores([each for each in scored if bool(each.evidence) == wanted])
        if found is not None:
            table.add_row(name, str(found.questions), *(f"{value:.3f}" for value in (found.p5, found.p50, found.p95)))
    return table


def _cuts(scored: Sequence[Scored]) -> Table:
    from memorybase.evaluation.calibration import cuts

    table = plain_table("min_score", "false alarms", "missed")
    for cut in cuts(scored):
        shares = (cut.false_alarms, cut.missed)
        table.add_row(f"{cut.min_score:g}", *("-" if share is None else percent(share) for share in shares))
    return table


def _hints(way: Way, with_evidence: int, without: int) -> list[str]:
    legend = (
        "False alarms: the share of the questions that nothing answers of which a result is left at this min_score. "
    )
    legend += f"Missed: the share of those with evidence of which none is left among the first {TOP}."
    lines = [legend]
    missed = [each.known.question.line for each in way.answered if each.missed]
    if missed:
        named = ", ".join(map(str, missed[:LINES_NAMED])) + (", ..." if len(missed) > LINES_NAMED else "")
        lines.append(
            f"{way.name} found nothing of the evidence of {len(missed)} of {with_evidence} questions: line {named}."
        )
    if with_evidence < FEW:
        lines.append(f"hint: {with_evidence} questions with evidence are few; with {FEW} or more the intervals narrow.")
    if not without:
        lines.append('hint: add questions that nothing answers ("evidence": []); they show the false alarms.')
    return lines


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def interval(bounds: tuple[float, float]) -> str:
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]"


# What is written


def _write(report: Path, base: Json, ways: Sequence[Way]) -> None:
    document = {
        "memory_base": {name: base[name] for name in ("id", "name", "embedding_model", "capture", "total_processed")},
        "ways": {way.name: _of(way) for way in ways},
    }
    try:
        report.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as exc:
        raise errors.InvalidRequest(f"{report} cannot be written: {exc.strerror}.") from exc


def _of(way: Way) -> dict[str, Any]:
    from memorybase.evaluation.calibration import bands, best_scores, cuts
    from memorybase.evaluation.metrics import summarize

    half, most = way.latency
    best = {
        name: found and asdict(found)
        for name, wanted in (("with_evidence", True), ("without", False))
        for found in [best_scores([each for each in way.scored if bool(each.evidence) == wanted])]
    }
    return {
        "mode": str(way.mode),
        **asdict(summarize(way.judged)),
        "took_ms_p50": half,
        "took_ms_p95": most,
        "bands": [asdict(each) for each in bands(way.scored)],
        "best_scores": best,
        "cuts": [asdict(each) for each in cuts(way.scored)],
        "questions": [_question(each) for each in way.answered],
    }


def _question(answered: Answered) -> dict[str, Any]:
    question, evidence = answered.known.question, answered.known.evidence
    return {
        "line": question.line,
        "question": question.text,
        "category": question.category,
        "evidence": sorted(evidence),
        "results": [
            {"message_id": hit["message_id"], "score": hit["score"], "evidence": hit["message_id"] in evidence}
            for hit in answered.results
        ],
        "took_ms": answered.took_ms,
    }
