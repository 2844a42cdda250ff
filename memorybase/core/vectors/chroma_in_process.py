"""Chroma without a server: its own embedded client over the directory that a server of the same version uses."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from memorybase.core.errors import VectorRejected, VectorStoreUnavailable
from memorybase.core.foreground import Foreground
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import chroma_saves
from memorybase.core.vectors.chroma import SYNC_THRESHOLD, ChromaStore, error_of, load_client
from memorybase.core.vectors.chroma_database import DATABASE, write_ahead

if TYPE_CHECKING:
    from chromadb.api import ServerAPI

CLOSE_SECONDS, CLOSE_POLL_SECONDS = 30.0, 0.02
# Chroma keeps the interpreter while it writes, and requests wait: for its commit and for each record. With 50 records
# they wait twice as long, and Chroma's part of ingestion takes a tenth less.
WRITE_BATCH = 25
WRITES = ("create_collection", "delete_collection", "upsert", "delete")
ROOM_BYTES = 16 * 2**20  # to open the files again
GAP_SECONDS = 1.0  # that a write waits at most until no request is in progress
KEEP_EACH = SYNC_THRESHOLD // WRITE_BATCH // 2  # writes: twice before Chroma saves a collection again

log = get_logger(__name__)


class InProcessChroma(ChromaStore):
    """The collections in this directory, which no other process may have open.

    While `closed_during` runs, nothing of Chroma is open and calls wait. Only then may Python's SQLite open Chroma's
    database: when a second SQLite library of a process closes a file, the first one's locks on it are gone.

    After a write that failed, as on a full disk, Chroma keeps a transaction open. A later write would wait for its end
    for ever, with Python's interpreter, and so with the whole process. So no write follows before the files are opened
    again, which needs room; reads go on until then.
    """

    upsert_batch = id_batch = WRITE_BATCH

    def __init__(self, directory: Path, foreground: Foreground) -> None:
        super().__init__("", timeout_seconds=0)
        self._directory, self._foreground = directory, foreground
        self._was_open = False
        self._writing = threading.Lock()  # Chroma keeps the interpreter while it writes, so nobody waits longer for it
        self._writes = 0  # since maps were kept
        self._has_failed_write = False
        self._idle = threading.Condition()
        self._calls = 0
        self._is_closing = False

    def closed_during(self, work: Callable[[], object]) -> None:
        """Close the files, do the work, and let the next call open them again. Raises VectorStoreUnavailable if Chroma
        does not close them."""
        with self._idle:
            self._idle.wait_for(lambda: not self._is_closing)
            self._is_closing = True
            self._idle.wait_for(lambda: self._calls == 0)
        try:
            self.close()
            work()
        finally:
            with self._idle:
                self._is_closing = False
                self._idle.notify_all()

    def close(self) -> None:
        """Close the files; a later call opens them again. Raises VectorStoreUnavailable if they stay open."""
        super().close()
        self._wait_until_closed()

    def _wait_until_closed(self) -> None:
        """Chroma's threads close the files some milliseconds after it has stopped."""
        if sys.platform == "win32":  # SQLite's locks belong to a handle there, and to list open files takes long
            return
        deadline = time.monotonic() + CLOSE_SECONDS
        process, folder = psutil.Process(), self._directory.resolve()
        while any(Path(each.path).is_relative_to(folder) for each in process.open_files()):
            if time.monotonic() > deadline:
                raise VectorStoreUnavailable(operation="close", reason="files stay open")
            time.sleep(CLOSE_POLL_SECONDS)

    @contextmanager
    def _api(self, operation: str) -> Iterator[ServerAPI]:
        load_client()
        from chromadb.errors import ChromaError

        with self._write(operation) if operation in WRITES else nullcontext(), self._call():
            try:
                with super()._api(operation) as api:
                    yield api
            except ChromaError as error:
                name, message = error.name(), str(error)
                if message.endswith("already exists"):
                    raise VectorRejected(operation=operation, reason=name) from None
                raise error_of(error.code(), name, message) from None
            except BaseException as error:
                if type(error).__name__ == "PanicException":  # of Rust; it is no Exception
                    raise VectorStoreUnavailable(operation=operation, reason="PanicException") from error
                raise

    @contextmanager
    def _write(self, operation: str) -> Iterator[None]:
        with self._writing:
            if self._has_failed_write:
                if shutil.disk_usage(self._directory.parent).free < ROOM_BYTES:
                    raise VectorStoreUnavailable(operation=operation, reason="a write failed, and the disk is full")
                self.closed_during(lambda: None)
                self._has_failed_write = self._was_open = False
            if self._writes >= KEEP_EACH:
                chroma_saves.keep_maps(self._directory)
                self._writes = 0
            self._writes += 1
            try:
                self._check_that_it_is_there(operation)
                yield
            except VectorStoreUnavailable:
                self._has_failed_write = True
                raise

    def _check_that_it_is_there(self, operation: str) -> None:
        """What is written to a file that was deleted would be lost."""
        if self._was_open and not (self._directory / DATABASE).exists():
            raise VectorStoreUnavailable(operation=operation, reason="the files were deleted")

    @contextmanager
    def _call(self) -> Iterator[None]:
        with self._idle:
            self._idle.wait_for(lambda: not self._is_closing)
            self._calls += 1
        try:
            yield
        finally:
            with self._idle:
                self._calls -= 1
                self._idle.notify_all()

    def _before_write(self) -> None:
        self._foreground.wait_for_gap(GAP_SECONDS)

    def _connect(self) -> ServerAPI:
        load_client()
        from chromadb.api.rust import RustBindingsAPI
        from chromadb.config import Settings, System

        settings = Settings(
            _env_file=None,  # ignore a .env of the host application
            is_persistent=True,
            persist_directory=str(self._directory),
            anonymized_telemetry=False,
        )
        if not self._was_open:
            write_ahead(self._directory)
            self._was_open = True
        try:
            chroma_saves.repair(self._directory, lambda text: log.warning("chroma_index", text=text))
        except OSError as error:
            raise VectorStoreUnavailable(operation="open", reason=type(error).__name__) from error
        chroma_saves.keep_maps(self._directory)
        api = System(settings).instance(RustBindingsAPI)
        try:
            api.start()
        except Exception as error:  # its errors have no common base
            raise VectorStoreUnavailable(operation="open", reason=type(error).__name__) from error
        return api

    def _disconnect(self, api: ServerAPI) -> None:
        api.stop()

    def _with_deadline(self, seconds: float) -> ChromaStore:  # noqa: ARG002 - nothing is sent
        return self
