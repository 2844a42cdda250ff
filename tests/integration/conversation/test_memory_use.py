"""What a run's models were given: recorded, shown, and redacted after deletions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.world import World

from memorybase.core.conversation import Record, View, build_view
from memorybase.core.conversation.context import ContextRequest, build_context
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.history.read import read_history
from memorybase.core.conversation.history.request import Conversation, History, HistoryRequest
from memorybase.core.conversation.memory_use import record as uses
from memorybase.core.conversation.memory_use.given import MAX_SOURCE_IDS, Given, GivenSource, record_given
from memorybase.core.conversation.memory_use.provenance import ViewOrigin
from memorybase.core.database.paging import PageRequest
from memorybase.core.errors import Held, InvalidRequest, NotFound, SessionConflict
from memorybase.core.ids import CallerId
from memorybase.core.models import MemoryUse, MemoryUseMessage
from memorybase.core.read_models import run_story
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits
from memorybase.features.retention import budget
from memorybase.features.retention import uses as retained_uses
from memorybase.features.retention.holds import lift_hold, place_hold
from memorybase.features.retention.receipts import list_passes

DAY = 86_400.0


def view_of(*message_ids: UUID, text: str = "a secret") -> View:
    return build_view(
        [Record(id=str(each), seq=seq, role="user", content=f"{text} {seq}") for seq, each in enumerate(message_ids, 1)]
    )


def record(world: World, run_id: UUID | str, view: View, **fields: Any) -> None:
    origin = ViewOrigin(session_id=fields.pop("session_id", "s"))
    named = {"node_id": "llm", "origin": origin} | fields
    uses.record_use(world.services, world.user_id, world.flow_id, uses.NewUse(run_id=run_id, view=view, **named))


def shown(world: World, run_id: UUID) -> uses.RunMemory:
    return uses.run_memory(world.services, world.user_id, world.flow_id, run_id)


def rows_left(world: World) -> int:
    with world.services.database.reading() as db:
        tables = (MemoryUse, MemoryUseMessage)
        return sum(db.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables)


def test_the_latest_use_of_a_node_is_shown_as_it_was_sent(world: World) -> None:
    run = world.say("s", "hello", "and", "more")
    run_id, (first, *others) = run.run_id, [message.id for message in run.messages]
    assert shown(world, run_id) == uses.RunMemory(run_id, "s", [])
    record(world, run_id, view_of(first))
    record(world, run_id, view_of(first), node_id="other", memory_use_summary={"summary": "", "chatMessages": []})
    last = view_of(*others, text="again")
    record(world, run_id, last)

    other, llm = shown(world, run_id).nodes

    assert (llm.node_id, llm.messages, llm.memoryUseSummary) == ("llm", last.messages, None)
    assert (llm.sources[0]["kind"], llm.sources[0]["message_ids"]) == ("history", [last.sources[0].message_ids[0]])
    assert llm.report["tokens_after"] == last.report.tokens_after
    assert other.memoryUseSummary == {"summary": "", "chatMessages": []}


def test_a_run_may_be_captured_after_its_use_and_is_isolated_from_other_users(world: World) -> None:
    run_id = uuid4()
    with pytest.raises(NotFound):
        shown(world, run_id)
    record(world, str(run_id), view_of(), session_id="not there yet")
    assert (shown(world, run_id).session_id, len(shown(world, run_id).nodes)) == ("not there yet", 1)

    world.say("s", "hello", run_id=run_id)
    assert shown(world, run_id).session_id == "s"
    with pytest.raises(NotFound):
        uses.run_memory(world.services, world.new_user(), world.flow_id, run_id)
    with pytest.raises(NotFound):
        uses.run_memory(world.services, world.user_id, world.new_flow(), run_id)


def test_a_deletion_redacts_the_uses_that_hold_the_message(world: World) -> None:
    run = world.say("s", "one", "two")
    elsewhere = world.say("elsewhere", "hello").run_id
    first, second = (message.id for message in run.messages)
    given = view_of(first, second)
    record(world, run.run_id, given, memory_use_summary={"summary": "of the secret", "chatMessages": []})
    record(world, elsewhere, given, session_id="elsewhere")

    edits.delete_message(world.services, world.user_id, first)
    for run_id in (run.run_id, elsewhere):
        (node,) = shown(world, run_id).nodes
        assert node.messages == [{"role": "user", "content": "[deleted]"}, given.messages[1]]
        assert node.memoryUseSummary is None

    edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="renamed")
    assert shown(world, run.run_id).session_id == "renamed"
    edits.delete_session(world.services, world.user_id, world.flow_id, "renamed")
    with pytest.raises(NotFound):
        shown(world, run.run_id)
    (node,) = shown(world, elsewhere).nodes
    assert [message["content"] for message in node.messages] == ["[deleted]", "[deleted]"]


def test_deleting_a_flow_deletes_its_uses(world: World) -> None:
    run = world.say("s", "one")
    record(world, run.run_id, view_of(run.messages[0].id))
    record(world, uuid4(), view_of(run.messages[0].id), session_id=None)
    assert rows_left(world) == 4

    session_deletion.delete_flow(world.services, world.user_id, world.flow_id)

    assert rows_left(world) == 0


def ask(world: World, session_id: str, run_id: UUID, *, end_user_id: str | None = "anna") -> None:
    """Ask for a context, as a runtime does before the run is captured, and record what it was given itself."""
    request = ContextRequest(
        flow_id=world.flow_id,
        session_id=session_id,
        end_user_id=end_user_id,
        token_budget=1_000,
        run_id=run_id,
        node_id="llm",
        query="I am Anna, my phone is 555-1234",
    )
    build_context(world.services, world.user_id, request)
    give(world, str(run_id), GivenSource(kind="predefined"), session_id=session_id, end_user_id=end_user_id)


def test_the_erasure_of_a_person_leaves_nothing_that_was_asked_before_the_first_capture(world: World) -> None:
    ask(world, "anna-1", uuid4())
    ask(world, "anna-2", uuid4())
    world.say("anna-1", "hello", end_user_id="anna")
    ask(world, "bert-1", uuid4(), end_user_id="bert")

    assert edits.erase_end_user(world.services, world.user_id, "anna").memory_uses == 4
    assert rows_left(world) == 2
    with pytest.raises(NotFound):
        edits.erase_end_user(world.services, world.user_id, "anna")


def test_the_deletion_of_a_session_leaves_nothing_that_was_asked_before_its_first_capture(world: World) -> None:
    delete = partial(edits.delete_session, world.services, world.user_id, world.flow_id)
    ask(world, "s", uuid4(), end_user_id=None)
    world.say("s", "hello")
    edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="renamed")
    ask(world, "never captured", uuid4())

    assert (delete("renamed").memory_uses, delete("never captured").memory_uses) == (2, 2)
    assert rows_left(world) == 0
    with pytest.raises(NotFound):
        delete("never captured")


def test_a_hold_keeps_what_was_asked_for_a_session_that_is_not_stored(world: World) -> None:
    ask(world, "s", uuid4())
    held = {"end_user_id": "anna"}, {"flow_id": world.flow_id}
    for hold in [place_hold(world.services, world.user_id, **of) for of in held]:
        world.pass_time(2 * DAY)
        assert world.sweep().done["memory_uses"] == 0
        with pytest.raises(Held):
            edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        with pytest.raises(Held):
            edits.erase_end_user(world.services, world.user_id, "anna")
        lift_hold(world.services, world.user_id, hold.id)
    world.pass_time(2 * DAY)
    assert (world.sweep().done["memory_uses"], rows_left(world)) == (2, 0)


def test_a_use_whose_run_was_not_captured_within_a_day_is_deleted(world: World) -> None:
    captured, moved, lost, late, of_chat = (uuid4() for _ in range(5))
    for run_id in (captured, moved, lost):
        ask(world, "asked", run_id)
    record(world, of_chat, view_of(), session_id=None)
    world.say("other", "hello", run_id=moved, end_user_id="bert")
    world.say("asked", "hello", run_id=captured, end_user_id="anna")
    world.pass_time(DAY / 2)
    ask(world, "asked", late)
    assert world.sweep().done["memory_uses"] == 0

    world.pass_time(DAY / 2)
    assert (world.sweep().done["memory_uses"], world.sweep().done["memory_uses"]) == (2, 0)
    world.pass_time(DAY / 2)
    assert world.sweep().done["memory_uses"] == 2

    for run_id in (lost, late):
        with pytest.raises(NotFound):
            shown(world, run_id)
    assert [len(shown(world, run_id).nodes) for run_id in (captured, moved, of_chat)] == [2, 2, 1]


def test_a_use_moves_to_the_session_of_its_run_if_its_own_is_not_stored(world: World) -> None:
    run_id = uuid4()
    ask(world, "not stored", run_id)
    world.say("stored", "hello", run_id=run_id, end_user_id="bert")
    world.pass_time(DAY)
    assert world.sweep().done["memory_uses"] == 0

    with world.services.database.reading() as db:
        moved = db.execute(sa.select(MemoryUse.session_id, MemoryUse.end_user_id)).all()
    assert [tuple(each) for each in moved] == [("stored", "bert")] * 2


def test_uses_are_deleted_after_the_days_that_a_setting_says(world: World) -> None:
    settings = world.services.settings.model_copy(update={"memory_use_days": 30})
    services = replace(world.services, settings=settings)
    for session_id, person in (("held", "anna"), ("free", "bert")):
        run_id = world.say(session_id, "hello", end_user_id=person).run_id
        record(world, run_id, view_of(), session_id=session_id)
    record(world, uuid4(), view_of(), session_id=None)
    hold = place_hold(services, world.user_id, end_user_id="anna")

    world.pass_time(29 * DAY)
    assert retained_uses.delete_expired(services) == 0
    world.pass_time(2 * DAY)
    assert retained_uses.delete_expired(world.services) == 0, "0 keeps them"
    assert (retained_uses.delete_expired(services), rows_left(world)) == (1, 2), "a chat's names no person: held too"
    lift_hold(services, world.user_id, hold.id)
    assert (retained_uses.delete_expired(services), rows_left(world)) == (2, 0)

    def receipts() -> list[tuple[str, UUID, int | None, int, bool]]:
        found = list_passes(services, world.user_id, PageRequest()).items
        return [(each.rule, each.flow_id, each.retain_days, each.memory_uses, bool(each.finished_at)) for each in found]

    assert receipts() == [("memory_use", world.flow_id, 30, 3, False)], "one for all of an hour"
    world.pass_time(3_600)
    retained_uses.delete_expired(world.services)  # also after the setting was removed
    assert receipts() == [("memory_use", world.flow_id, 30, 3, True)]


def test_many_uses_take_several_passes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retained_uses, "PAGE", 1)
    monkeypatch.setattr(budget, "TRANSACTIONS", 2)
    for _ in range(3):
        record(world, uuid4(), view_of(), session_id="never captured")
    world.pass_time(2 * DAY)
    assert [retained_uses.delete_expired(world.services) for _ in range(3)] == [2, 1, 0]


def test_a_message_deleted_before_its_view_is_recorded_is_redacted(world: World) -> None:
    run = world.say("s", "one", "two")
    first, second = (message.id for message in run.messages)
    given = view_of(first, second)
    edits.delete_message(world.services, world.user_id, first)

    record(world, run.run_id, given, memory_use_summary={"summary": "of the secret", "chatMessages": []})

    (node,) = shown(world, run.run_id).nodes
    assert [message["content"] for message in node.messages] == ["[deleted]", "a secret 2"]
    assert node.memoryUseSummary is None


def test_an_edit_flags_recorded_uses(world: World) -> None:
    run = world.say("s", "one")
    given = view_of(run.messages[0].id)
    record(world, run.run_id, given)
    edits.edit_message(world.services, world.user_id, run.messages[0].id, {"content": "two"})

    (node,) = shown(world, run.run_id).nodes
    assert (node.messages, node.report["flags"]) == (given.messages, ["edited_since"])
    record(world, run.run_id, given)
    assert shown(world, run.run_id).nodes[0].report["flags"] == []


def give(world: World, run_id: str, *sources: GivenSource, **fields: Any) -> uses.NodeUse:
    messages = [{"role": "system", "content": f"quoted {index}"} for index in range(len(sources))]
    given = Given(
        **{"session_id": "now", "end_user_id": None, "query": "Which?", "messages": messages, "sources": sources}
        | fields
    )
    return record_given(world.services, world.user_id, world.flow_id, run_named(world, run_id), "agent", given)


def run_named(world: World, run_id: str) -> CallerId:
    return CallerId.of(world.user_id, "run", run_id)


def ids_of(world: World, *sent: UUID | str) -> list[CallerId]:
    return [CallerId.of(world.user_id, "message", each) for each in sent]


def test_what_a_client_gave_a_model_is_shown_and_redacted(world: World) -> None:
    first, second = (message.id for message in world.say("s", "one", "two").messages)
    give(world, "r", GivenSource(kind="recall", message_ids=ids_of(world, first)))
    both = GivenSource(kind="recall", message_ids=ids_of(world, first, second), scores=[0.4, 0.7])
    stored = give(world, "r", both, GivenSource(kind="predefined"))

    run_id = world.say("now", "Which?", run_id=run_named(world, "r")).run_id
    (node,) = shown(world, run_id).nodes
    assert (node.node_id, node.messages, node.at) == (stored.node_id, stored.messages, stored.at)
    assert [message["content"] for message in node.messages] == ["quoted 0", "quoted 1"]
    assert (node.query, node.sources[0]["score"], node.sources[0]["tokens"] > 0) == ("Which?", 0.7, True)
    (seen,) = run_story.run_story(world.services, world.user_id, world.flow_id, run_id).nodes
    assert seen.given is not None
    assert [(each.message_id, each.score) for each in seen.given.memories] == [(second, 0.7), (first, 0.4)]

    edits.delete_message(world.services, world.user_id, first)
    (node,) = shown(world, run_id).nodes
    assert [message["content"] for message in node.messages] == ["[deleted]", "quoted 1"]
    again = give(world, "r", both, GivenSource(kind="recall", message_ids=ids_of(world, second)))
    assert [message["content"] for message in again.messages] == ["[deleted]", "quoted 1"]


def test_a_client_records_that_nothing_was_found(world: World) -> None:
    give(world, "r")
    run_id = world.say("now", "Which?", run_id=run_named(world, "r")).run_id
    (seen,) = run_story.run_story(world.services, world.user_id, world.flow_id, run_id).nodes
    assert seen.given is not None
    assert (seen.given.verdict, seen.given.memories) == ("nothing_found", [])


def test_only_messages_of_the_named_end_user_count_as_given(world: World) -> None:
    anna, ben = (world.say(name, f"of {name}", end_user_id=name).messages[0].id for name in ("anna", "ben"))
    elsewhere = world.say("s", "of another flow", flow_id=world.new_flow()).messages[0].id
    sources = [GivenSource(kind="recall", message_ids=ids_of(world, each)) for each in (anna, ben, elsewhere)]

    of_anna = give(world, "r", *sources, end_user_id="anna")
    of_all = give(world, "r", *sources)

    assert [each["content"] for each in of_anna.messages] == ["quoted 0", "[deleted]", "[deleted]"]
    assert [each["message_ids"] for each in of_anna.sources] == [(str(anna),), (), ()]
    assert [each["content"] for each in of_all.messages] == ["quoted 0", "quoted 1", "[deleted]"]
    with pytest.raises(SessionConflict):
        give(world, "r", session_id="ben", end_user_id="anna")


def test_a_use_of_a_client_that_is_not_valid_is_refused(world: World) -> None:
    many = GivenSource(kind="recall", message_ids=ids_of(world, *(f"m-{each}" for each in range(MAX_SOURCE_IDS))))
    uneven = GivenSource(kind="recall", message_ids=ids_of(world, "m"), scores=[0.1, 0.2])
    for field, value, limit, call in (
        ("sources", 0, 1, lambda: give(world, "r", messages=[{"role": "user", "content": "x"}])),
        ("sources", 2 * MAX_SOURCE_IDS, MAX_SOURCE_IDS, lambda: give(world, "r", many, many)),
        ("sources[0].scores", 2, 1, lambda: give(world, "r", uneven)),
    ):
        with pytest.raises(InvalidRequest) as refused:
            call()
        assert (refused.value.field, refused.value.value, refused.value.limit) == (field, value, limit)
    with pytest.raises(NotFound):
        record_given(
            world.services,
            world.new_user(),
            world.flow_id,
            run_named(world, "r"),
            "agent",
            Given(session_id="s", end_user_id=None, query=None, messages=[], sources=[]),
        )


def report(world: World, run_id: UUID, *texts: str, session_id: str = "s") -> UUID:
    context = [{"role": "user", "content": text} for text in texts]
    raw = {"node_id": "llm", "index": 0, "status": "succeeded", "outputs": {"text": texts[-1], "context": context}}
    new = node_executions.new_execution(world.user_id, raw)
    stored, _ = node_executions.put_execution(world.services, world.user_id, world.flow_id, session_id, run_id, new)
    return stored.id


def texts_in(world: World, execution_id: UUID) -> list[str]:
    outputs = node_executions.get_execution(world.services, world.user_id, execution_id).outputs
    return [message["content"] for message in outputs["context"]] + [outputs["text"]]


def read_node(world: World, run_id: UUID) -> History:
    conversation = Conversation(world.services, world.user_id, world.flow_id, "s")
    return read_history(conversation, HistoryRequest(mode="node", node_id="llm", run_id=run_id))


def test_a_deletion_redacts_contexts_and_uses_that_quote_the_message(world: World) -> None:
    secret = "My PIN is 1234, \u00fcbrigens"
    first = world.say("s", secret, "Yes", "I see.")
    elsewhere = world.say("elsewhere", secret)
    one = report(world, first.run_id, secret, f"They said: {secret}!", "Yes", "Yes, sir", "I see.")
    other = report(world, elsewhere.run_id, secret, session_id="elsewhere")
    again = uuid4()
    read_node(world, again)

    edits.delete_message(world.services, world.user_id, first.messages[0].id)
    edits.delete_message(world.services, world.user_id, first.messages[1].id)

    deleted = "[deleted]"
    assert texts_in(world, one) == [deleted, f"They said: {deleted}!", deleted, "Yes, sir", "I see.", "I see."]
    assert texts_in(world, other) == [secret, secret]
    assert secret not in str(shown(world, again).nodes)


@each_row(
    "content",
    [
        "\u041c\u043e\u0439 \u043f\u0438\u043d 1234, \u043d\u0435 \u0433\u043e\u0432\u043e\u0440\u0438",
        "\u660e\u65e5\u306e\u9375\u306f\u7384\u95a2\u306b\u3042\u308a\u307e\u3059\u304b\u3089",
        "\u0924\u0940\u0938\u0930\u0947 \u0915\u093f\u0932\u0947 \u0915\u0940",
        "\U0001f511\U0001f511\U0001f511",
        'say "a" \\ "b"\n\t100%_',
        [{"type": "text", "text": "\u043c\u043e\u0439"}, {"type": "text", "text": "\u043a\u043b\u044e\u0447"}],
        [{"type": "image_url", "image_url": {"url": "https://example.com/\u043a.png"}}],
    ],
)
def test_a_quotation_in_any_script_is_redacted_without_reading_other_uses(world: World, content: Any) -> None:
    secret = world.say("s", {"role": "user", "content": content}).messages[0].id
    (stored,) = [message.content for message in world.messages("s")]
    runs = [uuid4(), uuid4()]
    for run_id, given in zip(runs, (stored, "Nothing of it"), strict=True):
        record(world, run_id, build_view([Record(id="", seq=1, role="user", content=given)]))
    read: list[UUID] = []
    with loading(MemoryUse, lambda use: read.append(use.run_id)):
        edits.delete_message(world.services, world.user_id, secret)

    assert read == runs[:1]
    (given,) = shown(world, runs[0]).nodes[0].messages
    assert "[deleted]" in str(given)
    assert all(text not in str(given) for text in ([stored] if isinstance(stored, str) else map(str, stored)))
    edits.delete_session(world.services, world.user_id, world.flow_id, "s")


@contextmanager
def loading(table: type[MemoryUse], seen: Callable[[MemoryUse], None]) -> Iterator[None]:
    """Call it with every row that is read."""

    def note(row: MemoryUse, _context: object) -> None:
        seen(row)

    sa.event.listen(table, "load", note)
    try:
        yield
    finally:
        sa.event.remove(table, "load", note)


def test_text_that_another_message_repeats_stays_in_contexts(world: World) -> None:
    first = world.say("s", "Yes")
    world.say("s", "Yes")
    execution = report(world, first.run_id, "Yes")
    edits.delete_message(world.services, world.user_id, first.messages[0].id)
    assert texts_in(world, execution) == ["Yes", "Yes"]


@pytest.mark.parametrize("deleted", ["the execution", "the message"])
def test_a_nodes_view_is_redacted_if_its_execution_changed(world: World, deleted: str) -> None:
    run = world.say("s", "The secret word")
    execution = report(world, run.run_id, "The secret word", "Noted.")
    given = read_node(world, run.run_id)
    record(world, run.run_id, given.view, node_id="earlier", origin=ViewOrigin(session_id="s", execution=given.as_of))
    if deleted == "the execution":
        node_executions.delete_execution(world.services, world.user_id, execution)
    else:
        edits.delete_message(world.services, world.user_id, run.messages[0].id)

    record(world, run.run_id, given.view, node_id="later", origin=ViewOrigin(session_id="s", execution=given.as_of))

    assert "secret" in str(given.view.messages)
    assert "secret" not in str(shown(world, run.run_id).nodes)
