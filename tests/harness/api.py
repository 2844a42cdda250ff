"""The HTTP API as a test sees it, in process over a World."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api import admission, bodies
from api.app import create_app
from api.limits import Gate
from harness.at_start.sitecustomize import found
from harness.constants import PATIENT
from harness.distiller import Model, plain
from harness.doubles import FakeEmbedders, InMemoryQueue, InMemoryVectors
from harness.world import World, empty_world
from memorybase.core.auth import api_keys
from memorybase.core.operations import exposition
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.features.facts.claim import DISTILL
from memorybase.features.facts.job import Outcome, distil_next
from memorybase.features.memory_map import job as map_job
from memorybase.features.memory_map.job import MAP

Json = dict[str, Any]

for _path, _factor in PATIENT.items():
    setattr(*found(_path, _factor))

# Settings that an application takes when it is made; the others it reads at each call.
BUILT_IN = ("max_body_bytes", "trusted_proxies", "cors_origins", "proxy_user_header")


@dataclass
class Api:
    """One user's view of the API; a call's answer must have the status that the test says."""

    client: TestClient
    world: World
    secret: str
    model: Model = field(default_factory=lambda: Model(plain))  # that distils facts
    flows: set[str] = field(default_factory=set)  # that exist

    @property
    def services(self) -> Services:
        return self.world.services

    @property
    def user_id(self) -> UUID:
        return self.world.user_id

    @property
    def vectors(self) -> InMemoryVectors:
        return self.world.vectors

    @property
    def queue(self) -> InMemoryQueue:
        return self.world.queue

    @property
    def embedders(self) -> FakeEmbedders:
        return self.world.embedders

    def call(self, method: str, path: str, *, expect: int | tuple[int, ...] = 200, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.secret}"} | options.pop("headers", {})
        answer = self.client.request(method, f"/v1{path}", headers=headers, **options)
        wanted = expect if isinstance(expect, tuple) else (expect,)
        assert answer.status_code in wanted, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def get(self, path: str, *, expect: int = 200, **params: Any) -> Any:
        return self.call("GET", path, expect=expect, params=params).json()

    def post(self, path: str, body: Any = None, *, expect: int | tuple[int, ...] = 200, **params: Any) -> Any:
        return self.call("POST", path, expect=expect, json=body, params=params).json()

    def patch(self, path: str, body: Any, *, expect: int = 200) -> Any:
        return self.call("PATCH", path, expect=expect, json=body).json()

    def delete(self, path: str, *, expect: int = 204, **params: Any) -> httpx.Response:
        return self.call("DELETE", path, expect=expect, params=params)

    def refused(self, method: str, path: str, status: int, **options: Any) -> Json:
        """The error of a call that must fail so, its shape checked."""
        answer = self.call(method, path, expect=status, **options)
        error: Json = answer.json()["error"]
        assert answer.json().keys() == {"type", "title", "status", "detail", "error"}
        assert {"code", "message", "retryable", "request_id"} <= error.keys()
        assert error.keys() <= {"code", "message", "field", "value", "limit", "retryable", "request_id", "details"}
        assert error["request_id"] == answer.headers["x-request-id"]
        return error

    def flow(self, name: str = "support") -> str:
        """A flow under the runtime's own id, which is its name."""
        self.call("PUT", f"/flows/{name}", json={"name": name}, expect=(200, 201))
        self.flows.add(name)
        return name

    def _usual_flow(self, name: str) -> None:
        if name == "support" and not self.flows:
            self.flow()

    def memory(self, name: str = "notes", flow: str = "support", **fields: Any) -> Json:
        self._usual_flow(flow)
        made: Json = self.post("/memories", {"name": name, "flow_id": flow, **fields}, expect=201)
        return made

    def capture(self, *texts: str, flow: str = "support", session: str = "s1", **fields: Any) -> Json:
        """A run of outputs."""
        self._usual_flow(flow)
        messages = [{"role": "assistant", "content": text} for text in texts]
        body = {"session_id": session, "messages": messages, **fields}
        done: Json = self.post(f"/flows/{flow}/runs", body, expect=(200, 201))
        return done

    def work(self) -> int:
        """Run every enqueued job, as a worker does."""
        self.queue.drain_task(MAP, lambda base_id: map_job.compute_map(self.services, base_id))
        done = self.world.drain()
        if self.queue.notified[DISTILL.name]:
            self.queue.notified.pop(DISTILL.name)
            while distil_next(self.services, self.model.endpoint()) is Outcome.STORED:
                pass
        return done

    def of_new_user(self) -> Api:
        """The same API as a user who has nothing yet."""
        return self.of_user(uuid4().hex)

    def of_user(self, name: str, *scopes: str) -> Api:
        """The same API as another user, or as another key of the same one."""
        world = self.world
        if name != "local":
            world = world.of_user(world.new_user(name))
        _, secret = api_keys.create_key(self.services, world.user_id, name=name, scopes=scopes or api_keys.SCOPES)
        return Api(self.client, world, secret)

    def limited_key(self, *scopes: str, **limits: Any) -> Api:
        """The same API with a key of the same user that is limited to `flow_ids` or to `end_user_id`."""
        wanted = scopes or ("read", "write")
        _, secret = api_keys.create_key(self.services, self.user_id, name="limited", scopes=wanted, **limits)
        return replace(self, secret=secret)


def settings_in(folder: Path) -> Settings:
    """With bounds that a test reaches soon."""
    return _bounded().model_copy(update={"data_dir": folder})


@cache
def _bounded() -> Settings:
    # Settings look every field up in the environment twice, which takes longer than all else of a test's set-up.
    return Settings(
        embedding_model="fake",
        allowed_embedding_models=["other", "away"],
        api_key="the-key-from-the-settings",
        max_body_bytes=200_000,
        distiller="openai",
    )


@contextmanager
def open_api(
    settings: Settings, embedders: Any = None, *, monotonic: Callable[[], float] = time.monotonic
) -> Iterator[Api]:
    """The API on an empty database, as the user "local" whose key is the settings'. `monotonic`: of its rate limits."""
    world = empty_world(settings, embedders=embedders)
    secret = settings.api_key or ""
    world = world.of_user(api_keys.ensure_local_user(world.services, secret))
    with _app_over(world.services, monotonic) as app, TestClient(app, raise_server_exceptions=False) as client:
        yield Api(client, world, secret)
    world.close()


_idle: defaultdict[tuple[str, ...], list[FastAPI]] = defaultdict(list)  # by what is built in


@contextmanager
def _app_over(services: Services, monotonic: Callable[[], float]) -> Iterator[FastAPI]:
    """An application over these services. FastAPI prepares a route when it is first called, 30 ms each, so one that no
    test uses any more serves the next."""
    constants = admission.SLOTS, admission.WAIT_SECONDS, admission.MAX_WAITS, bodies.BODY_SECONDS
    idle = _idle[(*map(repr, constants), *(repr(getattr(services.settings, name)) for name in BUILT_IN))]
    app = idle.pop() if idle else create_app(services)
    app.state.services, app.state.settings, app.state.ending = services, services.settings, False
    app.state.gate = Gate(services.settings, clock=monotonic)
    app.state.exposition = exposition.Exposition()
    try:
        yield app
    finally:
        idle.append(app)
