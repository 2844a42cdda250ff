"""Makes the figures of the docs from the runs in bench/results.

    python bench/tables.py [--check]

In the docs what is made stands between `<!-- results: NAME -->` and `<!-- /results -->`: a figure, some cells of a row
or a table. The names are those of MADE; bench/README.md has the command of the run that each needs. --check changes
nothing, and exits with 1 if a page differs from the results.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from runs import ROOT, Line, Run

from memorybase.features.lab.metrics import Summary, judge, summarize

RESULTS = ROOT / "bench" / "results"
PAGES = (ROOT / "README.md", *sorted((ROOT / "bench").glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
MARKED = re.compile(r"(<!-- results: ([a-z0-9_.]+) -->)(.*?)(<!-- /results -->)", re.DOTALL)

CORPORA = {
    "locomo": "locomo",
    "beam": "beam",
    "by_hand": "made by hand",
    "by_rule": "made by rule",
    "beam_sentences": "known items of beam",
}
BM25, VECTORS, HYBRID = "plain BM25", "plain vectors", "hybrid"
NO_ANSWER, SMALL_TALK, OTHER_LANGUAGE = "no answer", "small talk", "other language"  # kinds of questions in lives
LIVES = "life"  # how the names of their files begin
BUDGET = 4_000
THROUGHPUT = {"in bulk": "bulk", "ten at a time, in many sessions": "tens"}
WAITS = {
    "capture acknowledged, while a backlog is ingested: SQLite": "capture",
    "the same on PostgreSQL": "postgresql",
    "from acknowledgement until an ingested message is found, threshold 1": "searchable.paced.from_answer",
    "the same at 20 messages per second": "searchable.20_messages_per_second.from_answer",
}


_read = cache(Run.read)


def run(name: str) -> Run:
    return _read(RESULTS / name)


def runs_of(kind: str) -> Sequence[Run]:
    """A run for each folder whose name begins so."""
    return [run(folder.name) for folder in sorted(RESULTS.glob(f"{kind}-*"))]


def lines_of(kind: str, **wanted: str | int) -> Sequence[Line]:
    """The lines with these values, of the first run that has any: the corpora of bench/ are in each."""
    for each in runs_of(kind):
        if found := [line for line in each.lines if wanted.items() <= line.items()]:
            return found
    raise SystemExit(f"error: no run bench/results/{kind}-* has {wanted}")


# Recall


def found_in(corpus: str) -> Callable[[], str]:
    """Cells: questions, NDCG@10 of plain searches, NDCG@10 and Recall@10 of a hybrid search."""

    def cells() -> str:
        bm25, vectors, hybrid = (_judged(corpus, method) for method in (BM25, VECTORS, HYBRID))
        naive = f"{_share(bm25.macro_ndcg)} · {_share(vectors.macro_ndcg)}"
        return f"{hybrid.whole.questions} | {naive} | {_share(hybrid.macro_ndcg)} / {_share(hybrid.whole.recall)}"

    return cells


def recalled(corpus: str) -> Callable[[], str]:
    return lambda: _percent(_judged(corpus, HYBRID).whole.recall)


@cache
def _judged(corpus: str, method: str) -> Summary:
    lines = lines_of("recall", corpus=corpus, method=method)
    return summarize([judge(line["category"], line["found"], line["evidence"]) for line in lines if line["evidence"]])


def shown(corpus: str) -> Callable[[], str]:
    """The share of the answering messages that a context shows, mean over the questions."""

    def figure() -> str:
        lines = lines_of("context", corpus=corpus, method="context", budget=BUDGET)
        return _share(_mean(len({*line["evidence"]} & {*line["found"]}) / len(line["evidence"]) for line in lines), 2)

    return figure


# Lives


def lives() -> str:
    answered = _answered()
    rows = [
        ("an answer first", _share(_among(answered, 1), 2)),
        ("among five", _share(_among(answered, 5), 2)),
        ("in a context of 2,000 tokens", _share(_mean(line["has_context"] for line in answered), 2)),
        (f"of {len(_of(NO_ANSWER))} questions that nothing answers: something recalled", _recalls(NO_ANSWER)),
        (f"of {len(_of(SMALL_TALK))} of small talk", _recalls(SMALL_TALK)),
        ("tokens of a context, mean of all questions", tokens()),
    ]
    head = f"three invented histories, four months of one person each, {len(answered)} questions"
    return _table((head, ""), rows)


def answered_in_context() -> str:
    return _percent(_mean(line["has_context"] for line in _answered()))


def recalled_for_nothing() -> str:
    nothing, talk = len(_of(NO_ANSWER)), len(_of(SMALL_TALK))
    return f"{_recalls(NO_ANSWER)} of {nothing} questions, {_recalls(SMALL_TALK)} of {talk} times small talk"


def questions_of_lives() -> str:
    return str(len(_answered()))


def tokens() -> str:
    return f"{_mean(line['tokens'] for line in run('lives').lines):,.0f}"


def _answered() -> list[Line]:
    """The answerable questions. Those in another language count apart: a model of one language cannot know them."""
    return [line for line in run("lives").lines if line["evidence"] and line["category"] != OTHER_LANGUAGE]


def _of(kind: str) -> list[Line]:
    return [line for line in run("lives").lines if line["category"] == kind]


def _recalls(kind: str) -> str:
    return str(sum(bool(line["recalled"]) for line in _of(kind)))


def _among(lines: Sequence[Line], most: int) -> float:
    return _mean(not {*line["evidence"]}.isdisjoint(line["found"][:most]) for line in lines)


# Languages


def first_in_other_languages() -> str:
    """Questions in other languages than English that mode `dense` answers first."""
    lines = [each for each in run("languages").lines if each["method"] == "dense" and each["corpus"] != "english"]
    return str(sum(line["found"][:1] == line["evidence"] for line in lines))


# Speed


def throughput() -> str:
    sections = {title: run("speed").report[section] for title, section in THROUGHPUT.items()}
    rows = [(title, *(f"{value:.0f}" for value in _per_second(figures))) for title, figures in sections.items()]
    head = ("messages per second, captured and ingested", "memorybase", "one process", "embedder and Chroma alone")
    return _table((*head, "LangChain `index()`", "mem0 `add(infer=False)`"), rows)


def _per_second(figures: Mapping[str, Any]) -> Iterable[float]:
    one, *peers = (figures[name]["messages_per_second"] for name in ("one_process", "langchain", "mem0"))
    return figures["messages_per_second"], one, figures["limit_per_second"], *peers


def bulk(name: str = "") -> Callable[[], str]:
    """Messages a second: memorybase's, or one of `one_process`, `langchain` and `mem0`."""
    return lambda: f"{_section('speed', f'bulk.{name}' if name else 'bulk')['messages_per_second']:.0f}"


def waits() -> str:
    found = {title: _section("speed", path) for title, path in WAITS.items()}
    return _table(("", "p50", "p95"), [(title, *_p50_and_p95(figures)) for title, figures in found.items()])


def waited(path: str) -> Callable[[], str]:
    """Median and 95 %."""
    return lambda: " · ".join(_p50_and_p95(_section("speed", path)))


def _p50_and_p95(figures: Mapping[str, Any]) -> Sequence[str]:
    return [f"{figures[name]:.0f} ms" for name in ("p50_ms", "p95_ms")]


def forms() -> str:
    """The stack beside one process."""
    report = run("speed").report
    rows = [(title, of(report), of(_one_process(report))) for title, of in FORM_ROWS.items()]
    return _table(("", "the stack", "one process"), rows)


def _one_process(report: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: section["one_process"] for name, section in report.items() if "one_process" in section}


FORM_ROWS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "from the command to ready, a first start": lambda of: f"{of['startup']['stack_ready_seconds']:.1f} s",
    "memory after the start": lambda of: f"{of['startup']['memory_mb']['all']['pss']:.0f} MB",
    "memory at the end of the run": lambda of: f"{of['memory']['all']['pss']:.0f} MB",
    "processor in the minute after a search": lambda of: f"{of['rest']['processor_percent']:.1f} % of a core",
    "ingested in bulk, a second": lambda of: f"{of['bulk']['messages_per_second']:.0f}",
    "capture beside a backlog, p50 · p95": lambda of: " · ".join(_p50_and_p95(of["capture"])),
    "until a message is found as an ingested one, p50 · p95": lambda of: " · ".join(
        _p50_and_p95(of["searchable"]["paced"]["from_answer"])
    ),
    "hybrid search among 20,000, p50 · p95": lambda of: " · ".join(_p50_and_p95(of["search"]["20000_messages"])),
}


def _section(name: str, path: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run(name).report
    for part in path.split("."):
        found = found[part]
    return found


# Faults


def faults() -> str:
    """A column for each run."""
    reports = [each.report for each in runs_of("faults")]
    rows = [(title, *(of(report) for report in reports)) for title, of in FAULT_ROWS.items()]
    return _table(("", *(_shape(report["plan"]) for report in reports)), rows)


def _shape(plan: Mapping[str, Any]) -> str:
    names = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "replicated": "PostgreSQL and a standby"}
    extras = [
        ("one process", plan["one_process"]),
        ("network", plan["network"]),
        ("pgvector", plan["vectors"] != "chroma"),
    ]
    return ", ".join([names[plan["database"]], *(name for name, is_so in extras if is_so)])


FAULT_ROWS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "seconds, seed, rate": lambda report: "{seconds:g}, {seed}, {messages_per_second:g}".format(**report["plan"]),
    "workers": lambda report: "1" if report["plan"]["one_process"] else str(report["plan"]["workers"]),
    "faults": lambda report: f"{report['faults_total']:,}",
    "messages acknowledged": lambda report: f"{report['acknowledged']:,}",
    "of these, deleted again": lambda report: f"{report['deleted']:,}",
    "**lost**": lambda report: f"**{report['lost']}**",
    "**doubled**": lambda report: f"**{report['doubled']}**",
    "dead letters": lambda report: f"{report['dead_letters']:,}",
    "messages in the ledgers": lambda report: f"{report['messages_in_ledgers']:,}",
    "chunks in the store": lambda report: f"{report['chunks_in_store']:,}",
    "at rest after the last fault": lambda report: f"{report['heal_seconds']:.0f} s",
}


def of_all_faults(field: str) -> Callable[[], str]:
    """The sum over all runs with faults."""
    return lambda: f"{sum(each.report[field] for each in runs_of('faults')):,}"


def soak() -> str:
    """A column for each run, with the most memory of each process in its quarters."""
    reports = [each.report for each in runs_of("soak")]
    parts = dict.fromkeys(part for report in reports for part in report["memory"])
    rows_of = {**SOAK_ROWS, **{f"{part}, MB in each quarter": _memory_of(part) for part in parts}}
    rows = [(title, *(_cell(of, report) for report in reports)) for title, of in rows_of.items()]
    return _table(("", *("one process" if report["plan"]["one_process"] else "stack" for report in reports)), rows)


def _memory_of(part: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda report: " · ".join(f"{megabytes:,.0f}" for megabytes in report["memory"][part])


SOAK_ROWS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "seconds, seed, rate": FAULT_ROWS["seconds, seed, rate"],
    "faults": lambda report: ", ".join(f"{what} {count}" for what, count in report["faults"].items()),
    **{
        title: FAULT_ROWS[title]
        for title in ("messages acknowledged", "of these, deleted again", "**lost**", "**doubled**")
    },
    "looks at health; failures missed; false alarms": lambda report: (
        "{health_looks:,}; {silent_seconds}; {false_alarm_seconds}".format(**report)
    ),
    "at rest after the load": lambda report: f"{report['rest_seconds']:.0f} s",
}


# Peers


def peers() -> str:
    """A column for each memory, with what was measured last of each part; empty before the first run."""
    measured: dict[str, dict[str, Any]] = {}
    for each in runs_of("peers"):
        for name, figures in each.report["peers"].items():
            measured.setdefault(name, {"lines": []}).update(figures)
            if asked := [line for line in each.lines if line.get("peer") == name and "corpus" in line]:
                measured[name]["lines"] = asked
    if not measured:
        return ""
    rows = [(title, *(_cell(of, figures) for figures in measured.values())) for title, of in PEER_ROWS.items()]
    return _table(("", *measured), rows)


def _cell(of: Callable[[Mapping[str, Any]], str], figures: Mapping[str, Any]) -> str:
    """Empty where the part was not measured."""
    try:
        return of(figures)
    except KeyError:
        return ""


def _asked(figures: Mapping[str, Any], *corpora: str, answered: bool | None = None) -> list[Line]:
    """The lines of these corpora without questions in another language; raises KeyError if there are none."""
    lines = [
        line
        for line in figures["lines"]
        if line["corpus"].startswith(corpora or "")
        and line["category"] != OTHER_LANGUAGE
        and answered in (None, bool(line["evidence"]))
    ]
    if not lines:
        raise KeyError(corpora)
    return lines


def _share_of_evidence(field: str, corpus: str) -> Callable[[Mapping[str, Any]], str]:
    """The share of the answering messages in this field, mean over the questions."""
    return lambda figures: _share(
        _mean(
            len({*line["evidence"]} & {*line[field]}) / len(line["evidence"])
            for line in _asked(figures, corpus, answered=True)
        ),
        2,
    )


def _lives_answered(figures: Mapping[str, Any]) -> str:
    return _share(_mean(line["has_context"] for line in _asked(figures, LIVES, answered=True)), 2)


def _offered_for_nothing(figures: Mapping[str, Any]) -> str:
    nothing = _asked(figures, "beam", LIVES, answered=False)
    return f"{sum(line['offered'] for line in nothing)} of {len(nothing)}"


def _tokens_of(field: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda figures: f"{_mean(line[field] for line in _asked(figures)):,.0f}"


def _ms(*path: str) -> Callable[[Mapping[str, Any]], str]:
    def cell(figures: Mapping[str, Any]) -> str:
        for part in path:
            figures = figures[part]
        return f"{figures['p50_ms']:.0f} · {figures['p95_ms']:.0f}"

    return cell


def _after(fault: str) -> Callable[[Mapping[str, Any]], str]:
    """Acknowledged, lost and doubled."""

    def cell(figures: Mapping[str, Any]) -> str:
        found = figures[fault]
        return "failed" if "failed" in found else "{acknowledged} · {lost} · {doubled}".format(**found)

    return cell


def _left_in_files(figures: Mapping[str, Any]) -> str:
    found = figures["deletion"]
    return f"{found['left']} of {found['messages']}" + (f": {', '.join(found['files'])}" if found["left"] else "")


PEER_ROWS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "version": lambda figures: next(iter(figures["versions"].values())),
    "needs": lambda figures: str(figures["needs"]),
    "**speed**: messages a second, stored and in the index, ten a call": lambda figures: (
        f"{figures['speed']['tens']['messages_per_second']:.0f}"
    ),
    "a call acknowledged, ms, p50 · p95": _ms("speed", "tens"),
    "a message found after its request, ms": _ms("speed", "searchable"),
    "a search, ms": _ms("speed", "search"),
    "a search at the largest size, ms": _ms("speed", "search_grown"),
    "memory at rest, MB": lambda figures: f"{figures['speed']['rest_mb']:,.0f}",
    "memory after so many messages, MB": lambda figures: (
        f"{figures['speed']['grown_mb']:,.0f} ({figures['speed']['messages']:,})"
    ),
    "**faults**: kill -9 during ingestion, times": lambda figures: str(figures["kills"]["kills"]),
    "messages acknowledged · lost · doubled": _after("kills"),
    "after a full disk, the same": _after("full_disk"),
    "two writers of one session, the same": _after("two_writers"),
    "**recall**: share of the answering messages among ten entries: LoCoMo": _share_of_evidence("found", "locomo"),
    "BEAM": _share_of_evidence("found", "beam"),
    "lives": _share_of_evidence("found", LIVES),
    "tokens of ten entries, mean": _tokens_of("found_tokens"),
    "the same share in what is offered for 2,000 tokens: LoCoMo": _share_of_evidence("shown", "locomo"),
    "BEAM, offered": _share_of_evidence("shown", "beam"),
    "lives: the answer is in it": _lives_answered,
    "tokens of what is offered, mean": _tokens_of("tokens"),
    "something offered where nothing answers": _offered_for_nothing,
    "**deletion**: of a person's messages, still in files": _left_in_files,
}


# Rules

RECOGNIZED = {
    "time": "a question for a time",
    "number": "for a number",
    "side": "for what the other side said",
    "first": "for the first of several events",
    "last": "for the latest",
    "order": "for an order in time",
    "what": "for any value",
    "past": "about the past, for a comparison, for advice: no later value corrects it",
    "person": "for all that is known of the speaker",
    "change": "a statement that tells a change",
    "again": "that something holds again",
    "no": "that denies",
    "if": "that supposes",
    "lasts": "of what lasts, of the speaker",
}
JUDGED = ("sentences", "wrong", "precision", "recall")


def rules_of(part: str, head: str) -> Callable[[], str]:
    """A row for each rule of the part, or kind of pair."""

    def table() -> str:
        judged = run("rules").report[part]
        rows = [
            (_rule(name, part), *(_judged_as(figures[each]) for each in JUDGED)) for name, figures in judged.items()
        ]
        return _table((head, *JUDGED), rows)

    return table


def _rule(name: str, part: str) -> str:
    return name if part == "corrections" else f"`{name}`" + (f": {RECOGNIZED[name]}" if name in RECOGNIZED else "")


def _judged_as(figure: int | float | None) -> str:
    return "-" if figure is None else f"{figure:.2f}" if isinstance(figure, float) else str(figure)


# Pages

MADE: Mapping[str, Callable[[], str]] = {
    **{f"found.{name}": found_in(corpus) for name, corpus in CORPORA.items()},
    "recall.locomo": recalled("locomo"),
    "recall.beam": recalled("beam"),
    "context.locomo": shown("locomo"),
    "context.beam": shown("beam"),
    "lives": lives,
    "lives.context": answered_in_context,
    "lives.nothing": recalled_for_nothing,
    "lives.questions": questions_of_lives,
    "lives.tokens": tokens,
    "languages.first": first_in_other_languages,
    "speed": throughput,
    "speed.bulk": bulk(),
    "speed.bulk_langchain": bulk("langchain"),
    "speed.bulk_mem0": bulk("mem0"),
    "speed.capture": lambda: _p50_and_p95(run("speed").report["capture"])[0],
    "speed.capture_both": waited("capture"),
    "speed.capture_postgresql": waited("postgresql"),
    "speed.found": waited("searchable.paced.from_answer"),
    "speed.forms": forms,
    "speed.search": waited("search.20000_messages"),
    "speed.tens": lambda: f"{run('speed').report['tens']['messages_per_second']:.0f}",
    "speed.waits": waits,
    "faults": faults,
    "faults.acknowledged": of_all_faults("acknowledged"),
    "faults.count": of_all_faults("faults_total"),
    "faults.lost": of_all_faults("lost"),
    "faults.doubled": of_all_faults("doubled"),
    "peers": peers,
    "rules.corrections": rules_of("corrections", "pairs"),
    "rules.languages": rules_of("languages", "rule"),
    "rules.standing": rules_of("standing", "form"),
    "soak": soak,
}


def filled(text: str) -> str:
    """The page with its figures made anew. A table stands on lines of its own, between its marks and empty lines."""

    def fill(match: re.Match[str]) -> str:
        begin, name, _, end = match.groups()
        if name not in MADE:
            raise SystemExit(f"error: a mark must name one of {', '.join(MADE)} (got {name!r})")
        content = MADE[name]()
        return f"{begin}\n\n{content}\n\n{end}" if content.startswith("|") else f"{begin}{content}{end}"

    return MARKED.sub(fill, text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first, *others = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([first, "|" + "---|" * len(head), *others]).replace("|  |", "| |")


def _share(value: float, digits: int = 3) -> str:
    """As the pages write it: .857."""
    return f"{value:.{digits}f}".removeprefix("0")


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


def _mean(values: Iterable[float]) -> float:
    return float(np.mean([*values]))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a page differs")
    chosen = arguments.parse_args()
    differing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (made := filled(text)) != text:
            differing.append(page.relative_to(ROOT).as_posix())
            if not chosen.check:
                page.write_text(made, encoding="utf-8")
    print("\n".join(differing) or "no page differs")
    return 1 if chosen.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
