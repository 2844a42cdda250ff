"""Create and change memory bases. Only this and a regenerate create collections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, tracing
from memorybase.core.database import clock, engine
from memorybase.core.embedding import Embedder, chunking
from memorybase.core.ingestion import fair_order, scheduler
from memorybase.core.ingestion.claim import PAUSED
from memorybase.core.knowledge_bases import registry
from memorybase.core.memory_bases import preparation
from memorybase.core.models import Capture, Generation, GenerationState, MemoryBase, PreparationKind, Priority
from memorybase.core.queries import jobs, memory_bases
from memorybase.core.queries.expiry import check_retain_days
from memorybase.core.queries.ownership import check_flow, require_locked_flow, require_memory_base
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors import collection_names
from memorybase.core.vectors.store import EXPECTED_CHUNKS, CollectionRef, MetadataValue

log = get_logger(__name__)

# Of the messages captured before: beginning: pending until the session's next trigger or a flush; now: skipped; all:
# scheduled at creation.
Start = Literal["beginning", "now", "all"]

_PREPARED_BY: Mapping[Start, PreparationKind] = {
    "beginning": PreparationKind.HISTORY,
    "now": PreparationKind.SKIP,
    "all": PreparationKind.ALL,
}

FIRST_GENERATION = 1
IDLE_AFTER = 600  # seconds, unless a memory base is created with another time
MAX_IDLE_SECONDS = 31_536_000  # a year
MAX_THRESHOLD = 10_000  # a capture counts no further, which bounds its cost
CHANGEABLE = ("name", "threshold", "auto_capture", "idle_after", "retain_days", "paused", "priority")


@dataclass(frozen=True, slots=True)
class NewMemoryBase:
    name: str
    flow_id: UUID
    threshold: int = 50
    kb_name: str | None = None
    auto_capture: bool = True
    capture: Capture = Capture.OUTPUTS
    idle_after: int | None = None
    start: Start = "beginning"
    embedding_model: str | None = None
    vector_store: VectorStoreName | None = None
    retain_days: int | None = None
    priority: Priority = Priority.NORMAL


@dataclass(frozen=True, slots=True)
class PutMemoryBase:
    """`kept`: the settings of an existing memory base that are not those that were given."""

    id: UUID
    created: bool
    kept: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewGeneration:
    """A generation of a memory base, both perhaps not stored yet."""

    user_id: UUID
    base_id: UUID
    flow_id: UUID
    number: int
    capture: Capture
    embedder: Embedder


def create_memory_base(
    services: Services,
    user_id: UUID,
    new: NewMemoryBase,
    *,
    before_commit: Callable[[OrmSession, UUID], object] | None = None,
) -> UUID:
    """Create a memory base with its collection and registry entry; returns its id. `before_commit` is called with it
    in the transaction that creates it.

    Raises NotFound (flow), NameTaken (name or kb_name, with existing_id), InvalidRequest, ModelUnavailable,
    VectorStoreUnavailable.
    """
    with tracing.memory_span("create_memory_store", flow_id=str(new.flow_id)):
        base_id = _create(services, user_id, new, before_commit)
        tracing.note(memory_base_id=str(base_id))
        return base_id


def _create(
    services: Services,
    user_id: UUID,
    new: NewMemoryBase,
    before_commit: Callable[[OrmSession, UUID], object] | None,
) -> UUID:
    registry.check_name(new.name, "name")
    registry.check_name(new.kb_name or new.name, "kb_name")
    _check_bounds(threshold=new.threshold, idle_after=new.idle_after)
    check_retain_days(new.retain_days)
    with services.database.reading() as db:
        _check_free(db, user_id, new)
    embedder = services.embedders.get(services.settings.allowed_model(new.embedding_model))
    generation = NewGeneration(user_id, uuid4(), new.flow_id, FIRST_GENERATION, new.capture, embedder)
    ref = create_collection(services, generation, services.settings.known_vector_store(new.vector_store))
    base_id = generation.base_id
    try:
        with services.database.transaction() as db:
            require_locked_flow(db, user_id, new.flow_id)
            _insert(db, services, new, generation, ref)
            engine.created(db, memory_base_id=base_id)
            if before_commit is not None:
                before_commit(db, base_id)
    except errors.ConstraintViolated as exc:
        services.vectors.delete_collection(ref.name)
        with services.database.reading() as db:
            _check_free(db, user_id, new)
        raise errors.NameTaken(field="name", value=new.name) from exc
    except errors.CallerError:  # after an environment failure the base may have been committed
        services.vectors.delete_collection(ref.name)
        raise
    log.info("memory_base_created", memory_base_id=str(base_id), flow_id=str(new.flow_id))
    return base_id


def put_memory_base(
    services: Services, user_id: UUID, new: NewMemoryBase, *, given: Collection[str] = ()
) -> PutMemoryBase:
    """Create the memory base, or find the one that the flow has under this name. Nothing of that one is changed.

    Raises Conflict if a fixed setting among `given` is not that of the existing one, and what create_memory_base does.
    """
    registry.check_name(new.name, "name")
    existing = _existing(services, user_id, new, given)
    if existing is None:
        try:
            return PutMemoryBase(create_memory_base(services, user_id, new), created=True)
        except errors.NameTaken:
            existing = _existing(services, user_id, new, given)
            if existing is None:  # another flow has the name; else another call was faster
                raise
    return existing


def _existing(services: Services, user_id: UUID, new: NewMemoryBase, given: Collection[str]) -> PutMemoryBase | None:
    """Raises Conflict."""
    with services.database.reading() as db:
        base_id = memory_bases.base_of_name(db, user_id, new.name)
        base = None if base_id is None else memory_bases.fetch_base(db, user_id, base_id)
        if base is None or base.flow_id != new.flow_id:
            return None
        generation = memory_bases.fetch_generation(db, base.id, base.serving)
        own = {
            "kb_name": base.kb_name,
            "capture": generation.capture,
            "embedding_model": generation.embedding_model,
            "vector_store": collection_names.store_of(generation.collection_name),
        }
        for name, value in own.items():
            if name in given and getattr(new, name) != value:
                raise errors.Conflict(
                    f"The memory base {base.name} exists, with {name} {value}. Leave {name} out, or take another name",
                    field=name,
                    value=getattr(new, name),
                    existing=value,
                    existing_id=str(base.id),
                )
        kept = {
            name: getattr(base, name)
            for name in CHANGEABLE
            if name in given and getattr(new, name) != getattr(base, name)
        }
        return PutMemoryBase(base.id, created=False, kept=kept)


def create_collection(
    services: Services, new: NewGeneration, store: VectorStoreName, *, expected_chunks: int = 0
) -> CollectionRef:
    """Create the empty collection of a generation. Its metadata holds what all its chunks share."""
    # Fit the token projection now: a model without a published one embeds texts for it, which no transaction may wait
    # for.
    embedder = new.embedder
    _token_encoding(services, embedder)
    with services.database.reading() as db:
        now = clock.now(db)
    metadata: dict[str, MetadataValue] = {
        "user_id": str(new.user_id),
        "memory_base_id": str(new.base_id),
        "flow_id": str(new.flow_id),
        "generation": new.number,
        "embedding_model": embedder.model,
        "embedder": embedder.identity,
        "dimension": embedder.dimension,
        # On the database's clock: an old collection without a generation was left by a request that died.
        "created_at": int(now.timestamp()),
    }
    if expected_chunks:
        metadata[EXPECTED_CHUNKS] = expected_chunks
    return services.vectors.create_collection(collection_names.of_generation(new.base_id, new.number, store), metadata)


def _token_encoding(services: Services, embedder: Embedder) -> str | None:
    return embedder.token_encoding if services.settings.token_vectors else None


def generation_row(
    services: Services, new: NewGeneration, ref: CollectionRef, state: GenerationState, now: datetime
) -> Generation:
    """The row of a generation with this collection."""
    embedder = new.embedder
    return Generation(
        memory_base_id=new.base_id,
        generation=new.number,
        state=state,
        capture=new.capture,
        created_at=now,
        embedding_model=embedder.model,
        embedder=embedder.identity,
        chunker=chunking.chunker_for(services.settings, embedder).identity,
        token_encoding=_token_encoding(services, embedder),
        dimension=embedder.dimension,
        collection_name=ref.name,
        collection_id=ref.id,
    )


def _check_free(db: OrmSession, user_id: UUID, new: NewMemoryBase) -> None:
    check_flow(db, user_id, new.flow_id)
    existing = memory_bases.base_of_name(db, user_id, new.name)
    if existing is not None:
        raise errors.NameTaken(field="name", value=new.name, existing_id=str(existing))
    registry.check_free(db, user_id, new.kb_name or new.name, "kb_name")


def _insert(db: OrmSession, services: Services, new: NewMemoryBase, first: NewGeneration, ref: CollectionRef) -> None:
    """Insert the memory base with its first generation."""
    now = clock.now(db)
    base = MemoryBase(
        id=first.base_id,
        user_id=first.user_id,
        flow_id=new.flow_id,
        name=new.name,
        kb_name=new.kb_name or new.name,
        threshold=new.threshold,
        auto_capture=new.auto_capture,
        created_at=now,
        serving=FIRST_GENERATION,
        idle_after=IDLE_AFTER if new.idle_after is None else new.idle_after,
        retain_days=new.retain_days,
        priority=new.priority,
        forget_due_at=None if new.retain_days is None else now,
    )
    generation = generation_row(services, first, ref, GenerationState.SERVING, now)
    for row in (base, generation):
        db.add(row)
        db.flush()
    prepared = preparation.begin(db, services, base.id, FIRST_GENERATION, _PREPARED_BY[new.start], now)
    if new.start == "all":
        scheduler.schedule_sessions(db, services, prepared, now)
    entry = registry.entry_of(base, generation)
    registry.add(db, entry, "kb_name")
    engine.after_commit(db, lambda: registry.write_metadata(services, entry))


def update_memory_base(services: Services, user_id: UUID, base_id: UUID, changes: Mapping[str, Any]) -> None:
    """Change name, threshold, auto_capture, idle_after, retain_days, priority or paused; starts nothing itself.

    A paused base gets no jobs but repairs: queued ones are cancelled, running ones end. Captures go on and move
    targets; once it is resumed the sweeper schedules what is due.

    Raises NotFound, NameTaken, InvalidRequest (naming a field that cannot be changed, or a bound).
    """
    for name in changes:
        if name not in CHANGEABLE:
            raise errors.InvalidRequest(
                f"{name} of a memory base cannot be changed", field=name, limit=list(CHANGEABLE)
            )
    if "name" in changes:
        registry.check_name(changes["name"], "name")
    _check_bounds(threshold=changes.get("threshold"), idle_after=changes.get("idle_after"))
    check_retain_days(changes.get("retain_days"))
    try:
        with services.database.transaction() as db:
            base = require_memory_base(db, user_id, base_id, lock=True)
            for name, value in changes.items():
                if name == "paused":
                    _set_paused(db, services, base, paused=value)
                elif name == "priority":
                    _set_priority(db, base, value)
                else:
                    setattr(base, name, value)
            if "retain_days" in changes:
                base.forget_due_at = None if base.retain_days is None else clock.now(db)
            db.flush()
            if "idle_after" in changes or "auto_capture" in changes:
                preparation.begin(db, services, base_id, base.serving, PreparationKind.IDLE, clock.now(db))
    except errors.ConstraintViolated as exc:
        with services.database.reading() as db:
            existing = memory_bases.base_of_name(db, user_id, changes["name"])
        raise errors.NameTaken(field="name", value=changes["name"], existing_id=str(existing)) from exc


def _set_paused(db: OrmSession, services: Services, base: MemoryBase, *, paused: bool) -> None:
    if not paused:
        base.paused_at = None
    elif base.paused_at is None:
        now = base.paused_at = clock.now(db)
        # Left queued they would be in the way of other bases: the order of jobs knows nothing of pauses.
        if jobs.cancel_jobs_of_base(db, base.id, now, PAUSED, jobs.waits_to_ingest()):
            engine.after_commit(db, partial(_cancel_the_rest, services, base.id))


def _cancel_the_rest(services: Services, base_id: UUID) -> None:
    """Cancel the other jobs in pages. Jobs left by a crash, or queued meanwhile, are cancelled by their claims."""
    more = True
    while more:
        with services.database.transaction(durable=False) as db:
            base = memory_bases.share_base(db, base_id)
            more = base is not None and base.paused_at is not None
            if more:
                more = jobs.cancel_jobs_of_base(db, base_id, clock.now(db), PAUSED, jobs.waits_to_ingest())


def _set_priority(db: OrmSession, base: MemoryBase, value: str) -> None:
    """Its queued jobs get new places in the same transaction."""
    if value not in set(Priority):
        raise errors.InvalidRequest(f"priority must be one of {', '.join(Priority)}", field="priority", value=value)
    priority = Priority(value)
    former, base.priority = Priority(base.priority), priority
    if former != priority:
        fair_order.reorder(db, base.id, former=former, priority=priority)


def _check_bounds(*, threshold: int | None, idle_after: int | None) -> None:
    limit = MAX_THRESHOLD
    if threshold is not None and not 1 <= threshold <= limit:
        raise errors.InvalidRequest(
            f"threshold must be between 1 and {limit}", field="threshold", value=threshold, limit=[1, limit]
        )
    if idle_after is not None and not 0 <= idle_after <= MAX_IDLE_SECONDS:
        raise errors.InvalidRequest(
            f"idle_after must be between 0 and {MAX_IDLE_SECONDS} seconds",
            field="idle_after",
            value=idle_after,
            limit=[0, MAX_IDLE_SECONDS],
        )
