"""Statements of the keyword index: postings, speakers, and the counts for scores. Exact after every commit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import engine
from memorybase.core.database.batches import delete_page, is_among, pages
from memorybase.core.database.upsert import core, insert, rows_affected
from memorybase.core.models import Posting, Session, Speaker, SpokenLanguage
from memorybase.core.queries import posting_blocks
from memorybase.core.queries.sessions import SessionRow

INSERT_PAGE = 2_000  # rows in one statement
SESSIONS_PAGE = 200

_Table = Posting.__table__.c  # without the mapped class: a search reads thousands of these rows
# Passed to SQLite's driver directly: numbers need no conversion, and checking for one takes as long as inserting.
_INSERT_ROWS = "INSERT INTO postings (term, position, times) VALUES (?, ?, ?)"
# On PostgreSQL three arrays cost the process a third of what hundreds of rows do.
_ARRAYS = sa.func.unnest(
    sa.bindparam("terms", type_=sa.ARRAY(_Table.term.type)),
    sa.bindparam("positions", type_=sa.ARRAY(_Table.position.type)),
    sa.bindparam("times", type_=sa.ARRAY(_Table.times.type)),
)
_COLUMNS = ("term", "position", "times")
_INSERT_ARRAYS = sa.insert(core(Posting)).from_select(
    _COLUMNS, sa.select(_ARRAYS.table_valued(*_COLUMNS).render_derived())
)


class Occurrences(NamedTuple):
    """Positions of a term and its number of occurrences at each, ordered by position."""

    positions: NDArray[np.int64]
    times: NDArray[np.float64]


NOWHERE = Occurrences(np.empty(0, dtype=np.int64), np.empty(0))


Range = tuple[int, int]  # the first and the last position of a session
Postings = sa.CompoundSelect[int, str, str | None]


class Collected(NamedTuple):
    """The size of a flow's index."""

    sessions: int
    documents: int
    terms: int


class Waiting(NamedTuple):
    """The amount that is indexed in another way than the setting and this version say."""

    sessions: int
    documents: int


_LANGUAGES = (
    sa.select(SpokenLanguage.language)
    .distinct()
    .where(SpokenLanguage.flow_id.in_(sa.bindparam("flows", expanding=True)))
)

_COLLECTED = sa.select(
    sa.func.count(),
    sa.func.coalesce(sa.func.sum(Session.documents), 0),
    sa.func.coalesce(sa.func.sum(Session.terms), 0),
).where(Session.flow_id == sa.bindparam("flow"), Session.documents > 0)


def add(db: OrmSession, postings: Sequence[tuple[int, int, int]]) -> None:
    """Add postings: (term's key, position, times)."""
    connection = engine.connection(db)
    in_arrays = connection.dialect.name == "postgresql"
    for start in range(0, len(postings), INSERT_PAGE):
        page = postings[start : start + INSERT_PAGE]
        if in_arrays:
            terms, positions, times = map(list, zip(*page, strict=True))
            connection.execute(_INSERT_ARRAYS, {"terms": terms, "positions": positions, "times": times})
        else:
            connection.exec_driver_sql(_INSERT_ROWS, list(page))


def remove(db: OrmSession, position: int) -> None:
    _remove(db, position, position)


def remove_positions(db: OrmSession, session: SessionRow, first: int, last: int) -> None:
    """Remove the postings of a session's messages from one seq to another."""
    _remove(db, session.first_position + first, session.first_position + last)


def _remove(db: OrmSession, first: int, last: int) -> None:
    postings = sa.delete(Posting).where(Posting.position.between(first, last))
    # Else SQLAlchemy would read each row back, to look for it in the session: half of the time of a deletion.
    db.execute(postings.execution_options(synchronize_session=False))
    posting_blocks.remove(db, first, last)


def remove_rows(db: OrmSession, session: SessionRow, *, limit: int) -> int:
    """Remove up to `limit` rows of the postings and speakers of a session that nobody reads any more, with all rows of
    the last message. Returns the number removed."""
    first, last = session.first_position + 1, session.first_position + session.last_seq
    in_blocks = Posting.position.between(posting_blocks.key(last), posting_blocks.key(first))
    removed = _remove_singles(db, first, last, limit=limit)
    for table, which in ((Posting, in_blocks), (Speaker, Speaker.session_uuid == session.id)):
        if removed < limit:
            removed += delete_page(db, table, which, limit=limit - removed)
    return removed


def _remove_singles(db: OrmSession, first: int, last: int, *, limit: int) -> int:
    """Remove by a range of the index, which takes a tenth of the time of single rows."""
    of_range = sa.select(Posting.position).where(Posting.position.between(first, last)).order_by(Posting.position)
    bound = db.scalar(of_range.offset(limit - 1).limit(1))
    some = sa.delete(Posting).where(Posting.position.between(first, last if bound is None else bound))
    return rows_affected(db, some.execution_options(synchronize_session=False))


def add_speakers(db: OrmSession, session: SessionRow, names: Collection[str]) -> None:
    if names:
        db.execute(
            insert(db, Speaker).on_conflict_do_nothing(),
            [{"flow_id": session.flow_id, "name": name, "session_uuid": session.id} for name in sorted(names)],
        )


def add_languages(db: OrmSession, flow_id: UUID, codes: Collection[str]) -> None:
    if codes:
        db.execute(
            insert(db, SpokenLanguage).on_conflict_do_nothing(),
            [{"flow_id": flow_id, "language": code} for code in sorted(codes)],
        )


def languages_of(db: OrmSession, flows: Collection[UUID]) -> set[str]:
    """The codes of the languages that occur in these flows, of those that one word does not show."""
    return {code for some in pages(list(flows)) for code in engine.connection(db).scalars(_LANGUAGES, {"flows": some})}


def speakers_among(db: OrmSession, flow_id: UUID, words: Collection[str]) -> set[str]:
    """The words that name a speaker of the flow."""
    ordered = sorted(words)
    if not ordered:
        return set()
    parameters = {"flow": flow_id} | {f"word_{number}": word for number, word in enumerate(ordered)}
    row = engine.connection(db).execute(_are_speakers(len(ordered)), parameters).one()
    return {word for word, is_speaker in zip(ordered, row, strict=True) if is_speaker}


@lru_cache
def _are_speakers(words: int) -> sa.Executable:
    """Whether each word is a speaker: one EXISTS each, because a name may have any number of rows."""
    flow = Speaker.flow_id == sa.bindparam("flow", type_=Speaker.flow_id.type)
    return sa.select(*(sa.exists().where(flow, Speaker.name == sa.bindparam(f"word_{n}")) for n in range(words)))


def collected(db: OrmSession, flow_id: UUID) -> Collected:
    row = engine.connection(db).execute(_COLLECTED, {"flow": flow_id}).one()
    return Collected(*(int(value) for value in row))


def counts(db: OrmSession, terms: Collection[int]) -> dict[int, int]:
    """Number of messages with each term."""
    rows = engine.connection(db).execute(_COUNTS, {"terms": terms})
    return dict.fromkeys(terms, 0) | {row[0]: int(row[1]) for row in rows}


def known(db: OrmSession, terms: Collection[int]) -> set[int]:
    """Which of the terms occur, by one row of the index for each."""
    connection = engine.connection(db)
    statement = _known(connection.dialect.name)
    return {term for some in pages(terms) for term in connection.scalars(statement, {"terms": some})}


@lru_cache
def _known(dialect: str) -> sa.Executable:
    given: sa.FromClause
    if dialect == "postgresql":
        terms = sa.bindparam("terms", type_=sa.ARRAY(_Table.term.type))
        given = sa.func.unnest(terms).table_valued("value").render_derived()
    else:
        given = sa.func.json_each(sa.bindparam("terms", type_=sa.JSON)).table_valued("value")
    # With a limit, PostgreSQL cannot turn it into a join that reads the whole table.
    first = sa.select(sa.literal(1)).where(_Table.term == given.c.value).limit(1).scalar_subquery()
    return sa.select(given.c.value).where(first.is_not(None))


def occurrences(
    db: OrmSession, terms: Collection[int], within: Sequence[Range] | None = None
) -> dict[int, Occurrences]:
    """The terms' postings, in all sessions or within the ranges of some."""
    statement = _anywhere(limited=False) if within is None else _within(len(within))
    bounds = {name: bound for number, each in enumerate(within or ()) for name, bound in _bounds(number, each).items()}
    return _occurrences(db, statement, terms, bounds)


def some_occurrences(db: OrmSession, terms: Collection[int], *, limit: int) -> dict[int, Occurrences]:
    """At most `limit` of each term's postings."""
    some: dict[int, Occurrences] = {}
    for term in terms:  # a statement's limit is of all its terms together
        found = _occurrences(db, _anywhere(limited=True), [term], {"limit": limit})[term]
        some[term] = Occurrences(found.positions[:limit], found.times[:limit])
    return some


def occurrences_at(db: OrmSession, terms: Collection[int], positions: Collection[int]) -> dict[int, Occurrences]:
    """The terms' postings at these positions, and others in their blocks."""
    blocks = {posting_blocks.key(position) for position in positions}
    return _occurrences(db, _at_positions(), terms, {"positions": list(positions), "blocks": list(blocks)})


def positions_of(db: OrmSession, terms: Collection[int], *, forms: int, most: int) -> list[int]:
    """The positions with any of these terms; if there are more than `most`, a few more than that. `forms`: the number
    of the terms that a message may have."""
    limit = (most + 1) * forms  # of rows: this many rows have more than `most` positions
    found: set[int] = set()
    for some in pages(terms):
        for each in _occurrences(db, _anywhere(limited=True), some, {"limit": limit}).values():
            found.update(each.positions.tolist())
        if len(found) > most:
            break
    return sorted(found)


_OF_TERMS = _Table.term.in_(sa.bindparam("terms", expanding=True))
_IN_A_BLOCK = _Table.position < 0
_COUNTS = sa.select(_Table.term, sa.func.sum(posting_blocks.SIZE)).where(_OF_TERMS).group_by(_Table.term)


@lru_cache
def _anywhere(*, limited: bool) -> Postings:
    return _select(~_IN_A_BLOCK, _IN_A_BLOCK, limited=limited)


@lru_cache
def _at_positions() -> Postings:
    return _select(is_among(_Table.position, "positions"), is_among(_Table.position, "blocks"), limited=False)


@lru_cache
def _within(ranges: int) -> Postings:
    either = [sa.or_(sa.false(), *(_is_between(kind, number) for number in range(ranges))) for kind in ("row", "block")]
    return _select(*either, limited=False)


def _is_between(kind: str, number: int) -> sa.ColumnElement[bool]:
    low, high = (sa.bindparam(f"{kind}_{end}_{number}", type_=sa.BigInteger()) for end in ("low", "high"))
    return _Table.position.between(low, high)


def _bounds(number: int, within: Range) -> dict[str, int]:
    low, high = within
    blocks = {f"block_low_{number}": posting_blocks.key(high), f"block_high_{number}": posting_blocks.key(low)}
    return {f"row_low_{number}": low, f"row_high_{number}": high, **blocks}


def _select(of_rows: sa.ColumnElement[bool], of_blocks: sa.ColumnElement[bool], *, limited: bool) -> Postings:
    """Each term's single postings as one text of numbers, positions and times alternating (a third of the time of
    thousands of rows), and its blocks. In one statement, because the sweeper makes blocks of rows."""
    rows = sa.select(_Table.term, _Table.position, _Table.times).where(_OF_TERMS, of_rows)
    blocks = sa.select(_Table.term, sa.cast(_Table.position, sa.Text), _Table.packed).where(_OF_TERMS, of_blocks)
    if limited:
        limit = sa.bindparam("limit", type_=sa.Integer())
        rows, blocks = rows.limit(limit), blocks.limit(limit)
    read = rows.subquery().c
    pair = sa.cast(read.position, sa.Text) + sa.literal_column("' '", sa.Text) + sa.cast(read.times, sa.Text)
    texts = sa.select(read.term, sa.func.aggregate_strings(pair, " "), sa.cast(sa.null(), sa.Text))
    return sa.union_all(texts.group_by(read.term), sa.select(*blocks.subquery().c))


def _occurrences(
    db: OrmSession, statement: Postings, terms: Collection[int], parameters: Mapping[str, object]
) -> dict[int, Occurrences]:
    if not terms:
        return {}
    parts: dict[int, list[NDArray[np.int64]]] = {}
    blocks: dict[int, tuple[list[int], list[str]]] = {}
    for term, text, packed in engine.connection(db).execute(statement, {"terms": terms, **parameters}).all():
        if packed is None:
            parts.setdefault(term, []).append(np.fromstring(text, dtype=np.int64, sep=" ").reshape(-1, 2))
        else:
            keys, texts = blocks.setdefault(term, ([], []))
            keys.append(int(text))
            texts.append(packed)
    for term, (keys, texts) in blocks.items():
        parts.setdefault(term, []).append(posting_blocks.unpack(keys, texts))
    return dict.fromkeys(terms, NOWHERE) | {term: _sorted(np.concatenate(of_term)) for term, of_term in parts.items()}


def _sorted(postings: NDArray[np.int64]) -> Occurrences:
    """In the order of their positions, because an aggregate has no guaranteed order."""
    positions, times = postings[np.argsort(postings[:, 0])].T
    return Occurrences(positions, times.astype(np.float64))


def has_term(
    is_key: sa.ColumnElement[bool], position: sa.SQLColumnExpression[int], *tables: type[Any]
) -> sa.ColumnElement[bool]:
    """Whether a posting with such a key is at the position of these tables' row, by itself or in a block."""
    keys = sa.select(_Table.position).where(is_key).correlate(*tables)
    return sa.or_(
        keys.where(_Table.position == position).exists(), keys.where(posting_blocks.contains(position)).exists()
    )


def in_other_way(db: OrmSession, label: str) -> Waiting:
    counts = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(Session.documents), 0))
    row = db.execute(counts.where(_is_in_other_way(label))).one()
    return Waiting(*(int(value) for value in row))


def sessions_in_other_way(db: OrmSession, label: str, *, after: UUID | None) -> list[tuple[UUID, UUID, str]]:
    """A page of them, ordered by id: (id, flow's id, session id)."""
    beyond = [] if after is None else [Session.id > after]
    rows = db.execute(
        sa.select(Session.id, Session.flow_id, Session.session_id)
        .where(_is_in_other_way(label), *beyond)
        .order_by(Session.id)
        .limit(SESSIONS_PAGE)
    )
    return [(progress_id, flow_id, session_id) for progress_id, flow_id, session_id in rows]


def _is_in_other_way(label: str) -> sa.ColumnElement[bool]:
    """By `labels.is_of`."""
    stored = Session.keyword_language
    return sa.and_(Session.documents > 0, sa.or_(stored.is_(None), ~(stored + " ").startswith(f"{label} ")))


def ranges_of(
    db: OrmSession, flow_id: UUID, *, session_id: str | None, end_user_id: str | None, at_most: int
) -> list[tuple[int, int]] | None:
    """The ranges of positions of a session or an end user's sessions; None if there are more than `at_most`."""
    conditions = [Session.flow_id == flow_id]
    if session_id is not None:
        conditions.append(Session.session_id == session_id)
    if end_user_id is not None:
        conditions.append(Session.end_user_id == end_user_id)
    rows = (
        engine.connection(db)
        .execute(sa.select(Session.first_position, Session.last_seq).where(*conditions).limit(at_most + 1))
        .all()
    )
    return [(first + 1, first + last) for first, last in rows] if len(rows) <= at_most else None
