"""A session's captured messages, read only as far back as a view needs.

`ThreadWalk` follows a thread from its leaf backwards, page by page along (flow_id, session_id, seq). `queries.threads`
has the rule that says what a message follows. `tails` yields longer and longer tails until the caller has enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.view.limits import Prune
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.threads import BROKEN_LINK, CYCLE
from memorybase.core.models import Message
from memorybase.core.queries import message_changes, threads
from memorybase.core.queries.ownership import not_found
from memorybase.core.queries.threads import Link

UNREAD = "older_unread"  # older messages are neither read nor reported, as the limits leave them out

FIRST_PAGE = 64
LONGEST_TURN = 512  # more messages than this without a question are not a turn: do not read to its start
LAST_PAGE = 2_000
MOST_LINKS = 2_000  # messages to look through, without content, for one that a thread should contain


@dataclass(slots=True)
class ThreadWalk:
    """Walks a thread, newest first. `flags`: what is wrong on the way so far; `linked`: the session names parents."""

    db: OrmSession
    flow_id: UUID
    session_id: str
    flags: list[str] = field(default_factory=list)
    linked: bool = False
    as_of: datetime | None = None
    _by_seq: dict[int, Link] = field(default_factory=dict)
    _page: int = FIRST_PAGE
    _lowest: int | None = None  # seq of the page that was read last

    def from_leaf(self, leaf_id: UUID | None = None, *, run_id: UUID | None = None) -> Iterator[Link]:
        """Walk from the leaf, else from the newest message of the run if it has one, else from the newest of all, or
        that on the date. Raises NotFound for a leaf of another session."""
        link = self._at(self._leaf(leaf_id, run_id))
        self.linked = threads.first_link(self.db, self.flow_id, self.session_id) is not None
        visited: set[int] = set()
        while link is not None:
            if link.seq in visited:
                self.flags.append(CYCLE)
                return
            visited.add(link.seq)
            yield link
            if link.is_broken:
                self.flags.append(BROKEN_LINK)
            link = None if link.follows is None else self._at(link.follows)

    def _leaf(self, leaf_id: UUID | None, run_id: UUID | None) -> int | None:
        if leaf_id is not None:
            seq = threads.seq_of(self.db, self.flow_id, self.session_id, leaf_id)
            if seq is None:
                raise not_found("message", leaf_id, field="leaf_id")
            return seq
        seq = None if run_id is None else threads.last_of_run(self.db, self.flow_id, self.session_id, run_id)
        if seq is None and self.as_of is not None:
            seq = threads.last_said_by(self.db, self.flow_id, self.session_id, self.as_of)
        return seq

    def _at(self, seq: int | None) -> Link | None:
        """The message at a seq, or the newest. Pages grow, so that a short view reads little and a long one needs few
        statements."""
        if seq is not None:
            if seq in self._by_seq:
                return self._by_seq[seq]
            if self._lowest is None or not 0 < self._lowest - seq <= self._page:
                self._page = FIRST_PAGE  # a jump: the thread may jump again
        page = threads.links_down_from(self.db, self.flow_id, self.session_id, to_seq=seq, limit=self._page)
        if not page or seq not in {None, page[0].seq}:
            return None
        self._by_seq |= {link.seq: link for link in page}
        self._page = min(LAST_PAGE, self._page * 2)
        self._lowest = page[-1].seq
        return page[0]


def precedes(db: OrmSession, flow_id: UUID, session_id: str, leaf_id: UUID, message_id: UUID, seq: int) -> bool | None:
    """Whether the thread that ends at the leaf contains the message with this seq; None if it is too far back to know.
    The cost does not depend on the length of the thread."""
    links = ThreadWalk(db, flow_id, session_id).from_leaf(leaf_id)
    for link in islice(links, MOST_LINKS):
        if link.id == message_id or link.seq <= seq:
            return link.id == message_id
    return None if next(links, None) is not None else False


@dataclass(frozen=True, slots=True)
class ThreadTail:
    """The newest whole units of a thread, in its order: a message may follow one with a higher seq. `complete`: nothing
    is older. `linked`: messages of the session name parents, so there may be other threads."""

    records: list[Record]
    complete: bool
    linked: bool = False
    flags: tuple[str, ...] = ()


def tails(
    db: OrmSession,
    flow_id: UUID,
    session_id: str,
    *,
    leaf_id: UUID | None = None,
    run_id: UUID | None = None,
    prune: Prune = "turn",
    as_of: datetime | None = None,
) -> Iterator[ThreadTail]:
    """Longer and longer tails of one thread, the last one complete. Each starts where pruning may cut; pages are read
    when the next tail is requested. `as_of`: as they were then."""
    walk = ThreadWalk(db, flow_id, session_id, as_of=as_of)
    links = walk.from_leaf(leaf_id, run_id=run_id)
    read: list[Record] = []  # newest first
    size = FIRST_PAGE
    while True:
        read += _records(db, flow_id, session_id, list(islice(links, size)), as_of)
        following = next(links, None)
        if following is None:
            yield ThreadTail(read[::-1], complete=True, linked=walk.linked, flags=tuple(walk.flags))
            return
        links = chain([following], links)
        if units := _whole_units(read, prune):
            yield ThreadTail(units[::-1], complete=False, linked=walk.linked, flags=(UNREAD,))
        size = min(LAST_PAGE, size * 2)


def _records(
    db: OrmSession, flow_id: UUID, session_id: str, links: Sequence[Link], as_of: datetime | None
) -> list[Record]:
    by_seq = {
        message.seq: message for message in threads.messages_at(db, flow_id, session_id, [link.seq for link in links])
    }
    if as_of is None:
        return [as_record(by_seq[link.seq]) for link in links]
    said = [message for link in links if (message := by_seq[link.seq]).timestamp <= as_of]
    then = message_changes.former_contents(db, flow_id, [message.id for message in said], as_of)
    return [as_record(each).with_content(then.get(each.id, each.content)) for each in said]


def as_record(message: Message) -> Record:
    """A captured message."""
    record = Record.from_row(
        message, message_id=message.id, created_at=message.timestamp, parent_id=message.parent_message_id
    )
    is_intermediate = message.role == "assistant" and not message.is_output and message.status != "failed"
    if message.parent_rule is None and not is_intermediate:
        return record
    return replace(record, parent_rule=message.parent_rule or record.parent_rule, intermediate=is_intermediate)


def _whole_units(newest_first: Sequence[Record], prune: Prune) -> list[Record]:
    """The messages without the oldest unit, which may not be read to its start."""
    indices = range(len(newest_first) - 1, -1, -1)
    first_roles = ("user",) if prune == "turn" else ("user", "assistant", "system")
    complete = next((index + 1 for index in indices if newest_first[index].role in first_roles), 0)
    if prune == "message" or len(newest_first) - complete > LONGEST_TURN:
        return list(newest_first)
    return list(newest_first[:complete])
