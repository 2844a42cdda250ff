"""top: watch a running stack in the terminal, through the HTTP API."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from memorybase_client import errors as client_errors
from rich.console import Console
from rich.live import Live

from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, address, quiet_client, table_console
from memorybase.cli.top_figures import Watch
from memorybase.cli.top_screen import screen

if TYPE_CHECKING:
    from memorybase_client import Client

CALL_SECONDS = 10.0
DRAW_SECONDS = 0.5  # ages grow, and the window changes its size, between two looks
QUIT_KEYS = frozenset(b"qQ\x03\x04")


def top(
    *,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1, max=3_600)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print what two looks show, and exit.")] = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Watch memory bases, jobs, workers and stores live; q or Ctrl-C ends it."""
    with quiet_client(*address(data_dir, url, key), tries=1, timeout_seconds=CALL_SECONDS) as client:
        watch = Watch(client)
        console = table_console()
        if once:
            _print_once(watch, client, console, interval)
        elif console.is_terminal and not console.is_dumb_terminal:
            _show(watch, client, console, interval)
        else:
            _print_repeatedly(watch, client, console, interval)


def _print_once(watch: Watch, client: Client, console: Console, interval: float) -> None:
    """Rates need two looks. Raises what the last of them met."""
    if watch.look().failure is None:
        watch.wait(interval)
        watch.look()
    if watch.state.failure is not None:
        raise watch.state.failure
    console.print(screen(watch.state, client.url, time.monotonic(), width=console.width))


def _print_repeatedly(watch: Watch, client: Client, console: Console, interval: float) -> None:
    """For a pipe or a file: a block for each look, with its time."""
    with _ended_by_signals():
        while True:
            state = watch.look()
            _refuse(state.failure)
            console.print(f"{time.strftime('%Y-%m-%d %H:%M:%S')}", highlight=False)
            console.print(screen(state, client.url, time.monotonic(), width=console.width), end="\n\n")
            watch.wait(interval)


def _show(watch: Watch, client: Client, console: Console, interval: float) -> None:
    """The whole terminal, which is as it was afterwards."""
    watch.start(interval)
    with _ended_by_signals(), _keys() as next_key, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            if watch.looked.is_set() and watch.state.look is None:
                _refuse(watch.state.failure)
            live.update(
                screen(watch.state, client.url, time.monotonic(), width=console.width, rows=console.height),
                refresh=True,
            )
            if QUIT_KEYS & set(next_key(DRAW_SECONDS)):
                break
    watch.stop()


def _refuse(failure: client_errors.MemorybaseError | None) -> None:
    """An outage ends and is waited for; a key that is wrong stays wrong."""
    if isinstance(failure, client_errors.Unauthorized | client_errors.Forbidden | client_errors.UnexpectedAnswer):
        raise failure


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Ctrl-C ends it with exit code 0, a request to end as usual; both after what has to be put back is put back."""

    def end(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _keys() -> Iterator[Any]:
    """A function that returns the keys pressed within a number of seconds."""
    descriptor = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    if descriptor is None:
        yield _no_key
        return
    before = termios.tcgetattr(descriptor)

    def next_key(seconds: float) -> bytes:
        ready, _, _ = select.select([descriptor], [], [], seconds)
        return (os.read(descriptor, 64) or b"q") if ready else b""  # nothing to read: the terminal is gone

    try:
        tty.setcbreak(descriptor)
        yield next_key
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _no_key(seconds: float) -> bytes:
    time.sleep(seconds)
    return b""
