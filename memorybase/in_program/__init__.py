"""`memorybase.local("folder")`: memorybase inside a program, with its ordinary client and without a port.

API, worker and sweeper are the threads of `memorybase up --one-process`, over the same data directory under the same
lock. The process stays the program's: its signals, logging, environment, limits and collector are not touched.
All clients of one directory in a program share one application: application.py; transport.py brings requests to it.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import defaultdict
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from anyio import to_thread
from memorybase_client import AsyncClient, Client
from memorybase_client import errors as client_errors
from pydantic import ValidationError

from memorybase.core import errors
from memorybase.core.settings import Settings, describe_settings
from memorybase.in_program.application import Application
from memorybase.in_program.transport import Transport
from memorybase.stack.state import DataDir

URL = "http://memorybase.invalid"  # nothing reaches it but the transport
# What a server needs and one program does not; a keyword argument can state it.
SERVER_ONLY = {"web": False, "mcp": False, "rate_limit_per_second": 0}
DECIDED = {"data_dir", "one_process", "redis_url", "broker_url", "chroma_url"}  # by the folder and the form

Connected = TypeVar("Connected", Client, AsyncClient)

_open: dict[Path, Application] = {}
_turns: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)  # one opens or closes a directory at a time
_kept: list[Application] = []  # never freed: what could not be ended, and in a fork what is the parent's


def local(folder: str | Path, **settings: Any) -> Client:
    """A client of memorybase in this program, over a data directory, which is created unless it exists.

    `settings`: those of MEMORYBASE_<NAME>, as keyword arguments; others come from the environment. Close the client, or
    use it in a `with` block. Clients of one directory share one memorybase. Raises errors of memorybase_client.errors:
    Conflict if another process has the directory; and ValueError for a setting.
    """
    transport = Transport(_leave)
    return _connected(Client, _enter(folder, settings, transport), transport)


async def local_async(folder: str | Path, **settings: Any) -> AsyncClient:
    """The same with an AsyncClient, for asyncio: `async with await local_async("folder") as client`."""
    transport = Transport(_leave)
    application = await to_thread.run_sync(partial(_enter, folder, settings, transport))
    return _connected(AsyncClient, application, transport)


def _connected(kind: type[Connected], application: Application, transport: Transport) -> Connected:
    try:
        return kind(URL, application.key, transport=transport, outbox=application.data.path / "outbox")
    except BaseException:  # the outbox cannot be used
        transport.close()
        raise


def _enter(folder: str | Path, settings: dict[str, Any], transport: Transport) -> Application:
    if unknown := sorted(settings.keys() - Settings.model_fields.keys() | settings.keys() & DECIDED):
        raise ValueError(f"{', '.join(unknown)} must be a setting of memorybase that a program can choose")
    data = DataDir(Path(folder))
    with _turns[data.path]:
        application = _open.get(data.path)
        if application is None:
            application = Application(data, SERVER_ONLY | settings)
            try:
                application.start()
            except errors.MemorybaseError as error:
                raise client_errors.BY_CODE[error.code](str(error)) from error
            except ValidationError as error:
                raise ValueError(describe_settings(error)) from None
            _open[data.path] = application
        elif application.stated != SERVER_ONLY | settings:
            raise ValueError(f"settings must be those of the clients that have {data.path} open in this program")
        application.clients.add(transport)
        transport.application = application
        return application


def _leave(transport: Transport) -> None:
    """End the application with its last client. One that was dropped without being closed does not count."""
    application, transport.application = transport.application, None
    if application is None or application.is_of_parent:
        return
    with _turns[application.data.path]:
        application.clients.discard(transport)
        if application.clients or _open.get(application.data.path) is not application:
            return
        del _open[application.data.path]
        try:
            application.stop()
        except errors.MemorybaseError as error:
            _kept.append(application)
            raise client_errors.BY_CODE[error.code](str(error)) from error


def _end_all() -> None:
    """The program ends: let each running job end, as at a close."""
    for application in list(_open.values()):
        with suppress(errors.MemorybaseError):
            application.stop()
    _open.clear()


def _after_fork() -> None:
    """In the child: what is open is the parent's, and so is the lock, which would outlive it here."""
    _kept.extend(_open.values())
    _open.clear()
    for application in _kept:
        application.close_lock()
    _turns.clear()


# Embedding needs executors, which refuse work from their own such call on: it comes before atexit's functions, and was
# registered by their import. The latest one is the first.
import_module("concurrent.futures.thread")
getattr(threading, "_register_atexit", atexit.register)(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
