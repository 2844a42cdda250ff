"""The vector store of one process for the commands beside it, which cannot open its files.

Each call is a connection of its own, over a socket without a port. Calls and results are pickled, so both sides first
prove that they know a key, which is in a file that only the owner of the data directory can read.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorybase.core.errors import MemorybaseError, VectorStoreUnavailable
from memorybase.core.settings import UP_ONE_PROCESS
from memorybase.core.telemetry import describe_error, get_logger
from memorybase.core.vectors.store import VectorStore

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        AnyConnection = Connection[Any, Any] | PipeConnection[Any, Any]
    else:
        AnyConnection = Connection[Any, Any]

log = get_logger(__name__)

ADDRESS_FILE, SOCKET = "vectors.json", "vectors.sock"
BACKLOG, PAUSE_SECONDS = 16, 0.1
PAGES = "iter_ids"  # the one method whose result is sent in pages
METHODS = frozenset(name for name in vars(VectorStore) if not name.startswith("_"))
AWAY = f"The process that has the vectors does not answer. Start it again: {UP_ONE_PROCESS}"


def share(store: VectorStore, folder: Path) -> Callable[[], None]:
    """Answer the calls of a `StoreElsewhere` of this folder. Returns what ends it."""
    socket = folder / SOCKET
    socket.unlink(missing_ok=True)  # of a killed process
    listener, key = _listener(socket), secrets.token_bytes(32)
    ending = threading.Event()
    _write(folder / ADDRESS_FILE, json.dumps({"address": listener.address, "key": key.hex()}))
    threading.Thread(target=_accept, args=(listener, key, store, ending), name="vectors", daemon=True).start()

    def end() -> None:
        (folder / ADDRESS_FILE).unlink(missing_ok=True)
        ending.set()
        with contextlib.suppress(OSError):
            Client(listener.address).close()  # wakes the thread that accepts

    return end


def _listener(socket: Path) -> Listener:
    with contextlib.suppress(OSError, ValueError):  # its path is too long, or the disk or the system has no such files
        return Listener(str(socket), backlog=BACKLOG)
    return Listener(backlog=BACKLOG)


def _write(path: Path, text: str) -> None:
    scratch = path.with_suffix(".tmp")
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    scratch.replace(path)


def _accept(listener: Listener, key: bytes, store: VectorStore, ending: threading.Event) -> None:
    with listener:
        while True:
            try:
                connection = listener.accept()
            except OSError:  # the caller has gone, or no file is left
                ending.wait(PAUSE_SECONDS)
                continue
            if ending.is_set():
                connection.close()
                return
            threading.Thread(target=_answer, args=(connection, key, store), name="vectors-call", daemon=True).start()


def _answer(connection: AnyConnection, key: bytes, store: VectorStore) -> None:
    with connection:
        try:
            deliver_challenge(connection, key)
            answer_challenge(connection, key)
            name, args, options = connection.recv()
            _call(connection, store, name, args, options)
        except (OSError, EOFError, AuthenticationError) as error:  # the caller has ended, or is none of ours
            log.info("vectors_not_shared", error=describe_error(error))


def _call(
    connection: AnyConnection, store: VectorStore, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    if name not in METHODS:
        raise AuthenticationError(name)
    try:
        result = getattr(store, name)(*args, **options)
        for page in result if name == PAGES else ():
            connection.send((page, None))
    except MemorybaseError as error:
        connection.send((None, error))
    except OSError:
        raise
    except Exception as error:  # a thread's edge: the caller gets it as a failure of the store
        log.exception("vectors_call_failed", operation=name)
        connection.send((None, VectorStoreUnavailable(operation=name, reason=type(error).__name__)))
    else:
        connection.send((None if name == PAGES else result, None))


class StoreElsewhere:
    """A VectorStore whose calls the process answers that shares its own in this folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in METHODS:
            raise AttributeError(name)
        return partial(self._pages if name == PAGES else self._result, name)

    def _result(self, name: str, *args: Any, **options: Any) -> Any:
        with self._asked(name, args, options) as connection:
            return _received(connection, name)

    def _pages(self, name: str, *args: Any, **options: Any) -> Iterator[list[str]]:
        with self._asked(name, args, options) as connection:
            while (page := _received(connection, name)) is not None:
                yield page

    def _asked(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> AnyConnection:
        try:
            found = json.loads((self._folder / ADDRESS_FILE).read_text(encoding="utf-8"))
            connection = Client(found["address"], authkey=bytes.fromhex(found["key"]))
            connection.send((name, args, options))
        except (OSError, EOFError, ValueError, LookupError, AuthenticationError) as error:
            raise VectorStoreUnavailable(AWAY, operation=name) from error
        return connection


def _received(connection: AnyConnection, name: str) -> Any:
    try:
        result, error = connection.recv()
    except (OSError, EOFError) as exc:
        raise VectorStoreUnavailable(AWAY, operation=name) from exc
    if error is not None:
        raise error from None
    return result
