"""Every request is counted and timed by its route; with traces on it continues the caller's trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.api import Api
from harness.spans import Recorded, ancestors, recorded_spans
from prometheus_client.parser import text_string_to_metric_families

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = {"traceparent": f"00-{TRACE}-{SPAN}-01"}


@pytest.fixture
def spans() -> Iterator[Recorded]:
    with recorded_spans() as recorded:
        yield recorded


def counts(api: Api) -> dict[tuple[str, str, str], float]:
    """How many requests were answered, by method, route and status."""
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(api.call("GET", "/metrics").text)
        for sample in family.samples
        if sample.name == "memorybase_http_requests_total"
    }


def added(api: Api, before: dict[tuple[str, str, str], float]) -> dict[tuple[str, str, str], float]:
    now = counts(api)
    changed = {key: value - before.get(key, 0) for key, value in now.items() if value != before.get(key, 0)}
    changed.pop(("GET", "/metrics", "200"), None)
    return changed


def test_requests_are_counted_by_route_and_not_by_path(api: Api) -> None:
    api.flow()
    before = counts(api)
    api.capture("a", session="s1")
    api.capture("b", session="s2")
    api.client.post(  # the bare path of the same route
        "/flows/support/runs",
        headers={"Authorization": f"Bearer {api.secret}"},
        json={"session_id": "s1", "messages": [{"role": "user", "content": "c"}]},
    )
    api.get("/flows/missing/runs", expect=404)
    api.call("GET", "/no/such/path", expect=404)
    api.call("POST", "/flows/support/runs", json={}, expect=422)
    api.client.get("/v1/memories")  # without a key
    assert added(api, before) == {
        ("POST", "/flows/{flow_id}/runs", "201"): 3,
        ("GET", "/flows/{flow_id}/runs", "404"): 1,
        ("GET", "unmatched", "404"): 1,
        ("POST", "/flows/{flow_id}/runs", "422"): 1,
        ("GET", "/memories", "401"): 1,
    }


def test_a_method_that_nobody_knows_is_no_label_of_its_own(api: Api) -> None:
    before = counts(api)
    api.call("BREW", "/memories", expect=405)
    (key,) = added(api, before)
    assert key[0] == "other"


def test_each_request_is_timed(api: Api) -> None:
    api.capture("a")
    text = api.call("GET", "/metrics").text
    label = 'method="POST",route="/flows/{flow_id}/runs"'
    assert f'memorybase_http_request_seconds_bucket{{le="60.0",{label}}}' in text
    assert f"memorybase_http_request_seconds_count{{{label}}}" in text


def test_a_request_continues_the_callers_trace_until_its_message_is_searchable(api: Api, spans: Recorded) -> None:
    api.memory(threshold=1)
    body = {"session_id": "jane@example.org", "messages": [{"role": "assistant", "content": "ornithopter"}]}
    answer = api.call("POST", "/flows/support/runs", json=body, headers=PARENT, expect=201)
    api.work()
    seen = [span for span in spans.all() if span.trace_id == TRACE]
    (request,) = [span for span in seen if span.parent == SPAN]
    assert request.name == "POST /flows/{flow_id}/runs"
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/flows/{flow_id}/runs",
        "http.response.status_code": 201,
        "memorybase.request_id": answer.headers["X-Request-Id"],
    }
    (advance,) = [span for span in seen if span.name == "advance"]
    assert ancestors(advance, seen) == ["job", "create_memory", "POST /flows/{flow_id}/runs"]
    (job_id,) = [each["job_id"] for each in answer.json()["ingestion"]]
    (capture,) = [span for span in seen if span.name == "create_memory"]
    assert list(capture.attributes["memorybase.job_ids"]) == [job_id]
    shown = str([(span.name, span.attributes) for span in spans.all()])
    assert not any(each in shown for each in ("jane", "ornithopter", api.secret))


def test_a_search_is_traced_over_its_threads(api: Api, spans: Recorded) -> None:
    base = api.memory(threshold=1)
    api.capture("ornithopter")
    api.work()
    spans.clear()
    api.call("POST", f"/memories/{base['id']}/search", json={"query": "ornithopter"}, headers=PARENT)
    seen = spans.all()
    assert {span.trace_id for span in seen} == {TRACE}
    assert {"search_memory", "embed_query", "vector_search", "keyword_search"} <= {span.name for span in seen}


def test_probes_scrapes_and_traces_themselves_are_not_traced(api: Api, spans: Recorded) -> None:
    api.flow()
    spans.clear()
    api.client.get("/health/live")
    api.call("GET", "/metrics")
    traces = {"content": b"{}", "headers": {"Content-Type": "application/json"}}
    api.call("POST", "/flows/support/traces", **traces)
    assert spans.all() == []
