"""What came in and what was ingested, over time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from memorybase import errors
from memorybase.database import clock
from memorybase.models import Capture
from memorybase.queries import memory_bases
from memorybase.queries.ownership import require_memory_base
from memorybase.read_models import activity_queries as queries
from memorybase.read_models.activity_queries import Ingested, Window
from memorybase.services import Services

DEFAULT_BUCKETS = 60
MAX_BUCKETS = 200
MAX_WINDOW = timedelta(days=31)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bucket:
    """From `at` on, for the activity's bucket_seconds. The delay is of what was ingested then; null for nothing."""

    at: datetime
    captured: int
    ingested: int
    delay_mean_seconds: float | None
    delay_max_seconds: float | None


@dataclass(frozen=True, slots=True)
class Activity:
    """The window as it was widened to whole buckets, and these, oldest first and without a gap."""

    since: datetime
    until: datetime
    bucket_seconds: int
    buckets: list[Bucket]


def activity(
    services: Services,
    user_id: UUID,
    base_id: UUID,
    *,
    since: datetime,
    until: datetime | None = None,
    buckets: int = DEFAULT_BUCKETS,
) -> Activity:
    """Messages captured that the memory base counts, messages ingested, and how long these had waited.

    A message counts as ingested once, when the memory base first held it: edits, repairs and regenerates change no
    time, and what only a regenerate brought in (by another capture rule) is left out. The delay begins with the
    capture, or with the memory base where that was made later. Deleted messages are in neither.

    `until` is now at the latest. Buckets begin at whole multiples of their length, so that a window that moves on keeps
    them: where its ends lie between, there are one or two more than asked for. Raises NotFound, InvalidRequest.
    """
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        now = clock.now(db)
        window = _window(since, now if until is None else min(until, now), buckets)
        capture = Capture(memory_bases.fetch_generation(db, base.id, base.serving).capture)
        captured = queries.captured(db, base, capture, window)
        ingested = queries.ingested(db, base, window)
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
        raise errors.InvalidRequest(f"buckets is from 1 to {MAX_BUCKETS}", field="buckets", value=buckets, limit=limit)
    if since < _EPOCH:
        raise _refused(since, "since is 1970 or later", _EPOCH)
    if since >= until:
        raise _refused(since, "since is before until, and before now", until)
    if until - since > MAX_WINDOW:
        raise _refused(since, f"The window is at most {MAX_WINDOW.days} days", until - MAX_WINDOW)
    # A second more is no other length: whoever asks for the hour up to now is a moment late.
    asked = max((until - since) // timedelta(seconds=1), 1)
    length = -(-asked // buckets)
    first = int((since - _EPOCH) // timedelta(seconds=1)) // length * length
    end = -(-(until - _EPOCH) // timedelta(seconds=length)) * length
    return Window(_EPOCH + timedelta(seconds=first), _EPOCH + timedelta(seconds=end), length)


def _refused(since: datetime, message: str, limit: datetime) -> errors.InvalidRequest:
    return errors.InvalidRequest(message, field="since", value=since.isoformat(), limit=limit.isoformat())
