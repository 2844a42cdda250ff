"""export, and import of an export: JSON lines between a running stack and a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from memorybase import errors
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, progress
from memorybase.client import Client

# Size of one request: well below the limit of a body, and small enough for the progress bar to move.
PART_BYTES = 1_000_000
PART_LINES = 1_000
LAST_LINE_BYTES = 10_000


def export(
    file: Annotated[
        Path, typer.Argument(help="Output file; replaced once the export is complete.", show_default=False)
    ],
    *,
    flow: Annotated[str | None, typer.Option(help="Only this flow.")] = None,
    memory: Annotated[str | None, typer.Option(help="Only this memory base's flow.")] = None,
    end_user: Annotated[str | None, typer.Option("--end-user", help="Only this end user's sessions.")] = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Export captured data to a file of JSON lines, which `import` reads."""
    part = file.with_name(f"{file.name}.part")
    with connect(data_dir, url, key) as client:
        filters = {"flow_id": flow, "end_user_id": end_user}
        filters["memory_base_id"] = client.find_memory(memory)["id"] if memory else None
        try:
            with part.open("wb") as out, progress(keep=False) as bar:
                task = bar.add_task("exporting bytes", total=None)
                for piece in client.stream("/export", **{name: value for name, value in filters.items() if value}):
                    out.write(piece)
                    bar.advance(task, len(piece))
        except OSError as exc:
            raise errors.InvalidRequest(f"{part} cannot be written: {exc.strerror}.") from exc
    end = _last_line(part)
    if end.get("type") != "end":
        raise errors.NotReady(f"The export is incomplete; the received part is in {part}. Run the command again.")
    part.replace(file)
    counts = ", ".join(f"{end[kind]} {kind}" for kind in ("flows", "sessions", "runs", "messages"))
    chats = f", {end['chat_messages']} messages of chats" if end["chat_messages"] else ""
    typer.echo(f"{counts}{chats} written to {file}")


def is_export(file: Path) -> bool:
    """Whether `export` wrote this file."""
    try:
        with file.open("rb") as lines:
            first = json.loads(lines.readline(LAST_LINE_BYTES))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and first.get("type") == "export"


def import_export(client: Client, file: Path) -> None:
    """Post the file in parts. Running it again continues, because existing data is skipped."""
    total: dict[str, int] = {}
    with progress() as bar:
        task = bar.add_task("importing bytes", total=file.stat().st_size)
        for body in _parts(file):
            answer: dict[str, Any] = client.call(
                "POST", "/import", content=body, headers={"Content-Type": "application/x-ndjson"}
            )
            node_counts = (answer.pop(kind) for kind in ("node_executions", "memory_uses"))
            answer["of nodes"] = sum(counts["created"] + counts["known"] for counts in node_counts)
            for counts in (answer.pop("messages"), answer.pop("chat_messages"), answer):
                for name, count in counts.items():
                    total[name] = total.get(name, 0) + count
            bar.advance(task, len(body))
    counts = ", ".join(f"{total.get(kind, 0)} {kind}" for kind in ("flows", "sessions", "runs"))
    skipped = f", {total['deleted']} skipped because they were deleted" if total.get("deleted") else ""
    of_nodes = f"; {total['of nodes']} node executions and memory uses" if total.get("of nodes") else ""
    messages = f"{total.get('created', 0)} new, {total.get('known', 0)} already there{skipped}"
    typer.echo(f"{counts}; messages: {messages}{of_nodes}")


def _parts(file: Path) -> Iterator[bytes]:
    """Whole lines, split only at line feeds: a JSON string may contain other separators."""
    part: list[bytes] = []
    size = 0
    with file.open("rb") as lines:
        for line in lines:
            if part and (size + len(line) > PART_BYTES or len(part) == PART_LINES):
                yield b"".join(part)
                part, size = [], 0
            part.append(line)
            size += len(line)
    if part:
        yield b"".join(part)


def _last_line(file: Path) -> dict[str, Any]:
    with file.open("rb") as lines:
        lines.seek(max(0, file.stat().st_size - LAST_LINE_BYTES))
        tail = lines.read()
    try:
        end = json.loads(tail.rstrip(b"\n").rpartition(b"\n")[2])
    except ValueError:
        return {}
    return end if isinstance(end, dict) and tail.endswith(b"\n") else {}
