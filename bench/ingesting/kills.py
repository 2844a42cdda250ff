"""What a kill -9 during ingestion leaves: of one process of memorybase, and of the peers."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from memorybase_client import Client
from memorybase_client import errors as client_errors

from ingesting.figures import Figures, after_kills, left
from ingesting.peers import KILLED_CALL, Peers
from ingesting.target import Base, Target, in_calls, new_base, started
from ingesting.texts import Corpus
from memorybase.core.errors import NotReady
from memorybase.stack.state import DataDir

MESSAGES = 100


def kills(corpus: Corpus, peers: Peers, *, times: int) -> Figures:
    """Calls of ten, a kill during one of them or while what was acknowledged is ingested; then the call without an
    acknowledgement is repeated, as its caller would."""
    texts = corpus.take(MESSAGES)
    dice = random.Random(23)
    return {"one_process": after_kills([_killed(texts, dice) for _ in range(times)])} | peers.kill(texts, times)


def _killed(texts: Sequence[str], dice: random.Random) -> Figures:
    calls = in_calls(texts, KILLED_CALL)
    with tempfile.TemporaryDirectory(prefix="memorybase-bench-") as directory:
        data = DataDir(Path(directory))
        with suppress(NotReady), started(data, one_process=True) as target:  # it says that it was killed
            base = new_base(target.client, "killed", threshold=KILLED_CALL)
            acknowledged = _until_killed(target, base, calls, dice)
        with started(data, one_process=True) as target:
            again = Base(target.client, base.flow, base.id)
            for number in range(acknowledged, len(calls)):
                _capture(again.client, base.flow, number, calls[number])
            again.wait_ingested(len(texts))
        return left(texts, _texts(data), acknowledged * KILLED_CALL)


def _until_killed(target: Target, base: Base, calls: Sequence[Sequence[str]], dice: random.Random) -> int:
    """The number of calls that it acknowledged."""
    pid, began, last = target.pid, time.monotonic(), dice.randint(3, len(calls) - 2)
    key = target.data.known_api_key(target.stack.settings)
    with Client(target.stack.url, key, tries=1) as client:
        for number in range(last):
            _capture(client, base.flow, number, calls[number])
        time.sleep(dice.random() * (time.monotonic() - began) / last)
        os.kill(pid, signal.SIGKILL)
        with suppress(client_errors.MemorybaseError):
            _capture(client, base.flow, last, calls[last])
            return last + 1
    return last


def _capture(client: Client, flow: str, number: int, texts: Sequence[str]) -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    client.capture_run(flow, session_id=f"session {number}", messages=messages, idempotency_key=f"call {number}")


def _texts(data: DataDir) -> list[str]:
    """What Chroma holds, once the process has ended."""
    with closing(sqlite3.connect(data.path / "chroma" / "chroma.sqlite3")) as db:
        found = db.execute("SELECT string_value FROM embedding_metadata WHERE key = 'chroma:document'")
        return [text for (text,) in found if text]
