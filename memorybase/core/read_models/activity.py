"""Messages captured and ingested over time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.models import Capture
from memorybase.core.queries import memory_base_lists, memory_bases
from memorybase.core.queries.memory_base_lists import Ingested, Window
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.services import Services

DEFAULT_BUCKETS = 60
MAX_BUCKETS = 200
MAX_WINDOW = timedelta(days=31)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bucket:
    """`bucket_seconds` of ingestion. The delays are those of the messages ingested then; null without any."""

    at: Annotated[datetime, Field(description="Start of the bucket.")]
    captured: Annotated[int, Field(description="Number of counted messages captured in this time.")]
    ingested: Annotated[int, Field(description="Number of messages ingested for the first time in this time.")]
    delay_mean_seconds: Annotated[
        float | None, Field(description="Mean time from capture to ingestion; null if nothing was ingested.")
    ]
    delay_max_seconds: Annotated[
        float | None, Field(description="Longest time from capture to ingestion; null if nothing was ingested.")
    ]


@dataclass(frozen=True, slots=True)
class Activity:
    """The window, widened to whole buckets, and its buckets, oldest first without gaps."""

    since: Annotated[datetime, Field(description="Start of the first bucket.")]
    until: Annotated[datetime, Field(description="End of the last bucket.")]
    bucket_seconds: Annotated[int, Field(description="Length of a bucket.")]
    buckets: Annotated[list[Bucket], Field(description="The buckets, oldest first, including empty ones.")]


def activity(
    services: Services,
    user_id: UUID,
    base_id: UUID,
    *,
    since: datetime,
    until: datetime | None = None,
    buckets: int = DEFAULT_BUCKETS,
) -> Activity:
    """Count captured messages that the memory base counts, ingested messages, and ingestion delays.

    A message is ingested once, when the memory base first held it: edits, repairs and regenerates do not change that
    time, and messages that only a regenerate added (by another capture rule) are left out. The delay starts at the
    capture, or at the creation of the memory base if that is later. Deleted messages are not counted.

    `until` is at most now. Buckets start at multiples of their length, so that a moving window keeps its buckets; there
    may be one or two more buckets than requested. Raises NotFound, InvalidRequest.
    """
    with services.database.reading(on_replica=True) as db:
        base = require_memory_base(db, user_id, base_id)
        now = clock.now(db)
        window = _window(since, now if until is None else min(until, now), buckets)
        capture = Capture(memory_bases.fetch_generation(db, base.id, base.serving).capture)
        captured = memory_base_lists.captured(db, base, capture, window)
        ingested = memory_base_lists.ingested(db, base, window)
    count = int((window.until - window.since).total_seconds()) // window.seconds
    step = timedelta(seconds=window.seconds)
    shown = [
        _bucket(window.since + position * step, captured.get(position, 0), ingested.get(position))
        for position in range(count)
    ]
    return Activity(window.since, window.until, window.seconds, shown)


def _bucket(at: datetime, captured: int, ingested: Ingested | None) -> Bucket:
    if ingested is None:
        return Bucket(at, captured, 0, None, None)
    mean, longest = round(ingested.delay_mean_seconds, 3), round(ingested.delay_max_seconds, 3)
    return Bucket(at, captured, ingested.messages, mean, longest)


def _window(since: datetime, until: datetime, buckets: int) -> Window:
    if not 1 <= buckets <= MAX_BUCKETS:
        limit = MAX_BUCKETS if buckets > MAX_BUCKETS else 1
        raise errors.InvalidRequest(
            f"buckets must be from 1 to {MAX_BUCKETS}", field="buckets", value=buckets, limit=limit
        )
    if since < _EPOCH:
        raise _refused(since, "since must be 1970 or later", _EPOCH)
    if since >= until:
        raise _refused(since, "since must be before until and before now", until)
    if until - since > MAX_WINDOW:
        raise _refused(since, f"since must be at most {MAX_WINDOW.days} days before until", until - MAX_WINDOW)
    # Whole seconds: a request for the last hour, sent a moment late, must get the same bucket length.
    seconds = max((until - since) // timedelta(seconds=1), 1)
    length = -(-seconds // buckets)
    first = int((since - _EPOCH) // timedelta(seconds=1)) // length * length
    end = -(-(until - _EPOCH) // timedelta(seconds=length)) * length
    return Window(_EPOCH + timedelta(seconds=first), _EPOCH + timedelta(seconds=end), length)


def _refused(since: datetime, message: str, limit: datetime) -> errors.InvalidRequest:
    return errors.InvalidRequest(message, field="since", value=since.isoformat(), limit=limit.isoformat())
