"""export, and import of an export: JSON lines between a running stack and a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from memorybase_client import errors as client_errors
from memorybase_client.importers.files import is_archive

from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, interrupted, plural, progress
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client


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
    if file.is_dir():
        raise errors.InvalidRequest(f"{file} must be a file, not a folder.", field="FILE")
    part = file.with_name(f"{file.name}.part")
    with connect(data_dir, url, key) as client:
        base_id = find_memory_base(client, memory).id if memory else None
        lines = client.export_lines(flow_id=flow or None, end_user_id=end_user or None, memory_base_id=base_id)
        is_kept = False
        try:
            with interrupted(lambda: f"{file} was not written"):
                end = _write(lines, part)
            part.replace(file)
        except OSError as exc:
            raise errors.InvalidRequest(f"{part} cannot be written: {exc.strerror}.") from exc
        except client_errors.StreamBroken as exc:
            if not (is_kept := part.stat().st_size > 0):
                raise
            text = f"{exc.message.rstrip('.')}; the received part is in {part}. Run the command again."
            raise errors.NotReady(text) from exc
        finally:
            if not is_kept:
                with suppress(OSError):
                    part.unlink()  # it has private text
    counts = ", ".join(plural(end[f"{kind}s"], kind) for kind in ("flow", "session", "run", "message"))
    chats = f", {plural(end['chat_messages'], 'message')} of chats" if end["chat_messages"] else ""
    typer.echo(f"{counts}{chats} written to {file}")


def _write(lines: Iterable[dict[str, Any]], file: Path) -> dict[str, Any]:
    """Write the lines of an export as the API sends them; returns the last one."""
    line: dict[str, Any] = {}
    with file.open("wb") as out, progress(keep=False) as bar:
        task = bar.add_task("exporting bytes", total=None)
        for line in lines:
            raw = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            out.write(raw)
            bar.advance(task, len(raw))
    return line


def import_export(client: Client, file: Path) -> None:
    """Send the lines of the file. Running it again continues, because existing data is skipped."""
    if file.is_dir() or is_archive(file):
        raise errors.InvalidRequest(f"{file} must be the file that `memorybase export` wrote: unpack it first.")
    try:
        opened = file.open("rb")
    except OSError as exc:
        raise errors.InvalidRequest(f"{file} cannot be read: {exc.strerror}.") from exc
    size, sent = file.stat().st_size, 0

    def count(more: int) -> None:
        nonlocal sent
        sent += more
        bar.advance(task, more)

    with opened, interrupted(lambda: f"{sent} of {size} bytes were sent; run again to continue"), progress() as bar:
        task = bar.add_task("importing bytes", total=size)
        try:
            answer = client.import_lines(_read(opened, count))
        except client_errors.CallerError as exc:
            line = exc.details.get("line")
            if line is None:
                raise
            # The first line of what was stored together, such as a run with its messages.
            text = f"{file}, from line {line} on: {exc.message}"
            raise errors.InvalidRequest(text, field=exc.field, value=exc.value, limit=exc.limit) from exc
    messages = [each for each in (answer.messages, answer.chat_messages) if each is not None]
    created = sum(each.created for each in messages)
    known = sum(each.known for each in messages)
    deleted = sum(each.deleted for each in messages)
    nodes = [each for each in (answer.node_executions, answer.memory_uses) if each is not None]
    of_nodes = sum(each.created + each.known for each in nodes)
    counts = ", ".join(plural(getattr(answer, f"{kind}s"), kind) for kind in ("flow", "session", "run"))
    skipped = f", {deleted} skipped because they were deleted" if deleted else ""
    shown_nodes = f"; {of_nodes} node executions and memory uses" if of_nodes else ""
    typer.echo(f"{counts}; messages: {created} new, {known} already there{skipped}{shown_nodes}")


def _read(lines: Iterable[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    """The lines of a file, split only at line feeds: a JSON string may contain other separators."""
    for line in lines:
        yield line
        advance(len(line))
