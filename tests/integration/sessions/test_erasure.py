"""The deletion of a session that does not fit into one transaction."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from harness.expiring import execute
from harness.world import WorkerKilled, World

from memorybase.core import errors
from memorybase.core.conversation.history import node_executions
from memorybase.core.database.paging import PageRequest
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries import residues, session_lists
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.search.search import SearchRequest, search
from memorybase.core.sessions import edits, erasure
from memorybase.core.vectors.store import CollectionRef


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "PAGE", 3)


def shown(world: World) -> list[Any]:
    """What lists and searches return of the flow."""
    with world.services.database.reading() as db:
        page = PageRequest(size=50)
        messages = message_queries.messages_page(db, world.user_id, MessageQuery(flow_id=world.flow_id), None, page)
        sessions = session_lists.sessions_page(db, world.user_id, SessionFilter(), None, page)
        one = [message_queries.fetch_message_view(db, world.user_id, message.id) for message in world.messages()]
    wanted = SearchRequest(query="apples", flow_id=world.flow_id, top_k=20)
    return [*messages.rows, *sessions.rows, *filter(None, one), *search(world.services, world.user_id, wanted).results]


@pytest.mark.usefixtures("small_pages")
class TestLongSessions:
    def test_the_request_deletes_everything_and_names_the_repairs(self, world: World) -> None:
        base = world.new_base(threshold=2)
        for number in range(5):
            world.say("long", f"apples {number}", "pears", run_id=None)
        world.settle()
        erased = edits.delete_session(world.services, world.user_id, world.flow_id, "long")
        assert (erased.sessions, erased.runs, erased.messages, erased.chunks) == (1, 5, 10, 10)
        assert erased.pending_repairs == len(erased.job_ids) == 1
        assert world.messages() == []
        world.settle()
        assert world.stored(base) == set()
        assert world.rows(base) == []

    def test_the_sweeper_finishes_what_was_cut_off(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = world.new_base(threshold=2)
        world.say("long", *(f"apples {number}" for number in range(10)))
        world.settle()
        assert len(shown(world)) == 31

        def killed(*_: object) -> None:
            raise WorkerKilled

        with monkeypatch.context() as patch:
            patch.setattr(erasure, "finish", killed)
            with pytest.raises(WorkerKilled):
                edits.delete_session(world.services, world.user_id, world.flow_id, "long")
        assert 0 < len(world.messages()) < 10
        assert shown(world) == []
        with pytest.raises(errors.DatabaseUnavailable, match="being deleted") as refused:
            world.say("long", "a capture between two pages")
        assert refused.value.retryable
        with pytest.raises(errors.DatabaseUnavailable, match="being deleted"):
            execute(world, "long", uuid4(), "an execution between two pages")
        with pytest.raises(errors.NotFound):
            edits.delete_session(world.services, world.user_id, world.flow_id, "long")
        assert world.sweep().done["sessions_erased"] == 1
        assert world.messages() == []
        world.settle()
        assert world.stored(base) == set()
        (kept,) = world.say("long", "bread").messages
        assert kept.seq in (1, 11)
        assert [message.content for message in world.messages()] == ["bread"]

    def test_a_session_that_fills_its_last_page_is_repaired_too(self, world: World) -> None:
        base = world.new_base(threshold=2)
        world.say("long", "apples", "pears", "plums", "figs", "dates")  # with their run two full pages
        world.settle()
        assert len(edits.delete_session(world.services, world.user_id, world.flow_id, "long").job_ids) == 1
        world.settle()
        assert world.stored(base) == set()


@pytest.mark.both_databases
def test_an_execution_of_a_session_that_is_not_removed_yet_begins_it_again(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "apples")
    world.settle()
    edits.delete_session(world.services, world.user_id, world.flow_id, "s")
    stored = execute(world, "s", uuid4(), "pears")
    world.settle()
    world.sweep()
    assert node_executions.get_execution(world.services, world.user_id, stored).outputs["text"] == "pears"
    assert world.stored(base) == set()


@pytest.mark.parametrize("how", ["session", "message", "edit"])
def test_the_log_of_a_store_is_purged_once(world: World, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    purged: list[CollectionRef] = []
    is_away = True

    def purge(ref: CollectionRef) -> None:
        assert world.active_jobs(base) == []
        if is_away:
            raise errors.VectorStoreUnavailable
        purged.append(ref)

    monkeypatch.setattr(world.vectors, "purge", purge, raising=False)
    monkeypatch.setattr(residues, "SETTLED", residues.SETTLED * 0)
    base = world.new_base(threshold=2)
    (first, _) = world.say("s", "apples", "pears").messages
    world.settle()
    assert world.sweep().failed_steps == [], "nothing was deleted"
    if how == "session":
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
    elif how == "message":
        edits.delete_message(world.services, world.user_id, first.id, Attribution("ann"))
    else:
        edits.edit_message(world.services, world.user_id, first.id, {"content": "plums"}, Attribution("ann"))
    world.settle()
    assert world.sweep().failed_steps == ["logs_purged"]
    is_away = False
    assert [world.sweep().done["logs_purged"] for _ in range(2)] == [1, 0]
    assert purged == [world.ref(base)]
