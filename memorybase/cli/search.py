"""search: search the memory bases of a running stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from memorybase.cli.command import through_stack
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import table_console
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client, models

TURN_CHARS = 120  # of a turn around a result
SESSION_CHARS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a search returns: fields of the request."""

    top_k: Annotated[int, typer.Option("--top-k", help="Maximum results.", min=1, max=100)] = 5
    mode: Annotated[Literal["hybrid", "keyword", "dense"], typer.Option(help="hybrid, keyword or dense.")] = "hybrid"
    neighbors: Annotated[int, typer.Option(help="Turns to show before and after each result.", min=0, max=5)] = 1
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="DATE",
            help="Answer as on this date or time: without what was said, corrected or edited later. (default: now)",
            show_default=False,
        ),
    ] = None
    facts: Annotated[bool, typer.Option("--facts", help="Also print facts that a model derived.")] = False


@through_stack
def search(
    client: Client,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    memory: Annotated[
        str | None, typer.Option(help="Only this memory base, by its name. (default: all)", show_default=False)
    ] = None,
    flow: Annotated[
        str | None, typer.Option(help="Only the memory bases of this flow. (default: all)", show_default=False)
    ] = None,
    wanted: Wanted,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with ids and whole messages.")] = False,
) -> None:
    """Search messages and print the results, best first, with the turns around them."""
    if not query.strip():
        raise errors.InvalidRequest("QUERY must have at least one word.", field="QUERY")
    if memory is not None and flow is not None:
        raise errors.InvalidRequest("Only one of --memory and --flow can be given.", field="--flow")
    options: dict[str, Any] = {"query": query, **asdict(wanted)}
    if memory is not None:
        found = client.search_memory_base(find_memory_base(client, memory).id, **options)
    elif flow is not None:
        _check_searchable(client, flow)
        found = client.search_flow(flow_id=flow, **options)
    else:
        found = client.search_flow(all=True, **options)
    titles = {} if as_json else _titles(client, found.results)
    if as_json:
        typer.echo(found.model_dump_json(indent=1))
        return
    if found.results:
        table_console().print(table_of(found.results, titles))
    else:
        typer.echo("no results")
    if found.facts:
        typer.echo("\nfacts that a model derived:")
        table_console().print(table_of_facts(found.facts))
    elif wanted.facts:
        typer.echo("no facts")


def _check_searchable(client: Client, flow: str) -> None:
    """Raises NotFound for an unknown flow, and for one without a memory base, where every search finds nothing."""
    name = client.get_flow(flow).name
    if client.list_memory_bases(flow_id=flow).page().total == 0:
        raise errors.NotFound(
            f"The flow {name} has no memory base, so none of its messages can be found.", field="flow"
        )


def _titles(client: Client, results: Sequence[models.Hit]) -> dict[tuple[UUID, str], str]:
    """The titles of the results' sessions, by memory base and session id, as far as they are found by their ids."""
    flows = {base_id: client.get_memory_base(base_id).flow_id for base_id in {hit.memory_base_id for hit in results}}
    titles = {}
    for base_id, session_id in dict.fromkeys((hit.memory_base_id, hit.session_id) for hit in results):
        for session in client.list_sessions(flow_id=flows[base_id], q=session_id, size=1).page().items:
            if session.session_id == session_id and (title := session.metadata.get("title")):
                titles[base_id, session_id] = str(title)
    return titles


def table_of(results: Sequence[models.Hit], titles: Mapping[tuple[UUID, str], str] | None = None) -> Table:
    """A table of hits that fits the terminal's width. A session is shown by its title if it has one."""
    table = _table("when", "text")
    for hit in results:
        mark = " (pending)" if hit.pending else ""
        table.add_row(
            f"{hit.score:.3f}",
            escape((titles or {}).get((hit.memory_base_id, hit.session_id), hit.session_id)),
            escape(hit.sender_name or hit.role),
            f"{hit.timestamp:%Y-%m-%d}",
            "\n".join(
                [
                    *map(_turn, hit.before),
                    escape(_passage(hit) + mark),
                    *_why_first(hit),
                    *_corrections(hit),
                    *map(_turn, hit.after),
                ]
            ),
        )
    return table


def _turn(turn: models.Turn) -> str:
    """A turn around a result, on one dim line."""
    from memorybase.core.messages import message_text

    text = " ".join(message_text(turn.content).split())
    short = text if len(text) <= TURN_CHARS else f"{text[:TURN_CHARS]} …"
    return f"[dim]{escape(f'{turn.sender_name or turn.role}: {short}')}[/dim]"


def table_of_facts(facts: Sequence[models.FactHit]) -> Table:
    """A table of facts, with their own scores, that fits the terminal's width."""
    table = _table("said", "fact")
    table.add_column("messages", justify="right")
    for fact in facts:
        table.add_row(
            f"{fact.score:.3f}",
            escape(fact.session_id),
            escape(fact.who),
            f"{fact.said_at:%Y-%m-%d}",
            escape(f"{fact.what} ({fact.when})" if fact.when else fact.what),
            str(len(fact.source_message_ids)),
        )
    return table


def _table(date: str, text: str) -> Table:
    table = Table(box=None, pad_edge=False, expand=False)
    table.add_column("score", justify="right")
    # Whole ids are in --json; a UUID would fold each row.
    table.add_column("session", overflow="ellipsis", no_wrap=True, max_width=SESSION_CHARS)
    table.add_column("who", overflow="fold", max_width=12)
    table.add_column(date, no_wrap=True)
    table.add_column(text, overflow="fold")
    return table


def _passage(hit: models.Hit) -> str:
    """The matching passage on one line, with … where the message continues."""
    from memorybase.core.messages import message_text

    text = message_text(hit.content)
    if not text.strip():
        return "(no text)"  # a file or a tool call
    before = "… " if text[: hit.snippet_start].strip() else ""
    after = " …" if text[hit.snippet_end :].strip() else ""
    return before + " ".join(hit.snippet.split()) + after


def _why_first(hit: models.Hit) -> list[str]:
    """A line for a hit that is among the first whatever its score."""
    from memorybase.core.search import exact_matches

    text = exact_matches.text_of(hit.exact_match, hit.reply_to)
    return [f"[dim]{escape(text)}[/dim]"] if text else []


def _corrections(hit: models.Hit) -> list[str]:
    """A line about each message that the hit corrects, or that corrects it."""
    from memorybase.core.search import corrections

    lines = []
    if hit.corrects is not None:
        lines.append(corrections.text_of_later(hit.corrects))
    if hit.corrected_by is not None:
        lines.append(corrections.text_of_earlier(hit.corrected_by))
    return [f"[dim]{escape(line)}[/dim]" for line in lines]
