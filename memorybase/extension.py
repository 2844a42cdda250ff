"""The seam between the core and the features: what a feature can add, typed, in one frozen `Extension`.

The core calls hooks and names no feature; memorybase/features lists the extensions, in the order in which their hooks
run. Each part is loaded by the processes that need it: the command line loads no tables, a worker no routes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from threading import Event as StopEvent
    from uuid import UUID

    from sqlalchemy.orm import Session as OrmSession

    from api.extension import Routes
    from api.web.extension import Pages
    from memorybase.cli.extension import Commands
    from memorybase.events import Event
    from memorybase.operations.problems import Problem
    from memorybase.queries.timestamps import Limit
    from memorybase.services import Services, Task

    WorkerTask = Callable[[Services, UUID, Callable[[], object]], object]
    """What a worker does with the id of a task; without an argument, of this call. It calls its last argument now and
    then, which ingests what waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A feature: its folder's name, and a loader for each part. Importing it loads none of them."""

    name: str
    hooks: Callable[[], Hooks] | None = None
    routes: Callable[[], Routes] | None = None
    pages: Callable[[], Pages] | None = None
    commands: Callable[[], Commands] | None = None


def _nothing(*_: object) -> tuple[()]:
    """What a feature without this hook adds."""
    return ()


def _nothing_left(*_: object) -> bool:
    """What a feature that keeps nothing outside the database says of a deletion."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the domain calls. Loading them also declares the feature's tables.

    `on_events` and `problems` run in the caller's transaction, and an exception ends it. `erase_outside` runs in none:
    it deletes what the feature keeps outside the database of a flow, or of one of its sessions. False: try again.
    """

    on_events: Callable[[OrmSession, UUID, Sequence[Event], datetime], object] = _nothing
    problems: Callable[[OrmSession, UUID], Sequence[Problem]] = _nothing
    gauges: Callable[[OrmSession], Sequence[Gauge]] = _nothing
    limits: Callable[[Services], Iterable[Limit]] = _nothing
    erase_outside: Callable[[Services, UUID, str | None], bool] = _nothing_left
    steps: Sequence[Step] = ()
    tasks: Mapping[Task, WorkerTask] = field(default_factory=dict)
    background: Sequence[Background] = ()


class Pace(StrEnum):
    """Which of the sweeper's passes run a step.

    DUE: those for which `due_steps` finds work. EVERY: each one. RESTING: none for half a minute after the step found
    nothing. SELDOM: none for ten minutes.
    """

    DUE = "due"
    EVERY = "every"
    RESTING = "resting"
    SELDOM = "seldom"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the sweeper's passes, in short transactions of its own. `run` returns how much it did.

    If that is `full` or more, work is left, and the next pass follows at once.
    """

    name: str
    run: Callable[[Services], int]
    pace: Pace = Pace.RESTING
    full: int | None = None


@dataclass(frozen=True, slots=True)
class Background:
    """Work that a sweeper does in a thread beside its passes, until the event is set. What is cut off, the next sweeper
    does again. `once` does what is due now and returns how much that was."""

    name: str
    run: Callable[[Services, StopEvent], object]
    once: Callable[[Services], int]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A metric for Prometheus: its value for each value of `label`; without a label, for the empty text."""

    name: str
    text: str
    values: Mapping[str, float]
    label: str = ""
