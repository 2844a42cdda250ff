"""A request with an Idempotency-Key is carried out once, whatever happens between its attempts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
import pytest
import sqlalchemy as sa
from harness.api import Api, Json, open_api
from harness.contract import CONTRACT
from harness.operations import KEYED
from harness.statements import recorded
from harness.waiting import wait_until

from api.contract.parts import operations
from memorybase.core import errors
from memorybase.core import idempotency as claims
from memorybase.core.database.engine import Database
from memorybase.core.models import (
    ApiKey,
    Chat,
    ChatMemory,
    ChatRecord,
    Flow,
    Generation,
    IdempotencyKey,
    KnowledgeBase,
    MemoryBase,
    Message,
    Run,
)
from memorybase.core.operations import sweeper
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings
from memorybase.features.webhooks.models import WebhookEndpoint

HEADER, REPLAYED = "Idempotency-Key", "idempotency-replayed"
CHAT = "/flows/support/chat-memories/llm"
TURN = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
FLOW: Json = {"name": "f"}
PATIENCE = 20.0


def count(api: Api, table: type[Any]) -> int:
    with api.services.database.reading() as db:
        return db.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def trimmed(api: Api) -> int:
    with api.services.database.reading() as db:
        chats = sa.select(Chat.trimmed_seq).join(ChatMemory, ChatMemory.id == Chat.chat_memory_id)
        return db.scalar(chats.join(Flow, Flow.id == ChatMemory.flow_id).where(Flow.user_id == api.user_id)) or 0


@dataclass(frozen=True)
class Case:
    """A call that does something each time, and a number that tells how often it was done. `$n` is a number that makes
    a name unique, `$base` the memory base."""

    method: str
    path: str
    status: int
    effect: Callable[[Api], int]
    body: Any = None
    once: int = 1

    def call(self, api: Api, base: str, *, key: str | None, n: int = 0, expect: Any = None) -> httpx.Response:
        body = json.loads(json.dumps(self.body).replace("$n", str(n)))
        options: Json = {} if body is None else {"json": body}
        headers = {} if key is None else {HEADER: key}
        wanted = self.status if expect is None else expect
        return api.call(self.method, self.path.replace("$base", base), expect=wanted, headers=headers, **options)


CASES = {
    "create_flow": Case("POST", "/flows", 201, lambda api: count(api, Flow), FLOW),
    "capture_run": Case(
        "POST", "/flows/support/runs", 201, lambda api: count(api, Run), {"session_id": "s", "messages": TURN}
    ),
    "create_memory_base": Case(
        "POST", "/memories", 201, lambda api: count(api, MemoryBase), {"name": "more $n", "flow_id": "support"}
    ),
    "regenerate_memory_base": Case("POST", "/memories/$base/regenerate", 202, lambda api: count(api, Generation)),
    "create_knowledge_base": Case(
        "POST", "/knowledge-bases", 201, lambda api: count(api, KnowledgeBase), {"name": "more $n"}
    ),
    "rebuild_knowledge_base": Case(
        "POST", "/knowledge-bases/handbook/rebuild", 200, lambda api: api.vectors.calls["create_collection"]
    ),
    "post_chat_messages": Case(
        "POST", f"{CHAT}/messages", 201, lambda api: count(api, ChatRecord), {"chat_id": "c", "messages": TURN}, once=2
    ),
    "delete_chat_messages": Case(
        "DELETE",
        f"{CHAT}/messages?chat_id=c&mode=latest_request&roles=user&roles=assistant",
        200,
        lambda api: -count(api, ChatRecord),
    ),
    "summarize_chat": Case("POST", f"{CHAT}/summarize", 200, trimmed, {"chat_id": "c", "keep_last_n": 1}, once=3),
    "create_webhook": Case(
        "POST",
        "/webhooks",
        201,
        lambda api: count(api, WebhookEndpoint),
        {"url": "https://hooks.example.com/x", "event_types": ["job.failed"]},
    ),
    "create_key": Case("POST", "/keys", 201, lambda api: count(api, ApiKey), {"name": "ci", "scopes": ["read"]}),
}

# Operations whose secret only the first answer has, and how it begins.
SHOWN_ONCE = {"create_key": "mb_", "create_webhook": "whsec_"}


@dataclass
class Setup:
    """An API with a flow, a memory base, a knowledge base and a chat of four requests."""

    api: Api
    base: str

    def say(self) -> None:
        body = {"chat_id": "c", "messages": [{"role": "user", "content": "Another line"}]}
        self.api.post(f"{CHAT}/messages", body, expect=201)

    def expire_leases(self) -> None:
        self._change(lease_until=datetime.now(UTC) - timedelta(seconds=1))

    def pass_day(self) -> None:
        self._change(expires_at=datetime.now(UTC) - timedelta(seconds=1))

    def rows(self) -> list[IdempotencyKey]:
        with self.api.services.database.reading() as db:
            return list(db.scalars(sa.select(IdempotencyKey)))

    def is_leased(self) -> bool:
        return any(row.lease_until is not None and row.lease_until > datetime.now(UTC) for row in self.rows())

    def _change(self, **values: Any) -> None:
        with self.api.services.database.transaction() as db:
            db.execute(sa.update(IdempotencyKey).values(**values))


def furnished(api: Api) -> Setup:
    built = Setup(api, api.memory()["id"])
    api.post("/knowledge-bases", {"name": "handbook"}, expect=201)
    api.call("PUT", CHAT, json={"name": "Chat", "chat_id": "{{ user }}"}, expect=201)
    for _ in range(4):
        built.say()
    return built


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, api_settings: Settings) -> Iterator[Api]:
    settings = api_settings
    if request.param == "postgresql":
        settings = settings.model_copy(update={"database_url": request.getfixturevalue("ready_postgres_url")})
    with open_api(settings) as api:
        yield api


@pytest.fixture
def stage(opened: Api) -> Setup:
    return furnished(opened)


def new_key() -> str:
    return str(uuid4())


# Repetitions.


def test_a_repetition_gets_the_first_answer_and_does_nothing(opened: Api, subtests: pytest.Subtests) -> None:
    for name, case in CASES.items():
        with subtests.test(name):
            stage = furnished(opened.of_new_user())
            api, key = stage.api, new_key()
            before = case.effect(api)
            first = case.call(api, stage.base, key=key)
            assert case.effect(api) == before + case.once
            assert REPLAYED not in first.headers
            stage.say()
            before = case.effect(api)

            again = case.call(api, stage.base, key=key, expect=409 if name in SHOWN_ONCE else None)

            assert case.effect(api) == before
            if name in SHOWN_ONCE:
                error = again.json()["error"]
                assert error["code"] == "secret_not_stored"
                assert error["details"] == {"existing_id": first.json()["id"]}
                assert first.json()["secret"].startswith(SHOWN_ONCE[name])
                api.delete(f"{case.path}/{error['details']['existing_id']}")
                continue
            assert (again.json(), again.headers[REPLAYED]) == (first.json(), "true")
            assert again.headers.get("location") == first.headers.get("location")
            assert again.status_code == first.status_code
            assert again.headers["content-type"] == first.headers["content-type"]
            assert ("location" in first.headers) == (first.status_code == 201)


def test_every_operation_that_takes_a_key_is_tested_and_documented() -> None:
    documented = {
        each["operationId"]
        for each in operations(CONTRACT)
        if any(parameter["name"] == HEADER for parameter in each.get("parameters", ()))
    }
    # A key is rotated once, so each repetition needs a key of its own: tests/integration/api/test_limited_keys.py.
    taking = {name for name, route in KEYED.items() if route.policy.once}
    assert CASES.keys() | {"rotate_key"} == taking == documented


def test_quotes_around_a_key_and_the_bare_path_make_no_other_request(stage: Setup) -> None:
    api = stage.api
    first = api.call("POST", "/flows", json=FLOW, headers={HEADER: "a key"}, expect=201)
    headers = {HEADER: '"a key"', "X-API-Key": api.secret}
    again = api.client.post("/flows", json=FLOW, headers=headers)
    assert (again.status_code, again.json(), again.headers[REPLAYED]) == (201, first.json(), "true")


def test_another_request_with_the_key_is_refused(stage: Setup, subtests: pytest.Subtests) -> None:
    api, key = stage.api, new_key()
    first = api.call("POST", "/flows", json=FLOW, headers={HEADER: key}, expect=201)
    others = [
        ("POST", "/flows", {"name": "another"}),
        ("POST", "/flows", {"unknown": 1}),
        ("POST", "/knowledge-bases", FLOW),
        ("DELETE", f"{CHAT}/messages?chat_id=c&mode=all&roles=user", None),
    ]
    for method, path, body in others:
        with subtests.test(f"{method} {path} {body}"):
            options = {} if body is None else {"json": body}
            error = api.refused(method, path, 422, headers={HEADER: key}, **options)
            assert (error["code"], error["field"], error["retryable"]) == ("idempotency_key_reused", HEADER, False)
            assert key not in json.dumps(error)
            again = api.call("POST", "/flows", json=FLOW, headers={HEADER: key}, expect=201)
            assert again.json() == first.json()


def test_another_query_is_another_request(stage: Setup) -> None:
    api, key = stage.api, new_key()
    path = f"{CHAT}/messages?chat_id=c&mode=latest_request&roles="
    api.call("DELETE", path + "user", headers={HEADER: key})
    assert api.refused("DELETE", path + "assistant", 422, headers={HEADER: key})["code"] == "idempotency_key_reused"


INVALID_KEYS: list[tuple[list[str], int | None, Any]] = [
    ([""], 0, [1, 255]),
    (['""'], 0, [1, 255]),
    (["x" * 256], 256, [1, 255]),
    (["one", "two"], 2, 1),
    (["caf\u00e9"], None, None),
    (["a\tb"], None, None),
]


def test_an_invalid_key_names_the_header_and_the_bound(stage: Setup, subtests: pytest.Subtests) -> None:
    for sent, value, limit in INVALID_KEYS:
        with subtests.test(sent=sent):
            keys = [(HEADER.encode(), each.encode()) for each in sent]
            headers = [(b"X-API-Key", stage.api.secret.encode()), *keys]
            answer = stage.api.client.post("/v1/flows", json=FLOW, headers=headers)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], error["field"]) == (422, "invalid_request", HEADER)
            assert (error.get("value"), error.get("limit")) == (value, limit)
            assert stage.rows() == []
    stage.api.call("POST", "/flows", json=FLOW, headers={HEADER: "x" * 255}, expect=201)


def test_other_operations_do_not_look_at_the_header(stage: Setup) -> None:
    for query in ("one", "two"):
        body = {"flow_id": "support", "query": query}
        assert REPLAYED not in stage.api.call("POST", "/search", json=body, headers={HEADER: "k"}).headers
    assert stage.rows() == []


def test_a_request_without_the_header_asks_nothing_about_keys(stage: Setup) -> None:
    with recorded(stage.api.services.database.engine) as sent:
        for n, case in enumerate(CASES.values()):
            case.call(stage.api, stage.base, key=None, n=n)
    assert len(sent) > 20
    assert [statement for statement, _ in sent if "idempotency_keys" in statement] == []


# Whose key it is.


def test_another_users_same_key_is_another_key(stage: Setup) -> None:
    stranger, key = stage.api.of_user("stranger"), new_key()
    mine = stage.api.call("POST", "/flows", json=FLOW, headers={HEADER: key}, expect=201).json()
    other = stranger.call("POST", "/flows", json={"name": "other"}, headers={HEADER: key}, expect=201)
    assert REPLAYED not in other.headers
    assert other.json()["id"] != mine["id"]


def test_another_api_key_of_the_user_repeats_the_request(stage: Setup) -> None:
    colleague, key = stage.api.of_user("local", "write"), new_key()
    first = stage.api.call("POST", "/flows", json=FLOW, headers={HEADER: key}, expect=201)
    assert colleague.call("POST", "/flows", json=FLOW, headers={HEADER: key}, expect=201).json() == first.json()


@pytest.mark.slow
def test_an_api_key_without_the_scope_gets_no_replay(opened: Api, subtests: pytest.Subtests) -> None:
    for name, case in CASES.items():
        with subtests.test(name):
            stage = furnished(opened.of_new_user())
            key = new_key()
            case.call(stage.api, stage.base, key=key)
            wanted = KEYED[name].scope
            scopes = ("read", "write") if wanted == "admin" else ("read", "admin")
            refused = case.call(stage.api.of_user("local", *scopes), stage.base, key=key, expect=403)
            assert refused.json()["error"]["details"] == {"scope": wanted}


# What is stored.


def test_no_key_secret_or_summary_is_stored(stage: Setup) -> None:
    api, key = stage.api, new_key()
    secret = CASES["create_key"].call(api, stage.base, key=key).json()["secret"]
    assert "Another line" in CASES["summarize_chat"].call(api, stage.base, key=new_key()).json()["summary"]
    stored = repr([{name: str(value) for name, value in vars(row).items()} for row in stage.rows()])
    assert "'status': '201'" in stored
    for private in (key, secret, secret[10:], "Another line"):
        assert private not in stored


def test_a_replayed_summary_is_the_current_one(stage: Setup) -> None:
    api, key, case = stage.api, new_key(), CASES["summarize_chat"]
    first = case.call(api, stage.base, key=key).json()
    api.call("DELETE", f"{CHAT}/messages", params={"chat_id": "c", "mode": "all", "roles": ["user", "assistant"]})
    assert case.call(api, stage.base, key=key).json() == first | {"summary": None}


def test_a_request_is_forgotten_after_its_time(stage: Setup) -> None:
    api, key = stage.api, new_key()
    first = api.call("POST", "/flows", json=FLOW, headers={HEADER: key}, expect=201)
    (row,) = stage.rows()
    assert timedelta(hours=23) < row.expires_at - datetime.now(UTC) <= timedelta(hours=24)
    stage.pass_day()
    second = api.call("POST", "/flows", json={"name": "another"}, headers={HEADER: key}, expect=201)
    assert second.json()["id"] != first.json()["id"]
    (row,) = stage.rows()
    assert row.expires_at > datetime.now(UTC)
    assert api.call("POST", "/flows", json={"name": "another"}, headers={HEADER: key}, expect=201).headers[REPLAYED]


def test_the_sweeper_deletes_expired_requests_in_bounded_batches(stage: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "EXPIRED_LIMIT", 2)
    for _ in range(3):
        stage.api.call("POST", "/flows", json=FLOW, headers={HEADER: new_key()}, expect=201)
    stage.pass_day()
    stage.api.call("POST", "/flows", json=FLOW, headers={HEADER: "young"}, expect=201)
    assert [sweeper.sweep(stage.api.services).done["requests_forgotten"] for _ in range(3)] == [2, 1, 0]
    assert len(stage.rows()) == 1


# Failures.


def test_a_rejected_request_is_forgotten(stage: Setup) -> None:
    api, key = stage.api, new_key()
    for body, status in (({"nam": "f"}, 422), ({"name": "f", "flow_id": "none such"}, 404)):
        api.refused("POST", "/memories", status, json=body, headers={HEADER: key})
        assert stage.rows() == []
    api.call("POST", "/memories", json={"name": "f", "flow_id": "support"}, headers={HEADER: key}, expect=201)


def test_a_request_that_collided_keeps_its_ids_for_a_repetition(stage: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    def collide(*_: object, **__: object) -> None:
        raise errors.ConstraintViolated

    with monkeypatch.context() as patch:
        patch.setattr(flows, "create_flow", collide)
        stage.api.refused("POST", "/flows", 409, json={"name": "f"}, headers={HEADER: "k"})
    (row,) = stage.rows()
    stage.api.call("POST", "/flows", json={"name": "f"}, headers={HEADER: "k"}, expect=201)
    assert stage.rows()[0].operation_id == row.operation_id


def test_an_unreadable_body_is_forgotten(stage: Setup) -> None:
    headers = {HEADER: "k", "Content-Type": "application/json"}
    stage.api.refused("POST", "/flows", 400, content=b"{", headers=headers)
    assert stage.rows() == []


def test_after_an_outage_the_repetition_is_carried_out(stage: Setup) -> None:
    api, key, case = stage.api, new_key(), CASES["create_memory_base"]
    api.vectors.away = True
    case.call(api, stage.base, key=key, expect=503)
    case.call(api, stage.base, key=key, expect=503)
    api.vectors.away = False
    assert REPLAYED not in case.call(api, stage.base, key=key).headers


def test_after_an_outage_the_key_may_come_with_another_request(stage: Setup) -> None:
    api, key, case = stage.api, new_key(), CASES["create_memory_base"]
    api.vectors.away = True
    case.call(api, stage.base, key=key, expect=503)
    api.vectors.away = False
    case.call(api, stage.base, key=key, n=1)


def test_a_repeated_capture_stores_its_node_executions_even_if_the_first_attempt_could_not(
    stage: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages and its executions are stored in several transactions."""
    api, key = stage.api, new_key()
    mortal = Mortal(api.services.database, monkeypatch)
    execution = {"node_id": "llm", "status": "succeeded", "outputs": {"text": "Hi"}}
    body = {"session_id": "s", "messages": TURN, "node_executions": [execution]}
    with mortal.dying_at(2, before=False):
        api.call("POST", "/flows/support/runs", json=body, headers={HEADER: key}, expect=500)
    mortal.revive()
    assert (count(api, Run), count(api, Message)) == (1, 2)
    stage.expire_leases()
    again = api.call("POST", "/flows/support/runs", json=body, headers={HEADER: key}).json()
    assert [each["created"] for each in again["messages"]] == [False, False]
    assert [each["created"] for each in again["node_executions"]] == [True]
    assert (count(api, Run), count(api, Message)) == (1, 2)


# Crashes.


class Killed(Exception):
    """What ends a request whose process was killed."""


class Mortal:
    """A process that is killed at a commit: from then on it writes nothing."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self._original = database.transaction
        self._commits = self._nth = 0
        self._before = self.is_dead = False
        monkeypatch.setattr(database, "transaction", self._transaction)

    @contextmanager
    def dying_at(self, nth: int, *, before: bool) -> Iterator[None]:
        self._commits, self._nth, self._before = 0, nth, before
        yield
        self._nth = 0

    def revive(self) -> bool:
        """Whether it had been killed."""
        was_dead, self.is_dead = self.is_dead, False
        return was_dead

    @contextmanager
    def _transaction(self, **options: Any) -> Iterator[Any]:
        if self.is_dead:
            raise Killed
        with self._original(**options) as db:
            yield db
            self._commits += 1
            is_last = self._commits == self._nth
            if is_last and self._before:
                self.is_dead = True
                raise Killed
        if is_last:
            self.is_dead = True
            raise Killed


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before a commit", "after a commit"])
@pytest.mark.parametrize("name", CASES)
def test_a_request_whose_process_was_killed_is_done_once_by_its_repetition(
    stage: Setup, name: str, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, api = CASES[name], stage.api
    mortal = Mortal(api.services.database, monkeypatch)
    for nth in range(1, 12):
        key, done = new_key(), case.effect(api)
        with mortal.dying_at(nth, before=before):
            first = case.call(api, stage.base, key=key, n=nth, expect=(case.status, 500))
        was_killed = mortal.revive()
        assert was_killed == (first.status_code == 500)
        stage.expire_leases()
        again = case.call(api, stage.base, key=key, n=nth, expect=(case.status, 200, 409))
        if again.status_code == 409:
            assert (name in SHOWN_ONCE, again.json()["error"]["code"]) == (True, "secret_not_stored")
        assert case.effect(api) == done + case.once or name in {"rebuild_knowledge_base", "summarize_chat"}
        if name == "summarize_chat":
            assert again.json()["deleted_count"] == case.once
            for _ in range(case.once):
                stage.say()
        if not was_killed:
            break
    assert nth > 2, "a claim and the operation's own commit"


def test_after_a_crash_the_repetition_waits_for_the_lease(stage: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    api, key, case = stage.api, new_key(), CASES["create_flow"]
    mortal = Mortal(api.services.database, monkeypatch)
    with mortal.dying_at(1, before=False):
        case.call(api, stage.base, key=key, expect=500)
    mortal.revive()
    waiting = case.call(api, stage.base, key=key, expect=409)
    assert waiting.json()["error"]["code"] == "idempotency_in_progress"
    (row,) = stage.rows()
    assert row.lease_until is not None
    assert row.lease_until - datetime.now(UTC) <= claims.LEASE


# At the same time.


class Slow:
    """The first call waits in the middle of it, until the test lets it go on."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._first = threading.Semaphore()
        self.is_inside, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._first.acquire(blocking=False):
            self.is_inside.set()
            assert self.may_go_on.wait(PATIENCE)
        return self._function(*args, **options)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    held = Slow(flows.create_flow)
    monkeypatch.setattr(flows, "create_flow", held)
    yield held
    held.may_go_on.set()


def test_while_the_first_is_running_a_repetition_is_409_and_then_gets_its_answer(stage: Setup, slow: Slow) -> None:
    api, key = stage.api, new_key()
    call = {"json": FLOW, "headers": {HEADER: key}}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(api.call, "POST", "/flows", expect=201, **call)
        assert slow.is_inside.wait(PATIENCE)
        waiting = api.call("POST", "/flows", expect=409, **call)
        error = waiting.json()["error"]
        assert (error["code"], error["retryable"], error["field"]) == ("idempotency_in_progress", True, HEADER)
        assert waiting.headers["retry-after"] == "3"
        other = api.refused("POST", "/flows", 422, json={"name": "another"}, headers={HEADER: key})
        assert other["code"] == "idempotency_key_reused"
        slow.may_go_on.set()
        answer = first.result(PATIENCE)
    assert api.call("POST", "/flows", expect=201, **call).json() == answer.json()


def test_a_running_request_keeps_its_claim(stage: Setup, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "RENEW_SECONDS", 0.02)
    call = {"json": FLOW, "headers": {HEADER: new_key()}}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(stage.api.call, "POST", "/flows", expect=201, **call)
        assert slow.is_inside.wait(PATIENCE)
        stage.expire_leases()
        wait_until(stage.is_leased, PATIENCE, "a renewal")
        stage.api.call("POST", "/flows", expect=409, **call)
        slow.may_go_on.set()
        first.result(PATIENCE)


def test_a_request_that_has_lost_its_claim_commits_nothing(
    stage: Setup, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "RENEW_SECONDS", 3_600)
    api, key, before = stage.api, new_key(), count(stage.api, Flow)
    call = {"json": FLOW, "headers": {HEADER: key}}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(api.call, "POST", "/flows", expect=409, **call)
        assert slow.is_inside.wait(PATIENCE)
        stage.expire_leases()
        second = api.call("POST", "/flows", expect=201, **call)
        slow.may_go_on.set()
        lost = first.result(PATIENCE).json()["error"]
    assert (lost["code"], lost["retryable"]) == ("idempotency_in_progress", True)
    assert count(api, Flow) == before + 1
    assert api.call("POST", "/flows", expect=201, **call).json() == second.json()


def at_once(times: int, call: Callable[[], httpx.Response]) -> list[httpx.Response]:
    start = threading.Barrier(times)

    def started() -> httpx.Response:
        start.wait(PATIENCE)
        return call()

    with ThreadPoolExecutor(times) as pool:
        return [each.result(PATIENCE) for each in [pool.submit(started) for _ in range(times)]]


def test_equal_requests_at_once_are_done_once(opened: Api, subtests: pytest.Subtests) -> None:
    for name, case in CASES.items():
        with subtests.test(name):
            stage = furnished(opened.of_new_user())
            before = case.effect(stage.api)
            call = partial(case.call, stage.api, stage.base, key=new_key(), expect=(case.status, 409))
            answers = at_once(4, call)
            assert case.effect(stage.api) == before + case.once
            codes = {answer.json()["error"]["code"] for answer in answers if answer.status_code == 409}
            assert codes <= {"idempotency_in_progress", "secret_not_stored"}
            done = [answer for answer in answers if answer.status_code == case.status]
            assert len({answer.text for answer in done}) == 1
            assert sum(REPLAYED not in answer.headers for answer in done) == 1
