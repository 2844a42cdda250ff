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

if TYPE_CHECKING:
    from memorybase_client import models


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    memory: Annotated[str, typer.Option(help="The memory base's name.")],
    top_k: Annotated[int, typer.Option("--top-k", help="Maximum results.", min=1, max=100)] = 5,
    mode: Annotated[Literal["hybrid", "keyword", "dense"], typer.Option(help="hybrid, keyword or dense.")] = "hybrid",
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Search a memory base and print the results, best first."""
    with connect(data_dir, url, key) as client:
        base = find_memory_base(client, memory)
        results = client.search_memory_base(base.id, query=query, top_k=top_k, mode=mode).results
    if not results:
        typer.echo("no results")
        return
    table_console().print(table_of(results))


def table_of(results: Sequence[models.Hit]) -> Table:
    """A table of hits that fits the terminal's width."""
    table = Table(box=None, pad_edge=False, expand=False)
    table.add_column("score", justify="right")
    table.add_column("session", overflow="fold", max_width=24)
    table.add_column("who", overflow="fold", max_width=12)
    table.add_column("when", no_wrap=True)
    table.add_column("text", overflow="fold")
    for hit in results:
        mark = " (pending)" if hit.pending else ""
        table.add_row(
            f"{hit.score:.3f}",
            escape(hit.session_id),
            escape(hit.sender_name or hit.role),
            f"{hit.timestamp:%Y-%m-%d}",
            escape(_passage(hit) + mark),
        )
    return table


def _passage(hit: models.Hit) -> str:
    """The matching passage on one line, with … where the message continues."""
    text = message_text(hit.content)
    before = "… " if text[: hit.snippet_start].strip() else ""
    after = " …" if text[hit.snippet_end :].strip() else ""
    return before + " ".join(hit.snippet.split()) + after
