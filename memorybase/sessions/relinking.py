"""Relinks threads over a message that is deleted, so that none ends there.

What followed the message then follows what the message followed: messages that name it as their parent, and messages
that follow it by the rule of `queries.threads`. The caller holds the session's lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.conversation.history.session_reader import LONGEST_TURN
from memorybase.database import batches
from memorybase.models import Message
from memorybase.queries import threads
from memorybase.queries.threads import Neighbors

MOST_QUESTIONS = 5_000  # at most so many that follow the end of one turn are relinked


@dataclass(frozen=True, slots=True)
class Bypass:
    """How threads go around a message that is about to be deleted.

    follows      id of what is followed in its place; None: a thread begins
    turn_end     id of what questions follow that name it, if that is another message
    dependents   seqs of the messages that follow it without naming it
    first_link   seq of the first message of the session that names a parent
    """

    message: Message
    follows: UUID | None
    turn_end: UUID | None
    dependents: tuple[int, ...]
    next_in_run: int | None
    first_link: int | None

    @property
    def follows_id(self) -> UUID | None:
        """What a message follows that names the deleted one later."""
        return self.turn_end or self.follows


def find_bypass(db: OrmSession, message: Message) -> Bypass:
    """How threads go around the message; before its deletion."""
    where = (db, message.flow_id, message.session_id)
    (beside,) = threads.neighbors(*where, [message.seq])
    link = beside.link
    end = threads.last_of_run(*where, message.run_id) if message.role == "user" else None
    seqs = {seq for seq in (link.follows, end) if seq is not None and seq != message.seq}
    ids = {each.seq: each.id for each in threads.links_at(*where, seqs)}
    first_link = threads.first_link(*where)
    return Bypass(
        message=message,
        follows=link.parent_id if link.is_broken else ids.get(link.follows or 0),
        turn_end=ids.get(end or 0),
        dependents=() if first_link is None else _dependents(db, message, beside),
        next_in_run=beside.next_in_run,
        first_link=first_link,
    )


def _dependents(db: OrmSession, message: Message, beside: Neighbors) -> tuple[int, ...]:
    """The messages that follow this one without naming it: the next ones, and questions that name the turn it ends."""
    where = (db, message.flow_id, message.session_id)
    named: list[UUID] = []
    if beside.next_in_run is None:
        named = threads.questions_before(db, [beside.link], reach=LONGEST_TURN, limit=MOST_QUESTIONS)
    next_ones = {seq for seq in (beside.newer, beside.next_in_run) if seq is not None}
    candidates = [*threads.links_at(*where, next_ones), *threads.children(*where, named, limit=MOST_QUESTIONS)]
    found = {link.seq for link in candidates if link.follows == message.seq and link.parent_id != message.id}
    return tuple(sorted(found))


def relink(db: OrmSession, bypass: Bypass) -> None:
    """Lead threads around the message; after its deletion."""
    message = bypass.message
    if bypass.first_link is None:
        if message.parent_rule is not None and bypass.next_in_run is not None:
            _update(db, message, {"parent_rule": message.parent_rule}, Message.seq == bypass.next_in_run)
        return  # no message names a parent: the order of the session is the thread
    named = Message.parent_message_id == message.id
    if bypass.turn_end is not None:
        is_question = (Message.role == "user", Message.run_id != message.run_id)
        _set(db, message, bypass.turn_end, named, *is_question, Message.parent_rule.is_distinct_from("exact"))
    _set(db, message, bypass.follows, named)
    _relink_dependents(db, bypass)
    _keep_beginnings(db, bypass)


def _relink_dependents(db: OrmSession, bypass: Bypass) -> None:
    """Messages that follow another one now, or that would, name the one that they should follow."""
    message = bypass.message
    where = (db, message.flow_id, message.session_id)
    target = None if bypass.follows is None else threads.seq_of(*where, bypass.follows)
    seqs = [
        link.seq
        for link in threads.links_at(*where, bypass.dependents)
        if link.follows != target or message.parent_message_id is not None
        # A message before the first that names a parent must not become the first itself.
        if link.parent_id is not None or target is None or link.seq >= (bypass.first_link or 0)
    ]
    for some in batches.pages(seqs):
        _set(db, message, bypass.follows, Message.seq.in_(some))


def _keep_beginnings(db: OrmSession, bypass: Bypass) -> None:
    """If the first message that named a parent no longer does, runs that began a thread after it still do so."""
    message = bypass.message
    first_link = threads.first_link(db, message.flow_id, message.session_id)
    if first_link == bypass.first_link:
        return
    earlier = aliased(Message)
    is_first = ~sa.exists().where(earlier.run_id == Message.run_id, earlier.seq < Message.seq)
    began = Message.seq > bypass.first_link
    if first_link is None:
        began = sa.or_(began, Message.parent_rule == "linked")
    else:
        began = sa.and_(began, Message.seq < first_link)
    _set(db, message, None, began, Message.parent_message_id.is_(None), is_first)


def _set(db: OrmSession, message: Message, parent_id: UUID | None, *which: sa.ColumnElement[bool]) -> None:
    """Let these messages of the session follow a message, or begin a thread."""
    values = {"parent_message_id": parent_id, "parent_rule": "none" if parent_id is None else "exact"}
    _update(db, message, values, *which)


def _update(db: OrmSession, message: Message, values: Mapping[str, object], *which: sa.ColumnElement[bool]) -> None:
    in_session = (Message.flow_id == message.flow_id, Message.session_id == message.session_id)
    db.execute(
        sa.update(Message).where(*in_session, *which).values(**values).execution_options(synchronize_session=False)
    )
