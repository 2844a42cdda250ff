"""Relinks threads over a message that is deleted, so that none ends there.

What followed the message then follows what the message followed: messages that name it as their parent, and messages
that follow it by the rule of `queries.threads`. The caller holds the session's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.history.session_reader import LONGEST_TURN
from memorybase.core.database import batches
from memorybase.core.models import Message, RestorableMessage
from memorybase.core.queries import deleted_messages, messages, restorable_messages, threads
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.queries.threads import Condition, Neighbors

MOST_QUESTIONS = 5_000  # messages after the end of one turn that are relinked at most


@dataclass(frozen=True, slots=True)
class Bypass:
    """How threads go around a message that is about to be deleted.

    follows      id of the message that is followed instead; None: a thread begins
    turn_end     id of the message that questions follow that name it, if that is another one
    dependents   seqs of the messages that follow it without naming it
    first_link   seq of the first message of the session that names a parent
    before       parent and rule of each message that was relinked, as they were
    """

    message: Message
    follows: UUID | None
    turn_end: UUID | None
    dependents: tuple[int, ...]
    next_in_run: int | None
    first_link: int | None
    before: dict[UUID, tuple[UUID | None, str | None]] = field(default_factory=dict)

    @property
    def follows_id(self) -> UUID | None:
        """The id of the message that is followed by messages that name the deleted one later."""
        return self.turn_end or self.follows


def find_bypass(db: OrmSession, message: Message) -> Bypass:
    """Find how threads go around the message; before its deletion."""
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


def relink(db: OrmSession, bypass: Bypass) -> list[Any]:
    """Lead threads around the message; after its deletion. Returns the changes as JSON, for `restore`."""
    _relink(db, bypass)
    after = threads.parents_of(db, bypass.message.flow_id, bypass.before)
    return [_change(row_id, *bypass.before[row_id], *after[row_id]) for row_id in bypass.before if row_id in after]


def _relink(db: OrmSession, bypass: Bypass) -> None:
    message = bypass.message
    if bypass.first_link is None:
        if message.parent_rule is not None and bypass.next_in_run is not None:
            _update(db, bypass, {"parent_rule": message.parent_rule}, threads.is_at(bypass.next_in_run))
        return  # no message names a parent: the order of the session is the thread
    if bypass.turn_end is not None:
        _set(db, bypass, bypass.turn_end, threads.follows_turn_of(message))
    _set(db, bypass, bypass.follows, threads.names(message))
    _relink_dependents(db, bypass)
    _keep_beginnings(db, bypass)


def _relink_dependents(db: OrmSession, bypass: Bypass) -> None:
    """Set the parent of messages whose predecessor has changed or was deleted."""
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
        _set(db, bypass, bypass.follows, threads.is_at(*some))


def _keep_beginnings(db: OrmSession, bypass: Bypass) -> None:
    """If the first message that named a parent no longer does, runs that began a thread after it still do so."""
    message = bypass.message
    first_link = threads.first_link(db, message.flow_id, message.session_id)
    if bypass.first_link is not None and first_link != bypass.first_link:
        _set(db, bypass, None, threads.began_between(bypass.first_link, first_link))


def _set(db: OrmSession, bypass: Bypass, parent_id: UUID | None, which: Condition) -> None:
    """Let these messages of the session follow a message, or begin a thread."""
    values = {"parent_message_id": parent_id, "parent_rule": "none" if parent_id is None else "exact"}
    _update(db, bypass, values, which)


def _update(db: OrmSession, bypass: Bypass, values: Mapping[str, object], which: Condition) -> None:
    replaced = threads.set_parents(db, bypass.message.flow_id, bypass.message.session_id, values, which)
    for row_id, link in replaced.items():
        bypass.before.setdefault(row_id, link)


def _change(
    row_id: UUID, parent: UUID | None, rule: str | None, new_parent: UUID | None, new_rule: str | None
) -> list[str | None]:
    return [str(row_id), _text(parent), rule, _text(new_parent), new_rule]


def _text(row_id: UUID | None) -> str | None:
    return None if row_id is None else str(row_id)


def parent_of_restored(db: OrmSession, session: SessionRow, kept: RestorableMessage) -> tuple[UUID | None, str | None]:
    """The parent and the rule of a message that is being restored. If its parent is still deleted, it follows what is
    followed in that one's place, and the parent's own restoration puts it back."""
    parent, rule = _uuid(kept.message["parent_message_id"]), kept.message["parent_rule"]
    if parent is None or messages.present(db, session.flow_id, [parent]):
        return parent, rule
    follows = deleted_messages.followed_instead(db, session, [parent])
    if parent not in follows:
        return parent, rule
    deleted = _Deleted(db, session)
    waiting = deleted.copy(parent)
    instead = follows[parent]
    if waiting is not None and not _names_turn(kept, waiting):
        instead = deleted.left_of(waiting.follows_id)
    link = instead, "none" if instead is None else "exact"
    if waiting is not None:
        waiting.links = [*waiting.links, _change(kept.message_id, parent, rule, *link)]
    return link


def _names_turn(kept: RestorableMessage, parent: RestorableMessage) -> bool:
    """Whether the message follows the whole turn of the question that it names: see `threads`."""
    child, named = kept.message, parent.message
    is_question = child["role"] == named["role"] == "user" and child["run_id"] != named["run_id"]
    return bool(is_question and child["parent_rule"] != "exact")


def restore(db: OrmSession, session: SessionRow, kept: RestorableMessage) -> None:
    """Put back what `relink` changed, after the message is stored again. A message that follows another one by now
    stays where it is; one that is deleted itself gets its link with its own restoration."""
    ids = [UUID(change[0]) for change in kept.links]
    links = threads.parents_of(db, session.flow_id, ids)
    deleted = _Deleted(db, session)
    deleted.read(each for change in kept.links for each in (change[0], change[3]))
    for row_id, change in zip(ids, kept.links, strict=True):
        parent, rule, set_by_deletions = _uuid(change[1]), change[2], deleted.link_of(row_id, change)
        copy = None if row_id in links else deleted.copy(row_id)
        if copy is not None:
            if (_uuid(copy.message["parent_message_id"]), copy.message["parent_rule"]) == set_by_deletions:
                copy.message = {**copy.message, "parent_message_id": change[1], "parent_rule": rule}
        elif links.get(row_id) == set_by_deletions:
            threads.set_parent(db, session.flow_id, row_id, parent, rule)


class _Deleted:
    """The deleted messages of a session that can be restored, each read once and many at a time."""

    def __init__(self, db: OrmSession, session: SessionRow) -> None:
        self._db, self._session = db, session
        self._copies: dict[UUID, RestorableMessage | None] = {}

    def read(self, given: Iterable[str | None]) -> None:
        """Read these messages, and then those that their links lead to, a step of all links at a time."""
        wanted = {UUID(each) for each in given if each is not None} - self._copies.keys()
        while wanted:
            found = restorable_messages.of_ids(self._db, self._session, wanted)
            self._copies |= {each: found.get(each) for each in wanted}
            following = {_uuid(link[3]) for copy in found.values() for link in copy.links}
            following |= {copy.follows_id for copy in found.values()}
            wanted = {each for each in following if each is not None} - self._copies.keys()

    def copy(self, row_id: UUID) -> RestorableMessage | None:
        self.read([str(row_id)])
        return self._copies[row_id]

    def link_of(self, row_id: UUID, change: Sequence[str | None]) -> tuple[UUID | None, str | None]:
        """The parent and rule that a message has since this change, by the deletions of what it followed then."""
        parent, rule = _uuid(change[3]), change[4]
        while parent is not None and (copy := self.copy(parent)) is not None:
            later = next((each for each in copy.links if (each[0], each[1]) == (str(row_id), str(parent))), None)
            if later is None:
                break
            parent, rule = _uuid(later[3]), later[4]
        return parent, rule

    def left_of(self, row_id: UUID | None) -> UUID | None:
        """This message or, if it was deleted, the one that it followed."""
        while row_id is not None and (copy := self.copy(row_id)) is not None:
            row_id = copy.follows_id
        if row_id is None:
            return None
        return deleted_messages.followed_instead(self._db, self._session, [row_id]).get(row_id, row_id)


def _uuid(value: str | None) -> UUID | None:
    return None if value is None else UUID(value)
