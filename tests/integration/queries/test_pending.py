"""What a memory base counts, and which of that is pending or due: in SQL, for one capture and for that of each row."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.models import Capture, Generation, MemoryBase, Message, SessionProgress
from memorybase.core.queries.joins import SERVES, key_of, serving_progress
from memorybase.core.queries.pending import CURSOR, SESSION_IS_DUE, TARGET, by_capture, is_counted, is_due, is_pending

RUN = (
    {"role": "system", "content": "1"},
    {"role": "user", "content": "2"},
    {"role": "assistant", "content": "3", "is_output": False},
    {"role": "assistant", "content": "4"},
    {"role": "tool", "content": "5", "tool_call_id": "a"},
    {"role": "user", "content": "6"},
    {"role": "assistant", "content": "7"},
)
COUNTED = {Capture.OUTPUTS: [4, 7], Capture.ALL: [2, 3, 4, 6, 7]}


@pytest.mark.parametrize("capture", list(Capture))
def test_each_form_of_what_counts_is_pending_and_is_due_finds_the_same_messages(world: World, capture: Capture) -> None:
    base_id = world.new_base(capture=capture)
    world.say("s", *RUN)
    other = sa.orm.aliased(Message)

    def seqs(which: sa.ColumnElement[bool], message: type[Message] = Message) -> list[int]:
        found = sa.select(message.seq).where(message.session_id == "s", which).order_by(message.seq)
        of_base = found.join(MemoryBase, MemoryBase.id == base_id).join(Generation, SERVES)
        return list(world.scalars(of_base))

    cursor, target = sa.literal(3), sa.literal(6)
    counted = COUNTED[capture]
    pending, due = [seq for seq in counted if seq > 3], [seq for seq in counted if 3 < seq <= 6]
    for of in (capture, Generation.capture):
        assert seqs(is_counted(of)) == seqs(is_counted(of, other), other) == counted
        assert seqs(is_pending(of, cursor)) == seqs(is_pending(of, cursor, other), other) == pending
        assert seqs(is_due(of, cursor, target)) == seqs(is_due(of, cursor, target, other), other) == due
    assert seqs(by_capture(is_counted)) == counted
    assert seqs(by_capture(lambda each: is_pending(each, cursor))) == pending
    assert seqs(by_capture(lambda each: is_due(each, cursor, target))) == due


def test_one_capture_is_a_plain_condition_which_its_index_answers() -> None:
    """Also as rows have it, a plain text: a CASE would read the whole session."""
    of_a_row: Any = "outputs"
    found = {str(is_counted(capture)) for capture in (of_a_row, Capture.OUTPUTS)}

    assert found == {"messages.is_output = true"}


def test_a_session_is_due_while_its_target_is_beyond_its_cursor(world: World) -> None:
    base_id = world.new_base(threshold=2)

    def state(session_id: str) -> tuple[int, int, bool]:
        row = serving_progress(key_of(world.flow_id, session_id))
        statement = sa.select(CURSOR, TARGET, SESSION_IS_DUE).select_from(MemoryBase).outerjoin(SessionProgress, row)
        with world.services.database.reading() as db:
            cursor, target, due = db.execute(statement.where(MemoryBase.id == base_id)).one()
            return cursor, target, bool(due)

    assert state("s") == (0, 0, False)
    world.say("s", "one")
    assert state("s") == (0, 0, False), "pending and not due: the threshold is not reached"
    world.say("s", "two")
    assert state("s") == (0, 2, True)
    world.drain()
    assert state("s") == (2, 2, False)
