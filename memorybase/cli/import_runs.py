"""import of everything but exports: the runs of a source into a running stack, with a report of what did not fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from memorybase_client import errors as client_errors
from memorybase_client.coding_agents import install
from memorybase_client.coding_agents.events import FLOW
from memorybase_client.importers import git, systems
from memorybase_client.importers.files import read_member
from memorybase_client.importers.recognise import GIT, LINES, LOCOMO, recognise
from memorybase_client.importers.records import Json, Problem, ProblemKind, Report
from memorybase_client.importers.runs import Part, runs_of
from memorybase_client.importers.systems import SYSTEMS, ImportSource

from memorybase.cli.import_batches import batches
from memorybase.cli.import_posts import Posts
from memorybase.cli.import_target import Capture, Target, ingest
from memorybase.cli.options import interrupted, plural, progress, read_text
from memorybase.core import errors
from memorybase.core.import_export import conversation_files

if TYPE_CHECKING:
    from memorybase_client import Client

    from memorybase.cli.import_file import ImportOptions

TITLES: tuple[tuple[ProblemKind, str], ...] = (
    ("lost", "could not be imported"),
    ("skipped", "not imported"),
    ("changed", "imported with a difference"),
)


@dataclass
class Totals:
    """Totals of the source."""

    flows: set[str] = field(default_factory=set)
    sessions: set[tuple[str, str]] = field(default_factory=set)
    runs: set[tuple[str, str]] = field(default_factory=set)
    messages: int = 0

    def add(self, part: Part) -> None:
        self.flows.add(part.flow)
        self.sessions.add((part.flow, part.session_id))
        self.runs.add((part.flow, part.run_id))
        self.messages += len(part.messages)

    def shown(self) -> str:
        counts = ((self.flows, "flow"), (self.sessions, "session"), (self.runs, "run"))
        return ", ".join([plural(len(each), noun) for each, noun in counts] + [plural(self.messages, "message")])


def import_runs(name: str, source: str, options: ImportOptions, client: Client | None) -> None:
    """Import a source in the format of that name; without a client only count what is in it."""
    if options.memory and not options.flow and name in SYSTEMS and SYSTEMS[name].has_flows:
        text = f"--memory needs --flow: {name} has flows of its own, and each gets a memory base"
        raise errors.InvalidRequest(text, field="--memory", value=options.memory)
    with report_to(options.report) as report:
        of_commits = client if name == GIT else None
        held = [] if of_commits is None or options.everything else _held(of_commits, Path(source), options)
        parts = _parts(name, source, options, report, held)
        if of_commits is not None:
            install.prepare_flow(of_commits, _flow_of_commits(options))
        totals = import_parts(
            parts, report, client, file=options.report, memory=options.memory, capture=options.capture
        )
    if not totals.messages and not report.broken:
        if not held:
            raise errors.InvalidRequest(_nothing_in(name, source))
        typer.echo("0 new: the flow has the commits of this repository; --all sends them again")
    raise_for(report, totals, source)


def import_parts(
    parts: Iterable[Part],
    report: Report,
    client: Client | None,
    *,
    file: Path | None = None,
    memory: str | None = None,
    capture: Capture = "all",
) -> Totals:
    """Import parts and wait for their ingestion; without a client only count them. Prints what did not fit, which the
    report also writes to `file`."""
    totals = Totals()
    counted = _counted(parts, totals)
    posts = None
    if client is None:
        for _ in counted:
            pass
        typer.echo(f"{totals.shown()} would be imported; nothing was stored")
    else:
        posts = _post(counted, totals, report, client, memory, capture)
    _print(report, file)
    if client is not None and posts is not None:
        _ingest(client, posts)
    return totals


def _parts(name: str, source: str, options: ImportOptions, report: Report, held: Sequence[str]) -> Iterable[Part]:
    if name not in SYSTEMS:
        for option, value in (("--table", options.table), ("--header", options.header)):
            if value:
                raise errors.InvalidRequest(f"{option} does not apply to {name}", field=option)
        if name == GIT:
            end_user_id = install.stored_config().get("end_user")
            commits = git.read(Path(source), report, end_user_id=end_user_id, without=held)
            return runs_of(commits, flow=_flow_of_commits(options), into_one_flow=True, report=report, check=check)
        # All of it is read before the first run is posted: an error names its line, and nothing was stored.
        path = Path(source)
        text, shown = read_member(path)
        return conversation_files.read_runs(text, namespace=options.flow or path.stem, source=shown)
    headers = dict(line for given in options.header or () for line in header_lines(given))
    found = ImportSource(source, options.table, headers)
    return systems.read_runs(name, found, report, flow=options.flow, check=check)


def _flow_of_commits(options: ImportOptions) -> str:
    """That of the coding agents of this machine, which recall from it."""
    flow: str = options.flow or install.stored_config().get("flow") or FLOW
    return flow


def _held(client: Client, repository: Path, options: ImportOptions) -> list[str]:
    """The newest commits that the flow has, together with what leads to them."""
    flow = _flow_of_commits(options)

    def is_held(message_id: str) -> bool:
        try:
            message = client.get_message(message_id, flow_id=flow)
        except client_errors.NotFound:
            return False
        return git.SHALLOW not in message.metadata

    return git.newest_held(repository, is_held)


def check(message: Json) -> int:
    """The bytes of a message. Raises the client's InvalidRequest for one that the API would refuse."""
    try:
        return conversation_files.checked_message(message)[1]
    except errors.InvalidRequest as exc:
        raise client_errors.InvalidRequest(exc.message, field=exc.field, value=exc.value, limit=exc.limit) from exc


def _counted(parts: Iterable[Part], totals: Totals) -> Iterator[Part]:
    for part in parts:
        totals.add(part)
        yield part


def _post(
    parts: Iterable[Part], totals: Totals, report: Report, client: Client, memory: str | None, capture: Capture
) -> Posts:
    def target_of(part: Part) -> Target:
        return Target.find(client, part.flow, part.flow_name or part.flow, memory, capture)

    posts = Posts(client, target_of, report)
    with interrupted(lambda: f"{plural(posts.stored, 'message')} {_is(posts.stored)} stored; run again to continue"):
        with progress() as bar:
            task = bar.add_task("capturing messages", total=None)
            for batch in batches(parts):
                posts.send(batch)
                bar.advance(task, sum(len(part.messages) for part in batch.parts))
        if totals.messages:
            typer.echo(f"{totals.shown()}: {_answers(posts)}")
    return posts


def _ingest(client: Client, posts: Posts) -> None:
    """Wait for the ingestion of all memory bases while it progresses."""
    pending = 0
    text = f"all {plural(posts.stored, 'message')} are stored, and the stack goes on to ingest them"
    with interrupted(lambda: text):
        for target in posts.targets.values():
            if target.base is not None:
                done = ingest(client, target.base)
                counts = f"{done.total_processed} ingested, {plural(done.dead_letters, 'dead letter')}"
                typer.echo(f"memory base {done.name}: {counts}")
                pending += done.pending_messages
    if pending:
        typer.echo(f"{plural(posts.stored, 'message')} stored; {pending} {_is(pending)} being ingested")


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def header_lines(given: str) -> Iterator[tuple[str, str]]:
    """`Name: value`, or `@FILE` with such lines: a key on a command line can be seen by other users of the machine."""
    lines = read_text(Path(given[1:])).splitlines() if given.startswith("@") else [given]
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise errors.InvalidRequest("--header must be 'Name: value', or @FILE with such lines", field="--header")
        yield name.strip(), value.strip()


@contextmanager
def report_to(file: Path | None) -> Iterator[Report]:
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


def _answers(posts: Posts) -> str:
    answers = posts.answers
    text = f"{answers['new']} new, {answers['known']} already there"
    if answers["deleted"]:
        text += f", {answers['deleted']} skipped because they were deleted"
    return text + (f", {answers['refused']} refused" if answers["refused"] else "")


def _print(report: Report, file: Path | None) -> None:
    for kind, title in TITLES:
        if not report.total(kind):
            continue
        typer.echo(f"{title}: {report.total(kind)}")
        for key, count in sorted(report.counts.items(), key=lambda item: -item[1]):
            if key[0] == kind:
                typer.echo(f"  {count:6}  {key[1]}, such as {report.examples[key][0].shown()}")
    if file is not None:
        typer.echo(f"every one of them is in {file}" if report.counts else f"all of it fits; {file} is empty")


def raise_for(report: Report, totals: Totals, source: str) -> None:
    """Raises InvalidRequest unless all of the source was read."""
    if report.broken:
        before = "What was read before it is counted above." if totals.messages else "Nothing was read before it."
        raise errors.InvalidRequest(f"{report.broken}. {before}")
    if lost := report.total("lost"):
        what = plural(lost, "record or message", "records or messages")
        raise errors.InvalidRequest(f"{what} of {source} could not be imported; see the list above.")


def _nothing_in(name: str, source: str) -> str:
    if name == GIT:
        return f"{source} has no commit that can be imported."
    other = recognise(source, Report())
    hint = f"; it looks like {other}. Leave --from out, or use --from {other}" if other not in {None, name} else ""
    own = "" if name in {LINES, LOCOMO} else f" in the format of {name}"
    return f"{source} has no message{own}{hint}."
