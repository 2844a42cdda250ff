"""The overview of everything: captured and searchable messages, the flows and the latest runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.cache import Cache
from memorybase.core.database import clock
from memorybase.core.database.paging import AnyRow
from memorybase.core.described import ExternalId, Id
from memorybase.core.models import Capture
from memorybase.core.queries import overview as overview_queries
from memorybase.core.queries.overview import COUNT_TO, Span
from memorybase.core.read_models import memory_bases
from memorybase.core.read_models.latest_runs import LatestRun, latest_runs
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services

MAX_FLOWS = 500  # the flows with the latest captures are counted
SHOWN_FLOWS = 10
SHOWN_RUNS = 5
# An answer is kept for ten times as long as it took, so that any number of open pages costs a tenth of a core at most.
KEEP_FACTOR = 10
MAX_KEPT = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Window(StrEnum):
    """The last hour, day or week."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"


# Number and length of the buckets.
_BUCKETS = {
    Window.HOUR: (12, timedelta(minutes=5)),
    Window.DAY: (24, timedelta(hours=1)),
    Window.WEEK: (28, timedelta(hours=6)),
}


@dataclass(frozen=True, slots=True)
class OverviewBucket:
    """The messages captured from `at` on, until the next bucket, by what has become of them."""

    at: Annotated[datetime, Field(description="Start of the bucket.")]
    searchable: Annotated[int, Field(description="Captured then, and searchable now.")]
    waiting: Annotated[int, Field(description="Captured then, and not searchable yet.")]
    failed: Annotated[int, Field(description="Captured then, and could not be embedded.")]
    lost: Annotated[int, Field(description="Captured then, and counted by a memory base that has lost vectors.")]
    other: Annotated[int, Field(description="Captured then, and counted by no memory base.")]


@dataclass(frozen=True, slots=True)
class FlowOverview:
    """A flow in the window."""

    id: Id
    external_id: ExternalId
    name: Annotated[str, Field(description="The name of the flow.")]
    runs: Annotated[int, Field(description="Number of runs.")]
    runs_by_bucket: Annotated[list[int], Field(description="Number of runs in each bucket.")]
    sessions: Annotated[int, Field(description="Number of sessions with captures.")]
    memories: Annotated[list[MemoryBaseView], Field(description="Its memory bases.")]
    delay_median_seconds: Annotated[
        float | None,
        Field(description="Median time until its latest messages were searchable; null if none was ingested."),
    ]
    last_captured_at: Annotated[datetime | None, Field(description="When a message was last captured; null if never.")]


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that was captured in the window.

    `searchable`, `waiting`, `failed` and `lost` count messages that a memory base counts; one that is off does so only
    if no other of its flow is on. Delays are from capture until a
    message was searchable, of the latest messages of each flow; null without any.
    """

    window: Annotated[Window, Field(description="The time that it covers: the last hour, day or week.")]
    since: Annotated[datetime, Field(description="Start of the first bucket.")]
    until: Annotated[datetime, Field(description="End of the last bucket.")]
    bucket_seconds: Annotated[int, Field(description="Length of a bucket.")]
    captured: Annotated[int, Field(description="Number of messages captured.")]
    searchable: Annotated[
        int,
        Field(
            description="Number of counted messages that every memory base of their flow holds. One that is off "
            "is left out while another one of its flow is on."
        ),
    ]
    waiting: Annotated[
        int, Field(description="Number of counted messages that a memory base does not hold yet, up to 10,000.")
    ]
    waiting_capped: Annotated[bool, Field(description="Whether more than that are waiting.")]
    failed: Annotated[int, Field(description="Number of messages that could not be embedded.")]
    lost: Annotated[int, Field(description="Number of messages that a memory base counts that has lost vectors.")]
    runs: Annotated[int, Field(description="Number of runs.")]
    sessions: Annotated[int, Field(description="Number of sessions with captures.")]
    recalls: Annotated[int, Field(description="Number of views recorded for nodes of runs.")]
    delay_median_seconds: Annotated[
        float | None,
        Field(description="Median time from capture until a message was searchable; null if none was ingested."),
    ]
    delay_p95_seconds: Annotated[
        float | None,
        Field(description="The time within which 95 % of them were searchable; null if none was ingested."),
    ]
    buckets: Annotated[list[OverviewBucket], Field(description="The window in buckets, oldest first.")]
    flows: Annotated[list[FlowOverview], Field(description="The flows with the latest captures, latest first.")]
    flows_total: Annotated[int, Field(description="Number of flows.")]
    latest_runs: Annotated[list[LatestRun], Field(description="The latest runs, newest first.")]


class _Answers(Cache[tuple[UUID, Window], Overview]):
    """By user and window."""

    def __init__(self) -> None:
        super().__init__(MAX_KEPT)


def overview(services: Services, user_id: UUID, window: Window = Window.DAY) -> Overview:
    """A constant number of queries. The answer may be a few seconds old if it takes long to compute."""
    answers = services.state.of(_Answers)
    found = answers.get((user_id, window))
    if found is not None:
        return found
    started = time.monotonic()
    made = compute(services, user_id, window)
    answers.put((user_id, window), made, KEEP_FACTOR * (time.monotonic() - started))
    return made


def compute(services: Services, user_id: UUID, window: Window) -> Overview:
    """The overview as it is now."""
    with services.database.reading(on_replica=True) as db:
        spans = _spans(clock.now(db), window)
        since = spans[0].since
        flows = overview_queries.flows(db, user_id, MAX_FLOWS)
        flows_total = overview_queries.count_flows(db, user_id)
        active = [row.id for row in flows if row.last is not None and row.last >= since]
        buckets = _buckets(db, active, spans)
        counted = _flows(db, active, spans)
        recalls = overview_queries.count_recalls(db, active, since) if active else 0
        shown = flows[:SHOWN_FLOWS]
        views = memory_bases.views_of_flows(db, services, user_id, [row.id for row in shown])
        runs = latest_runs(db, [row.id for row in shown if row.last is not None], SHOWN_RUNS)
    delays = [delay for each in counted.values() for delay in each.delays]
    waiting = sum(bucket.waiting for bucket in buckets)
    return Overview(
        window=window,
        since=since,
        until=spans[-1].until,
        bucket_seconds=int((spans[0].until - since).total_seconds()),
        captured=sum(bucket.captured for bucket in buckets),
        searchable=sum(bucket.searchable for bucket in buckets),
        waiting=waiting,
        waiting_capped=waiting >= COUNT_TO,
        failed=sum(bucket.failed for bucket in buckets),
        lost=sum(bucket.lost for bucket in buckets),
        runs=sum(sum(each.runs) for each in counted.values()),
        sessions=sum(each.sessions for each in counted.values()),
        recalls=recalls,
        delay_median_seconds=_percentile(delays, 0.5),
        delay_p95_seconds=_percentile(delays, 0.95),
        buckets=[view_of(OverviewBucket, bucket) for bucket in buckets],
        flows=[_flow(row, counted.get(row.id) or _Flow([0] * len(spans)), views) for row in shown],
        flows_total=flows_total,
        latest_runs=runs,
    )


def _flow(row: AnyRow, counted: _Flow, views: Sequence[MemoryBaseView]) -> FlowOverview:
    return view_of(
        FlowOverview,
        row,
        runs=sum(counted.runs),
        runs_by_bucket=counted.runs,
        sessions=counted.sessions,
        memories=[view for view in views if view.flow_id == row.id],
        delay_median_seconds=_percentile(counted.delays, 0.5),
        last_captured_at=row.last,
    )


@dataclass(slots=True)
class _Bucket:
    """The messages captured in a bucket; `counted`: by a memory base, `lost`: by one that has lost vectors."""

    at: datetime
    captured: int = 0
    counted: int = 0
    lost: int = 0
    waiting: int = 0
    failed: int = 0

    @property
    def searchable(self) -> int:
        # Messages may be captured between two statements of one snapshot only; the maximum guards a capped count.
        return max(self.counted - self.lost - self.waiting - self.failed, 0)

    @property
    def other(self) -> int:
        return self.captured - self.counted


@dataclass(slots=True)
class _Flow:
    """What a flow has in the window: the number of its runs in each bucket, and the delays in seconds."""

    runs: list[int]
    sessions: int = 0
    delays: list[float] = field(default_factory=list)


def _buckets(db: OrmSession, flow_ids: Sequence[UUID], spans: Sequence[Span]) -> list[_Bucket]:
    """The messages of the flows with captures in the window."""
    since = spans[0].since
    buckets = [_Bucket(span.since) for span in spans]
    if not flow_ids:
        return buckets
    captures = overview_queries.captures(db, flow_ids)
    for flow_id, position, messages, outputs, dialogue in overview_queries.messages_by_bucket(db, flow_ids, spans):
        bucket = buckets[position]
        bucket.captured += messages
        if flow_id in captures.all:
            bucket.counted += dialogue if Capture.ALL in captures.all[flow_id] else outputs
        if flow_id in captures.lost:
            bucket.lost += dialogue if Capture.ALL in captures.lost[flow_id] else outputs
    failed = {row.id: row for row in overview_queries.failed(db, flow_ids, since) if not _is_lost(row, captures)}
    for row in failed.values():
        buckets[_position(row.captured_at, spans)].failed += 1
    for row in overview_queries.waiting(db, flow_ids, since):
        if row.id not in failed and not _is_lost(row, captures):
            buckets[_position(row.captured_at, spans)].waiting += 1
    return buckets


def _flows(db: OrmSession, flow_ids: Sequence[UUID], spans: Sequence[Span]) -> dict[UUID, _Flow]:
    """The runs, sessions and delays of each of the flows with captures in the window."""
    flows = {flow_id: _Flow([0] * len(spans)) for flow_id in flow_ids}
    if not flow_ids:
        return flows
    since = spans[0].since
    for flow_id, position, count in overview_queries.runs_by_bucket(db, flow_ids, spans):
        flows[flow_id].runs[position] = count
    for flow_id, count in overview_queries.sessions_since(db, flow_ids, since).items():
        flows[flow_id].sessions = count
    for flow_id, captured_at, ingested_at, created_at in overview_queries.delays(db, flow_ids, since):
        delay = (ingested_at - max(captured_at, created_at)).total_seconds()
        flows[flow_id].delays.append(max(delay, 0.0))
    return flows


def _is_lost(row: AnyRow, captures: overview_queries.Captures) -> bool:
    lost = captures.lost.get(row.flow_id, ())
    return Capture.ALL in lost or (Capture.OUTPUTS in lost and row.is_output)


def _spans(now: datetime, window: Window) -> list[Span]:
    """Buckets that start at multiples of their length, the last one with now in it."""
    count, length = _BUCKETS[window]
    end = _EPOCH + ((now - _EPOCH) // length + 1) * length
    return [Span(end - (count - n) * length, end - (count - n - 1) * length) for n in range(count)]


def _position(at: datetime, spans: Sequence[Span]) -> int:
    length = spans[0].until - spans[0].since
    return min((at - spans[0].since) // length, len(spans) - 1)


def _percentile(values: Sequence[float], share: float) -> float | None:
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[min(int(len(ordered) * share), len(ordered) - 1)], 3)
