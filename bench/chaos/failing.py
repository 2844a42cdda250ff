"""What goes wrong by itself during the run: messages that cannot be embedded, and a store that loses chunks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

import sqlalchemy as sa
from harness.worker import DEADLY, NOT_A_NUMBER
from sqlalchemy.orm import Session as OrmSession

from chaos.clients import FlowOwner, GivenUp, Orders, new_text
from chaos.cluster import Plan
from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.models import DeadLetter, Generation, MemoryBase
from memorybase.core.vectors.store import CollectionRef, VectorStore

WORDS = 8  # of a message
MESSAGES = 3  # of a session that loses chunks
LOOK_SECONDS = 0.3

T = TypeVar("T")


class Failing(FlowOwner):
    """Captures messages whose vector is not a number, and some that end the worker which embeds them: `refused` and
    `deadly` by id. Whatever stands beside them is ingested."""

    flow = "failing"
    pause = (2.0, 6.0)

    def __init__(self, plan: Plan, orders: Orders) -> None:
        super().__init__(plan, orders)
        self.refused: set[str] = set()
        self.deadly: set[str] = set()
        self._sessions = itertools.count()
        # A deadly one costs some workers, and a worker takes seconds to start: none in a short run.
        refused = (NOT_A_NUMBER, self.refused)
        self._kinds = itertools.cycle([*[refused] * 9, (DEADLY, self.deadly), *[refused] * 10])

    def prepare(self) -> None:
        """The flow with a memory base that ingests every message."""
        self.make_base(threshold=1, capture="all")

    def act(self) -> None:
        """One session with one such message, alone or between others."""
        word, failing = next(self._kinds)
        texts = [new_text(self.rng, WORDS) for _ in range(self.rng.choice((1, 3)))]
        middle = len(texts) // 2
        texts[middle] += f" {word}"
        failing.add(self.capture(f"session-{next(self._sessions)}", *texts)[middle])


class Losing(FlowOwner):
    """Takes chunks, or the whole collection, from under a memory base, and regenerates it once it no longer matches.
    `lost` are the generations that did not, with their memory base."""

    flow = "losing"
    pause = (1.0, 3.0)

    def __init__(self, plan: Plan, orders: Orders, database_url: str, vectors: VectorStore) -> None:
        super().__init__(plan, orders)
        self.base = ""
        self.lost: set[tuple[str, str]] = set()
        self._database = Database(database_url, pool_size=1)
        self._vectors = vectors
        self._sessions = itertools.count()

    def prepare(self) -> None:
        """The flow with a memory base that ingests every message."""
        self.base = self.make_base(threshold=1, capture="all")

    def run(self) -> None:
        super().run()
        self._database.dispose()

    def act(self) -> None:
        """One loss, from its first message to the generation that replaces what was lost."""
        self.capture(f"session-{next(self._sessions)}", *(new_text(self.rng, WORDS) for _ in range(MESSAGES)))
        self._until(lambda: self._memory()["status"] == "ready")
        take = self.rng.choice((self._take_chunk, self._take_collection))
        serving = self._until(lambda: self._lose(take))
        self.lost.add((self.base, str(serving)))
        self.caller.call("POST", f"/memories/{self.base}/regenerate", 202, repeated=(409,))
        self._until(lambda: self._serving()[0] > serving)
        self.orders.counts["losses"] += 1

    def _until(self, look: Callable[[], T | None]) -> T:
        """What it returns once that is true; patient, since the stores are killed all the time."""
        while not self.orders.give_up.is_set():
            try:
                if found := look():
                    return found
            except errors.EnvironmentFailure:
                pass
            self.orders.give_up.wait(LOOK_SECONDS)
        self.orders.complaints.append(f"{self.name}: what it waited for never happened")
        raise GivenUp

    def _serving(self) -> tuple[int, CollectionRef]:
        with self._database.reading() as db:
            of_serving = sa.and_(
                Generation.memory_base_id == MemoryBase.id, Generation.generation == MemoryBase.serving
            )
            mine = sa.select(Generation).join(MemoryBase, of_serving).where(MemoryBase.id == UUID(self.base))
            row = db.scalars(mine).one()
            return row.generation, CollectionRef(row.collection_name, row.collection_id)

    def _lose(self, take: Callable[[CollectionRef], None]) -> int | None:
        """The generation that does not match any more. None: not known yet, or another one serves since, as after a
        regenerate that was late."""
        serving, ref = self._serving()
        take(ref)
        return serving if self._is_mismatch() and self._serving()[0] == serving else None

    def _take_chunk(self, ref: CollectionRef) -> None:
        """One more each time: a store that is killed may have the last one again."""
        chunks = itertools.chain.from_iterable(self._vectors.iter_ids(ref))
        self._vectors.delete(ref, list(itertools.islice(chunks, 1)))

    def _take_collection(self, ref: CollectionRef) -> None:
        self._vectors.delete_collection(ref.name)

    def _memory(self) -> dict[str, object]:
        return dict(self.caller.call("GET", f"/memories/{self.base}", 200).json())

    def _is_mismatch(self) -> bool:
        answer = self.caller.call("GET", f"/memories/{self.base}/mismatch", 200).json()
        return bool(answer["state"] == "mismatch")


def check_dead_letters(db: OrmSession, failing: Failing) -> list[str]:
    """What cannot be embedded is a dead letter with its cause, and nothing else is called so."""
    rows = db.execute(sa.select(DeadLetter.message_id, DeadLetter.error_code)).all()
    dead = {(str(message_id), code) for message_id, code in rows}
    refused = {message_id for message_id, code in dead if code == "text_rejected"}
    found = []
    if refused != failing.refused:
        found.append(f"{len(failing.refused)} texts were to be refused, {len(refused)} were")
    if missing := {each for each in failing.deadly if (each, "worker_lost") not in dead}:
        found.append(f"deadly messages that are no dead letters: {', '.join(sorted(missing))}")
    return found
