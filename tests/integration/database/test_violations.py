"""Requests that collide on a row that neither could lock: the later one gets an error that it can act on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import sqlalchemy as sa
from harness.api import Api
from harness.world import World

from memorybase.core import errors
from memorybase.core.models import ApiKey, MemoryBase, Message, User
from memorybase.core.sessions import edits
from memorybase.features.lab import labels


def say(api: Api, *sessions: str) -> list[str]:
    """The ids of the messages, one in each session."""
    message = {"role": "assistant", "content": "a berth"}
    runs = [
        api.post("/flows/support/runs", {"session_id": each, "messages": [message]}, expect=201) for each in sessions
    ]
    return [run["messages"][0]["id"] for run in runs]


def rename(api: Api, session_id: str, new: str, *, expect: int | tuple[int, ...]) -> httpx.Response:
    body = {"flow_id": "support", "session_id": session_id, "new_session_id": new}
    return api.call("PATCH", "/sessions", json=body, expect=expect)


def once_after(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, then: Callable[[], object]) -> None:
    """Call `then` after the function's first call."""
    function = getattr(module, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(module, name, function)
        found = function(*args, **kwargs)
        then()
        return found

    monkeypatch.setattr(module, name, called)


@pytest.fixture
def api(postgres_api: Api) -> Api:
    """On PostgreSQL alone: SQLite has one writer at a time."""
    postgres_api.flow()
    return postgres_api


def test_a_capture_takes_the_new_id_of_a_renamed_session(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    say(api, "a")
    once_after(monkeypatch, edits.sessions, "fetch_session", lambda: say(api, "b"))
    error = rename(api, "a", "b", expect=409).json()["error"]
    assert (error["code"], error["field"], error["retryable"]) == ("session_conflict", "new_session_id", False)


def test_of_two_renames_to_one_id_one_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    say(api, "a", "b")
    fetch_session, both = edits.sessions.fetch_session, Barrier(2)

    def fetched(*args: Any) -> Any:
        found = fetch_session(*args)
        both.wait()  # each sees that the id is free
        return found

    monkeypatch.setattr(edits.sessions, "fetch_session", fetched)
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda name: rename(api, name, "c", expect=(200, 409)), "ab"))
    assert sorted(each.status_code for each in answers) == [200, 409]


@pytest.mark.parametrize("step", [(labels.caller_ids, "locate"), (labels.clock, "now")], ids=["found", "read"])
def test_a_message_is_deleted_meanwhile(api: Api, step: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    (message,) = say(api, "a")
    once_after(monkeypatch, *step, lambda: api.call("DELETE", f"/messages/{message}"))
    body = {"message_id": message, "query": "a berth?", "right": True}
    assert api.post("/labels", body, expect=404)["error"]["code"] == "not_found"


@pytest.mark.both_databases
class TestErrors:
    def failing(self, world: World, statement: sa.Executable, values: Any = None) -> errors.MemorybaseError:
        with pytest.raises(errors.MemorybaseError) as failed, world.services.database.transaction() as db:
            db.execute(statement, values)
        return failed.value

    def test_names_the_field_of_a_key_that_callers_choose(self, world: World) -> None:
        new = {"id": uuid4(), "name": "new", "created_at": datetime.now(UTC)}
        error = self.failing(world, sa.insert(User), [new, new | {"id": uuid4()}])
        assert (error.code, error.field, error.details) == ("name_taken", "name", {"constraint": "uq_users_name"})

    def test_another_key_is_repeatable(self, world: World) -> None:
        new = {"id": uuid4(), "name": "new", "created_at": datetime.now(UTC)}
        error = self.failing(world, sa.insert(User), [new, new | {"name": "other"}])
        assert (error.code, error.status_code, error.retryable) == ("constraint_violated", 409, True)

    def test_a_reference_to_a_row_that_is_gone_is_not_found(self, world: World) -> None:
        new = {"id": uuid4(), "user_id": uuid4(), "name": "n", "prefix": "", "key_hash": b"1", "scopes": []}
        error = self.failing(world, sa.insert(ApiKey).values(**new, created_at=datetime.now(UTC)))
        assert (error.code, error.status_code) == ("not_found", 404)
        gone = "What the request refers to" if world.services.database.is_sqlite else "The user"
        assert error.message.rstrip(".") == f"{gone} was deleted at the same time"

    def test_a_row_that_is_referred_to_since_is_repeatable(self, world: World) -> None:
        world.new_base()
        error = self.failing(world, sa.delete(User))
        assert (error.code, error.status_code) == ("constraint_violated", 409)

    def test_a_broken_check_is_a_defect(self, world: World) -> None:
        world.new_base()
        assert self.failing(world, sa.update(MemoryBase).values(threshold=0)).code == "statement_refused"

    def test_a_row_that_is_gone_when_it_is_written_is_not_found(self, world: World) -> None:
        found: UUID = world.say("s", "one").messages[0].id

        def edit_deleted() -> None:
            with world.services.database.transaction() as db:
                message = db.get_one(Message, found)
                db.execute(sa.delete(Message).execution_options(synchronize_session=False))
                message.content = "two"

        with pytest.raises(errors.NotFound, match="at the same time"):
            edit_deleted()
