"""However many searches, streams and long polls are in progress, a capture is not behind them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness.served import Served, serve_api
from harness.waiting import wait_until

from api import admission
from api.admission import Work
from memorybase.core.import_export import importer
from memorybase.core.import_export.importer import ImportAnswer
from memorybase.core.read_models import jobs
from memorybase.core.search import search
from memorybase.core.search.search import SearchResults
from memorybase.core.settings import Settings

pytestmark = pytest.mark.slow

STREAMS = 60
SEARCHES = 60  # more than the threads that Starlette has for everything


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setitem(admission.SLOTS, Work.SEARCH, 2)
    monkeypatch.setattr(admission, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(admission, "MAX_WAITS", STREAMS)
    return Settings(data_dir=tmp_path, embedding_model="fake", api_key="a-key-of-the-settings")


@pytest.fixture
def served(settings: Settings) -> Iterator[Served]:
    with serve_api(settings) as opened:
        opened.api.flow()
        yield opened


@pytest.fixture
def impatient(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """For a test in which the work that is in the way does not end: what waits for it is refused soon."""
    monkeypatch.setattr(admission, "WAIT_SECONDS", 0.2)
    with serve_api(settings) as opened:
        opened.api.flow()
        yield opened


def client_of(served: Served) -> httpx.Client:
    return httpx.Client(
        base_url=f"{served.url}/v1", headers={"X-API-Key": served.api.secret}, timeout=60, trust_env=False
    )


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with client_of(served) as opened:
        yield opened


def capture(client: httpx.Client) -> httpx.Response:
    body = {"session_id": "s", "messages": [{"role": "user", "content": "hello"}]}
    return client.post("/flows/support/runs", json=body)


class Held:
    """A stand-in for work that takes as long as the test wants."""

    def __init__(self, answer: Any) -> None:
        self.entered, self.most, self._inside = 0, 0, 0
        self._lock, self.release = threading.Lock(), threading.Event()
        self._answer = answer

    def __call__(self, *_: Any, **__: Any) -> Any:
        with self._lock:
            self.entered += 1
            self._inside += 1
            self.most = max(self.most, self._inside)
        self.release.wait(60)
        with self._lock:
            self._inside -= 1
        return self._answer


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Searches that do not end."""
    held = Held(SearchResults(results=[], took_ms=0.0))
    monkeypatch.setattr(search, "search", held)
    yield held
    held.release.set()


def test_a_capture_is_answered_while_sixty_searches_are_in_progress(
    served: Served, client: httpx.Client, searches: Held
) -> None:
    base = served.api.memory()["id"]
    with ThreadPoolExecutor(SEARCHES) as pool:
        asked = [pool.submit(client.post, f"/memories/{base}/search", json={"query": "x"}) for _ in range(SEARCHES)]
        wait_until(lambda: searches.entered == 2, what="two searches")
        assert capture(client).status_code == 201
        assert client.get(f"/memories/{base}").status_code == 200, "a cheap read has a class of its own"
        assert client.get("/health/live").status_code == 200
        searches.release.set()
        assert {each.result().status_code for each in asked} == {200}
    assert searches.most == 2


def test_a_search_that_is_not_admitted_in_time_is_503_with_retry_after(impatient: Served, searches: Held) -> None:
    base = impatient.api.memory()["id"]
    with client_of(impatient) as client, ThreadPoolExecutor(2) as pool:
        admitted = [pool.submit(client.post, f"/memories/{base}/search", json={"query": "x"}) for _ in range(2)]
        wait_until(lambda: searches.entered == 2, what="two searches")
        answer = client.post(f"/memories/{base}/search", json={"query": "x"})
        searches.release.set()
        assert [each.result().status_code for each in admitted] == [200, 200]
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["limit"], error["retryable"]) == (503, "overloaded", 2, True)
    assert answer.headers["retry-after"] == "1"
    assert searches.most == 2


def test_streams_and_long_polls_take_no_thread_and_one_query_at_a_time(
    served: Served, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held({})
    monkeypatch.setattr(jobs, "get_jobs", held)
    base = served.api.memory(threshold=1)["id"]
    assert capture(client).json()["ingestion"][0]["job_id"] is None  # outputs count
    served.api.capture("an output")
    job = served.api.get(f"/memories/{base}/jobs")["items"][0]["id"]
    streams: list[Iterator[bytes]] = []
    with ExitStack() as watching:
        for _ in range(STREAMS):
            events = watching.enter_context(client.stream("GET", f"/jobs/{job}/events"))
            assert events.status_code == 200
            streams.append(events.iter_raw())
            assert next(streams[-1]).startswith(b"event: job")
        wait_until(lambda: held.entered == 1, what="one query for all")
        assert capture(client).status_code == 201
        refused = client.get(f"/jobs/{job}", params={"wait": 5})
        assert (refused.status_code, refused.json()["error"]["limit"]) == (503, STREAMS)
        assert client.get(f"/jobs/{job}").status_code == 200, "without a wait it is a read"
        held.release.set()
    assert held.most == 1


def test_a_client_that_sends_its_body_slowly_holds_no_slot(impatient: Served) -> None:
    head = impatient.head("POST", "/v1/flows/support/runs", "Content-Type: application/json", "Content-Length: 100")
    with client_of(impatient) as client, ExitStack() as slow:
        for _ in range(2 * admission.SLOTS[Work.CAPTURE]):
            assert slow.enter_context(impatient.connect(head + b'{"session_id": '))
        assert capture(client).status_code == 201


def test_a_key_that_imports_leaves_changes_and_imports_to_others(
    impatient: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(ImportAnswer())
    monkeypatch.setattr(importer, "import_lines", held)
    other = impatient.api.of_user("local").secret
    with client_of(impatient) as client, ThreadPoolExecutor(2) as pool:
        first = pool.submit(client.post, "/import", content=b"")
        wait_until(lambda: held.entered == 1, what="an import")
        refused = client.post("/import", content=b"")
        assert (refused.status_code, refused.json()["error"]["limit"]) == (503, 1)
        second = pool.submit(client.post, "/import", content=b"", headers={"X-API-Key": other})
        wait_until(lambda: held.entered == 2, what="an import with another key")
        assert client.put("/flows/support", json={"name": "renamed"}).status_code == 200
        held.release.set()
        assert [first.result().status_code, second.result().status_code] == [200, 200]
