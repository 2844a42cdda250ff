"""search: search a memory base of a running stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, table_console
from memorybase.messages import message_text
from memorybase.search.corrections import texts

if TYPE_CHECKING:
    from memorybase_client import models


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    memory: Annotated[str, typer.Option(help="The memory base's name.")],
    top_k: Annotated[int, typer.Option("--top-k", help="Maximum results.", min=1, max=100)] = 5,
    mode: Annotated[Literal["hybrid", "keyword", "dense"], typer.Option(help="hybrid, keyword or dense.")] = "hybrid",
    facts: Annotated[bool, typer.Option("--facts", help="Also print facts that a model derived.")] = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Search a memory base and print the results, best first."""
    with connect(data_dir, url, key) as client:
        base = find_memory_base(client, memory)
        found = client.search_memory_base(base.id, query=query, top_k=top_k, mode=mode, facts=facts)
    if found.results:
        table_console().print(table_of(found.results))
    else:
        typer.echo("no results")
    if found.facts:
        typer.echo("\nfacts that a model derived:")
        table_console().print(table_of_facts(found.facts))
    elif facts:
        typer.echo("no facts")


def table_of(results: Sequence[models.Hit]) -> Table:
    """A table of hits that fits the terminal's width."""
    table = _table("when", "text")
    for hit in results:
        mark = " (pending)" if hit.pending else ""
        table.add_row(
            f"{hit.score:.3f}",
            escape(hit.session_id),
            escape(hit.sender_name or hit.role),
            f"{hit.timestamp:%Y-%m-%d}",
            "\n".join([escape(_passage(hit) + mark), *_corrections(hit)]),
        )
    return table


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
    table.add_column("session", overflow="fold", max_width=24)
    table.add_column("who", overflow="fold", max_width=12)
    table.add_column(date, no_wrap=True)
    table.add_column(text, overflow="fold")
    return table


def _passage(hit: models.Hit) -> str:
    """The matching passage on one line, with … where the message continues."""
    text = message_text(hit.content)
    before = "… " if text[: hit.snippet_start].strip() else ""
    after = " …" if text[hit.snippet_end :].strip() else ""
    return before + " ".join(hit.snippet.split()) + after


def _corrections(hit: models.Hit) -> list[str]:
    """A line about each message that the hit corrects, or that corrects it."""
    lines = []
    if hit.corrects is not None:
        lines.append(texts.of_later(hit.corrects))
    if hit.corrected_by is not None:
        lines.append(texts.of_earlier(hit.corrected_by))
    return [f"[dim]{escape(line)}[/dim]" for line in lines]
