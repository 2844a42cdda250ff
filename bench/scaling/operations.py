"""What a user does again and again, called many times on the filled store."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import numpy as np
from fastapi.testclient import TestClient
from harness.doubles import AtOnce, InMemoryQueue
from ingesting.figures import percentile
from runs import Run

from api.app import create_app
from api.web import site
from memorybase.core.conversation.context import ContextRequest, build_context
from memorybase.core.ingestion import capture as capturing
from memorybase.core.ingestion import job_runner
from memorybase.core.ingestion.capture import CaptureRequest
from memorybase.core.keyword_index.languages import ENGLISH
from memorybase.core.messages import NewMessage, normalise
from memorybase.core.read_models import overview
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest
from scaling.rows import DAYS
from scaling.stage import KEY, THRESHOLD, Stage
from scaling.texts import TOPICS

Figures = dict[str, Any]
WARM_UP = 3  # calls before those that are measured
RUN = 2  # messages
SAID_BY = (1.0, 0.5, 0.1)  # of the messages, as of a date


@dataclass
class Meter:
    """Wall and processor time of calls, by name. The servers' is that of all calls of a name together."""

    stage: Stage
    walls: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    own: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    servers: dict[str, float] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        steps, wall, own = self.stage.sqlite_steps, time.perf_counter(), time.process_time()
        yield
        self.steps[name] += self.stage.sqlite_steps - steps
        self.own[name] += time.process_time() - own
        self.walls[name].append(time.perf_counter() - wall)

    def forget(self, *names: str) -> None:
        for name in names:
            self.walls.pop(name, None)
            self.own.pop(name, None)
            self.steps.pop(name, None)

    def repeat(self, name: str, calls: int, call: Callable[[], object]) -> None:
        for _ in range(WARM_UP):
            call()
        before = self.stage.server_seconds()
        for _ in range(calls):
            with self.call(name):
                call()
        self.servers[name] = self.stage.server_seconds() - before

    def figures(self) -> dict[str, Figures]:
        return {name: self._figures(name) for name in self.walls}

    def _figures(self, name: str) -> Figures:
        walls, servers = self.walls[name], self.servers.get(name)
        count = len(walls)
        return {
            "calls": count,
            "p50_ms": round(1_000 * percentile(walls, 0.5), 2),
            "p95_ms": round(1_000 * percentile(walls, 0.95), 2),
            "own_ms": round(1_000 * self.own[name] / count, 2),
            "server_ms": None if servers is None else round(1_000 * servers / count, 2),
            "sqlite_steps": self.steps[name] // count,
        }


def measure(stage: Stage, calls: int, run: Run) -> dict[str, Figures]:
    """Every short operation; each of its calls becomes a line of the run. The processor time of a page and of a list
    includes the HTTP client and the API."""
    meter = Meter(stage)
    asked = Asker(stage)
    _captures_and_jobs(meter, asked, calls)
    services, user_id = stage.services, stage.user_id
    meter.repeat("hybrid search", calls, lambda: search.search(services, user_id, asked.search()))
    meter.repeat("hybrid search in a session", calls, lambda: search.search(services, user_id, asked.search_here()))
    for said in SAID_BY:
        meter.repeat(
            f"hybrid search as of {said:.0%} of the time",
            calls,
            lambda said=said: search.search(services, user_id, asked.search_as_of(said)),  # type: ignore[misc]
        )
    meter.repeat("context", calls, lambda: build_context(services, user_id, asked.context()))
    for window in overview.Window:
        meter.repeat(f"overview {window}", max(calls // 5, 2), partial(overview.compute, services, user_id, window))
    _pages(meter, asked, max(calls // 2, 2))
    for name, walls in meter.walls.items():
        for wall in walls:
            run.add(store=stage.name, **asdict(stage.size), operation=name, ms=round(1_000 * wall, 2))
    return meter.figures()


def _captures_and_jobs(meter: Meter, asked: Asker, calls: int) -> None:
    """Captures of two messages; every fifth of a session is due, and its job runs. The trigger is a part of a capture,
    the claim and the advance are parts of a job."""
    stage, queue = meter.stage, meter.stage.services.queue
    assert isinstance(queue, InMemoryQueue)
    parts = {"trigger": capturing, "claim_job": job_runner, "advance": job_runner}
    with ExitStack() as patched:
        for function, module in parts.items():
            timed = _timed(meter, f"- {function.removesuffix('_job')}", getattr(module, function))
            patched.enter_context(patch.object(module, function, timed))
        for number in range(WARM_UP + calls):
            if number == WARM_UP:
                meter.forget(*list(meter.walls))
                meter.servers |= dict.fromkeys(("capture", "job of ten messages"), 0.0)
            session_id = asked.session_id()
            before = stage.server_seconds()
            for _ in range(THRESHOLD // RUN):
                with meter.call("capture"):
                    asked.capture(session_id)
            captured = stage.server_seconds()
            with meter.call("job of ten messages"):
                queue.drain(
                    lambda job: job_runner.run_jobs(
                        stage.services, job, owner="bench", may_continue=lambda: False, new_thread=AtOnce
                    )
                )
            meter.servers["capture"] = meter.servers.get("capture", 0.0) + captured - before
            meter.servers["job of ten messages"] = (
                meter.servers.get("job of ten messages", 0.0) + stage.server_seconds() - captured
            )


def _timed(meter: Meter, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        with meter.call(name):
            return function(*args, **kwargs)

    return timed


def _pages(meter: Meter, asked: Asker, calls: int) -> None:
    stage = meter.stage
    session_id = asked.session_id()
    paths = {
        "GET /memories": "/v1/memories",
        "GET /sessions": f"/v1/sessions?flow_id={stage.flow_id}",
        "GET /sessions, a frequent word": f"/v1/sessions?q={asked.frequent_word()}",
        "GET /sessions, words of a topic": f"/v1/sessions?q={asked.topical_words()}",
        "GET /messages of a session": f"/v1/messages?flow_id={stage.flow_id}&session_id={session_id}",
        "GET /messages of a flow": f"/v1/messages?flow_id={stage.flow_id}",
        "page of conversations": "/ui/conversations",
        "page of a session": f"/ui/session?flow={stage.flow_id}&id={session_id}",
        "page of memories": "/ui/memories",
        "page of a memory base": f"/ui/memories/{stage.base_id}",
    }
    app = create_app(stage.services)
    site.mount(app)
    with TestClient(app) as client:
        client.post("/ui/sign-in", data={"key": KEY})
        headers = {"Authorization": f"Bearer {KEY}"}

        def get(path: str) -> None:
            answer = client.get(path, headers=headers if path.startswith("/v1") else {})
            if answer.status_code != 200:
                raise AssertionError(f"{path}: {answer.status_code} {answer.text[:300]}")

        for name, path in paths.items():
            meter.repeat(name, calls, partial(get, path))


class Asker:
    """Requests about what is stored, a different one at each call and the same ones in every run."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._rng = np.random.default_rng(11)
        self._now = datetime.now(UTC)

    def session_id(self) -> str:
        return f"session-{self._rng.integers(self._stage.size.sessions)}"

    def question(self) -> str:
        return self._stage.vocabulary.question(self._rng, int(self._rng.integers(TOPICS)))

    def frequent_word(self) -> str:
        """A word of the hundred most frequent ones that are no stop words."""
        return self._stage.vocabulary.words[len(ENGLISH.words)]

    def topical_words(self) -> str:
        return " ".join(self.question().rstrip("?").split()[-2:])

    def search(self) -> SearchRequest:
        return SearchRequest(memory_base_id=self._stage.base_id, query=self.question())

    def search_here(self) -> SearchRequest:
        return SearchRequest(memory_base_id=self._stage.base_id, query=self.question(), session_id=self.session_id())

    def search_as_of(self, said: float) -> SearchRequest:
        """As of the date by which this part of the messages was said."""
        return replace(self.search(), as_of=self._now - timedelta(days=(1 - said) * DAYS))

    def context(self) -> ContextRequest:
        return ContextRequest(
            flow_id=self._stage.flow_id, session_id=self.session_id(), token_budget=2_000, query=self.question()
        )

    def capture(self, session_id: str) -> None:
        stage = self._stage
        messages = [self._message("user", stage), self._message("assistant", stage)]
        request = CaptureRequest(session_id=session_id, messages=messages)
        capturing.capture(stage.services, stage.user_id, stage.flow_id, request)

    def _message(self, role: str, stage: Stage) -> NewMessage:
        text = f"{self.question()} {uuid4().hex[:6]}"
        return normalise({"role": role, "content": text}, user_id=stage.user_id, where="messages")
