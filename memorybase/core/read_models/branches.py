"""Which messages of a session are alternatives to one another, and which are on its latest thread.

Messages that follow the same one are siblings. `queries.threads` has the rule that says what a message follows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.history.session_reader import LONGEST_TURN
from memorybase.core.queries import threads
from memorybase.core.queries.ownership import require_flow
from memorybase.core.queries.threads import Link
from memorybase.core.read_models.sessions import MessageView
from memorybase.core.services import Services

MOST_CHILDREN = 5_000  # answers to one message that are counted at most


@dataclass(frozen=True, slots=True)
class Branch:
    """`siblings`: how many messages follow the same one, this one included; `position`: its position among them,
    from 1. `before` and `after`: the seqs of the siblings next to it."""

    siblings: int
    position: int
    on_latest: bool
    before: int | None = None
    after: int | None = None


def branches(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, messages: Sequence[MessageView]
) -> dict[UUID, Branch]:
    """A branch for each of these messages of the session, one page of them. Messages that begin a thread have no
    siblings. Raises NotFound for a flow that is not the user's.

    One statement looks through the messages from the page on for the latest thread, without their content; everything
    else costs as much as the page is long.
    """
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        seqs = {message.seq for message in messages}
        page = threads.links_at(db, flow_id, session_id, seqs)
        jumps = threads.jumps(db, flow_id, session_id, from_seq=min(seqs)) if seqs else []
        latest = _on_latest(jumps, seqs)
        families = _families(db, flow_id, session_id, page)
    found: dict[UUID, Branch] = {}
    for link in page:
        key = _followed(link)
        siblings = {link.seq} if key is None else families[key]
        position = 1 + sum(seq < link.seq for seq in siblings)
        before = max((seq for seq in siblings if seq < link.seq), default=None)
        after = min((seq for seq in siblings if seq > link.seq), default=None)
        found[link.id] = Branch(len(siblings), position, link.seq in latest, before, after)
    return found


def _on_latest(jumps: Sequence[tuple[int, int | None]], seqs: set[int]) -> set[int]:
    """Which of these seqs are on the thread of the newest message: all between two of its jumps."""
    found: set[int] = set()
    reached: float = math.inf
    for seq, follows in jumps:
        if seq > reached:  # passed over: off the thread
            continue
        found |= {each for each in seqs if seq <= each <= reached}
        if follows is None or follows >= seq:
            return found
        reached = follows
    return found | {each for each in seqs if each <= reached}


def _followed(link: Link) -> int | UUID | None:
    """The seq of the message that it follows, or the id of a missing one; None if it begins a thread."""
    return link.parent_id if link.is_broken else link.follows


def _families(db: OrmSession, flow_id: UUID, session_id: str, page: Sequence[Link]) -> dict[int | UUID, set[int]]:
    """For each message that one of the page follows, the seqs of its followers: messages that name it, or a question of
    the turn that it ends, and those next to it in the session and in its run."""
    seqs = {link.follows for link in page if link.follows is not None}
    followed = threads.neighbors(db, flow_id, session_id, seqs)
    ends = [each.link for each in followed if each.next_in_run is None]
    questions = threads.questions_before(db, ends, reach=LONGEST_TURN, limit=MOST_CHILDREN)
    missing = [link.parent_id for link in page if link.is_broken and link.parent_id is not None]
    named = {*questions, *missing, *(each.link.id for each in followed)}
    beside = {seq for each in followed for seq in (each.newer, each.next_in_run) if seq is not None}
    families: dict[int | UUID, set[int]] = defaultdict(set)
    for link in (
        *page,
        *threads.children(db, flow_id, session_id, named, limit=MOST_CHILDREN),
        *threads.links_at(db, flow_id, session_id, beside),
    ):
        key = _followed(link)
        if key is not None:
            families[key].add(link.seq)
    return families
