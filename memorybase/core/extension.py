"""The seam between the core and the features: what a feature can add, typed, in one frozen `Extension`.

The core calls hooks and names no feature; memorybase/features lists the extensions, in the order in which their hooks
run. Each part is loaded by the processes that need it: the command line loads no tables, a worker no routes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from datetime import datetime
    from threading import Event as StopEvent
    from uuid import UUID

    from sqlalchemy.orm import Session as OrmSession

    from api.extension import Routes
    from api.web.extension import Pages
    from memorybase.cli.extension import Commands
    from memorybase.core.callers import Caller
    from memorybase.core.calls import Call, Effect
    from memorybase.core.conversation.context import Resolved
    from memorybase.core.conversation.context_lines import ContextLine, LinesQuery
    from memorybase.core.conversation.context_parts import ContextParts
    from memorybase.core.conversation.view.records import Kind
    from memorybase.core.deletions import Deletion
    from memorybase.core.events import Event
    from memorybase.core.import_export.lines import Item, Line
    from memorybase.core.memory_bases.consistency import OnProgress
    from memorybase.core.memory_bases.deep_check import DeepResult
    from memorybase.core.models import Base, Flow, KnowledgeBase, Message
    from memorybase.core.operations.problems import Problem
    from memorybase.core.queries.due_steps import Condition
    from memorybase.core.queries.memory_bases import BaseRow
    from memorybase.core.queries.sessions import SessionRow
    from memorybase.core.queries.timestamps import Limit
    from memorybase.core.search.candidates import Candidate
    from memorybase.core.search.hits import Hit
    from memorybase.core.search.query_parser import Question
    from memorybase.core.search.request import SearchRequest
    from memorybase.core.services import Services, Task
    from memorybase.core.sessions.receipts import Remainder
    from memorybase.core.settings import Settings

    Part = Literal["hooks", "routes", "page", "commands"]
    Counts = Mapping[str, int]
    """Numbers of deleted rows, named as the fields of an erasure and of a receipt."""
    SessionsStep = Callable[[OrmSession, BaseRow, datetime, Sequence[str]], object]
    """What a preparation does with sessions of a memory base's flow, which are locked."""
    SearchList = Callable[[Services, UUID, SearchRequest, Sequence[UUID] | None], Sequence[object]]
    """What an answer adds to a search of the user's, over these memory bases if the request names none."""
    StartThread = Callable[[Services], "WorkerThread | None"]
    WorkerTask = Callable[[Services, UUID, Callable[[], object]], object]
    """What a worker does with the id of a task; without an argument, of this call. It calls its last argument now and
    then, which ingests what waits."""
    ReadLine = Callable[[Line], "Item | None"]
    """Reads a line for an import; None if nothing is to be stored. Raises InvalidRequest."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A feature: the name of its folder, and the parts that it has: HOOKS of the folder's module hooks, ROUTES of
    routes, PAGES of page, COMMANDS of commands. Asking for one imports it; it is None if the feature has none."""

    name: str
    parts: tuple[Part, ...]

    def hooks(self) -> Hooks | None:
        found: Hooks | None = self._load("hooks", "HOOKS")
        return found

    def routes(self) -> Routes | None:
        found: Routes | None = self._load("routes", "ROUTES")
        return found

    def pages(self) -> Pages | None:
        found: Pages | None = self._load("page", "PAGES")
        return found

    def commands(self) -> Commands | None:
        found: Commands | None = self._load("commands", "COMMANDS")
        return found

    def _load(self, part: Part, constant: str) -> Any:
        if part not in self.parts:
            return None
        return getattr(import_module(f"memorybase.features.{self.name}.{part}"), constant)


# What a feature adds without a hook.


def _nothing(*_: object) -> tuple[()]:
    """Of a hook that returns several, or whose answer is not read."""
    return ()


def _no_answer(*_: object) -> None:
    """Of a hook of which one answer counts."""


def _no_counts(*_: object) -> Counts:
    """Of a hook that deletes rows."""
    return {}


def _nothing_left(*_: object) -> bool:
    """Of `erase_outside`: it keeps nothing outside the database."""
    return True


def _as_it_is(_services: Services, value: Any) -> Any:
    """Of a hook that may replace parts of a value."""
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the domain calls. Loading them also declares the feature's tables.

    What takes a database session runs in the caller's transaction, and an exception ends that: `before_deletion` raises
    Held for what the feature keeps. `erase_outside` runs in none: it deletes what the feature keeps outside the
    database of a flow, or of one of its sessions. False: try again.
    """

    before_deletion: Callable[[OrmSession, UUID, Deletion], object] = _nothing
    on_events: Callable[[OrmSession, UUID, Sequence[Event], datetime], object] = _nothing
    on_ingested: Callable[[OrmSession, Services, Ingested], object] = _nothing
    on_edited: Callable[[OrmSession, Edited], Counts] = _no_counts
    # The versions of a session's messages after the first seq, up to the second, were raised; their texts are the same.
    on_versions_raised: Callable[[OrmSession, SessionRow, int, int], object] = _nothing
    # A session has another id now than this one. Foreign keys and what refers to `sessions.id` follow by themselves.
    on_renamed: Callable[[OrmSession, Services, SessionRow, str], object] = _nothing
    # A memory base forgets a session's messages up to this seq.
    on_forgotten: Callable[[OrmSession, BaseRow, SessionRow, int], Counts] = _no_counts
    of_messages: Sequence[OfMessages] = ()
    # What callers send, before it is stored, in database sessions of its own: see core/screening.py.
    screen: Callable[[Services, UUID, UUID | None, Any, str], Screened | None] = _no_answer
    comparable: Callable[[Services, Any], Any] = _as_it_is
    # What a caller uses. Raise QuotaExceeded, that of messages also CountFirst. A search is charged before it begins.
    charge_messages: Callable[[OrmSession, Charge], object] = _nothing
    charge_search: Callable[[Services, Caller], object] = _nothing
    # Nothing of a user's end user is stored any more.
    on_end_user_erased: Callable[[OrmSession, UUID, str], object] = _nothing
    session_rows: Sequence[SessionRows] = ()
    base_tables: Sequence[type[Base]] = ()  # with memory_base_id: deleted in pages, before their memory base
    preparations: Mapping[str, SessionsStep] = field(default_factory=dict)  # by kind
    context_lines: Sequence[ContextSource] = ()
    # Of each of these two, the answer of the first feature that does not return None counts; no other is asked then.
    context_parts: Callable[[Services, OrmSession, Resolved], ContextParts | None] = _no_answer
    before_search: Callable[[Services, SearchRequest], Comparison | None] = _no_answer
    search_lists: Mapping[str, SearchList] = field(default_factory=dict)  # by the name of option and answer's field
    collections: Sequence[Collections] = ()
    problems: Callable[[OrmSession, Services, UUID], Sequence[Problem]] = _nothing
    gauges: Callable[[OrmSession, Services], Sequence[Gauge]] = _nothing
    limits: Callable[[Services], Iterable[Limit]] = _nothing
    erase_outside: Callable[[Services, UUID, str | None], bool] = _nothing_left
    remainders: Callable[[Services], Sequence[Remainder]] = _nothing
    call_logs: Sequence[CallLog] = ()
    steps: Sequence[Step] = ()
    tasks: Mapping[Task, WorkerTask] = field(default_factory=dict)
    threads: Mapping[Task, StartThread] = field(default_factory=dict)  # by the task that wakes it
    background: Sequence[Background] = ()
    lines: Sequence[Lines] = ()


@dataclass(frozen=True, slots=True)
class Screened:
    """A value as its flow stores it, and how much of each kind was replaced in it."""

    value: Any
    replaced: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """A job has ingested a session's messages up to `to_seq`. The caller has locked the memory base and its rows."""

    base: BaseRow
    session_id: str
    to_seq: int
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The message at `seq` was edited, deleted or restored, or those from there to `to_seq` were deleted; without `seq`
    the whole session has changed. The caller has locked the flow's memory bases, the session and its progress."""

    base_ids: Sequence[UUID]
    session_id: str
    seq: int | None
    to_seq: int | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMessages:
    """What a feature derives from messages, each in the transaction that stores or edits the message.

    find     what a message has, by its role, content, and whether it is dialogue; a capture asks before its transaction
    add      for new messages of a locked session: the row, what was found, and what its copy carried of it
    replace  after an edit of the content; the caller holds the session's lock
    copies   what copies of these messages carry of it, in types of JSON: lines of an export, and deleted messages
    read     the same from a line of an export. Raises InvalidRequest

    `field`: its name in a copy.
    """

    field: str
    find: Callable[[Services, str, Any, bool], Any]
    add: Callable[[OrmSession, SessionRow, Iterable[tuple[Mapping[str, Any], Any, Any]]], object]
    replace: Callable[[OrmSession, Services, SessionRow, Message], object]
    copies: Callable[[OrmSession, Collection[UUID]], Mapping[UUID, Sequence[Any]]]
    read: Callable[[Line], Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Messages that a transaction stores for a caller: new ones, of this end user, or deleted ones again."""

    caller: Caller
    messages: int
    now: datetime
    end_user_id: str | None = None
    are_restored: bool = False


@dataclass(frozen=True, slots=True)
class SessionRows:
    """Rows about a session, deleted in pages before its messages; a row that comes later must go with the session's.
    `counts`: of those that an erasure names. `delete`: up to a limit; returns how many."""

    counts: Callable[[OrmSession, SessionRow], Counts]
    delete: Callable[[OrmSession, SessionRow, int], int]


@dataclass(frozen=True, slots=True)
class ContextSource:
    """Lines for a context whose request has the `option` of its recall, in up to half of the share of memories."""

    option: str
    kind: Kind
    heading: str
    find: Callable[[Services, LinesQuery], Sequence[ContextLine]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A search whose hits a feature compares. `request`: the search, with as many results as that takes; `apply`: makes
    of its hits, best first, and of their candidates what the caller asked for."""

    request: SearchRequest
    apply: Callable[[Question, Sequence[Candidate], Sequence[Hit]], list[Hit]]


@dataclass(frozen=True, slots=True)
class Collections:
    """Knowledge bases that a feature fills from its own rows, of every user: `living` lists them, `check` reads every
    vector of one. `restore` returns the number of chunks that are missing, None for all, and with its last argument
    writes them again."""

    living: Callable[[OrmSession], Sequence[KnowledgeBase]]
    check: Callable[[Services, KnowledgeBase, OnProgress], DeepResult]
    restore: Callable[[Services, KnowledgeBase, bool], int | None]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A metric for Prometheus: its value for each value of `label`; without a label, for the empty text."""

    name: str
    text: str
    values: Mapping[str, float]
    label: str = ""


@dataclass(frozen=True, slots=True)
class CallLog:
    """A record of calls. `keeps`: whether of this effect; `recorder`: what writes the entry of a change in the first
    transaction that the change commits; `write`: writes one in a transaction of its own."""

    keeps: Callable[[Settings, Effect], bool]
    recorder: Callable[[Call], Callable[[OrmSession], object]]
    write: Callable[[Services, Call], object]


class Pace(StrEnum):
    """Which of the sweeper's passes run a step.

    DUE: those for which `due_steps` finds work, of a feature's step by its `is_due`. EVERY: each one. RESTING: none
    for half a minute after the step found nothing. SELDOM: none for ten minutes.
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
    is_due: Condition | None = None


class WorkerThread(Protocol):
    """A thread beside a worker's tasks. It ends with its process: what is cut off, another worker does again."""

    def wake(self) -> None:
        """Something may be pending. Returns at once."""

    def stop(self) -> None:
        """Begin nothing more. Returns at once."""


@dataclass(frozen=True, slots=True)
class Background:
    """Work that a sweeper does in a thread beside its passes, until the event is set. What is cut off, the next sweeper
    does again. `once` does what is due now and returns how much that was."""

    name: str
    run: Callable[[Services, StopEvent], object]
    once: Callable[[Services], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Lines of a flow in exports, of the whole flow or of one end user, and how an import reads them by their type.
    `kinds`: what the last line of an export counts. What an import counts are fields of its answer."""

    kinds: Sequence[str]
    of_flow: Callable[[Services, Flow, Counter[str], str | None], Iterator[bytes]]
    read: Mapping[str, ReadLine]


def of_messages(services: Services) -> list[OfMessages]:
    """What all features derive from messages."""
    return [each for hooks in services.hooks for each in hooks.of_messages]


def total(counts: Iterable[Counts]) -> Counter[str]:
    """The sum of counts, by name."""
    summed = Counter[str]()
    for each in counts:
        summed.update(each)
    return summed
