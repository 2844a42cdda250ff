"""Whether a session's or a run's messages can be found by meaning, in all memory bases of its flow together."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from memorybase.models import (
    Capture,
    DeadLetter,
    Generation,
    MemoryBase,
    Message,
    Run,
    Session,
    SessionProgress,
)

Base = MemoryBase
Progress = SessionProgress
Condition = sa.ColumnElement[bool]


class SearchState(StrEnum):
    """The worst state in any memory base. Messages that wait or are being ingested are found by their words.

    What a memory base that is off lacks does not count while another one of the flow is on.
    lost: the memory base has lost vectors, perhaps theirs.
    """

    NO_MEMORY = "no_memory"
    SEARCHABLE = "searchable"
    WAITING = "waiting"
    INGESTING = "ingesting"
    FAILED = "failed"
    LOST = "lost"


# In SQL a state is its rank here, so that `max` gives the worst one.
RANKED = tuple(SearchState)


# Few rows can be in these states, and indexes lead to them.
FEW = frozenset({SearchState.LOST, SearchState.FAILED, SearchState.INGESTING})


def may_be(state: SearchState, table: type[Session | Run]) -> list[Condition]:
    """What an index answers: all rows in one of the FEW states match, and not many others."""
    if state == SearchState.LOST:
        return [table.flow_id.in_(sa.select(Base.flow_id).where(Base.mismatch.is_(True)))]
    sessions = sa.select(Progress.flow_id, Progress.session_id)
    key = sa.tuple_(table.flow_id, table.session_id)
    if state == SearchState.FAILED:
        dead = sessions.join(DeadLetter, DeadLetter.progress_id == Progress.id).where(DeadLetter.state == "dead")
        return [key.in_(dead)]
    if state == SearchState.INGESTING:
        # Each is the condition of a partial index.
        planned = sessions.where(Progress.target_seq > Progress.cursor_seq)
        edited = sessions.where(Progress.dirty > Progress.repaired)
        rebuilt = sa.select(Base.flow_id).where(Base.building.is_not(None))
        return [sa.or_(key.in_(planned), key.in_(edited), table.flow_id.in_(rebuilt))]
    return []


def is_awaited() -> Condition:
    """Whether what a memory base lacks waits for it: not if it is off while another one of its flow is on."""
    other = sa.orm.aliased(Base)
    is_on = sa.and_(other.flow_id == Base.flow_id, other.auto_capture.is_(True), other.deleting_at.is_(None))
    return sa.or_(Base.auto_capture.is_(True), ~sa.exists().where(is_on).correlate(Base))


def session_state() -> sa.ColumnElement[int]:
    """The rank of the state of a row of `sessions`."""
    of_session = sa.and_(Message.flow_id == Session.flow_id, Message.session_id == Session.session_id)
    # A session that is not behind costs one look at its progress.
    pending = sa.and_(Session.last_seq > _cursor(), _any_message(of_session, Message.seq > _cursor()))
    failed = sa.exists().where(DeadLetter.progress_id == Progress.id, DeadLetter.state == "dead")
    return _worst(
        Session,
        excluded=Session.last_seq <= sa.func.coalesce(Progress.start_seq, 0),
        failed=failed.correlate(Progress),
        pending=pending,
        planned=Progress.target_seq > Progress.cursor_seq,
    )


def run_state() -> sa.ColumnElement[int]:
    """The rank of the state of a row of `runs`."""
    of_run = Message.run_id == Run.id
    newest = sa.select(sa.func.max(Message.seq)).where(of_run).correlate(Run).scalar_subquery()
    failed = sa.exists().where(
        DeadLetter.progress_id == Progress.id, DeadLetter.state == "dead", DeadLetter.message_id == Message.id, of_run
    )
    planned = _any_message(of_run, Message.seq > _cursor(), Message.seq <= sa.func.coalesce(Progress.target_seq, 0))
    return _worst(
        Run,
        excluded=newest <= sa.func.coalesce(Progress.start_seq, 0),
        failed=failed.correlate(Progress, Run),
        pending=_any_message(of_run, Message.seq > _cursor()),
        planned=planned,
    )


def _worst(
    table: type[Session | Run], *, excluded: Condition, failed: Condition, pending: Condition, planned: Condition
) -> sa.ColumnElement[int]:
    """`excluded`: a memory base that starts later; `planned`: what is pending is due."""
    rank: dict[SearchState, sa.ColumnElement[int]] = {
        state: sa.literal_column(str(RANKED.index(state)), sa.Integer()) for state in RANKED
    }
    states = sa.case(
        (excluded, sa.null()),
        (failed, rank[SearchState.FAILED]),
        (Progress.dirty > Progress.repaired, rank[SearchState.INGESTING]),
        (sa.and_(sa.not_(pending), Base.mismatch.is_(True)), rank[SearchState.LOST]),
        (sa.not_(pending), rank[SearchState.SEARCHABLE]),
        (sa.or_(planned, Base.building.is_not(None)), rank[SearchState.INGESTING]),
        (~is_awaited(), sa.null()),
        else_=rank[SearchState.WAITING],
    )
    served = sa.and_(
        Progress.memory_base_id == Base.id,
        Progress.session_id == table.session_id,
        Progress.generation == Base.serving,
    )
    worst = (
        sa.select(sa.func.max(states))
        .select_from(Base)
        .join(Generation, sa.and_(Generation.memory_base_id == Base.id, Generation.generation == Base.serving))
        .outerjoin(Progress, served)
        .where(Base.flow_id == table.flow_id, Base.deleting_at.is_(None))
        .correlate(table)
    )
    return sa.func.coalesce(worst.scalar_subquery(), 0)


def _cursor() -> sa.ColumnElement[int]:
    return sa.func.coalesce(Progress.cursor_seq, 0)


def _any_message(*conditions: Condition) -> Condition:
    """Whether any message counts for the generation."""
    counted = sa.case((Generation.capture == Capture.OUTPUTS, Message.is_output), else_=Message.is_dialogue)
    found = sa.select(Message.id).where(*conditions, counted == sa.true())
    return found.correlate(Session, Run, Progress, Generation).exists()
