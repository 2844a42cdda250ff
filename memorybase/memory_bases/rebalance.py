"""Rebalance: move memory bases to emptier servers of Chroma, each by a regenerate that takes its vectors over.

An operator's tool; nothing runs it automatically.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from memorybase import errors
from memorybase.database import clock
from memorybase.memory_bases.regenerate import regenerate
from memorybase.queries import cursors, memory_bases, server_loads
from memorybase.queries.server_loads import Load, PlacedBase
from memorybase.queries.store_health import failing_stores
from memorybase.services import Services

EVEN_WITHIN = 0.1  # of the mean: the servers count as even
POLL_SECONDS = 0.5

OnProgress = Callable[[int, int], object]  # messages built so far, messages in total


@dataclass(frozen=True, slots=True)
class Move:
    """A memory base, and the server that it moves to."""

    base: PlacedBase
    target: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The load of each server and the moves that even it out. `passed_over`: servers that do not work,
    that are drained or closed."""

    loads: dict[str, Load]
    moves: list[Move]
    passed_over: list[str]


@dataclass(frozen=True, slots=True)
class Moved:
    """How a move ended. `reason` if it did not succeed."""

    move: Move
    state: Literal["moved", "skipped", "failed"]
    reason: str = ""


def plan(services: Services, *, drain: str | None = None) -> Plan:
    """Which memory bases to move; with `drain`, all of that server, whether it works or not. Changes nothing.

    Raises InvalidRequest if there is no server to move to.
    """
    servers = services.settings.servers_of("chroma")
    with services.database.reading() as db:
        failing = failing_stores(db, services.settings, clock.now(db))
        loads = server_loads.loads(db, [*servers, *({drain} - {*servers, None})] if drain else servers)
        bases = [base for base in server_loads.placed_bases(db) if not base.is_building]
    sizes = {
        server: loads[server].size
        for server in services.settings.open_servers_of("chroma")
        if server not in failing and server != drain
    }
    if not sizes or (drain is None and len(servers) == 1):
        raise errors.InvalidRequest("There must be another Chroma server that works", field="chroma_urls")
    if drain is not None:
        moves = _drained([base for base in bases if base.server == drain], sizes)
    else:
        moves = _evened([base for base in bases if base.server in sizes], sizes)
    return Plan(loads, moves, sorted({*servers} - sizes.keys()))


def move(services: Services, planned: Move, on_progress: OnProgress = lambda *_: None) -> Moved:
    """Regenerate the memory base on its new server, and wait until that serves. Raises DatabaseUnavailable."""
    base = planned.base
    try:
        started = regenerate(services, base.user_id, base.id, vector_store="chroma", server=planned.target)
    except (errors.NotFound, errors.BuildActive) as error:
        return Moved(planned, "skipped", error.message)
    except errors.DatabaseUnavailable:
        raise
    except errors.MemorybaseError as error:
        return Moved(planned, "failed", error.message)
    while True:
        with services.database.reading() as db:
            now = memory_bases.fetch_any_base(db, base.id)
            if now is None or now.deleting_at is not None:
                return Moved(planned, "skipped", "it was deleted")
            if now.serving >= started.generation:
                return Moved(planned, "moved")
            if now.building != started.generation:
                return Moved(planned, "failed", "the build was abandoned")
            _, _, total, built = cursors.build_progress(db, base.id, started.generation)
        on_progress(built, total)
        time.sleep(POLL_SECONDS)


def _size(base: PlacedBase) -> int:
    return Load(1, base.chunks).size


def _drained(bases: Sequence[PlacedBase], sizes: dict[str, int]) -> list[Move]:
    """Each base to the server that is the emptiest by then, the largest first."""
    moves = []
    for base in bases:
        target = min(sizes, key=lambda server: sizes[server])
        sizes[target] += _size(base)
        moves.append(Move(base, target))
    return moves


def _evened(bases: Collection[PlacedBase], sizes: dict[str, int]) -> list[Move]:
    """Moves from the fullest server to the emptiest, each of the base that is nearest to half their difference."""
    waiting = {server: sorted((b for b in bases if b.server == server), key=_size) for server in sizes}
    moves: list[Move] = []
    while True:
        fullest, emptiest = max(sizes, key=lambda s: sizes[s]), min(sizes, key=lambda s: sizes[s])
        difference = sizes[fullest] - sizes[emptiest]
        if difference <= EVEN_WITHIN * sum(sizes.values()) / len(sizes):
            return moves
        found = _nearest(waiting[fullest], difference / 2)
        if found is None or _size(found) >= difference:  # it would only change sides
            return moves
        waiting[fullest].remove(found)
        sizes[fullest] -= _size(found)
        sizes[emptiest] += _size(found)
        moves.append(Move(found, emptiest))


def _nearest(by_size: Sequence[PlacedBase], wanted: float) -> PlacedBase | None:
    at = bisect_left(by_size, wanted, key=_size)
    around = by_size[max(at - 1, 0) : at + 1]
    return min(around, key=lambda base: abs(_size(base) - wanted)) if around else None
