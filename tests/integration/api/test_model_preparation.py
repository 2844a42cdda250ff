"""While the embedding model is prepared: what answers, what waits and is sent away, what readiness says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import sqlalchemy as sa
from harness.api import Api, open_api, settings_in
from harness.doubles import FakeEmbedders
from harness.plain_browser import Page, mounted
from harness.preparing import Gate, prepared_by
from harness.waiting import wait_until

from api.web import deadlines
from api.web.responses import NOTICE_COOKIE
from memorybase.core.embedding import Embedders
from memorybase.core.errors import ModelUnavailable
from memorybase.core.models import IngestionJob
from memorybase.core.operations import heartbeats

PATIENCE = 60.0


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    prepared_by(monkeypatch, gate)
    yield gate
    gate.open.set()


@pytest.fixture
def unprepared(tmp_path: Path, gate: Gate) -> Iterator[Api]:
    """An API that has just started: its model is being prepared until the gate opens."""
    settings = settings_in(tmp_path)
    with open_api(settings, Embedders(settings, wait_seconds=0.001)) as api:
        assert gate.began.wait(PATIENCE)
        yield api


@pytest.fixture
def restarted(api: Api, gate: Gate) -> Iterator[Api]:
    """An API with a memory, started again on an empty model folder."""
    api.memory(threshold=1)
    api.capture("the boat is at berth twelve")
    api.work()
    embedders: Any = Embedders(api.services.settings, wait_seconds=0.001)
    services = replace(api.services, embedders=embedders)
    app: Any = api.client.app
    app.state.services = services
    embedders.prepare()
    assert gate.began.wait(PATIENCE)
    yield replace(api, world=replace(api.world, services=services, embedders=embedders))
    app.state.services = api.services


def refused(api: Api, method: str, path: str, body: Any, **options: Any) -> None:
    answer = api.call(method, path, expect=503, json=body, **options)
    error = answer.json()["error"]
    assert (error["code"], error["retryable"]) == ("model_preparing", True)
    assert "is being prepared" in error["message"]
    assert int(answer.headers["retry-after"]) > 0


def readiness(api: Api) -> Any:
    return api.client.get("/health/ready").json()


def prepare(api: Api, gate: Gate) -> None:
    gate.open.set()
    wait_until(lambda: api.services.embedders.problem() is None, PATIENCE, "the preparation")


def test_a_start_prepares_the_model_in_the_background_and_loads_none(unprepared: Api, gate: Gate) -> None:
    assert (gate.calls, gate.loads) == (1, 0)
    prepare(unprepared, gate)
    assert (gate.calls, gate.loads) == (1, 0)


def test_readiness_names_the_model_until_it_is_prepared(unprepared: Api, gate: Gate) -> None:
    for kind in ("worker", "sweeper"):
        heartbeats.beat(unprepared.services, f"{kind}@1", kind)  # type: ignore[arg-type]
    answer = unprepared.client.get("/health/ready")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    error = answer.json()["error"]
    assert error["details"]["failing"] == ["model"]
    assert error["details"]["reason"].startswith("preparing the embedding model (")
    assert error["message"] == f"Not ready: model ({error['details']['reason']})"

    prepare(unprepared, gate)
    answer = unprepared.client.get("/health/ready")
    assert (answer.status_code, answer.json()["parts"]["model"]) == (200, "ok")


def test_captures_are_accepted_and_what_needs_the_model_is_told_to_come_back(unprepared: Api, gate: Gate) -> None:
    unprepared.flow()
    unprepared.capture("the boat is at berth twelve")
    body = {"name": "notes", "flow_id": "support"}
    once = {"Idempotency-Key": "as a client repeats it"}
    refused(unprepared, "POST", "/memories", body, headers=once)
    refused(unprepared, "POST", "/knowledge-bases", {"name": "book"})
    assert unprepared.get("/memories")["items"] == []

    prepare(unprepared, gate)
    made = unprepared.call("POST", "/memories", json=body, headers=once, expect=201)
    assert made.json()["pending_messages"] == 1
    assert (gate.calls, gate.loads) == (1, 1)


def test_another_model_than_the_default_is_prepared_in_the_background_too(unprepared: Api, gate: Gate) -> None:
    unprepared.flow()
    body = {"name": "notes", "flow_id": "support", "embedding_model": "other"}
    refused(unprepared, "POST", "/memories", body)
    assert gate.calls == 2
    gate.open.set()
    wait_until(lambda: unprepared.call("POST", "/memories", json=body, expect=(201, 503)).status_code == 201, PATIENCE)


def test_a_rebuild_on_the_page_says_that_the_model_is_being_prepared(restarted: Api, gate: Gate) -> None:
    memory_id = restarted.get("/memories")["items"][0]["id"]
    with mounted(restarted):
        page = Page(restarted)
        page.post(f"/memories/{memory_id}/rebuild")
        notice = unquote(page.client.cookies[NOTICE_COOKIE])
    assert "Not started yet: the model is being prepared" in notice
    assert "Try again" not in notice
    prepare(restarted, gate)


def test_searches_by_meaning_are_refused_and_never_empty(restarted: Api, gate: Gate) -> None:
    body = {"query": "berth", "flow_id": "support"}
    for mode in ("dense", "hybrid"):
        refused(restarted, "POST", "/search", body | {"mode": mode})
    found = restarted.post("/search", body | {"mode": "keyword"})
    assert [hit["content"] for hit in found["results"]] == ["the boat is at berth twelve"]

    prepare(restarted, gate)
    assert restarted.post("/search", body)["results"]


def test_a_page_that_ends_its_search_first_names_the_preparation_too(restarted: Api) -> None:
    embedders: Any = restarted.services.embedders
    embedders._wait_seconds = PATIENCE
    with mounted(restarted, replace(deadlines.USUAL, search=0.05)):
        page = Page(restarted)
        for path in ("results", "given"):
            said = page.get(f"/playground/{path}?q=berth&flow=support")
            assert "Preparing the embedding model (" in said
            assert "This does not mean that nothing is there" in said


def test_recall_is_degraded_to_keywords(restarted: Api) -> None:
    body = {"flow_id": "support", "session_id": "another", "query": "berth", "token_budget": 500}
    answer = restarted.post("/context", body | {"recall": {"scope": "flow"}})
    assert answer["report"]["degraded"] == ["recall"]
    assert "berth twelve" in str(answer["messages"])


def test_documents_are_refused_and_stored_later(api: Api, restarted: Api, gate: Gate) -> None:
    app: Any = api.client.app
    app.state.services = api.services
    api.post("/knowledge-bases", {"name": "book"}, expect=201)
    app.state.services = restarted.services
    body = {"documents": [{"id": "d", "text": "tides"}]}
    refused(restarted, "POST", "/knowledge-bases/book/documents", body)
    prepare(restarted, gate)
    answer = restarted.post("/knowledge-bases/book/documents", body)
    assert [each["status"] for each in answer["documents"]] == ["created"]


def test_a_job_waits_and_uses_up_no_attempt(restarted: Api) -> None:
    restarted.capture("the cat sleeps")
    restarted.work()
    with restarted.services.database.reading() as db:
        (job,) = db.scalars(sa.select(IngestionJob).where(IngestionJob.state == "queued")).all()
    assert (job.error_code, job.attempts, job.outages) == ("model_preparing", 0, 1)
    [base] = restarted.get("/memories")["items"]
    assert (base["total_processed"], base["dead_letters"]) == (1, 0)


def test_a_failure_is_said_with_its_reason_and_tried_again(tmp_path: Path, gate: Gate) -> None:
    gate.failure = ModelUnavailable("The folder /models is full.")
    gate.open.set()
    settings = settings_in(tmp_path)
    embedders = Embedders(settings, wait_seconds=PATIENCE)
    with open_api(settings, embedders) as api:
        api.capture("still accepted")
        error = api.refused("POST", "/memories", 503, json={"name": "notes", "flow_id": "support"})
        assert (error["code"], error["message"]) == ("model_unavailable", "The folder /models is full.")
        details = readiness(api)["error"]["details"]
        assert details["failing"][-1] == "model"
        assert details["reason"] == "the embedding model cannot be prepared: The folder /models is full."
        assert gate.calls == 1

        gate.failure = None
        later = embedders._preparation("fake")
        later._clock = lambda: 1e9
        api.memory()
        assert gate.calls == 2
        assert "model" not in readiness(api)["error"]["details"]["failing"]


def test_fakes_need_no_preparation(api: Api) -> None:
    assert isinstance(api.services.embedders, FakeEmbedders)
    assert "model" not in readiness(api)["error"]["details"]["failing"]
