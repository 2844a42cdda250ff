"""import --from: import what another system keeps into a running stack, with a report of what did not fit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from memorybase_client import errors as client_errors

from memorybase import errors
from memorybase.cli.import_target import Capture, ingest, of_flow
from memorybase.cli.options import plural, progress, read_text
from memorybase.importers.records import Problem, Report
from memorybase.importers.runs import Part
from memorybase.importers.systems import SYSTEMS, Source, read_runs

if TYPE_CHECKING:
    from memorybase_client import Client, models

REFUSED = (409, 413, 422)  # statuses of the request's content: what is in smaller parts may be accepted
OF_THE_WHOLE_RUN = (client_errors.SessionConflict, client_errors.RunConflict)


@dataclass
class Totals:
    """What was found, and what the API said about it."""

    flows: dict[str, str] = field(default_factory=dict)  # with their names
    sessions: set[tuple[str, str]] = field(default_factory=set)
    runs: set[tuple[str, str]] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    messages: int = 0

    def add(self, part: Part) -> None:
        self.flows.setdefault(part.flow, part.flow_name or part.flow)
        self.sessions.add((part.flow, part.session_id))
        self.runs.add((part.flow, part.run_id))
        self.messages += len(part.messages)

    def shown(self) -> str:
        counts = ((self.flows, "flow"), (self.sessions, "session"), (self.runs, "run"))
        return ", ".join([plural(len(each), noun) for each, noun in counts] + [plural(self.messages, "message")])


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command."""

    flow: str | None
    memory: str | None
    capture: Capture
    report: Path | None
    table: str | None
    headers: list[str]


def import_system(system: str, source: str, options: Options, client: Client | None) -> None:
    """Import a source; without a client only count what is in it."""
    if options.memory and not options.flow and SYSTEMS[system].has_flows:
        text = f"--memory needs --flow: {system} has flows of its own, and each gets a memory base"
        raise errors.InvalidRequest(text, field="--memory", value=options.memory)
    totals = Totals()
    with _report(options.report) as report:
        headers = dict(line for given in options.headers for line in header_lines(given))
        parts = read_runs(system, Source(source, options.table, headers), report, flow=options.flow)
        bases = _import(parts, totals, report, options, client)
        if client is None:
            typer.echo(f"{totals.shown()} would be imported; nothing was stored")
        else:
            typer.echo(f"{totals.shown()}: {_answers(totals.answers)}")
            for base in bases:
                done = ingest(client, base)
                counts = f"{done.total_processed} ingested, {done.dead_letters} dead letters"
                typer.echo(f"memory base {done.name}: {counts}")
    _print(report, options.report)
    if report.broken:
        raise errors.InvalidRequest(f"{report.broken}. What was read before it is counted above.")
    if not totals.messages:
        raise errors.InvalidRequest(f"{source} has no message in the format of {system}.")


def _import(
    parts: Iterator[Part], totals: Totals, report: Report, options: Options, client: Client | None
) -> list[models.MemoryBaseView]:
    """Post every part, unless there is no client; returns the memory bases."""
    bases: dict[str, models.MemoryBaseView] = {}
    with progress() as bar:
        task = bar.add_task("reading messages" if client is None else "capturing messages", total=None)
        for part in parts:
            is_new = (part.flow, part.session_id) not in totals.sessions
            totals.add(part)
            if client is not None:
                if part.flow not in bases:
                    name = part.flow_name or part.flow
                    bases[part.flow] = of_flow(client, part.flow, name, options.memory, options.capture)
                if is_new and part.session_metadata:
                    _add_session(client, part)
                _post(client, part, 0, len(part.messages), report, totals.answers)
            bar.advance(task, len(part.messages))
    return list(bases.values())


def header_lines(given: str) -> Iterator[tuple[str, str]]:
    """`Name: value`, or `@FILE` with such lines: a key on a command line can be seen by other users of the machine."""
    lines = read_text(Path(given[1:])).splitlines() if given.startswith("@") else [given]
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise errors.InvalidRequest("--header must be 'Name: value', or @FILE with such lines", field="--header")
        yield name.strip(), value.strip()


@contextmanager
def _report(file: Path | None) -> Iterator[Report]:
    """A report that is also written to the file, a line for each problem."""
    with ExitStack() as stack:
        if file is None:
            yield Report()
            return
        try:
            lines = stack.enter_context(file.open("w", encoding="utf-8"))
        except OSError as exc:
            raise errors.InvalidRequest(f"{file} cannot be written: {exc.strerror}.") from exc

        def write(problem: Problem) -> None:
            lines.write(json.dumps(asdict(problem), ensure_ascii=False) + "\n")

        yield Report(write)


def _add_session(client: Client, part: Part) -> None:
    """Create the session with its title. Unlike a PATCH, this keeps the metadata of a session that exists."""
    line = {
        "type": "session", "flow_id": part.flow, "session_id": part.session_id, "end_user_id": part.end_user_id,
        "metadata": part.session_metadata,
    }  # fmt: skip
    try:
        client.import_lines([line])
    except client_errors.MemorybaseError as exc:
        # A refusal, such as another end user's session, comes again with the messages and is reported there.
        if exc.status not in REFUSED:
            raise


def _post(client: Client, part: Part, start: int, end: int, report: Report, answers: Counter[str]) -> None:
    """Post these messages. If the API refuses them, halve until those are found that it refuses."""
    try:
        answer = client.capture_run(
            part.flow, session_id=part.session_id, run_id=part.run_id, end_user_id=part.end_user_id,
            messages=part.messages[start:end],
        )  # fmt: skip
    except client_errors.MemorybaseError as exc:
        if exc.status not in REFUSED:
            raise
        if end - start > 1 and not isinstance(exc, OF_THE_WHOLE_RUN):
            middle = (start + end) // 2
            _post(client, part, start, middle, report, answers)
            _post(client, part, middle, end, report, answers)
            return
        answers["refused"] += end - start
        for where in part.places[start:end]:
            report.skip(where, f"refused: {exc.message}", field=exc.field)
    else:
        answers["known"] += end - start - len(answer.messages)  # the same message twice in this request
        for message in answer.messages:
            answers["new" if message.created else "deleted" if message.deleted else "known"] += 1


def _answers(answers: Counter[str]) -> str:
    text = f"{answers['new']} new, {answers['known']} already there"
    if answers["deleted"]:
        text += f", {answers['deleted']} skipped because they were deleted"
    return text + (f", {answers['refused']} refused" if answers["refused"] else "")


def _print(report: Report, file: Path | None) -> None:
    for kind, title in (("skipped", "not imported"), ("changed", "imported with a difference")):
        if not report.total(kind):
            continue
        typer.echo(f"{title}: {report.total(kind)}")
        for key, count in sorted(report.counts.items(), key=lambda item: -item[1]):
            if key[0] == kind:
                typer.echo(f"  {count:6}  {key[1]}, such as {report.examples[key][0].shown()}")
    if file is not None:
        typer.echo(f"every one of them is in {file}")
