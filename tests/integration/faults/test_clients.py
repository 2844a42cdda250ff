"""Answers that no client may get, and a run that never comes to rest, are seen."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from chaos import patience
from chaos import run as chaos_run
from chaos.clients import Client, GivenUp, Operator, Orders
from chaos.cluster import Plan
from harness.waiting import wait_until
from harness.world import World

pytestmark = pytest.mark.slow  # It tests the clients of `make chaos`.

Answers = Callable[[str, str, Any], tuple[int, Any]]
Api = Callable[[Answers], Orders]
MakeClient = Callable[[Answers], Client]


@pytest.fixture
def api() -> Iterator[Api]:
    """An API with given answers: status and JSON for a method, a path and a body."""
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(answers: Answers) -> Orders:
        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, body = answers(self.command, self.path, json.loads(raw or b"null"))
                payload = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return Orders(f"http://127.0.0.1:{server.server_port}")

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


PLAN = Plan(seed=1, seconds=1)


@pytest.fixture
def client(api: Api) -> Iterator[MakeClient]:
    """A client of such an API; closed at the end."""
    made: list[Client] = []

    def start(answers: Answers) -> Client:
        made.append(Client(0, PLAN, api(answers), {"flow": str(uuid4())}))
        return made[-1]

    yield start
    for each in made:
        each.caller.close()


def acknowledged(_method: str, _path: str, body: Any) -> tuple[int, Any]:
    said = (body or {}).get("messages", ())
    return 201, {"messages": [{"id": m.get("id") or str(uuid4()), "seq": n} for n, m in enumerate(said)]}


def until_it_complains(thread: Client | Operator) -> list[str]:
    thread.start()
    wait_until(lambda: thread.orders.complaints, what="a complaint")
    thread.orders.stop.set()
    thread.join()
    return thread.orders.complaints


class TestComplaints:
    @pytest.mark.parametrize("status", [500, 404, 409, 422])
    def test_an_answer_that_nobody_may_get(self, client: MakeClient, status: int) -> None:
        found = until_it_complains(client(lambda *_: (status, {"error": "it"})))
        assert any(f": {status} " in complaint and '"error": "it"' in complaint for complaint in found)

    def test_the_operator_complains_too(self, api: Api) -> None:
        plan = Plan(seed=1, seconds=1, operator_every_seconds=0.01)
        operator = Operator(plan, api(lambda *_: (500, {})), {"flow": str(uuid4())})
        assert ": 500 " in until_it_complains(operator)[0]

    def test_an_answer_that_is_repeated_in_vain(self, client: MakeClient) -> None:
        waiting = client(lambda *_: (503, {}))
        waiting.start()
        wait_until(lambda: waiting.orders.counts["calls_refused"] > 1, what="the second refusal")
        assert waiting.orders.complaints == []
        waiting.orders.stop.set()
        waiting.orders.give_up.set()
        waiting.join()
        assert waiting.orders.complaints[0].endswith(": never answered")

    def test_a_status_that_only_a_repeated_call_may_get(self, client: MakeClient) -> None:
        statuses = [503]
        replayed = client(lambda *args: (statuses.pop() if statuses else 200, acknowledged(*args)[1]))
        replayed._capture()
        assert replayed.acknowledged > 0
        assert replayed.orders.complaints == []
        with pytest.raises(GivenUp):
            replayed._capture()
        assert ": 200 " in replayed.orders.complaints[0]

    @pytest.mark.parametrize("wrong", ["other", "deleted", "fewer", None])
    def test_a_replay_with_other_messages(self, client: MakeClient, wrong: str | None) -> None:
        stored: dict[str, list[dict[str, Any]]] = {}

        def answers(method: str, path: str, body: Any) -> tuple[int, Any]:
            if body["run_id"] not in stored:
                stored[body["run_id"]] = [
                    each | {"deleted": False} for each in acknowledged(method, path, body)[1]["messages"]
                ]
                return 201, {"messages": stored[body["run_id"]]}
            known = [dict(each) for each in stored[body["run_id"]]]
            if wrong == "fewer":
                known.pop()
            elif wrong:
                known[-1] |= {"id": str(uuid4())} if wrong == "other" else {"deleted": True}
            return 200, {"messages": known}

        replaying = client(answers)
        replaying._capture()
        replaying._replay()
        assert replaying.orders.complaints == (["a replay was answered with other messages"] if wrong else [])


class TestSettling:
    """Not coming to rest is a violation too."""

    @pytest.fixture
    def world(self, sqlite_world: World) -> World:
        return sqlite_world

    def cluster(self, world: World, orders: Orders) -> Any:
        return SimpleNamespace(urls=[orders.url], plan=PLAN, services=world.services, relaunch=lambda: None)

    def settled(self, world: World, orders: Orders) -> list[str]:
        return chaos_run.settle(self.cluster(world, orders), orders, (), 1.0)

    @pytest.fixture(autouse=True)
    def _often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(chaos_run, "FLUSH_SECONDS", 0.01)

    def flushing(self, status: int) -> Answers:
        return lambda method, _path, _body: (200, {"items": [{"id": "b"}]}) if method == "GET" else (status, {})

    def test_rest(self, world: World, api: Api) -> None:
        assert self.settled(world, api(self.flushing(200))) == []

    def test_a_flush_that_owes_work(self, world: World, api: Api) -> None:
        (found,) = self.settled(world, api(self.flushing(202)))
        assert found == "not at rest, and nothing has moved for 1 s: 1 flushes answered 202"

    def test_unrest(self, world: World, api: Api) -> None:
        world.new_base()
        world.execute(sa.text("UPDATE memory_bases SET building = 3"))
        (found,) = self.settled(world, api(self.flushing(200)))
        assert found == "not at rest, and nothing has moved for 1 s: 1 builds"

    def test_it_waits_as_long_as_something_moves(self, world: World, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        world.new_base(threshold=1)
        world.say("s", *("hello",) * 9)
        world.drain()
        passed = [0.0]
        monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: passed[0]))

        last = [9]

        def work() -> None:
            """A worker that takes a long time for each message, and does nothing after the last one."""
            passed[0] += 0.7
            with world.services.database.transaction() as db:
                step = "UPDATE session_progress SET cursor_seq = cursor_seq + 1 WHERE cursor_seq < :end"
                db.execute(sa.text(step), {"end": last[0]})

        orders = api(self.flushing(200))
        cluster = self.cluster(world, orders)
        cluster.relaunch = work
        stuck = "not at rest, and nothing has moved for 1 s: 1 sessions with pending work"
        for last[0], expected in ((9, []), (5, [stuck])):
            world.execute(sa.text("UPDATE session_progress SET cursor_seq = 0, target_seq = 9"))
            assert chaos_run.settle(cluster, orders, (), 1.0) == expected

    def test_nobody_looked(self, world: World, api: Api) -> None:
        orders = api(self.flushing(200))
        (found,) = chaos_run.settle(self.cluster(world, orders), orders, (), 0.0)
        assert found.endswith(": never looked")

    def test_a_client_that_never_ends(self, world: World, client: MakeClient) -> None:
        waiting, ended = client(self.flushing(200)), threading.Event()
        waiting.run = ended.wait  # type: ignore[method-assign, assignment]
        waiting.start()
        cluster = self.cluster(world, waiting.orders)
        found = chaos_run.settle(cluster, waiting.orders, (waiting,), 0.0)
        ended.set()
        waiting.join()
        assert found == ["never came to an end: client-0"]
        assert waiting.orders.give_up.is_set()
