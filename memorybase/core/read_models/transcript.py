"""A session as a conversation, page by page along one thread, with what was found in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.messages import message_text
from memorybase.core.queries import coverage, message_changes, threads
from memorybase.core.queries.ownership import require_flow
from memorybase.core.queries.threads import Range
from memorybase.core.read_models.branches import Branch, branches
from memorybase.core.read_models.sessions import MessageView, message_view
from memorybase.core.services import Services

GROUP = 200  # messages read at once
MOST_SEARCHED = 50_000  # messages of one session
MOST_FOUND = 1_000

Jump = tuple[int, int | None]  # a seq and the seq that it follows; None: it begins a thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which part of a session: the group that ends before or begins after a seq, or the one around `at`; else the
    newest. `through`: on the newest thread through this seq."""

    at: int | None = None
    before: int | None = None
    after: int | None = None
    through: int | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Holding:
    """Number of memory bases that count a message, hold its version, could not embed it, or hold it and lost
    vectors. `edited`: whether its content is another one than was captured."""

    counted: int = 0
    held: int = 0
    failed: int = 0
    lost: int = 0
    edited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Messages of one thread in order. `older` and `newer`: whether more follow in that direction. `branches` and
    `holdings` by message; `through` is the thread's, if it is not the newest."""

    messages: list[MessageView]
    older: bool
    newer: bool
    branches: dict[UUID, Branch]
    holdings: dict[UUID, Holding]
    through: int | None


def read_transcript(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, place: Place, *, limit: int = GROUP
) -> Transcript:
    """One group of a session's messages. Raises NotFound for a flow of another user; an unknown session has none."""
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        through, ranges = _thread(db, flow_id, session_id, place)
        messages, older, newer = _group(db, flow_id, session_id, place, ranges, limit)
        held = _holdings(db, flow_id, session_id, messages)
        has_branches = bool(messages) and threads.first_link(db, flow_id, session_id) is not None
    found = branches(services, user_id, flow_id, session_id, messages) if has_branches else {}
    return Transcript(messages=messages, older=older, newer=newer, branches=found, holdings=held, through=through)


def holdings_of(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, messages: Sequence[MessageView]
) -> dict[UUID, Holding]:
    """Which memory bases hold these messages of a session. Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        return _holdings(db, flow_id, session_id, messages)


def read_messages(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, seqs: Collection[int]
) -> tuple[list[MessageView], dict[UUID, Holding]]:
    """These messages of a session, at most a group, and which memory bases hold them. Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        ranges = [(seq, seq) for seq in sorted(set(seqs))]
        rows = threads.messages_in(db, flow_id, session_id, ranges, role=None, newest=False, limit=GROUP)
        messages = [message_view(row) for row in rows]
        return messages, _holdings(db, flow_id, session_id, messages)


def find(services: Services, user_id: UUID, flow_id: UUID, session_id: str, text: str) -> list[int]:
    """The seqs of the newest messages that contain a text, in order, whatever its letter case. Raises NotFound."""
    wanted, found = text.casefold(), []
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        for seq, content in threads.contents(db, flow_id, session_id, limit=MOST_SEARCHED):
            if wanted in message_text(content).casefold():
                found.append(seq)
                if len(found) == MOST_FOUND:
                    break
    return found[::-1]


def first_since(services: Services, user_id: UUID, flow_id: UUID, session_id: str, since: datetime) -> int | None:
    """The seq of the first message that was written then or later, or of the newest. Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        seq = threads.first_seq_since(db, flow_id, session_id, since)
        return seq or threads.newest_seq(db, flow_id, session_id) or None


def _holdings(db: OrmSession, flow_id: UUID, session_id: str, messages: Sequence[MessageView]) -> dict[UUID, Holding]:
    if not messages:
        return {}
    seqs = [message.seq for message in messages]
    rows = coverage.holdings(db, flow_id, session_id, (min(seqs), max(seqs)))
    found = {row.id: Holding(row.counted, row.held, row.failed, int(row.lost)) for row in rows}
    edited = message_changes.edited_since(db, flow_id, {each.id: each.content for each in messages if each.edited_at})
    return found | {each: replace(found.get(each, Holding()), edited=True) for each in edited}


def _thread(db: OrmSession, flow_id: UUID, session_id: str, place: Place) -> tuple[int | None, list[Range]]:
    """The seq that the thread goes through, and its ranges: None and the newest thread, unless `at` or `through` is on
    another one. A message that was deleted is on none."""
    newest = threads.newest_seq(db, flow_id, session_id)
    jumps: list[Any] = []
    if threads.first_link(db, flow_id, session_id) is not None:
        jumps = threads.jumps(db, flow_id, session_id, from_seq=0)
    latest = thread_ranges(jumps, newest)
    through = place.through
    ranges = thread_ranges(jumps, newest, through=through)
    if place.at is not None and not any(first <= place.at <= last for first, last in ranges):
        through = place.at if threads.links_at(db, flow_id, session_id, {place.at}) else None
        ranges = thread_ranges(jumps, newest, through=through)
    return None if ranges == latest else through, ranges


def _group(
    db: OrmSession, flow_id: UUID, session_id: str, place: Place, ranges: Sequence[Range], limit: int
) -> tuple[list[MessageView], bool, bool]:
    """The messages, and whether the thread has older and newer ones."""

    def read(within: Sequence[Range], *, newest: bool, most: int) -> list[MessageView]:
        rows = threads.messages_in(db, flow_id, session_id, within, role=place.role, newest=newest, limit=most)
        return [message_view(row) for row in rows]

    if place.after is not None:
        found = read(_cut(ranges, first=place.after + 1), newest=False, most=limit + 1)
        return found[:limit], True, len(found) > limit
    if place.before is not None or place.at is None:
        within = ranges if place.before is None else _cut(ranges, last=place.before - 1)
        found = read(within, newest=True, most=limit + 1)
        return found[-limit:], len(found) > limit, place.before is not None
    half = limit // 2
    before = read(_cut(ranges, last=place.at - 1), newest=True, most=half + 1)
    since = read(_cut(ranges, first=place.at), newest=False, most=half + 1)
    return before[-half:] + since[:half], len(before) > half, len(since) > half


def _cut(ranges: Sequence[Range], *, first: int = 0, last: int | None = None) -> list[Range]:
    """The parts of the ranges from `first` to `last`."""
    cut = [(max(low, first), high if last is None else min(high, last)) for low, high in ranges]
    return [(low, high) for low, high in cut if low <= high]


def thread_ranges(jumps: Sequence[Jump], newest: int, *, through: int | None = None) -> list[Range]:
    """A thread as ranges of seqs: the newest one, or the newest one through a seq. `newest`: the session's last seq.

    Most messages follow the one before them. The others, the jumps of `queries.threads`, divide the session into
    segments, and a thread is a chain of beginnings of segments.

    Without jumps it is the whole session. In any order; a jump that follows itself or a later message begins a thread.
    """
    ordered = sorted(jumps)
    starts = [1, *(seq for seq, _ in ordered if seq > 1)]
    follows = {seq: before if before is not None and before < seq else None for seq, before in ordered}

    def segment(seq: int) -> int:
        return bisect_right(starts, seq) - 1

    def end(index: int) -> int:
        return starts[index + 1] - 1 if index + 1 < len(starts) else newest

    leaf = newest
    if through is not None:
        own = segment(through)
        reached, leaf = {own}, end(own)
        for index in range(own + 1, len(starts)):
            before = follows.get(starts[index])
            if before is not None and segment(before) in reached and (segment(before) != own or before >= through):
                reached.add(index)
                leaf = max(leaf, end(index))
    ranges: list[Range] = []
    last: int | None = leaf
    while last is not None:
        start = starts[segment(last)]
        ranges.append((start, last))
        last = follows.get(start)
    return ranges[::-1]
