"""Maps: requested, computed by a worker, stale, without what was deleted, and repeated after any loss."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.acts import edit
from harness.rows import each_row
from harness.world import WorkerKilled, World, crash_after

from memorybase.core import errors
from memorybase.core.memory_bases import deletion
from memorybase.core.memory_bases import regenerate as regeneration
from memorybase.core.models import LedgerEntry
from memorybase.core.operations import sweeper
from memorybase.core.sessions import edits
from memorybase.core.vectors.chunk_ids import chunk_ids
from memorybase.features.memory_map import job, read
from memorybase.features.memory_map import queries as memory_maps
from memorybase.features.memory_map.job import MAP
from memorybase.features.memory_map.models import MapPoint, MemoryMap
from memorybase.features.memory_map.read import MapState, MapView
from worker import tasks
from worker.process import Watchdog, WorkerProcess

TOPICS = ("berth with shore power", "pump takes cards", "engine oil change")


def talk(world: World, count: int, *, session_id: str = "s", start: int = 0) -> None:
    world.say(session_id, *(f"{TOPICS[n % 3]} {n}" for n in range(start, start + count)))


def base_with(world: World, count: int) -> UUID:
    base = world.new_base(threshold=1)
    talk(world, count)
    world.settle()
    return base


def get(world: World, base: UUID, question: str | None = None) -> MapView:
    return read.get_map(world.services, world.user_id, base, question=question)


def request(world: World, base: UUID) -> MapView:
    return read.request_map(world.services, world.user_id, base)


def compute(world: World, base_id: UUID) -> bool:
    return job.compute_map(world.services, base_id)


def mapped(world: World, count: int = 30) -> UUID:
    """A memory base with a map."""
    base = base_with(world, count)
    request(world, base)
    assert world.queue.drain_task(MAP, lambda each: compute(world, each)) == 1
    return base


def shown(world: World, base: UUID) -> set[UUID]:
    return {point.message_id for point in get(world, base).points}


def stored_points(world: World, base: UUID) -> list[MapPoint]:
    with world.services.database.reading() as db:
        return list(db.scalars(sa.select(MapPoint).where(MapPoint.memory_base_id == base)))


def test_a_map_is_computed_by_a_worker_and_has_every_message(world: World) -> None:
    base = base_with(world, 30)
    assert get(world, base).state is MapState.NONE
    requested = request(world, base)
    assert (requested.state, requested.progress, requested.points) == (MapState.COMPUTING, 0, [])
    assert world.queue.drain_task(MAP, lambda each: compute(world, each)) == 1

    found = get(world, base)
    assert (found.state, found.progress, found.error) == (MapState.READY, None, None)
    assert {point.message_id for point in found.points} == {message.id for message in world.messages()}
    assert (found.messages, found.mapped_messages, found.added, found.removed, found.edited) == (30, 30, 0, 0, 0)
    assert 0 < (found.explained or 0) <= 1
    assert sum(cluster.points for cluster in found.clusters) == 30
    assert {"power", "cards", "engine"} & set(" ".join(each.label for each in found.clusters).replace(",", "").split())


def test_a_question_is_among_the_messages_that_say_the_like(world: World) -> None:
    base = mapped(world)
    found = get(world, base, "which berth has shore power")
    texts = {message.id: str(message.content) for message in world.messages()}
    assert found.question is not None

    def distance(point: Any) -> float:
        assert found.question is not None
        return float((point.x - found.question.x) ** 2 + (point.y - found.question.y) ** 2)

    assert "berth" in texts[min(found.points, key=distance).message_id]
    assert get(world, base).question is None


@each_row(("question", "says"), [("  ", "empty"), ("\x00", "NUL")])
def test_a_question_is_checked(world: World, question: str, says: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=says) as raised:
        get(world, uuid4(), question)
    assert raised.value.field == "question"


def test_without_a_map_a_question_is_nowhere_and_needs_no_model(world: World) -> None:
    base = base_with(world, 30)
    world.embedder.fail_with(errors.EmbeddingFailed())
    assert get(world, base, "berth").question is None


def test_too_few_messages_have_no_map(world: World) -> None:
    base = base_with(world, job.MIN_MESSAGES - 1)
    assert request(world, base).state is MapState.TOO_FEW
    assert world.queue.notified[MAP.name] == []
    talk(world, 1, start=100)
    world.settle()
    assert get(world, base).state is MapState.NONE


def test_messages_without_text_do_not_count(world: World) -> None:
    base = base_with(world, job.MIN_MESSAGES)
    request(world, base)
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    world.say("s", *[{"role": "assistant", "content": None, "tool_calls": [call]}] * 10)
    edits.delete_message(world.services, world.user_id, world.messages()[0].id)
    world.settle()
    assert not compute(world, base)
    assert get(world, base).state is MapState.TOO_FEW
    assert request(world, base).state is MapState.TOO_FEW


def test_messages_that_became_too_few_while_a_map_was_pending_end_it(world: World) -> None:
    base = base_with(world, job.MIN_MESSAGES)
    request(world, base)
    edits.delete_message(world.services, world.user_id, world.messages()[0].id)
    world.settle()
    assert not compute(world, base)
    assert get(world, base).state is MapState.TOO_FEW
    world.pass_time(10_000)
    assert world.sweep().done["maps"] == 0, "nothing is pending any more"


def test_a_second_request_does_not_start_a_second_computation(world: World) -> None:
    base = base_with(world, 30)
    request(world, base)
    request(world, base)
    assert world.queue.notified[MAP.name] == [base]


def test_a_map_is_stale_with_the_numbers_of_what_changed(world: World) -> None:
    base = mapped(world)
    first, second, *_ = world.messages()
    talk(world, 3, session_id="other", start=50)
    edits.delete_message(world.services, world.user_id, first.id)
    edit(world, second.id, "something else")
    world.settle()
    found = get(world, base)
    assert (found.state, found.added, found.removed, found.edited) == (MapState.STALE, 3, 1, 1)
    assert len(found.points) == 29
    request(world, base)
    assert len(get(world, base).points) == 29, "the last map is shown until the next one"
    world.queue.drain_task(MAP, lambda each: compute(world, each))
    found = get(world, base)
    assert (found.state, found.added, found.removed, found.edited, len(found.points)) == (MapState.READY, 0, 0, 0, 32)


def test_a_deleted_message_does_not_show_and_its_point_is_deleted(world: World) -> None:
    base = mapped(world)
    gone = world.messages()[0].id
    edits.delete_message(world.services, world.user_id, gone)
    found = get(world, base)
    assert gone not in {point.message_id for point in found.points}, "at once"
    assert (found.state, found.removed, found.shown) == (MapState.STALE, 1, 29)
    assert read.messages_on_map(world.services, world.user_id, base, [gone]) == []
    world.settle()
    assert gone not in {point.message_id for point in stored_points(world, base)}, "with its vector"
    assert (get(world, base).removed, get(world, base).shown) == (1, 29)


def test_an_erased_person_leaves_the_map_and_its_words(world: World) -> None:
    base = base_with(world, 25)
    world.say("erased", *(f"Wilhelmina sails {n}" for n in range(10)), end_user_id="anna")
    world.settle()
    request(world, base)
    world.queue.drain_task(MAP, lambda each: compute(world, each))
    assert "wilhelmina" in " ".join(each.label for each in get(world, base).clusters)
    edits.erase_end_user(world.services, world.user_id, "anna")
    found = get(world, base)
    assert {point.session_id for point in found.points} == {"s"}
    assert "wilhelmina" not in " ".join(each.label for each in found.clusters)
    world.settle()
    assert len(stored_points(world, base)) == 25


def test_nothing_of_what_is_stored_is_text() -> None:
    """So that a deletion or an edit leaves nothing behind."""
    columns = {(table, each.name) for table in (MapPoint, MemoryMap) for each in sa.inspect(table).columns}
    texts = {name for table, name in columns if isinstance(sa.inspect(table).columns[name].type, sa.String | sa.JSON)}
    assert texts == {"error_code"}


def test_a_message_that_is_deleted_while_the_map_is_computed_has_no_point(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = base_with(world, 30)
    gone = world.messages()[0].id
    fit = job.projection.fit

    def delete_first(vectors: Any) -> Any:
        edits.delete_message(world.services, world.user_id, gone)
        world.settle()
        return fit(vectors)

    monkeypatch.setattr(job.projection, "fit", delete_first)
    request(world, base)
    assert compute(world, base)
    assert len(stored_points(world, base)) == 29
    assert gone not in shown(world, base)


def test_after_a_regenerate_the_map_is_computed_again(world: World) -> None:
    base = mapped(world)
    regeneration.regenerate(world.services, world.user_id, base, embedding_model="other")
    world.settle()
    assert get(world, base, "berth").state is MapState.NONE
    assert get(world, base).points == []
    request(world, base)
    world.queue.drain_task(MAP, lambda each: compute(world, each))
    assert len(get(world, base, "berth").points) == 30
    world.pass_time(10_000)
    world.settle()
    assert len(get(world, base).points) == 30, "what the old generation leaves behind is not on it"


def test_a_deleted_memory_base_leaves_no_map(world: World) -> None:
    base = mapped(world)
    deletion.delete_memory_base(world.services, world.user_id, base)
    world.settle()
    assert stored_points(world, base) == []
    with world.services.database.reading() as db:
        assert memory_maps.fetch(db, base) is None
    assert not compute(world, base)


def test_another_user_reads_no_messages_of_a_map(world: World) -> None:
    """Calls of the API are tried in test_isolation.py; this one is the page's."""
    base = mapped(world)
    with pytest.raises(errors.NotFound):
        read.messages_on_map(world.services, world.new_user(), base, [world.messages()[0].id])


def test_messages_are_read_by_id_in_that_order_and_only_of_the_map(world: World) -> None:
    base = mapped(world)
    talk(world, 1, session_id="later", start=90)
    ids = [message.id for message in world.messages("s")]
    asked = [ids[2], uuid4(), ids[0], world.messages("later")[0].id]
    found = read.messages_on_map(world.services, world.user_id, base, asked)
    assert [each.message_id for each in found] == [ids[2], ids[0]]
    assert found[0].excerpt == "engine oil change 2"
    with pytest.raises(errors.InvalidRequest, match="1 to 200"):
        read.messages_on_map(world.services, world.user_id, base, [uuid4() for _ in range(201)])


# Losses


def test_the_map_of_a_killed_worker_is_computed_by_another(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = base_with(world, 30)
    request(world, base)
    world.queue.clear()
    with monkeypatch.context() as patched:
        patched.setattr(job.projection, "fit", crash_after())
        with pytest.raises(WorkerKilled):
            compute(world, base)
    found = get(world, base)
    assert (found.state, found.progress) == (MapState.COMPUTING, job.READING)
    assert not compute(world, base), "the lease holds"
    world.pass_time(1)
    assert world.sweep().done["maps"] == 0
    world.pass_time(100)
    assert world.sweep().done["maps"] == 1
    assert world.queue.drain_task(MAP, lambda each: compute(world, each)) == 1
    assert get(world, base).state is MapState.READY


def test_a_thawed_worker_does_not_overwrite_a_later_map(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = base_with(world, 30)
    request(world, base)
    fit = job.projection.fit
    others: list[bool] = []

    def freeze(vectors: Any) -> Any:
        monkeypatch.setattr(job.projection, "fit", fit)
        world.pass_time(1_000)
        others.append(compute(world, base))
        return fit(vectors)

    monkeypatch.setattr(job.projection, "fit", freeze)
    assert not compute(world, base)
    assert others == [True]
    assert len(stored_points(world, base)) == 30


def test_an_outage_of_the_store_is_shown_and_repeated(world: World) -> None:
    base = mapped(world)
    talk(world, 1, start=60)
    world.settle()
    world.vectors.away = True
    request(world, base)
    assert not compute(world, base)
    found = get(world, base)
    assert (found.state, found.error) == (MapState.UNAVAILABLE, "vector_store_unavailable")
    assert found.failing_since is not None
    assert len(found.points) == 30, "the last map stays"
    world.vectors.away = False
    world.queue.clear()
    world.pass_time(300)
    assert world.sweep().done["maps"] == 1
    world.queue.drain_task(MAP, lambda each: compute(world, each))
    found = get(world, base)
    assert (found.state, found.error, len(found.points)) == (MapState.READY, None, 31)


def test_vectors_that_the_store_lost_are_an_outage_and_no_small_map(world: World) -> None:
    base = base_with(world, 30)
    world.vectors.lose(world.ref(base), sorted(world.stored(base))[:15])
    request(world, base)
    assert not compute(world, base)
    assert get(world, base).state is MapState.UNAVAILABLE


def test_a_request_after_a_failure_is_tried_at_once(world: World) -> None:
    base = base_with(world, 30)
    world.vectors.away = True
    request(world, base)
    compute(world, base)
    world.vectors.away = False
    world.queue.clear()
    request(world, base)
    assert world.queue.drain_task(MAP, lambda each: compute(world, each)) == 1
    assert get(world, base).state is MapState.READY


def test_two_sweepers_notify_once(world: World) -> None:
    base = base_with(world, 30)
    world.queue.away = True
    request(world, base)
    world.queue.away = False
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(lambda _: sweeper.sweep(world.services), range(2)))
    assert sum(report.done["maps"] for report in reports) == 1


# Bounds


def test_of_many_messages_a_sample_is_on_the_map(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "ENTRY_PAGE", 7)
    monkeypatch.setattr(job.Sample.__init__, "__kwdefaults__", {"limit": 25})
    base = base_with(world, 40)
    request(world, base)
    assert compute(world, base)
    found = get(world, base)
    assert (found.state, len(found.points), found.mapped_messages) == (MapState.READY, 25, 40)
    before = shown(world, base)
    request(world, base)
    compute(world, base)
    assert shown(world, base) == before


def test_no_transaction_is_open_while_vectors_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = base_with(world, 30)
    request(world, base)
    fetch = world.vectors.fetch
    pool = world.services.database.engine.pool
    checked_out: list[int] = []

    def watched(*arguments: Any, **named: Any) -> Any:
        checked_out.append(pool.checkedout())  # type: ignore[attr-defined]
        return fetch(*arguments, **named)

    monkeypatch.setattr(world.vectors, "fetch", watched)
    assert compute(world, base)
    assert checked_out == [0]


def test_waiting_messages_are_ingested_before_a_page_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    process = WorkerProcess(
        services=world.services, owner="worker-1", watchdog=Watchdog(60), heartbeat=cast("Any", None)
    )
    monkeypatch.setattr(tasks, "this_process", lambda: process)
    base = base_with(world, 30)
    request(world, base)
    talk(world, 5, session_id="waits", start=70)
    tasks.app.tasks[job.MAP.name](**{job.MAP.argument: str(base)})
    found = get(world, base)
    assert found.messages == 35
    assert found.state is MapState.STALE, "they came while the map was computed"


def test_a_map_reads_the_first_chunk_of_each_message(world: World) -> None:
    base = base_with(world, 20)
    world.say("long", "engine " * 3_000)
    world.settle()
    with world.services.database.reading() as db:
        entry = db.scalars(sa.select(LedgerEntry).where(LedgerEntry.chunks > 1)).one()
    rest = chunk_ids(base, entry.message_id, entry.version, entry.chunks)[1:]
    world.vectors.lose(world.ref(base), rest)
    request(world, base)
    assert compute(world, base)
    assert entry.message_id in shown(world, base)
