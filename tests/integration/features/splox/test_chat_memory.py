"""The memory nodes of a flow, on each database: views, summaries, deletions and concurrent writers."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.world import World

from memorybase.core import errors
from memorybase.core.conversation import Record, View, build_view
from memorybase.core.conversation.memory_use import record as uses
from memorybase.core.conversation.summarizers import job
from memorybase.core.conversation.view.build import ViewOptions
from memorybase.core.database.paging import PageRequest
from memorybase.core.errors import InvalidRequest
from memorybase.core.models import Chat, ChatRecord
from memorybase.core.operations import sweeper
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import sessions
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits
from memorybase.features.splox import message_log, queries
from memorybase.features.splox.memories import ChatSelector, MemoryKey, get_memory, list_memories
from memorybase.features.splox.nodes import AddMemory, ChatMemory, DeleteMemory, FlowRef, GetMemoryData
from memorybase.features.splox.summaries import SUMMARIZE, make_due, summarize_due
from memorybase.features.splox.views import record_of
from worker import tasks
from worker.process import Watchdog, WorkerProcess

CHAT = "{{ start.chat_id }}"
VARIABLES = {"start": {"chat_id": "c", "text": "hello"}}


@pytest.fixture
def world(databases: World) -> World:
    """A user and a flow of its own."""
    return databases.for_new_user()


class Notes:
    """A summarizer that joins what it was given."""

    name = "notes"

    def __init__(self, fails: int = 0, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.fails = fails
        self.meanwhile = meanwhile
        self.asked: list[str | None] = []

    def summarize(self, previous: str | None, records: Sequence[Record], prompt: str | None = None) -> str:
        self.asked.append(prompt)
        self.meanwhile()
        if self.fails:
            self.fails -= 1
            raise errors.SummarizerUnavailable
        return "+".join([*([previous] if previous else []), *(record.text for record in records)])


def memory(world: World, node_id: str = "node", **fields: Any) -> ChatMemory:
    summarizer = fields.pop("summarizer", None)
    at = FlowRef(world.services, world.user_id, world.flow_id)
    return ChatMemory(at, node_id, summarizer=summarizer, **({"name": "Support", "chat_id": CHAT} | fields))


def m(*numbers: int) -> list[dict[str, Any]]:
    """m1, m2 ...; odd ones are the user's."""
    return [{"role": "user" if n % 2 else "assistant", "content": f"m{n}", "id": f"m{n}"} for n in numbers]


def shown(view: View) -> list[str]:
    return [str(message["content"]).removeprefix("[Previous Conversation Summary]\n") for message in view.messages]


def seen(node: ChatMemory, chat_id: str = "c") -> list[str]:
    return shown(node.view(chat_id=chat_id))


def log_of(node: ChatMemory, chat_id: str = "c", **page: Any) -> list[str]:
    found = message_log.read_messages(node.services, node.key, chat_id, **({"limit": 200} | page))
    return [str(item.content) for item in found.items]


def delete(node: ChatMemory, mode: Any, *roles: Any) -> message_log.Deleted:
    return message_log.delete_messages(node.services, node.key, "c", mode=mode, roles=roles)


def chat_row(world: World) -> Chat | None:
    with world.services.database.reading() as db:
        return db.scalar(sa.select(Chat).where(Chat.flow_id == world.flow_id))


def test_a_chat_keeps_the_counter_that_it_began_with(world: World) -> None:
    text = "0123456789" * 12  # 30 tokens by the first estimate, 40 in truth
    node = memory(world)
    node.add([{"role": "user", "content": text}], chat_id="c")
    new = chat_row(world)
    assert new is not None
    assert (new.counter, new.tokens) == ("estimate-2", 3 + 40)
    with world.services.database.transaction() as db:  # as an earlier version left it
        db.execute(sa.update(Chat).values(counter="estimate-1", tokens=3 + 30))
        db.execute(sa.update(ChatRecord).values(tokens=3 + 30))
    node.add([{"role": "user", "content": text}], chat_id="c")
    row = chat_row(world)
    assert row is not None
    assert (row.counter, row.tokens) == ("estimate-1", 2 * (3 + 30))


# Limits.


@each_row(
    ("fields", "left"),
    [
        ({"max_messages": 6}, "m5 m6 m7 m8 m9 m10"),
        ({"max_messages": 0}, ""),
        ({"max_messages": 6, "trim_strategy": "drop_middle"}, "m1 m2 m7 m8 m9 m10"),
        # "mN" is 5 tokens, m10 too.
        ({"limit_type": "tokens", "max_tokens": 10}, "m9 m10"),
        ({"limit_type": "tokens", "max_tokens": 10, "min_messages": 4}, "m7 m8 m9 m10"),
        ({"limit_type": "tokens", "max_tokens": 2, "min_messages": 1}, "m10"),
        ({"limit_type": "tokens", "max_tokens": 30, "trim_strategy": "drop_middle"}, "m1 m2 m7 m8 m9 m10"),
    ],
)
def test_a_view_respects_its_limit_and_the_log_keeps_everything(world: World, fields: Any, left: str) -> None:
    world = world.for_new_user()
    node = memory(world, **fields)
    posted = node.add(m(*range(1, 11)), chat_id="c")
    assert seen(node) == left.split()
    assert (posted.trimmed, posted.tokens) == (10 - len(left.split()), 5 * len(left.split()))
    assert len(log_of(node)) == 10
    assert seen(memory(world, max_messages=50))[:2] == ["m1", "m2"], "a larger limit shows what was left out"


def test_a_threshold_cuts_when_it_is_reached_and_stores_the_cut(world: World) -> None:
    node = memory(world, trim_mode="threshold", threshold_trigger=5, threshold_target=2)
    sizes = []
    for n in range(1, 12):
        node.add(m(n), chat_id="c")
        sizes.append(len(seen(node)))
        if n in {5, 8}:
            assert seen(node) == [f"m{n - 1}", f"m{n}"]
    assert sizes == [1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2]
    row = chat_row(world)
    assert row is not None
    assert row.cut_seq == 9
    # Another threshold invalidates the stored cut: the log is cut again, at its eighth message.
    again = memory(world, trim_mode="threshold", threshold_trigger=8, threshold_target=7)
    assert seen(again) == [f"m{n}" for n in range(5, 12)]
    assert len(seen(memory(world, max_messages=50))) == 11


def test_a_target_of_zero_leaves_the_summary_of_everything(world: World) -> None:
    node = memory(
        world,
        trim_mode="threshold",
        threshold_trigger=6,
        threshold_target=0,
        enable_summarization=True,
        summarizer=Notes(),
    )
    for n in range(1, 8):
        node.add(m(n), chat_id="c")

    assert seen(node) == ["m1+m2+m3+m4+m5+m6", "m7"]


class Broken(Notes):
    """Fails as a library may, or returns what is no text."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def summarize(self, previous: str | None, records: Sequence[Record], prompt: str | None = None) -> str:
        del previous, records, prompt
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]  # that is the fault


@each_row("answer", [ZeroDivisionError("secret"), errors.InvalidRequest("no"), None, "", 7])
def test_a_summarizer_that_fails_in_its_own_way_does_not_fail_the_write(world: World, answer: object) -> None:
    world = world.for_new_user()
    node = memory(world, max_messages=2, enable_summarization=True, summarizer=Broken(answer))

    node.add(m(*range(1, 13)), chat_id="c")

    assert len(log_of(node)) == 12
    working = memory(world, max_messages=2, enable_summarization=True, summarizer=Notes())
    working.add(m(13, 14), chat_id="c")
    assert seen(working) == ["+".join(f"m{n}" for n in range(1, 13)), "m13", "m14"]


def test_a_summary_on_request_says_that_the_summarizer_failed(world: World) -> None:
    node = memory(world, max_messages=2, summarizer=Broken(ZeroDivisionError("secret")))
    node.add(m(*range(1, 13)), chat_id="c")

    with pytest.raises(errors.SummarizerUnavailable, match="raised ZeroDivisionError"):
        node.summarize("c")


@each_row(
    "wrong",
    [
        {"mode": "by_latest"},
        {"mode": "ALL"},
        {"roles": ("users",)},
        {"roles": ("user", "users")},
        {"roles": "user"},
        {"roles": ()},
    ],
)
def test_a_deletion_with_an_unknown_mode_or_role_is_refused_and_deletes_nothing(
    world: World, wrong: dict[str, Any]
) -> None:
    world = world.for_new_user()
    node = memory(world)
    node.add(m(1, 2), chat_id="c")
    asked = {"mode": "latest_request", "roles": ("user", "assistant")} | wrong
    (field,) = wrong

    with pytest.raises(InvalidRequest) as constructed:
        DeleteMemory(memory=node, name="Undo", chat_id=CHAT, **asked)
    with pytest.raises(InvalidRequest) as called:
        message_log.delete_messages(world.services, node.key, "c", **asked)

    assert (constructed.value.field, called.value.field) == (field, field)
    assert len(log_of(node)) == 2


def test_a_threshold_does_not_cut_before_the_run_has_answered(world: World) -> None:
    node = memory(world, trim_mode="threshold", threshold_trigger=3, threshold_target=1)
    run = uuid4()
    node.add(m(1, 2), chat_id="c", run_id="r1")
    node.add(m(3), chat_id="c", run_id=run)
    assert seen(node) == ["m1", "m2", "m3"]
    assert shown(node.view(chat_id="c", run_id=run)) == ["m1", "m2"], "a run's own messages are left out"
    node.add(m(4), chat_id="c", run_id=run)
    assert seen(node) == ["m4"]


@each_row("strategy", ["drop_oldest", "drop_middle"])
@each_row("pin", [False, True])
def test_a_stored_cut_equals_one_computed_from_the_whole_log(world: World, strategy: Any, pin: bool) -> None:
    """After each write, a threshold over what the last cut kept equals one over the whole log."""
    world = world.for_new_user()
    predefined = [{"role": "user", "content": f"p{n}"} for n in (1, 2)]
    node = memory(
        world,
        trim_mode="threshold",
        threshold_trigger=7,
        threshold_target=4,
        trim_strategy=strategy,
        use_predefined_messages=True,
        predefined_messages=predefined,
        pin_predefined=pin,
    )
    whole = node.config.options((), ViewOptions())
    whole = whole.__class__(
        limits=whole.limits.__class__(threshold=node.config.threshold, strategy=strategy),
        pin_predefined=pin,
        max_images=1,
    )
    records: list[Record] = []
    for n in range(1, 18):
        node.add(m(n), chat_id="c")
        records.append(Record(id=f"m{n}", seq=n, role="user" if n % 2 else "assistant", content=f"m{n}"))
        expected = build_view(records, whole, predefined=node.config.predefined)
        assert seen(node) == shown(expected), n


def test_predefined_messages_come_first_and_are_never_stored(world: World) -> None:
    predefined = {
        "use_predefined_messages": True,
        "predefined_messages": [{"role": "user", "content": "p1"}, {"role": "assistant", "content": "p2"}],
    }
    node = memory(world, max_messages=5, **predefined)
    assert seen(node, "nothing yet") == ["p1", "p2"]
    node.add(m(*range(1, 6)), chat_id="c")
    assert seen(node) == ["m1", "m2", "m3", "m4", "m5"]
    for fields in ({"pin_predefined": True}, {"trim_strategy": "drop_middle"}):
        assert seen(memory(world, max_messages=5, **predefined, **fields)) == ["p1", "p2", "m3", "m4", "m5"]
    assert log_of(node) == ["m1", "m2", "m3", "m4", "m5"]


def call(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "search", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: str = "found") -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": call_id, "name": "search"}


def test_images_beyond_the_limit_become_a_line_of_text(world: World) -> None:
    node = memory(world)
    url = "https://example.com/cat.png"
    file = {"url": url, "metadata": {}, "file_name": "cat.png", "file_size": 1, "content_type": "image/png"}
    for n in (1, 3):
        node.add([{"role": "user", "content": f"u{n}", "files": [file]}], chat_id="c")
    first, second = node.view(chat_id="c").messages
    assert first["content"] == "[image: cat.png]\nu1"
    assert [part["type"] for part in second["content"]] == ["image_url", "text"]
    assert "image_url" not in str(memory(world, max_images=0).view(chat_id="c").messages)


# Selecting a chat.


def test_templates_make_the_chat_id_and_the_users_message(world: World) -> None:
    node = memory(world, chat_id="user-{{ start.chat_id }}", user_message_content="{{ start.text }}")
    posted = node.add([{"role": "user"}, {"role": "assistant", "content": "hi"}], variables=VARIABLES)
    assert (posted.chat_id, seen(node, "user-c")) == ("user-c", ["hello", "hi"])
    assert shown(node.view(variables=VARIABLES)) == ["hello", "hi"]
    plain = memory(world, "plain")
    plain.add([{"role": "user"}], variables=VARIABLES)
    assert seen(plain) == ['{"chat_id": "c", "text": "hello"}']


@each_row(
    "start", [{}, {"chat_id": ""}, {"chat_id": " "}, {"chat_id": None}, {"chat_id": "x" * 129}, {"chat_id": "a\0"}]
)
def test_variables_that_make_no_chat_id_are_rejected(world: World, start: dict[str, Any]) -> None:
    world = world.for_new_user()
    with pytest.raises(InvalidRequest):
        memory(world).add(m(1), variables={"start": start})
    assert chat_row(world) is None


def test_exactly_one_of_chat_id_and_variables_is_required() -> None:
    for who in ({}, {"chat_id": "c", "variables": {}}, {"chat_id": ""}):
        with pytest.raises(InvalidRequest):
            ChatSelector(**who)


def test_ids_that_differ_only_in_separators_are_different_chats_and_nodes(world: World) -> None:
    ids = ["a/b", "a:b", "a", "b", "a b", "a/", "/a", "A", "a%2Fb"]
    nodes = [memory(world, node_id) for node_id in ids]
    for node in nodes:
        for chat_id in ids:
            node.add([{"role": "user", "content": f"{node.key.node_id}|{chat_id}", "id": "same"}], chat_id=chat_id)
    for node in nodes:
        for chat_id in ids:
            assert seen(node, chat_id) == [f"{node.key.node_id}|{chat_id}"]


# Writing.


def test_a_repeated_post_adds_nothing_and_different_content_conflicts(world: World) -> None:
    node = memory(world)
    first = node.add(m(1, 2), chat_id="c")
    again = node.add(m(1, 2, 3), chat_id="c")
    assert [message.created for message in again.messages] == [False, False, True]
    assert [message.seq for message in again.messages] == [1, 2, 3]
    assert again.messages[0].id == first.messages[0].id
    with pytest.raises(errors.MessageConflict):
        node.add([*m(4), {"role": "user", "content": "other", "id": "m1"}], chat_id="c")
    assert log_of(node) == ["m1", "m2", "m3"]
    node.add([{"role": "user", "content": "twice"}] * 2, chat_id="c")
    assert len(log_of(node)) == 5


@each_row(
    ("message", "field"),
    [
        ({"role": "user", "content": ""}, "messages[0].content"),
        ({"role": "user", "content": []}, "messages[0].content"),
        ({"role": "user"}, "messages[0].content"),
        ({"role": "robot", "content": "x"}, "messages[0].role"),
        ({"role": "user", "content": "x", "files": ["f"]}, "messages[0].files[0]"),
        ({"role": "user", "content": "x", "files": [{"url": "ftp://x"}]}, "messages[0].files[0].url"),
    ],
)
def test_an_empty_message_is_rejected(world: World, message: dict[str, Any], field: str) -> None:
    world = world.for_new_user()
    with pytest.raises(InvalidRequest) as caught:
        memory(world).add([message], chat_id="c")
    assert caught.value.field == field
    assert chat_row(world) is None


@pytest.mark.both_databases
def test_concurrent_appends_are_all_kept_in_one_order(world: World) -> None:
    node = memory(world, trim_mode="threshold", threshold_trigger=10, threshold_target=4)

    def write(writer: int) -> list[tuple[int, str]]:
        new_messages = [f"{writer}.{n}" for n in range(8)]
        return [
            (node.add([{"role": "user", "content": text, "id": text}], chat_id="c").messages[0].seq, text)
            for text in new_messages
        ]

    with ThreadPoolExecutor(4) as pool:
        written = sorted(pair for pairs in pool.map(write, range(4)) for pair in pairs)
    assert [seq for seq, _ in written] == list(range(1, 33))
    assert log_of(node) == [text for _, text in written]
    row = chat_row(world)
    assert row is not None
    assert (row.last_seq, row.messages, row.tokens) == (32, 32, 32 * 6)


def test_a_crash_between_question_and_answer_leaves_a_readable_history(world: World) -> None:
    node = memory(world, max_messages=4)
    node.add(m(1, 2), chat_id="c", run_id="r1")
    node.add([*m(3), call("t1")], chat_id="c", run_id="r2")  # the run crashes here
    node.add(m(5), chat_id="c", run_id="r3")
    assert seen(node) == ["m1", "m2", "m3", "m5"], "an unanswered tool call is not shown"
    assert shown(node.view(chat_id="c", align="strict")) == ["m1", "m2", "m3\n\nm5"]


def test_a_view_read_by_pages_equals_the_view_of_the_whole_log(world: World) -> None:
    """Reading a log from its end stops only when nothing older could be shown."""
    chance = random.Random(7)
    for number in range(12):
        fields: dict[str, Any] = {
            "limit_type": chance.choice(["messages", "tokens"]),
            "max_messages": chance.randint(0, 30),
            "max_tokens": chance.randint(0, 300),
            "min_messages": chance.randint(0, 4),
            "trim_strategy": chance.choice(["drop_oldest", "drop_middle"]),
            "clear_tool_results": chance.random() < 0.5,
            "keep_first": chance.choice([None, 0, 5]),
        }
        node = memory(world, f"node {number}", **fields)
        new_messages: list[dict[str, Any]] = []
        while len(new_messages) < 130:
            turn = [{"role": "user", "content": "question " * chance.randint(1, 4)}]
            for step in range(chance.randint(0, 3)):
                name = f"{len(new_messages)}.{step}"
                turn += [call(name), result(name, "long " * chance.randint(1, 20))]
            new_messages += [*turn, {"role": "assistant", "content": "answer"}]
        if chance.random() < 0.4:
            new_messages += [{"role": "user", "content": "open"}, call("x"), result("x")] * chance.choice([1, 20])
        node.add(new_messages, chat_id="c")
        with world.services.database.reading() as db:
            (row,) = db.scalars(
                sa.select(ChatRecord.chat_row_id)
                .distinct()
                .join(Chat)
                .where(Chat.chat_memory_id == get_memory(world.services, node.key).id)
            )
            whole = [record_of(one) for one in queries.oldest(db, db.get_one(Chat, row), limit=1000)]
        options = node.config.options((), ViewOptions())
        assert node.view(chat_id="c").messages == build_view(whole, options).messages, fields


# Summaries.


def test_a_summary_replaces_the_messages_left_out(world: World) -> None:
    notes = Notes()
    node = memory(world, max_messages=6, enable_summarization=True, summarizer=notes)
    node.add(m(*range(1, 11)), chat_id="c")
    assert seen(node) == [f"m{n}" for n in range(1, 11)], "too few for a model call; shown verbatim meanwhile"
    due = {"summarizer": notes, "batch": 1}
    assert summarize_due(world.services, node.key, "c", **due)  # type: ignore[arg-type]
    assert seen(node) == ["m1+m2+m3+m4", "m5", "m6", "m7", "m8", "m9", "m10"]
    node.add(m(11), chat_id="c")
    assert summarize_due(world.services, node.key, "c", **due)  # type: ignore[arg-type]
    assert seen(node) == ["m1+m2+m3+m4+m5", "m6", "m7", "m8", "m9", "m10", "m11"]
    assert not summarize_due(world.services, node.key, "c", **due)  # type: ignore[arg-type]
    assert notes.asked == [node.config.summarize_prompt] * 2
    node.add(m(*range(12, 18)), chat_id="c")
    assert seen(node)[0] == "m1+m2+m3+m4+m5+m6+m7+m8+m9+m10+m11", (
        "with six waiting, the write itself updates the summary"
    )


def worker(world: World, by: Notes) -> list[bool]:
    """Handle the waiting notifications as a worker does; the results."""
    made: list[bool] = []
    world.queue.drain_task(SUMMARIZE, lambda each: made.append(make_due(world.services, each, by)))
    return made


def test_a_due_summary_is_requested_once_and_made_by_a_worker(world: World) -> None:
    notes = Notes()
    node = memory(world, max_messages=3, enable_summarization=True)
    node.add(m(*range(1, 9)), chat_id="c")
    assert world.queue.notified[SUMMARIZE.name] == [], "five are too few"
    node.add(m(9), chat_id="c")
    node.add(m(10), chat_id="c")
    assert (len(world.queue.notified[SUMMARIZE.name]), notes.asked) == (1, [])
    assert worker(world, notes) == [True]
    assert seen(node) == ["m1+m2+m3+m4+m5+m6+m7", "m8", "m9", "m10"]
    assert worker(world, notes) == []
    chat_row_id = chats_of(world)[0].id
    assert not make_due(world.services, chat_row_id, notes), "a stale notification finds nothing to do"
    node.add(m(*range(11, 17)), chat_id="c")
    assert worker(world, notes) == [True]


def test_a_summary_is_made_after_its_notification_or_worker_was_lost(world: World) -> None:
    notes = Notes(fails=1)
    node = memory(world, max_messages=3, enable_summarization=True)
    world.queue.away = True
    node.add(m(*range(1, 11)), chat_id="c")
    world.queue.away = False
    world.sweep()
    assert worker(world, notes) == [], "the backoff is not over"
    for outcome in (False, True):
        overdue(world)
        world.sweep()
        assert worker(world, notes) == [outcome]
        assert seen(node)[0] == ("m1+m2+m3+m4+m5+m6+m7" if outcome else "m1")
    overdue(world)
    world.sweep()
    assert worker(world, notes) == []


def test_a_worker_takes_the_task_of_a_chats_summary(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    process = WorkerProcess(
        services=world.services, owner="worker-1", watchdog=Watchdog(60), heartbeat=cast("Any", None)
    )
    monkeypatch.setattr(tasks, "this_process", lambda: process)
    node = memory(world, max_messages=3, enable_summarization=True)
    node.add([{"role": "user", "content": f"Fact {n} is told."} for n in range(10)], chat_id="c")
    task = tasks.app.tasks[SUMMARIZE.name]
    assert world.queue.drain_task(SUMMARIZE, lambda each: task(**{SUMMARIZE.argument: str(each)})) == 1
    assert "Fact 1" in seen(node)[0]
    assert len(seen(node)) == 4


def test_one_worker_at_a_time_makes_a_summary(world: World) -> None:
    memory(world, max_messages=3, enable_summarization=True).add(m(*range(1, 11)), chat_id="c")
    (chat,), other = chats_of(world), Notes()
    notes = Notes(meanwhile=lambda: make_due(world.services, chat.id, other))
    assert worker(world, notes) == [True]
    assert (len(notes.asked), other.asked) == (1, [])


def test_a_rejected_summary_is_tried_again_and_then_waits_for_a_write(world: World) -> None:
    class Rejecting(Notes):
        def summarize(self, previous: str | None, records: Sequence[Record], prompt: str | None = None) -> str:
            super().summarize(previous, records, prompt)
            raise errors.SummaryRejected

    notes = Rejecting()
    node = memory(world, max_messages=3, enable_summarization=True)
    node.add(m(*range(1, 11)), chat_id="c")
    for _ in range(5):
        worker(world, notes)
        overdue(world)
        world.sweep()
    assert len(notes.asked) == job.MAX_ATTEMPTS
    node.add(m(11), chat_id="c")
    assert worker(world, Notes()) == [True]


def test_a_request_for_a_summary_is_not_repeated_for_a_workers_claim(world: World) -> None:
    notes = Notes(meanwhile=lambda: worker(world, Notes(fails=1)))
    node = memory(world, max_messages=3, enable_summarization=True)
    node.add(m(*range(1, 11)), chat_id="c")
    node._summarizer = notes
    assert node.summarize("c", keep_last_n=2).summary == "+".join(f"m{n}" for n in range(1, 9))
    assert len(notes.asked) == 1


def test_messages_written_during_summarization_are_summarized_next(world: World) -> None:
    node = memory(world, max_messages=3, enable_summarization=True)
    node.add(m(*range(1, 11)), chat_id="c")
    assert worker(world, Notes(meanwhile=lambda: node.add(m(*range(11, 18)), chat_id="c"))) == [True]
    assert worker(world, Notes()) == [True]
    assert seen(node)[1:] == ["m15", "m16", "m17"]


def chats_of(world: World) -> list[Chat]:
    with world.services.database.reading() as db:
        return list(db.scalars(sa.select(Chat).where(Chat.flow_id == world.flow_id)))


def overdue(world: World) -> None:
    """Let the pending notifications become due."""
    with world.services.database.transaction() as db:
        mine = (Chat.flow_id == world.flow_id, Chat.notify_at.is_not(None))
        db.execute(sa.update(Chat).where(*mine).values(notify_at=Chat.created_at))


def test_messages_cut_by_a_threshold_are_summarized(world: World) -> None:
    node = memory(
        world,
        trim_mode="threshold",
        threshold_trigger=10,
        threshold_target=2,
        enable_summarization=True,
        summarizer=Notes(),
    )
    for n in range(1, 11):
        node.add(m(n), chat_id="c")
    assert seen(node) == ["m1+m2+m3+m4+m5+m6+m7+m8", "m9", "m10"]
    for n in range(11, 19):
        node.add(m(n), chat_id="c")
    assert seen(node) == ["+".join(f"m{n}" for n in range(1, 17)), "m17", "m18"]


def test_summarize_and_trim_on_request(world: World) -> None:
    node = memory(world, max_messages=100, summarizer=Notes())
    node.add(m(*range(1, 24)), chat_id="c")
    done = node.summarize("c", keep_last_n=5, summarize_prompt="briefly")
    text = "+".join(f"m{n}" for n in range(1, 19))
    assert (done.deleted_count, done.remaining_count, done.summary) == (18, 6, text)
    assert seen(node) == [text, "m19", "m20", "m21", "m22", "m23"]
    assert node.summarize("c", keep_last_n=5).deleted_count == 0
    trimmed = node.trim("c", 2)
    assert (trimmed.deleted_count, trimmed.remaining_count) == (3, 2)
    assert seen(node) == [text, "m22", "m23"]
    assert (node.trim("c").deleted_count, node.trim("c", 0).remaining_count) == (0, 0)
    assert len(log_of(node)) == 23, "the log keeps what views leave out"
    assert node.trim("unknown").remaining_count == node.summarize("unknown").remaining_count == 0


def test_a_trim_holds_with_a_threshold_too(world: World) -> None:
    node = memory(world, trim_mode="threshold", threshold_trigger=5, threshold_target=3, trim_strategy="drop_middle")
    node.add(m(*range(1, 8)), chat_id="c")
    assert len(seen(node)) < 7
    node.trim("c", 2)
    assert seen(node) == ["m6", "m7"]
    for n in range(8, 13):
        node.add(m(n), chat_id="c")
    assert "m5" not in seen(node)
    assert seen(node)[0] == "m6"


def test_a_failing_summarizer_changes_nothing(world: World) -> None:
    node = memory(world, max_messages=2, enable_summarization=True, summarizer=Notes(fails=2))
    node.add(m(*range(1, 11)), chat_id="c")
    assert seen(node) == [f"m{n}" for n in range(1, 11)]
    with pytest.raises(errors.SummarizerUnavailable):
        node.summarize("c")
    assert node.summarize("c").summary == "+".join(f"m{n}" for n in range(1, 9))


def test_a_deletion_removes_the_text_from_summaries_and_recorded_uses(world: World) -> None:
    node = memory(world, max_messages=4, summarizer=Notes())
    node.add(m(1, 2), chat_id="c", run_id="r1")
    node.add(m(*range(3, 9)), chat_id="c", run_id="r2")
    node.summarize("c")
    asked = uuid4()
    assert seen(node)[0] == "m1+m2+m3+m4+m5+m6"
    node.view(chat_id="c", run_id=asked)
    gone = delete(node, "latest_request", "assistant")
    assert (len(gone.deleted), gone.remaining_count) == (3, 5)
    assert seen(node) == ["m2", "m3", "m5", "m7"], "views show again what the summary had replaced"
    (use,) = uses.run_memory(world.services, world.user_id, world.flow_id, asked).nodes
    assert "m4" not in str(use.messages)
    assert "m8" not in str(use.messages)
    assert "m7" in str(use.messages)


class Deleting(Notes):
    """A summarizer during which a message is deleted."""

    def __init__(self, node: ChatMemory) -> None:
        super().__init__()
        self.node = node

    def summarize(self, previous: str | None, records: Sequence[Record], prompt: str | None = None) -> str:
        if not self.asked:
            delete(self.node, "latest_request", "user", "assistant")
        return super().summarize(previous, records, prompt)


def test_a_message_deleted_during_summarization_is_in_no_summary(world: World) -> None:
    node = memory(world, max_messages=3, enable_summarization=True)
    node.add(m(1, 2, 3, 4), chat_id="c", run_id="r1")
    node.add(m(5, 6), chat_id="c", run_id="r2")
    assert not summarize_due(world.services, node.key, "c", summarizer=Deleting(node), batch=1)
    assert seen(node) == ["m1", "m2", "m3", "m4"]
    node._summarizer = Deleting(node)
    node.add(m(7, 8, 9), chat_id="c", run_id="r3")
    assert node.summarize("c", keep_last_n=2).summary == "m1+m2"


# Reading and deleting.


@each_row(
    ("page", "items", "next_offset"),
    [
        ({"limit": 2}, "m4 m5", None),
        ({"limit": 2, "offset": 0}, "m1 m2", 2),
        ({"limit": 2, "offset": 2}, "m3 m4", 4),
        ({"limit": 2, "offset": 4}, "m5", None),
        ({"offset": 5}, "", None),
        ({"limit": 0}, "", None),
        ({}, "m1 m2 m3 m4 m5", None),
        ({"limit": 2, "cursor": "before:4"}, "m2 m3", None),
    ],
)
def test_get_memory_data(world: World, page: dict[str, Any], items: str, next_offset: int | None) -> None:
    world = world.for_new_user()
    node = memory(world)
    node.add(m(*range(1, 6)), chat_id="c")
    found = message_log.read_messages(node.services, node.key, "c", **page)
    assert [item.content for item in found.items] == items.split()
    assert (found.total, found.next_offset) == (5, next_offset)
    if "cursor" not in page:
        assert GetMemoryData(memory=node, name="data", chat_id=CHAT, **page).run(VARIABLES) == found


def test_writes_and_deletes_do_not_shift_a_cursor(world: World) -> None:
    node = memory(world)
    node.add(m(*range(1, 6)), chat_id="c")
    for begin, order in (
        ({"limit": 2}, ["m4 m5", "m2 m3", "m1"]),
        ({"limit": 2, "offset": 0}, ["m1 m2", "m3 m4", "m5"]),
    ):
        pages, step = [], dict(begin)
        while step:
            page = message_log.read_messages(node.services, node.key, "c", **step)
            pages.append(" ".join(str(item.content) for item in page.items))
            step = {"limit": 2, "cursor": page.next_cursor} if page.has_more else {}
        assert pages == order
    for bad in (
        {"limit": -1},
        {"limit": 201},
        {"offset": -1},
        {"cursor": "x"},
        {"cursor": "after:1", "offset": 0},
        {"cursor": f"after:{2**63}"},
    ):
        with pytest.raises(InvalidRequest):
            message_log.read_messages(node.services, node.key, "c", **bad)
    assert log_of(node, "unknown") == []


def two_runs(node: ChatMemory) -> None:
    node.add(m(1, 2), chat_id="c", run_id="r1")
    new_messages = [
        {"role": "user", "content": "m3"},
        call("t") | {"content": "m4"},
        result("t", "m5"),
        {"role": "assistant", "content": "m6"},
    ]
    node.add(new_messages, chat_id="c", run_id="r2")


@each_row(
    ("mode", "roles", "left"),
    [
        ("latest_request", "user assistant", "m1 m2"),
        ("latest_request", "assistant", "m1 m2 m3"),
        ("latest_request", "user", "m1 m2 m4 m5 m6"),
        ("all", "user", "m2 m4 m5 m6"),
        ("all", "assistant", "m1 m3"),
        ("all", "user assistant", ""),
    ],
)
def test_delete_memory(world: World, mode: Any, roles: str, left: str) -> None:
    world = world.for_new_user()
    node = memory(world)
    two_runs(node)
    before = message_log.read_messages(node.services, node.key, "c").items
    done = DeleteMemory(memory=node, name="undo", chat_id=CHAT, mode=mode, roles=roles.split()).run(VARIABLES)  # type: ignore[arg-type]
    assert log_of(node) == left.split()
    assert done.deleted == [item.id for item in before if item.content not in left.split()]
    assert done.remaining_count == len(left.split())
    row = chat_row(world)
    assert (row is None) == (not left)
    if row is not None:
        items = message_log.read_messages(node.services, node.key, "c").items
        assert (row.messages, row.tokens) == (len(items), sum(item.tokens for item in items))


def test_each_deletion_undoes_one_more_request(world: World) -> None:
    node = memory(world)
    two_runs(node)
    for _ in range(2):
        delete(node, "latest_request", "user", "assistant")
    assert log_of(node) == []
    assert delete(node, "all", "user") == message_log.Deleted([], 0)
    node.add(m(1, 2), chat_id="c")
    node.add(m(3), chat_id="c")  # without a run each post is a separate request
    delete(node, "latest_request", "user", "assistant")
    assert log_of(node) == ["m1", "m2"]
    with pytest.raises(InvalidRequest):
        delete(node, "all")


def test_add_memory_renders_its_fields(world: World) -> None:
    node = memory(world)
    fields: dict[str, Any] = {"memory": node, "name": "add", "chat_id": CHAT}
    add = AddMemory(
        **fields,
        role="assistant",
        content="Said: {{ start.text }}",
        enable_files=True,
        files='{"files": [{"url": "https://example.com/f.pdf", "content_type": "application/pdf"}]}',
    )
    for _ in range(2):
        add.run(VARIABLES, "r1", message_id="once")
    (item,) = message_log.read_messages(node.services, node.key, "c").items
    assert (item.role, item.content, item.files[0]["content_type"]) == ("assistant", "Said: hello", "application/pdf")
    assert item.run_id is not None
    for wrong in ({"role": "system", "content": "x"}, {"role": "user", "content": "{{"}, {"role": "user", "name": " "}):
        with pytest.raises(InvalidRequest):
            AddMemory(**fields | wrong)
    files = {"content": "x", "enable_files": True}
    of_files = [files | {"files": each} for each in ("{", "1", "[" * 3_000)]
    for broken in ({"content": ""}, {"content": "{{ nope }}"}, *of_files):
        with pytest.raises(InvalidRequest):
            AddMemory(**fields | {"role": "user"} | broken).run(VARIABLES)


# Isolation and erasure.


def rows_left(world: World) -> int:
    with world.services.database.reading() as db:
        mine = ((each, each.flow_id == world.flow_id) for each in (Chat, ChatRecord))
        return sum(db.scalar(sa.select(sa.func.count()).select_from(each).where(which)) or 0 for each, which in mine)


def test_a_chat_counts_toward_no_threshold_is_no_message_and_goes_with_its_flow(world: World) -> None:
    base = world.new_base(threshold=1)
    node = memory(world)
    node.add(m(1, 2), chat_id="c")
    world.settle()
    assert world.jobs(base) == []
    assert sessions.list_messages(world.services, world.user_id, MessageQuery(), PageRequest()).total == 0
    with pytest.raises(errors.NotFound):
        get_memory(world.services, MemoryKey(world.user_id, world.new_flow(), "node"))
    session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
    sweeper.finish_deletions(world.services)
    assert rows_left(world) == 0


def test_an_end_users_chats_are_erased(world: World) -> None:
    node = memory(world)
    node.add(m(1, 2), chat_id="c", end_user_id="anna")
    node.add(m(1), chat_id="d", end_user_id="ben")
    with pytest.raises(errors.Conflict):
        node.add(m(3), chat_id="c", end_user_id="ben")
    receipt = edits.erase_end_user(world.services, world.user_id, "anna")
    assert (receipt.chats, receipt.chat_messages, receipt.sessions) == (1, 2, 0)
    assert (log_of(node, "c"), log_of(node, "d")) == ([], ["m1"])
    with pytest.raises(errors.NotFound):
        edits.erase_end_user(world.services, world.user_id, "anna")


def test_reading_a_page_of_a_long_chat_reads_only_that_page(world: World) -> None:
    """Neither a view nor a page of a long log reads more rows than it needs."""
    node = memory(world, max_messages=20)
    trimming = memory(world, "threshold", trim_mode="threshold", threshold_trigger=50, threshold_target=10)
    for each in (node, trimming):
        for start in range(0, 3000, 1000):
            each.add([{"role": "user", "content": str(n)} for n in range(start, start + 1000)], chat_id="c")
    assert _rows_read(lambda: seen(node)) <= 40
    assert _rows_read(lambda: log_of(node, limit=10)) <= 15
    assert _rows_read(lambda: seen(trimming)) <= 80
    assert _rows_read(lambda: trimming.add(m(1), chat_id="c")) <= 200


def _rows_read(act: Any) -> int:
    loaded: list[UUID] = []

    def count(target: ChatRecord, _context: object) -> None:
        loaded.append(target.message_id)

    sa.event.listen(ChatRecord, "load", count)
    try:
        act()
    finally:
        sa.event.remove(ChatRecord, "load", count)
    assert loaded
    return len(loaded)


def test_a_flows_memories_are_listed(world: World) -> None:
    names: Collection[str] = [memory(world, node_id).key.node_id for node_id in ("b", "a")]
    page = list_memories(world.services, world.user_id, world.flow_id, PageRequest())
    assert [each.node_id for each in page.items] == names
