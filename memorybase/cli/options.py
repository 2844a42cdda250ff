"""Options that several commands share."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from memorybase_client import local_stack
from memorybase_client.importers.files import decoded
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.table import Table

from memorybase.core import errors, shell
from memorybase.core.settings import Settings, embedded, stated_url
from memorybase.stack.state import (
    DataDir,
    RunningStack,
    check_database,
    find_data_dir,
    is_at_rest,
    running_elsewhere,
    settings_in_use,
)

if TYPE_CHECKING:
    from memorybase_client import Client

    from memorybase.core.services import Services

DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="The stack's data directory. (default: ./memorybase-data, else that of the stack that runs)",
        show_default=False,
    ),
]
UrlOption = Annotated[
    str | None,
    typer.Option("--url", help="The API's URL. (default: MEMORYBASE_URL, else the stack's)", show_default=False),
]
KeyOption = Annotated[
    str | None,
    typer.Option("--key", help="The API key. (default: MEMORYBASE_API_KEY, else the stack's)", show_default=False),
]

LINE_SECONDS = 5.0  # between two lines of progress where there is no terminal
INTERRUPTED = 130  # exit code: 128 and the number of SIGINT
TRIES = 8  # of a call: a command may wait ten seconds for a stack that restarts


def read_text(file: Path) -> str:
    """Raises InvalidRequest with the line that is not UTF-8."""
    try:
        raw = file.read_bytes()
    except OSError as exc:
        raise errors.InvalidRequest(f"{file} cannot be read: {exc.strerror}.") from exc
    return decoded(raw, str(file))


@contextmanager
def interrupted(text: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C ends the command with this text and exit code 130, as shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"interrupted: {text()}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def plural(count: int, noun: str, many: str = "") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {many or noun + 's'}"


def table_console() -> Console:
    """A console as wide as the terminal; without a terminal, wide enough for whole ids."""
    return Console() if sys.stdout.isatty() else Console(width=200)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, whole: Collection[str] = ()) -> None:
    """Print the rows; cells are no markup. The columns in `whole` are never broken, the others are folded."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in whole)
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    table_console().print(table)


def connect(data_dir: Path | None, url: str | None, key: str | None) -> Client:
    """A client of the stack that the options name. Raises NotReady or Unauthorized with what to do."""
    return quiet_client(*address(data_dir, url, key), tries=TRIES)


def quiet_client(url: str, key: str, *, tries: int, timeout_seconds: float = 60.0) -> Client:
    """A client that prints nothing."""
    from memorybase_client import Client  # takes a tenth of a second, and --help needs none

    # A command prints one error, or progress; the client's warnings about each attempt would be between its lines.
    logging.getLogger("memorybase_client").setLevel(logging.ERROR)
    return Client(url, key, tries=tries, timeout_seconds=timeout_seconds)


def address(data_dir: Path | None, url: str | None, key: str | None) -> tuple[str, str]:
    """The URL and the key of the stack that the options name, else the environment, else of the one that is found.
    Raises NotReady or Unauthorized with what to do."""
    settings = Settings()
    data = find_data_dir(data_dir)
    running = data.running()
    url = url or (None if data_dir else stated_url())
    if url is None:
        if running is None:
            raise errors.NotReady(nothing_runs(data, data_dir))
        if running.in_program:
            text = f"{data.path} is open in process {running.pid}, which serves no address"
            raise errors.NotReady(f"{text}. Close `{running.command}` there, and start `memorybase up`.")
        url = running.url
    key = key or settings.api_key or _key_of(url.rstrip("/"), data, running)
    if key is None:
        raise errors.Unauthorized(f"{url} requires an API key. Pass it with --key or MEMORYBASE_API_KEY.")
    return url, key


def nothing_runs(data: DataDir, stated: Path | None) -> str:
    """Which directory has no running stack, and what to do."""
    text = f"No stack is running in {data.path}."
    if other := running_elsewhere(data):
        return text + other
    option = f" --data-dir {shell.quoted(str(stated))}" if stated else ""
    hint = "" if stated or data.path.exists() else ". If its data is in another folder, add --data-dir"
    return f"{text} Start it with: {Settings().up_command}{option}{hint}"


def _key_of(url: str, data: DataDir, running: RunningStack | None) -> str | None:
    """The key of a stack of this machine, which no other address must learn."""
    own = data.known_api_key(Settings()) if running is not None and running.url == url else None
    noted = local_stack.find()
    return own or (noted.key if noted is not None and noted.url == url else None)


def stored_settings(data_dir: Path | None) -> Settings:
    """The settings for a command that works on the database. Raises NotReady with the directory if there is none."""
    settings = settings_in_use(data_dir)
    check_database(settings)
    if (path := settings.data_dir.resolve()) != (data_dir or Settings().data_dir).expanduser().resolve():
        typer.echo(f"note: this is the stack in {path}", err=True)
    return settings


@contextmanager
def services_in_use(data_dir: Path | None) -> Iterator[Services]:
    """The services for a command that reads or writes the vector store. While no stack runs, the command has the data
    directory to itself. Raises NotReady if there is no database, Conflict if a stack starts meanwhile."""
    from memorybase import wiring
    from memorybase.core import telemetry
    from memorybase.stack.children import NAMES
    from memorybase.stack.processes import end_leftovers

    settings = stored_settings(data_dir)
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    data = DataDir(settings.data_dir)
    with ExitStack() as held:
        if alone := is_at_rest(data):
            data.make()
            held.enter_context(data.locked())
            end_leftovers(data, NAMES, lambda text: typer.echo(text, err=True))
            settings = embedded(data.path, one_process=True, broker_url="")
        services = wiring.build(settings, role="alone" if alone else "cli")
        held.callback(wiring.close, services)
        yield services


@contextmanager
def progress(console: Console | None = None, *, keep: bool = True) -> Iterator[Progress]:
    """A progress bar, by default on standard error; without a terminal, a line every LINE_SECONDS."""
    console = console or Console(stderr=True)
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=not keep) as bar:
        if console.is_terminal:
            yield bar
        else:
            with _printing_lines(bar):
                yield bar


@contextmanager
def _printing_lines(bar: Progress) -> Iterator[None]:
    """Print the tasks' progress every LINE_SECONDS; a shorter command prints nothing."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(LINE_SECONDS):
            for task in bar.tasks:
                if not task.finished:
                    bar.console.print(f"  {_line(task)}", markup=False, highlight=False)

    printer = threading.Thread(target=run, name="progress-lines", daemon=True)
    printer.start()
    try:
        yield
    finally:
        ended.set()
        printer.join()


def _line(task: Task) -> str:
    if task.total is not None:
        return f"{task.description}: {task.completed:.0f} of {task.total:.0f}"
    return f"{task.description}: {task.completed:.0f}" if task.completed else f"{task.description} ..."
