"""The adapters that the domain works with, behind protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from uuid import UUID

if TYPE_CHECKING:
    from memorybase.core.database.engine import Database
    from memorybase.core.embedding import Embedder, Reranker
    from memorybase.core.extension import Hooks
    from memorybase.core.locks import SessionLocks
    from memorybase.core.settings import Settings
    from memorybase.core.vectors.store import VectorStore

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class JobMessage:
    """The immutable arguments of one ingestion job, as sent through Celery. They must match the job row."""

    job_id: UUID
    memory_base_id: UUID
    session_id: str
    kind: str
    generation: int
    from_seq: int
    to_seq: int
    cursor_id: UUID | None
    embedder: str
    chunker: str

    def to_message(self) -> dict[str, Any]:
        """JSON-ready keyword arguments for the task."""
        return {k: str(v) if isinstance(v, UUID) else v for k, v in asdict(self).items()}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Self:
        cursor = message["cursor_id"]
        return cls(
            **message
            | {
                "job_id": UUID(message["job_id"]),
                "memory_base_id": UUID(message["memory_base_id"]),
                "cursor_id": UUID(cursor) if cursor else None,
            }
        )


@dataclass(frozen=True, slots=True)
class Task:
    """Work of workers besides ingestion: the name that Celery knows, and the argument with the id of what it is
    about."""

    name: str
    argument: str = ""


INGEST = Task("memorybase.ingest")  # with the whole of a JobMessage instead of an id


class IngestionQueue(Protocol):
    """Notifies workers. The job row is the source of truth, so a notification may be lost or repeated."""

    def enqueue(self, jobs: Sequence[JobMessage]) -> int:
        """Publish each job, best effort and bounded in time; never raises. Returns the number published."""

    def notify(self, task: Task, ids: Sequence[UUID] = ()) -> int:
        """Publish the task for each id, once for a task without an argument; as `enqueue` otherwise."""

    def backlog(self) -> int | None:
        """Number of messages that wait in the broker; None if it does not answer."""


class EmbedderRegistry(Protocol):
    """Loads each model once in each process."""

    def get(self, model: str | None = None) -> Embedder:
        """The embedder of a model, by default of `embedding_model` in the settings. Raises ModelUnavailable, and
        ModelPreparing in an API or a worker if that takes longer than a few seconds."""

    def prepare(self) -> None:
        """Start to prepare the default model in a thread, if it is not prepared; returns at once."""

    def problem(self) -> str | None:
        """Why the default model cannot be loaded: it is being prepared, or that failed. None if it can."""


class ProcessState:
    """What parts of the domain remember in this process: one object of each class."""

    def __init__(self) -> None:
        self._objects: dict[type[Any], Any] = {}

    def of(self, kind: type[State]) -> State:
        """The object of this class, made when it is first asked for."""
        if kind not in self._objects:
            self._objects.setdefault(kind, kind())  # of two threads that make one, both get the first
        found: State = self._objects[kind]
        return found


@dataclass(frozen=True, slots=True)
class Services:
    """The adapters that the domain works with and what it remembers, built once by wiring."""

    settings: Settings
    database: Database
    vectors: VectorStore
    embedders: EmbedderRegistry
    locks: SessionLocks
    queue: IngestionQueue
    hooks: tuple[Hooks, ...]  # of the features, in their order
    reranker: Reranker | None = None
    state: ProcessState = field(default_factory=ProcessState)
