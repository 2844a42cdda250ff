"""The text filter of a list: every word is in the session or run, or its id, title or end user contains the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.batches import is_among
from memorybase.core.models import Flow, Message, Posting, Run, Session
from memorybase.core.queries import keyword_index, posting_blocks
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, own_flow

NAMES = (Session.session_id, Session.end_user_id, Session.meta["title"].as_string())

MAX_FLOWS = 1_000  # newest flows whose messages are searched for the words
RARE = 2_000  # up to this number of messages, a word's sessions are looked up; beyond it sessions are looked through


Keys = Sequence[tuple[UUID, tuple[tuple[int, ...], ...]]]  # of each flow, the keys of each word


@dataclass(frozen=True, slots=True)
class TextFilter:
    """`positions`: of messages with the rarest word. `sessions`: those with the text in their id, title or end user.
    None: too many."""

    text: str
    keys: Keys
    positions: Sequence[int] | None
    sessions: Sequence[UUID] | None

    @property
    def is_bounded(self) -> bool:
        """Whether all that match are looked up; else rows are looked through."""
        return self.positions is not None and self.sessions is not None

    def for_sessions(self, db: OrmSession) -> sa.ColumnElement[bool]:
        by_id = contains(self.text, *NAMES)
        if self.sessions is not None:
            by_id = Session.id.in_(self.sessions)
        of_positions = sa.select(Session.id).join(Message, MESSAGE_OF_SESSION)
        return sa.or_(by_id, self._has_words(db, Session, _session_has, of_positions))

    def for_runs(self, db: OrmSession) -> sa.ColumnElement[bool]:
        by_id = contains(self.text, Run.session_id)
        if self.sessions is not None:
            of_sessions = sa.select(Run.id).where(Run.session_uuid.in_(self.sessions))
            named = sa.select(Run.id).where(
                Run.flow_id.in_([flow_id for flow_id, _ in self.keys]), Run.external_id == self.text
            )
            by_id = Run.id.in_({*db.scalars(of_sessions), *db.scalars(named)})
        return sa.or_(by_id, self._has_words(db, Run, _run_has, sa.select(Message.run_id)))

    def _has_words(
        self,
        db: OrmSession,
        table: type[Session | Run],
        has: Callable[[sa.ColumnElement[bool]], sa.ColumnElement[bool]],
        of_positions: sa.Select[UUID],
    ) -> sa.ColumnElement[bool]:
        forms = [len(keys) for keys in self.keys[0][1]] if self.keys else []
        words = len(forms)
        if not words or self.positions == []:
            return sa.false()
        names = [f"k{word}_{form}" for word, count in enumerate(forms) for form in range(count)]
        columns = [sa.column("flow_id", Flow.id.type), *(sa.column(name, sa.BigInteger()) for name in names)]
        rows = [(flow_id, *(key for keys in of_words for key in keys)) for flow_id, of_words in self.keys]
        of_flows = sa.values(*columns).data(rows).cte("words")
        conditions: list[sa.ColumnElement[bool]] = [
            has(_has_key(of_flows, table, [f"k{word}_{form}" for form in range(count)]))
            for word, count in enumerate(forms)
        ]
        if self.positions is not None:
            with_rarest = of_positions.where(is_among(Message.position, "positions"))
            found = db.scalars(with_rarest, {"positions": self.positions})
            conditions = [table.id.in_(set(found)), *(conditions if words > 1 else [])]
        return sa.and_(*conditions)


def _has_key(of_flows: sa.CTE, table: type[Session | Run], names: Sequence[str]) -> sa.ColumnElement[bool]:
    """Whether a posting has one of the keys of a word in the row's flow.

    Flows are not joined: with statistics SQLite takes them for a million rows and reads all postings and messages.
    """
    of_flow = [sa.select(of_flows.c[name]).where(of_flows.c.flow_id == table.flow_id) for name in names]
    keys = [key.correlate(table).scalar_subquery() for key in of_flow]
    return Posting.term == keys[0] if len(keys) == 1 else Posting.term.in_(keys)


def _session_has(is_key: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    first, last = Session.first_position + 1, Session.first_position + Session.last_seq
    rows = sa.select(Posting.position).where(is_key).correlate(Session)
    in_blocks = Posting.position.between(posting_blocks.key(last), posting_blocks.key(first))
    return sa.or_(rows.where(Posting.position.between(first, last)).exists(), rows.where(in_blocks).exists())


def _run_has(is_key: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    has_term = keyword_index.has_term(is_key, Message.position, Message, Run)
    return sa.select(Message.id).where(Message.run_id == Run.id, has_term).correlate(Run).exists()


def read_filter(
    db: OrmSession,
    user_id: UUID,
    flow_id: UUID | None,
    text: str,
    keys: Keys,
) -> TextFilter:
    """The filter for the user's flows, or for one."""
    rarest = rarest_positions(db, keys)
    sessions = _sessions(db, user_id, flow_id, text)
    return TextFilter(text, keys, rarest, sessions if len(sessions) <= RARE else None)


def rarest_positions(db: OrmSession, keys: Keys) -> Sequence[int] | None:
    """The positions of messages with the rarest of the words; None if they are too many."""
    found: list[list[int]] = []
    for forms in zip(*(of_flow for _, of_flow in keys), strict=True):  # of one word, by flow
        most_forms = max(len(of_flow) for of_flow in forms)
        terms = [key for of_flow in forms for key in of_flow]
        found.append(keyword_index.positions_of(db, terms, forms=most_forms, most=RARE))
    rarest = min(found, key=len, default=[])
    return rarest if len(rarest) <= RARE else None


def flows_to_filter(db: OrmSession, user_id: UUID) -> Sequence[UUID]:
    """The user's newest flows, whose messages are looked through for the words."""
    own = sa.select(Flow.id).where(own_flow(user_id))
    return db.scalars(own.order_by(Flow.created_at.desc(), Flow.id).limit(MAX_FLOWS)).all()


def _sessions(db: OrmSession, user_id: UUID, flow_id: UUID | None, text: str) -> Sequence[UUID]:
    """Sessions with the text in their id, title or end user, at most one more than RARE."""
    own = sa.select(Session.id).join(Flow, Flow.id == Session.flow_id)
    own = own.where(Flow.user_id == user_id, contains(text, *NAMES))
    if flow_id is not None:
        own = own.where(Session.flow_id == flow_id)
    return db.scalars(own.limit(RARE + 1)).all()


def contains(text: str, *columns: sa.ColumnElement[Any] | InstrumentedAttribute[Any]) -> sa.ColumnElement[bool]:
    return sa.or_(*(column.icontains(text, autoescape=True) for column in columns))
