"""A memory base at rest that can be tampered with, to see what the check says."""

from __future__ import annotations

import copy
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from harness.doubles import InMemoryVectors
from harness.facts import add_fact, add_usage
from harness.world import World

from chaos.clients import Kept
from chaos.invariants import Findings, check
from memorybase.core.database import clock
from memorybase.core.database.engine import Database
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Base, Message, PlannedBaseDeletion
from memorybase.core.sessions import edits
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef, VectorRecord
from memorybase.features.memory_map.models import MapPoint, MemoryMap

FILE = "memorybase.db"
SYSTEM = {"role": "system", "content": "never counted"}
LONG = " ".join(f"word{n}" for n in range(600))  # more than one chunk


class Memory:
    """The in-memory store as the check sees it; what is in `twice` is listed again."""

    def __init__(self, world: World) -> None:
        self._vectors = world.vectors
        self.twice: list[str] = []

    def names(self) -> set[str]:
        return set(self._vectors.names())

    def ids(self, ref: CollectionRef) -> list[str]:
        return [chunk for page in self._vectors.iter_ids(ref) for chunk in page] + self.twice

    def readable(self, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
        return self._vectors.stored_ids(ref, ids)


class Rest:
    """A memory base at rest: two sessions, an edited message, one of several chunks, a dead letter, a generation that
    was replaced, a map; and what a client would remember of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.execute("UPDATE flows SET external_id = 'flow'")
        self.base = world.new_base(threshold=1)
        world.embedder.reject("poison")
        world.say("one", SYSTEM, "first", {"role": "user", "content": "second"}, LONG, "last")
        world.say("two", "poison", "other", SYSTEM)
        world.settle()
        edits.edit_message(world.services, world.user_id, self.message("first").id, {"content": "edited"})
        regenerate.regenerate(world.services, world.user_id, self.base)
        world.settle()
        world.pass_time(120)
        world.settle()
        self._map()
        self._planned()
        self._facts()
        self.store = Memory(world)
        self.kept = {
            str(m.id): Kept("flow", m.session_id, m.role, m.content, edited=m.version > 1) for m in world.messages()
        }

    def copied(self, folder: Path) -> Rest:
        """The same again, to tamper with."""
        services = self.world.services
        services.database.dispose()  # all of it is in the file then
        shutil.copy(services.settings.data_dir / FILE, folder / FILE)
        vectors = InMemoryVectors()
        vectors._collections = copy.deepcopy(self.world.vectors._collections)
        own = replace(
            services,
            settings=services.settings.model_copy(update={"data_dir": folder}),
            database=Database(f"sqlite:///{folder / FILE}"),
            vectors=vectors,
        )
        rest = copy.copy(self)
        rest.world = replace(self.world, services=own, vectors=vectors)
        rest.store = Memory(rest.world)
        rest.kept = copy.deepcopy(self.kept)
        return rest

    def check(self, *deleted: UUID) -> Findings:
        return check(self.world.services.database, self.store, self.kept, [str(base) for base in deleted])

    def message(self, content: str, session_id: str | None = None) -> Message:
        return next(m for m in self.world.messages(session_id) if m.content == content)

    def _map(self) -> None:
        """A map with one message: these are too few for one that a worker would compute."""
        entry = self.world.ledger(self.base)[0]
        with self.world.services.database.transaction() as db:
            db.add(MemoryMap(memory_base_id=self.base))
            point = {"progress_id": entry.progress_id, "message_id": entry.message_id, "x": 0.0, "y": 0.0, "cluster": 0}
            db.add(MapPoint(memory_base_id=self.base, position=0, generation=2, **point))

    def _planned(self) -> None:
        """A deletion far in the future."""
        with self.world.services.database.transaction() as db:
            due = clock.now(db) + timedelta(days=1)
            planned = {"user_id": self.world.user_id, "batch_id": uuid4(), "due_at": due}
            db.add(PlannedBaseDeletion(memory_base_id=self.base, **planned))

    def _facts(self) -> None:
        services, base, message = self.world.services, str(self.base), str(self.message("last").id)
        add_usage(services, base, message)
        add_fact(services, base, message)

    @property
    def system(self) -> Message:
        """Nothing but the table of messages knows of it."""
        return self.message("never counted", "one")

    @property
    def ref(self) -> CollectionRef:
        return self.world.ref(self.base)

    def execute(self, statement: str, **values: Any) -> None:
        """Any change, also one that the constraints would refuse."""
        connection = sqlite3.connect(self.world.services.settings.data_dir / FILE)
        try:
            with connection:
                assert connection.execute(statement, values).rowcount, "nothing was tampered with"
        finally:
            connection.close()

    def copy(self, table: str, **values: object) -> None:
        """A row of this table once more, with these values."""
        columns = list(Base.metadata.tables[table].columns.keys())
        names = ", ".join(f'"{name}"' for name in columns)
        chosen = ", ".join(f":{name}" if name in values else f'"{name}"' for name in columns)
        self.execute(f"INSERT INTO {table} ({names}) SELECT {chosen} FROM {table} LIMIT 1", **values)

    def update(self, table: str, change: str, message: Message | None = None, **values: Any) -> None:
        """Change one row of session one's, or of this message's."""
        which = "session_id = 'one'" if message is None else f"id = '{message.id.hex}'"
        self.execute(
            f"UPDATE {table} SET {change} WHERE rowid IN "
            f"(SELECT rowid FROM {table} WHERE {which} ORDER BY rowid DESC LIMIT 1)",
            **values,
        )

    def chunks(self, message: Message) -> list[str]:
        (entry,) = [each for each in self.world.ledger(self.base) if each.message_id == message.id]
        return chunk_ids.chunk_ids(self.base, message.id, entry.version, entry.chunks)

    def chunk(self, chunk_id: str) -> None:
        """One more record in the store."""
        vector = np.ones(self.world.embedder.dimension, dtype=np.float32)
        self.world.services.vectors.upsert(self.ref, [VectorRecord(chunk_id, vector, "stray", {"session_id": "one"})])

    def count(self, session_id: str, messages: int, chunks: int) -> None:
        change = f"total_processed = total_processed + {messages}, total_chunks = total_chunks + {chunks}"
        self.execute(f"UPDATE session_progress SET {change} WHERE session_id = '{session_id}'")
