"""hooks import: the sessions that coding agents keep of the time before the hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import typer
from memorybase_client import errors as client_errors
from memorybase_client.coding_agents import history, install
from memorybase_client.coding_agents.cursors import with_stored_ids
from memorybase_client.coding_agents.events import Json
from memorybase_client.coding_agents.history import PastSession
from memorybase_client.importers.records import Report, read_time
from memorybase_client.importers.runs import Part, runs_of

from memorybase.cli.bulk import UNITS, ago
from memorybase.cli.import_runs import check, import_parts, raise_for, report_to
from memorybase.cli.options import print_table
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client

    from memorybase.cli.hooks import PastOptions


@dataclass
class _Tally:
    """Sessions and messages of one agent in one project."""

    sessions: set[str] = field(default_factory=set)
    messages: int = 0
    times: list[str] = field(default_factory=list)  # the first and the last day

    def add(self, part: Part) -> None:
        self.sessions.add(part.session_id)
        self.messages += len(part.messages)
        days = [message["timestamp"][:10] for message in part.messages if "timestamp" in message]
        self.times = sorted({*self.times, *days})
        self.times = [*self.times[:1], *self.times[-1:]]


def import_past(options: PastOptions, config: Json, connect: Callable[[], Client]) -> None:
    """Import what the options name into the flow of the hooks' configuration; connects only to store."""
    agents = options.agent or list(history.places())
    for name in agents:
        if name not in history.places():
            known = ", ".join(history.places())
            raise errors.InvalidRequest(f"--agent must be one of {known} (got {name!r})", field="agent", value=name)
    folder = options.project and options.project.expanduser()
    with report_to(options.report) as report:
        found = history.past_sessions(
            agents,
            report,
            folders={folder.absolute(), folder.resolve()} if folder else (),
            since=_since(options.since),
        )
        tallies: dict[tuple[str, str], _Tally] = {}
        if options.dry_run or not found:
            totals = import_parts(_parts(found, config, report, tallies), report, None, file=options.report)
        else:
            with connect() as client:
                install.prepare_flow(client, config["flow"])
                parts = _parts(found, config, report, tallies, client)
                totals = import_parts(parts, report, client, file=options.report)
    if options.dry_run and tallies:
        columns = ("agent", "project", "sessions", "messages", "from", "to")
        rows = [(*key, len(each.sessions), each.messages, *each.times) for key, each in sorted(tallies.items())]
        print_table(columns, rows)
    if not totals.messages:
        places = [str(place) for name in agents for place in history.places()[name]]
        typer.echo(f"looked in {', '.join(places)}")
    raise_for(report, totals, "the agents' files")


def _parts(
    sessions: Iterable[PastSession],
    config: Json,
    report: Report,
    tallies: dict[tuple[str, str], _Tally],
    client: Client | None = None,
) -> Iterator[Part]:
    for session in sessions:
        tally = tallies.setdefault((session.agent, session.project or "unknown"), _Tally())
        messages = history.messages_of(session, config, report)
        if client is not None and session.agent == "cursor":
            stored = client.list_messages(flow_id=config["flow"], session_id=session.id, order="asc", size=200)
            messages = with_stored_ids(messages, stored)
        for part in runs_of(messages, flow=config["flow"], into_one_flow=True, report=report, check=check):
            tally.add(part)
            yield part


def _since(given: str | None) -> datetime | None:
    """A day or time, or an age. Raises InvalidRequest."""
    if given is None:
        return None
    if given[-1:] in UNITS:
        return ago(given, "since")
    try:
        return read_time(given)
    except client_errors.InvalidRequest:
        text = "--since must be a day like 2026-05-31, or an age like 90d"
        raise errors.InvalidRequest(text, field="since", value=given) from None
