"""Which messages of a session are regenerations of one another, and which are on its latest thread.

What a message follows is as `conversation.captured` walks it: the parent that it names, else the one before it in its
run, else the one before it in the session. Messages that follow the same one are siblings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.conversation.history.session_reader import LONGEST_TURN
from memorybase.conversation.view.records import UUID_NIL
from memorybase.queries import threads
from memorybase.queries.ownership import require_flow
from memorybase.queries.threads import Link, Placed
from memorybase.read_models.sessions import MessageView
from memorybase.services import Services

MOST_CHILDREN = 5_000  # counting the messages that answer one ends here
_NIL = UUID(UUID_NIL)


@dataclass(frozen=True, slots=True)
class Branch:
    """`siblings`: how many follow what the message follows, itself included; `place`: which of them it is, from 1."""

    siblings: int
    position: int
    on_latest: bool


def branches(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, messages: Sequence[MessageView]
) -> dict[UUID, Branch]:
    """A branch for each of these messages of the session, one page of them. Messages that begin a thread have no
    siblings. Raises NotFound for a flow that is not the user's.

    The messages from the page on are looked through for the latest thread, in one statement and without their content;
    all else costs what is on the page.
    """
    with services.database.reading() as db:
        require_flow(db, user_id, flow_id)
        page = threads.placed(db, flow_id, session_id, ids=[message.id for message in messages])
        seqs = {at.link.seq for at in page}
        first_link = threads.first_with_parent(db, flow_id, session_id)
        jumps = threads.jumps(db, flow_id, session_id, from_seq=min(seqs), first_link=first_link) if seqs else []
        latest = _on_latest(jumps, seqs)
        families = _Families(db, flow_id, session_id, first_link)
        families.look_up(page)
    shown: dict[UUID, Branch] = {}
    for at in page:
        siblings = families.of(at)
        position = 1 + sum(seq < at.link.seq for seq in siblings)
        shown[at.link.id] = Branch(len(siblings), position, at.link.seq in latest)
    return shown


def _on_latest(jumps: Sequence[tuple[int, int | None]], wanted: set[int]) -> set[int]:
    """Which of these seqs the thread meets that goes back from the newest message: all between two of its jumps."""
    found: set[int] = set()
    reached: float = math.inf
    for seq, follows in jumps:
        if seq > reached:  # passed over: off the thread
            continue
        found |= {one for one in wanted if seq <= one <= reached}
        if follows is None or follows >= seq:
            return found
        reached = follows
    return found | {one for one in wanted if one <= reached}


@dataclass(slots=True)
class _Families:
    """What messages follow, and what else follows it, by seq. A parent that is gone is known by its id alone."""

    db: OrmSession
    flow_id: UUID
    session_id: str
    first_link: int | None
    _by_id: dict[UUID, Placed] = field(default_factory=dict)
    _by_seq: dict[int, Placed] = field(default_factory=dict)
    _children: dict[UUID, set[int]] = field(default_factory=dict)

    def look_up(self, page: Sequence[Placed]) -> None:
        self._know(page)
        named = {at.link.parent_id for at in page} - {None, _NIL}
        self._read(ids=[one for one in named if one is not None], seqs=self._implied_of(page))
        self._read(seqs=[end for at in page if (end := self._turn_end(at.link)) is not None])
        followed = {parent for at in page if (parent := self._parent(at)) is not None}
        self._find_named(followed)
        self._find_implied([self._by_id[one] for one in followed if one in self._by_id])

    def of(self, at: Placed) -> set[int]:
        """The seqs of a message and its siblings."""
        parent = self._parent(at)
        return {at.link.seq} if parent is None else self._children.get(parent, set()) | {at.link.seq}

    def _parent(self, at: Placed) -> UUID | None:
        link = at.link
        if link.parent_id is None or link.parent_id == _NIL:
            seq = self._implied(at)
        else:
            seq = self._turn_end(link)
            if seq is None:
                return link.parent_id
        return self._by_seq[seq].link.id if seq in self._by_seq else None

    def _implied(self, at: Placed) -> int | None:
        link = at.link
        if link.parent_id is None:
            if link.before_in_run is not None:
                return link.before_in_run
            if self.first_link is not None and link.seq >= self.first_link:
                return None
        return at.older

    def _turn_end(self, link: Link) -> int | None:
        """A question that names another run's question follows all that was answered to that."""
        parent = None if link.parent_id is None else self._by_id.get(link.parent_id)
        if parent is None or parent.link.run_id == link.run_id:
            return None
        return parent.last_in_run if parent.link.role == link.role == "user" else None

    def _find_named(self, followed: Iterable[UUID]) -> None:
        ends = {at.link.run_id: at for one in followed if (at := self._by_id.get(one)) and at.next_in_run is None}
        turns = [at.link for at in ends.values()]
        questions = threads.questions_before(self.db, turns, reach=LONGEST_TURN, limit=MOST_CHILDREN)
        asked = [*{*followed, *(question.id for question in questions)}]
        run_of = {question.id: question.run_id for question in questions}
        run_of |= {one: at.link.run_id for one in followed if (at := self._by_id.get(one)) and at.link.role == "user"}
        for child in threads.children(self.db, self.flow_id, self.session_id, asked, limit=MOST_CHILDREN):
            parent = child.parent_id
            if parent in run_of and child.role == "user" and child.run_id != run_of[parent]:
                end = ends.get(run_of[parent])
                parent = None if end is None else end.link.id
            if parent is not None:
                self._children.setdefault(parent, set()).add(child.seq)

    def _find_implied(self, followed: Sequence[Placed]) -> None:
        beside = {seq for at in followed for seq in (at.newer, at.next_in_run) if seq is not None}
        self._read(seqs=beside)
        for seq in beside:
            at = self._by_seq.get(seq)
            if at is not None and at.link.parent_id in {None, _NIL} and (parent := self._parent(at)) is not None:
                self._children.setdefault(parent, set()).add(seq)

    def _implied_of(self, page: Sequence[Placed]) -> list[int]:
        return [seq for at in page if at.link.parent_id in {None, _NIL} and (seq := self._implied(at)) is not None]

    def _read(self, *, ids: Iterable[UUID] = (), seqs: Iterable[int] = ()) -> None:
        self._know(
            threads.placed(
                self.db,
                self.flow_id,
                self.session_id,
                ids=[one for one in ids if one not in self._by_id],
                seqs={seq for seq in seqs if seq not in self._by_seq},
            )
        )

    def _know(self, placed: Iterable[Placed]) -> None:
        for at in placed:
            self._by_id[at.link.id] = self._by_seq[at.link.seq] = at
