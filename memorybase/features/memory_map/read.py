"""Request a map, and read it with a question projected onto it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.described import MemoryBaseId, MessageId, SessionId, SpeakerRole, WrittenAt
from memorybase.core.embedding.compatibility import check_searchable
from memorybase.core.messages import message_text
from memorybase.core.models import Generation, MemoryBase
from memorybase.core.queries import leased_work, memory_bases
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.validation import check_text
from memorybase.core.vectors.search import check_bound, cut_query
from memorybase.features.memory_map import clusters, job, queries
from memorybase.features.memory_map.models import MemoryMap
from memorybase.features.memory_map.projection import Projection

LABEL_MESSAGES = 40  # of each cluster, nearest to its middle
MAX_LISTED = 200
EXCERPT_CHARS = 400


class MapState(StrEnum):
    """The first of these that is true, from the top down."""

    TOO_FEW = "too_few"
    UNAVAILABLE = "unavailable"
    COMPUTING = "computing"
    NONE = "none"
    STALE = "stale"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class MapPointView:
    """A message on the map."""

    message_id: MessageId
    x: Annotated[float, Field(description="Along the direction in which the messages differ most.")]
    y: Annotated[float, Field(description="Along the next direction.")]
    cluster: Annotated[int, Field(description="The cluster that it belongs to.")]
    session_id: SessionId
    role: SpeakerRole
    speaker: Annotated[str, Field(description="Who speaks: the sender's name, else the role.")]
    timestamp: WrittenAt


@dataclass(frozen=True, slots=True)
class MapClusterView:
    """A group of near messages."""

    cluster: Annotated[int, Field(description="The number of the cluster, the largest first.")]
    label: Annotated[
        str,
        Field(description="Up to three words that its messages have and others do not; empty if no word stands out."),
    ]
    points: Annotated[int, Field(description="How many of the points it has.")]


@dataclass(frozen=True, slots=True)
class MapQuestionView:
    """Position of a question on the map."""

    x: Annotated[float, Field(description="As of a point.")]
    y: Annotated[float, Field(description="As of a point.")]


@dataclass(frozen=True, slots=True)
class MapView:
    """A memory base's map. While another one is computed, or fails, the last one is shown."""

    memory_base_id: MemoryBaseId
    state: Annotated[
        MapState,
        Field(
            description="`too_few`: fewer than `min_messages` are ingested; `unavailable`: the last attempt "
            "failed and is repeated; `computing`; `none`: not computed yet, or the memory base was "
            "regenerated since; `stale`: messages changed since; `ready`."
        ),
    ]
    progress: Annotated[int | None, Field(description="While it is computed: percent.")]
    error: Annotated[str | None, Field(description="If it is unavailable: the code of the error.")]
    failing_since: Annotated[
        datetime | None, Field(description="If it is unavailable: when the first of the failed attempts was.")
    ]
    messages: Annotated[int, Field(description="How many messages the memory base holds now.")]
    min_messages: Annotated[int, Field(description="So many messages are needed for a map.")]
    computed_at: Annotated[datetime | None, Field(description="When the map was computed; null without one.")]
    as_of: Annotated[datetime | None, Field(description="Messages that were ingested later are not on the map.")]
    mapped_messages: Annotated[
        int,
        Field(description="How many messages the memory base held then. Of more than 5,000 a sample is on the map."),
    ]
    added: Annotated[int, Field(description="How many messages were ingested since.")]
    removed: Annotated[int, Field(description="How many messages were removed since.")]
    edited: Annotated[
        int,
        Field(description="How many messages on the map were edited since. They keep their places until the next map."),
    ]
    explained: Annotated[
        float | None,
        Field(description="The share of all differences between the messages that two dimensions show, from 0 to 1."),
    ]
    shown: Annotated[int, Field(description="How many messages have a point.")]
    points: Annotated[
        list[MapPointView],
        Field(description="The messages on the map, by cluster, from the middle of a cluster outwards."),
    ]
    clusters: Annotated[list[MapClusterView], Field(description="The clusters of near messages.")]
    question: Annotated[
        MapQuestionView | None, Field(description="Where the question is; null without a question or a map.")
    ]


@dataclass(frozen=True, slots=True)
class MappedMessage:
    """A message on the map, with the beginning of its text."""

    message_id: UUID
    session_id: str
    seq: int
    role: str
    speaker: str
    timestamp: datetime
    muted: bool
    pinned: bool
    excerpt: str


@dataclass(frozen=True, slots=True)
class _Stored:
    """The stored map as it is in one snapshot."""

    row: MemoryMap | None
    generation: Generation | None  # of the map; None: nothing to show
    held: int
    is_enough: bool
    added: int = 0
    counts: queries.Counts = field(default=queries.NO_POINTS)
    points: Sequence[queries.Point] = ()
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict)


def request_map(services: Services, user_id: UUID, base_id: UUID) -> MapView:
    """Ask a worker for a new map, unless one is pending or there are too few messages. Raises NotFound."""
    with services.database.transaction() as db:
        base = require_memory_base(db, user_id, base_id)
        is_enough = queries.has_entries(db, base_id, base.serving, job.MIN_MESSAGES)
        if is_enough and queries.request(db, base_id, clock.now(db)):
            leased_work.enqueue_after_commit(job.WORK, db, services, [base_id])
    return get_map(services, user_id, base_id)


def get_map(
    services: Services, user_id: UUID, base_id: UUID, *, question: str | None = None, with_points: bool = True
) -> MapView:
    """The map as far as there is one; raises NotFound, and for a question what a search raises."""
    if question is not None:
        question = cut_query(question)
        _check(question)
    with services.database.reading() as db:
        stored = _read(db, services, require_memory_base(db, user_id, base_id), with_points=with_points)
    return _view(base_id, stored, _place(services, stored, question))


def messages_on_map(services: Services, user_id: UUID, base_id: UUID, ids: Sequence[UUID]) -> list[MappedMessage]:
    """The messages on the map among these, in the order of the ids. Raises NotFound, InvalidRequest."""
    check_bound("message_ids", len(ids), 1, MAX_LISTED, unit="ids")
    with services.database.reading() as db:
        found = queries.shown_messages(db, require_memory_base(db, user_id, base_id), ids)
    return [
        view_of(
            MappedMessage,
            each,
            message_id=each.id,
            speaker=each.sender_name or each.role,
            excerpt=_excerpt(message_text(each.content)),
        )
        for each in (found[id_] for id_ in ids if id_ in found)
    ]


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT_CHARS else text[: EXCERPT_CHARS - 1].rstrip() + "…"


def _check(question: str) -> None:
    if not question.strip():
        raise errors.InvalidRequest("question must not be empty", field="question")
    check_text(question, "question")


def _read(db: OrmSession, services: Services, base: MemoryBase, *, with_points: bool) -> _Stored:
    row = queries.fetch(db, base.id)
    held = queries.held_messages(db, base.id, base.serving)
    is_enough = queries.has_entries(db, base.id, base.serving, job.MIN_MESSAGES)
    # The vectors of another generation may be another model's, and its entries are being deleted.
    if row is None or row.as_of is None or row.generation != base.serving or not is_enough:
        return _Stored(row, None, held, is_enough)
    points = queries.points(db, base, row.generation) if with_points else []
    return _Stored(
        row=row,
        generation=memory_bases.fetch_generation(db, base.id, base.serving),
        held=held,
        is_enough=is_enough,
        added=queries.ingested_since(db, base.id, base.serving, row.as_of),
        counts=queries.counts(db, base, row.generation, row.as_of),
        points=points,
        labels=_labels(db, points, services.settings.keyword_language),
    )


def _labels(db: OrmSession, points: Sequence[queries.Point], language: str) -> dict[int, list[str]]:
    chosen: dict[int, list[UUID]] = {}
    for point in points:
        of_cluster = chosen.setdefault(point.cluster, [])
        if len(of_cluster) < LABEL_MESSAGES:
            of_cluster.append(point.message_id)
    contents = queries.contents(db, [id_ for ids in chosen.values() for id_ in ids])
    texts = {cluster: [message_text(contents[id_]) for id_ in ids] for cluster, ids in chosen.items()}
    return clusters.labels(texts, language)


def _place(services: Services, stored: _Stored, question: str | None) -> MapQuestionView | None:
    """The question's position; None without a map. No transaction is open meanwhile."""
    if question is None or stored.row is None or stored.generation is None or stored.row.projection is None:
        return None
    embedder = services.embedders.get(stored.generation.embedding_model)
    check_searchable(embedder, stored.generation.embedder, remedy="regenerate")
    try:
        vector = embedder.embed_query(question)
    except errors.TextRejected as exc:
        raise errors.InvalidRequest("The embedding model cannot encode this question", field="question") from exc
    x, y = Projection.from_bytes(stored.row.projection, 0.0).place(vector[None, :])[0].tolist()
    return MapQuestionView(x, y)


def _view(base_id: UUID, stored: _Stored, question: MapQuestionView | None) -> MapView:
    row, shown = stored.row, stored.generation is not None
    as_of = row.as_of if row is not None and shown else None
    mapped = row.messages if row is not None and shown else 0
    # A job that started before the map may commit after it: the numbers must agree all the same.
    added = max(stored.added, stored.held - mapped) if shown else 0
    removed = max(0, mapped + added - stored.held) + stored.counts.gone if shown else 0
    state = _state(stored, changed=bool(added or removed or stored.counts.edited))
    sizes = Counter(point.cluster for point in stored.points)
    return MapView(
        memory_base_id=base_id,
        state=state,
        progress=row.progress if row is not None and state is MapState.COMPUTING else None,
        error=row.error_code if row is not None and state is MapState.UNAVAILABLE else None,
        failing_since=row.failing_since if row is not None and state is MapState.UNAVAILABLE else None,
        messages=stored.held,
        min_messages=job.MIN_MESSAGES,
        computed_at=row.computed_at if row is not None and shown else None,
        as_of=as_of,
        mapped_messages=mapped,
        added=added,
        removed=removed,
        edited=stored.counts.edited,
        explained=row.explained if row is not None and shown else None,
        shown=stored.counts.shown,
        points=[_point(point) for point in stored.points],
        clusters=[MapClusterView(each, ", ".join(stored.labels.get(each, ())), sizes[each]) for each in sorted(sizes)],
        question=question,
    )


def _point(point: queries.Point) -> MapPointView:
    return view_of(MapPointView, point, speaker=point.sender_name or point.role)


def _state(stored: _Stored, *, changed: bool) -> MapState:
    is_pending = stored.row is not None and stored.row.notify_at is not None
    has_failed = stored.row is not None and stored.row.error_code is not None and stored.row.lease_until is None
    steps = (
        (not stored.is_enough, MapState.TOO_FEW),
        (is_pending and has_failed, MapState.UNAVAILABLE),
        (is_pending, MapState.COMPUTING),
        (stored.generation is None, MapState.NONE),
        (changed, MapState.STALE),
    )
    return next((state for holds, state in steps if holds), MapState.READY)
