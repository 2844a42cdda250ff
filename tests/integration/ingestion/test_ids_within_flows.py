"""Ids of runs and messages are unique within their flow: other flows use the same ids for other things."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.world import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybase.core import errors
from memorybase.core.conversation.history import node_executions
from memorybase.core.ids import CallerId
from memorybase.core.ingestion.capture import CapturedMessage
from memorybase.core.models import DeletedMessage, Message, NodeExecution, Run
from memorybase.core.queries import caller_ids
from memorybase.core.sessions import deletion, edits
from memorybase.core.sessions import flows as session_flows

pytestmark = pytest.mark.both_databases

SENT = ("m1", "6f1c1f5e-2b1d-4c07-9a55-0b8f6b1c0d11")  # a string and a UUID


def said(
    world: World, message_id: str, text: str, *, flow_id: UUID | None = None, session_id: str = "s", **fields: Any
) -> CapturedMessage:
    request = {name: fields.pop(name) for name in ("run_id", "on_conflict") if name in fields}
    if flow_id is not None:
        request["flow_id"] = flow_id
    message = {"id": message_id, "role": "assistant", "content": text, **fields}
    return world.say(session_id, message, **request).messages[0]


def row(world: World, row_id: UUID) -> Message:
    with world.services.database.reading() as db:
        return db.get_one(Message, row_id)


def texts(world: World, flow_id: UUID) -> list[str]:
    return list(world.scalars(sa.select(Message.content).where(Message.flow_id == flow_id).order_by(Message.seq)))


@each_row("sent", SENT)
class TestTwoFlows:
    def test_the_same_id_names_another_message_in_each_flow(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        first, second = said(world, sent, "here"), said(world, sent, "there", flow_id=other)

        assert first.id != second.id
        assert second.external_id == sent
        assert (row(world, first.id).content, row(world, second.id).content) == ("here", "there")
        # Again: each is known in its flow.
        assert said(world, sent, "here") == CapturedMessage(
            first.id, first.external_id, 1, created=False, deleted=False
        )
        assert said(world, sent, "there", flow_id=other).id == second.id

    def test_one_id_with_two_contents_in_one_flow_is_a_conflict(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        said(world, sent, "here")
        said(world, sent, "there", flow_id=other)

        for flow_id in (world.flow_id, other):
            for session_id in ("s", "another session"):
                with pytest.raises(errors.MessageConflict) as caught:
                    said(world, sent, "changed", flow_id=flow_id, session_id=session_id)
                assert caught.value.value == sent

    def test_a_conflict_may_update_the_message_of_its_own_flow_only(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        said(world, sent, "here")
        said(world, sent, "there", flow_id=other)
        said(world, sent, "changed", flow_id=other, on_conflict="update")

        assert (texts(world, world.flow_id), texts(world, other)) == (["here"], ["changed"])

    def test_a_deleted_id_stays_deleted_in_its_flow_only(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        first = said(world, sent, "here")
        second = said(world, sent, "there", flow_id=other)
        edits.delete_message(world.services, world.user_id, second.id)

        assert said(world, sent, "there", flow_id=other).deleted
        assert not said(world, sent, "here").deleted
        edits.delete_message(world.services, world.user_id, first.id)
        assert said(world, sent, "here").deleted
        pairs = {(each.flow_id, each.message_id) for each in world.scalars(sa.select(DeletedMessage))}
        assert pairs >= {(world.flow_id, first.id), (other, second.id)}

    def test_a_deleted_id_stays_deleted_when_another_flow_uses_it_afterwards(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        first = said(world, sent, "here")
        edits.delete_message(world.services, world.user_id, first.id)
        said(world, sent, "there", flow_id=other)

        assert said(world, sent, "here").deleted
        assert (texts(world, world.flow_id), texts(world, other)) == ([], ["there"])

    def test_the_same_run_id_is_another_run_in_each_flow(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        runs = [
            world.say("s", f"text {flow_id}", run_id=CallerId.of(world.user_id, "run", sent), flow_id=flow_id)
            for flow_id in (world.flow_id, other)
        ]

        assert runs[0].run_id != runs[1].run_id
        with world.services.database.reading() as db:
            assert {db.get_one(Run, run.run_id).flow_id for run in runs} == {world.flow_id, other}
        with pytest.raises(errors.RunConflict):
            world.say("s", "changed", run_id=CallerId.of(world.user_id, "run", sent), flow_id=other)

    def test_another_users_id_is_no_obstacle(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        said(world, sent, "mine")
        stranger = world.new_user()
        flow_id = world.new_flow(stranger)
        owner, world.user_id = world.user_id, stranger
        try:
            theirs = said(world, sent, "theirs", flow_id=flow_id)
        finally:
            world.user_id = owner
        assert row(world, theirs.id).content == "theirs"
        assert texts(world, world.flow_id) == ["mine"]

    def test_a_reply_follows_the_message_of_its_own_flow(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        said(world, sent, "question here")
        parent = said(world, sent, "question there", flow_id=other)
        reply = said(world, "reply", "answer", flow_id=other, parent_message_id=sent)

        assert row(world, reply.id).parent_message_id == parent.id

    def test_a_reply_that_comes_before_its_message_follows_it_all_the_same(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        other = world.new_flow()
        said(world, sent, "question here")
        reply = said(world, "reply", "answer", flow_id=other, parent_message_id=sent)
        parent = said(world, sent, "question there", flow_id=other)

        assert row(world, reply.id).parent_message_id == parent.id

    def test_ids_find_nothing_ambiguous_while_one_flow_has_them(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        given = CallerId.of(world.user_id, "message", sent)
        first = said(world, sent, "here")
        assert caller_ids.find(world.services, given) == first.id

        other = world.new_flow()
        second = said(world, sent, "there", flow_id=other)
        with pytest.raises(errors.AmbiguousId) as caught:
            caller_ids.find(world.services, given)
        assert {flow["id"] for flow in caught.value.details["flows"]} == {str(world.flow_id), str(other)}
        assert caller_ids.find(world.services, given, world.flow_id) == first.id
        assert caller_ids.find(world.services, given, other) == second.id
        with pytest.raises(errors.NotFound):
            caller_ids.find(world.services, given, world.new_flow())

    def test_the_same_ids_at_the_same_time_in_two_flows_are_stored_in_both(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        flow_ids = [world.flow_id, world.new_flow()]
        ids = [sent, *(str(uuid5(UUID(SENT[1]), str(n))) for n in range(6))]
        start = Barrier(4)

        def capture(number: int) -> None:
            start.wait()
            ordered = ids if number < 2 else ids[::-1]
            messages = [{"id": each, "role": "assistant", "content": f"text {each}"} for each in ordered]
            run_id = CallerId.of(world.user_id, "run", sent)
            world.say("s", *messages, flow_id=flow_ids[number % 2], run_id=run_id)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(capture, range(4)))

        expected = sorted(f"text {each}" for each in ids)
        assert [sorted(texts(world, flow_id)) for flow_id in flow_ids] == [expected, expected]

    def test_the_same_id_at_the_same_time_in_two_sessions_is_stored_once(self, world: World, sent: str) -> None:
        world = world.for_new_user()
        said(world, sent, "of another flow", flow_id=world.new_flow())
        start = Barrier(4)

        def capture(number: int) -> str:
            start.wait()
            try:
                said(world, sent, "here", session_id=f"session {number}")
            except errors.MessageConflict:
                return "conflict"
            return "stored"

        with ThreadPoolExecutor(4) as threads:
            assert sorted(threads.map(capture, range(4))) == ["conflict"] * 3 + ["stored"]
        assert texts(world, world.flow_id) == ["here"]


def test_a_run_that_comes_after_its_executions_is_theirs(world: World) -> None:
    sent = CallerId.of(world.user_id, "run", SENT[1])
    world.say("s", "of another flow", run_id=sent, flow_id=world.new_flow())
    raw = {"node_id": "n", "index": 0, "status": "succeeded", "outputs": {"text": "a"}, "few_shots": []}
    new = node_executions.new_execution(world.user_id, raw)
    execution, _ = node_executions.put_execution(world.services, world.user_id, world.flow_id, "s", sent, new)
    run = world.say("s", "here", run_id=sent)

    with world.services.database.reading() as db:
        assert db.get_one(NodeExecution, execution.id).run_id == run.run_id != sent.uuid


def test_an_id_from_before_ids_were_unique_within_flows_still_names_its_message(world: World) -> None:
    sent = CallerId.of(world.user_id, "message", "m1")
    first = said(world, "m1", "old")
    run = world.say("s", "x", run_id=CallerId.of(world.user_id, "run", "r1"))
    old_run = CallerId.of(world.user_id, "run", "r1").own
    with world.services.database.transaction() as db:  # as the version before stored them
        db.execute(sa.update(Message).where(Message.id == first.id).values(id=sent.own))
        stored = db.get_one(Run, run.run_id)
        same = {name: getattr(stored, name) for name in ("flow_id", "session_uuid", "fingerprint", "created_at")}
        db.execute(sa.insert(Run).values(same | {"id": old_run, "external_id": None}))
        db.execute(sa.update(Message).where(Message.run_id == run.run_id).values(run_id=old_run))
        db.execute(sa.delete(Run).where(Run.id == run.run_id))
        db.execute(sa.update(Run).where(Run.id == old_run).values(external_id="r1"))

    again = said(world, "m1", "old")
    assert (again.id, again.created) == (sent.own, False)
    assert said(world, "m1", "new", flow_id=world.new_flow()).created
    assert row(world, said(world, "m2", "reply", parent_message_id="m1").id).parent_message_id == sent.own
    edits.delete_message(world.services, world.user_id, sent.own)
    assert said(world, "m1", "old").deleted
    with pytest.raises(errors.RunConflict):
        world.say("s", "changed", run_id=CallerId.of(world.user_id, "run", "r1"))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["capture", "capture", "delete message", "delete session", "delete flow"]),
        st.integers(0, 1),
        st.sampled_from(["s", "t"]),
        st.sampled_from([*SENT, "m2"]),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_each_flow_behaves_as_if_it_were_alone(world: World, steps: list[tuple[str, int, str, str]]) -> None:
    """The model: a dict for each flow."""
    flow_ids = [world.new_flow(), world.new_flow()]
    live: list[dict[str, str]] = [{}, {}]  # the session of each id
    deleted: list[set[tuple[str, str]]] = [set(), set()]
    for action, which, session_id, sent in steps:
        flow_id = flow_ids[which]
        given_id = CallerId.of(world.user_id, "message", sent)
        if action == "capture":
            if live[which].get(sent, session_id) != session_id:
                with pytest.raises(errors.MessageConflict):
                    said(world, sent, "text", flow_id=flow_id, session_id=session_id)
                continue
            captured = said(world, sent, "text", flow_id=flow_id, session_id=session_id)
            assert captured.deleted == ((session_id, sent) in deleted[which])
            assert captured.created == (not captured.deleted and sent not in live[which])
            if not captured.deleted:
                live[which][sent] = session_id
                deleted[which] = {pair for pair in deleted[which] if pair[1] != sent}
        elif action == "delete message" and sent in live[which]:
            found = caller_ids.find(world.services, given_id, flow_id)
            edits.delete_message(world.services, world.user_id, found)
            deleted[which] = {pair for pair in deleted[which] if pair[1] != sent} | {(live[which].pop(sent), sent)}
        elif action == "delete session" and session_id in live[which].values():
            edits.delete_session(world.services, world.user_id, flow_id, session_id)
            live[which] = {each: session for each, session in live[which].items() if session != session_id}
            deleted[which] = {pair for pair in deleted[which] if pair[0] != session_id}
        elif action == "delete flow":
            deletion.delete_flow(world.services, world.user_id, flow_id)
            flow_ids[which] = session_flows.create_flow(world.services, world.user_id, name="again").id
            live[which], deleted[which] = {}, set()
        for flow_id, ids in zip(flow_ids, live, strict=True):
            given_ids = [CallerId.of(world.user_id, "message", each) for each in (*SENT, "m2")]
            with world.services.database.reading() as db:
                assert {each.text for each in caller_ids.present(db, flow_id, given_ids)} == set(ids)


def test_a_uuid_that_is_another_rows_own_id_is_that_row(world: World) -> None:
    first = said(world, "m1", "here")
    again = said(world, str(first.id), "here")
    assert (again.id, again.created) == (first.id, False)


def test_an_unknown_id_is_not_found_with_the_id_as_it_was_sent(world: World) -> None:
    for sent in ("nobody", str(uuid4()).upper()):
        with pytest.raises(errors.NotFound) as caught:
            caller_ids.find(world.services, CallerId.of(world.user_id, "message", sent))
        assert caught.value.value == sent


def test_one_id_with_two_contents_in_one_request_is_refused(world: World) -> None:
    first, same, other = ({"role": "user", "content": text, "id": "m1"} for text in ("one", "one", "two"))
    with pytest.raises(errors.InvalidRequest) as caught:
        world.say("s", first, same, other)
    assert (caught.value.field, caught.value.value) == ("messages[2].id", "m1")
    assert world.messages("s") == []
    assert len(world.say("s", first, same).messages) == 1


def test_a_message_posted_into_another_session_is_no_longer_deleted_from_its_former_one(world: World) -> None:
    sent = SENT[1]
    taken = said(world, sent, "there", flow_id=world.new_flow())
    first = said(world, sent, "here")  # under another row id: that flow has the UUID
    edits.delete_message(world.services, world.user_id, first.id)
    edits.delete_message(world.services, world.user_id, taken.id)
    moved = said(world, sent, "here", session_id="t")
    assert moved.id == UUID(sent)
    edits.delete_message(world.services, world.user_id, moved.id)
    assert said(world, sent, "here").created


def test_a_message_that_was_posted_again_can_be_deleted_again(world: World) -> None:
    for _ in range(2):
        first = said(world, "m1", "text")
        assert first.created
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
    again = said(world, "m1", "text")
    edits.delete_message(world.services, world.user_id, again.id)
    assert said(world, "m1", "text").deleted
