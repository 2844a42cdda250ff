"""Every error has one shape, names the field, value and bound, and repeats no message text."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
import structlog
from harness.api import Api, open_api, settings_in
from harness.contract import CONTRACT

from api import docs_page, failures
from memorybase.core.errors import MemorybaseError, VectorStoreUnavailable
from memorybase.core.services import Services
from memorybase.core.validation import Sent

SECRET_TEXT = "the patient's name is Ada"


def test_an_unknown_path_is_404(api: Api, subtests: pytest.Subtests) -> None:
    for path in ["/nowhere", "/memories/x/y/z"]:
        with subtests.test(path):
            assert api.refused("GET", path, 404)["code"] == "not_found"


def test_a_wrong_method_is_405_with_all_methods_of_the_path(api: Api, subtests: pytest.Subtests) -> None:
    for method, path, allowed in [
        ("PUT", "/memories", "GET, POST"),
        ("POST", "/memories/x", "DELETE, GET, PATCH"),
        ("PATCH", "/flows/f/chat-memories/n/messages", "DELETE, GET, POST"),
        ("POST", "/health/live", "GET"),
    ]:
        with subtests.test(f"{method} {path}"):
            answer = api.call(method, path, expect=405)
            assert answer.json()["error"]["code"] == "method_not_allowed"
            assert answer.headers["allow"] == allowed


OPERATIONS = [
    (method.upper(), path.removeprefix("/v1"))
    for path, methods in CONTRACT["paths"].items()
    for method in methods
    if path != "/v1/dify/retrieval"  # its errors have Dify's form
]


@pytest.fixture(scope="module")
def empty_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """For calls that are all refused."""
    settings = settings_in(tmp_path_factory.mktemp("empty")).model_copy(update={"rate_limit_per_second": 0})
    with open_api(settings) as opened:
        yield opened


def test_an_unknown_query_parameter_is_refused_by_every_operation(empty_api: Api, subtests: pytest.Subtests) -> None:
    assert OPERATIONS
    for method, path in OPERATIONS:
        with subtests.test(f"{method} {path}"):
            filled = re.sub(r"\{\w+\}", "00000000-0000-4000-8000-000000000000", path)
            error = empty_api.refused(method, f"{filled}?never_a_parameter=1", 422)
            assert (error["field"], "query parameter" in error["message"]) == ("never_a_parameter", True)


def test_a_misspelt_query_parameter_is_refused_with_the_nearest_one(api: Api) -> None:
    base = api.memory(flow=api.flow())
    error = api.refused("GET", f"/memories/{base['id']}/sessions?sise=1", 422)
    assert (error["field"], error["message"]) == ("sise", "Unknown query parameter; did you mean size?")


def test_a_repeated_query_parameter_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    for query in ["session_id=a&session_id=b", "size=1&size=1"]:
        with subtests.test(query):
            error = api.refused("GET", f"/messages?{query}", 422)
            assert error["field"] == query.partition("=")[0]
            assert error["message"] == "A query parameter must be given once"


def test_a_query_parameter_that_is_a_list_may_be_repeated(api: Api) -> None:
    flow = api.flow()
    api.call("PUT", f"/flows/{flow}/chat-memories/node", json={"name": "n", "chat_id": "{{ c }}"}, expect=201)
    path = f"/flows/{flow}/chat-memories/node/messages?chat_id=c&mode=all&roles=user&roles=assistant"
    assert api.call("DELETE", path).json() == {"deleted": [], "remaining_count": 0}


def test_a_number_is_no_time(api: Api, subtests: pytest.Subtests) -> None:
    base = api.memory(flow=api.flow())
    for number in ["-1e-96", "1767225600", "17e8", " 12 "]:
        with subtests.test(number):
            error = api.refused("GET", f"/messages?since={number}", 422)
            assert (error["field"], "2026-11-16T10:00:00Z" in error["message"]) == ("since", True)
            for value in (number, 1_767_225_600, 1.5):
                body = {"query": "boat", "until": value}
                assert api.refused("POST", f"/memories/{base['id']}/search", 422, json=body)["field"] == "until"


def test_a_wrong_time_is_422_with_its_value_and_the_form(api: Api, subtests: pytest.Subtests) -> None:
    asked = {"flow_id": api.flow(), "query": "boat"}
    for value in ("yesterday", "", "2026-02-30", "2026-02-10T25:00:00Z", 1_767_225_600, "1767225600"):
        for path, body in (("/search", asked), ("/context", asked | {"session_id": "s", "token_budget": 500})):
            with subtests.test(path, value=value):
                error = api.refused("POST", path, 422, json=body | {"as_of": value})
                assert (error["field"], error["value"]) == ("as_of", value)
                assert error["message"] == "as_of must be a date and a time such as 2026-11-16T10:00:00Z"
    error = api.refused("POST", "/search", 422, json=asked | {"as_of": "0001-01-01T00:00:00+10:00"})
    assert error["message"] == "as_of must be between the years 1 and 9999"


def test_an_unreadable_body_is_400(api: Api, subtests: pytest.Subtests) -> None:
    for body in [b"{", b"\xff\xfe", b"[" * 100_000, b'{"name": 1' + b"0" * 5_000 + b"}"]:
        with subtests.test(f"{body[:20]}"):
            error = api.refused("POST", "/flows", 400, content=body, headers={"Content-Type": "application/json"})
            assert error["code"] == "bad_request"


def test_a_body_without_a_content_type_is_read_as_json(api: Api) -> None:
    assert api.call("POST", "/flows", expect=201, content=b'{"name": "f"}').json()["name"] == "f"


def test_a_body_of_another_type_is_refused_with_advice(api: Api) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert "application/json" in api.refused("POST", "/flows", 422, content=b"name=f", headers=form)["message"]


INVALID_FIELDS = [
    ("POST", "/flows", {"name": "f", "color": 1}, "color"),
    ("POST", "/flows", {}, "name"),
    ("POST", "/flows", {"name": " "}, "name"),
    ("POST", "/flows", {"name": "x" * 201}, "name"),
    ("POST", "/flows", {"name": "a\x00"}, "name"),
    ("POST", "/flows", {"name": 7}, "name"),
    ("POST", "/flows", [], "body"),
    ("POST", "/flows/f/runs", {"session_id": "s", "messages": [], "node_execution": []}, "node_execution"),
    ("POST", "/flows/f/runs", {"session_id": "s", "messages": [], "on_conflict": "drop"}, "on_conflict"),
    ("POST", "/flows/f/runs", {"session_id": "x" * 129, "messages": []}, "session_id"),
    ("POST", "/flows/f/runs", {"session_id": "s", "messages": [{"role": "user", "content": 1}]}, "messages[0].content"),
    ("POST", "/memories", {"name": "n", "flow_id": "f", "threshold": 0}, "threshold"),
    ("POST", "/memories", {"name": "n", "flow_id": "f", "threshold": 10_001}, "threshold"),
    ("POST", "/memories", {"name": "n", "flow_id": "f", "capture": "some"}, "capture"),
    ("POST", "/memories", {"name": "n", "flow_id": "f", "is_memory_base": True}, "is_memory_base"),
    ("POST", "/search", {"flow_id": "f", "query": "q", "mode": "sparse"}, "mode"),
    ("POST", "/search", {"flow_id": "f", "query": "q", "top_k": 101}, "top_k"),
    ("PATCH", "/sessions", {"flow_id": "f", "session_id": "s", "metadata": {"k": "\x00"}}, "metadata"),
    ("DELETE", "/knowledge-bases/%00", None, "name"),
    ("DELETE", "/flows/%00", None, "flow_id"),
    ("POST", "/keys", {"name": "k", "scopes": ["root"]}, "scopes[0]"),
    ("POST", "/keys", {"name": "k", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
]


def test_an_invalid_field_is_422_with_its_name(api: Api, subtests: pytest.Subtests) -> None:
    api.flow("f")
    for method, path, body, field in INVALID_FIELDS:
        with subtests.test(f"{method} {path} {field}"):
            assert api.refused(method, path, 422, json=body)["field"] == field


INVALID_PARAMETERS = [
    ("/flows?size=201", "size", 200),
    ("/flows?size=0", "size", 1),
    ("/flows?page=0", "page", 1),
    ("/flows?offset=-1", "offset", 0),
    ("/flows?cursor=nonsense", "cursor", None),
    ("/flows?cursor=WyJmbG93czp1cCIsIm5vdyIsMV0", "cursor", None),
    ("/messages?role=ghost", "role", None),
    ("/messages?since=soon", "since", None),
    ("/messages?session_id=%00", "session_id", None),
    ("/jobs/none-such", "job_id", None),
    (f"/flows/{'x' * 129}", "flow_id", 128),
]


def test_an_invalid_parameter_is_422_with_its_bound(api: Api, subtests: pytest.Subtests) -> None:
    for path, field, limit in INVALID_PARAMETERS:
        with subtests.test(path):
            error = api.refused("GET", path, 422)
            assert (error["field"], error.get("limit")) == (field, limit)


SEARCH = {"flow_id": "f", "query": "q"}
DOCUMENTS, DOCUMENT_SEARCH = "/knowledge-bases/kb/documents", "/knowledge-bases/kb/search"
KEYS = {str(number): number for number in range(21)}


OUT_OF_BOUNDS = [
    ("/search", SEARCH | {"top_k": 0}, "top_k", 0, 1),
    ("/search", SEARCH | {"top_k": 101}, "top_k", 101, 100),
    ("/search", SEARCH | {"neighbors": 21}, "neighbors", 21, 20),
    ("/search", SEARCH | {"neighbors": -1}, "neighbors", -1, 0),
    ("/search", SEARCH | {"min_score": 1.5}, "min_score", 1.5, 1.0),
    ("/search", SEARCH | {"metadata": KEYS}, "metadata", 21, 20),
    ("/search", SEARCH | {"exclude_message_ids": ["x"] * 1_001}, "exclude_message_ids", 1_001, 1_000),
    ("/search", SEARCH | {"session_id": "x" * 129}, "session_id", 129, 128),
    ("/memories", {"name": "n", "flow_id": "f", "idle_after": -1}, "idle_after", -1, 0),
    ("/memories", {"name": "n", "flow_id": "f", "idle_after": 31_536_001}, "idle_after", 31_536_001, 31_536_000),
    ("/memories", {"name": "n", "flow_id": "f", "threshold": 0}, "threshold", 0, 1),
    (DOCUMENTS, {"documents": []}, "documents", 0, 1),
    (DOCUMENTS, {"documents": [{"text": "t"}] * 201}, "documents", 201, 200),
    (DOCUMENTS, {"documents": [{"text": "t", "id": "x" * 129}]}, "documents[0].id", 129, 128),
    (DOCUMENTS, {"documents": [{"text": ""}]}, "documents[0].text", 0, 1),
    (DOCUMENT_SEARCH, {"query": "q", "top_k": 101}, "top_k", 101, 100),
    (DOCUMENT_SEARCH, {"query": "q", "metadata": KEYS}, "metadata", 21, 20),
]


def test_an_error_names_value_and_bound(api: Api, subtests: pytest.Subtests) -> None:
    api.flow("f")
    for path, body, field, value, limit in OUT_OF_BOUNDS:
        with subtests.test(f"{path} {field} {value}"):
            error = api.refused("POST", path, 422, json=body)
            assert (error["field"], error["value"], error["limit"]) == (field, value, limit)


NO_NUMBERS = [
    ("POST", "/memories", {"name": "n", "flow_id": "f", "threshold": True}, "threshold"),
    ("POST", "/memories", {"name": "n", "flow_id": "f", "idle_after": False}, "idle_after"),
    ("POST", "/search", SEARCH | {"min_score": False}, "min_score"),
    ("POST", "/search", SEARCH | {"neighbors": False}, "neighbors"),
    ("POST", "/context", {"flow_id": "f", "session_id": "s", "token_budget": True}, "token_budget"),
    ("PUT", "/flows/f/chat-memories/n", {"name": "c", "chat_id": "x", "max_messages": False}, "max_messages"),
    ("POST", "/flows/f/chat-memories/n/trim", {"chat_id": "x", "max_messages": False}, "max_messages"),
    (
        "PUT",
        "/memories/00000000-0000-4000-8000-000000000000/weights",
        {"sets": {"s": {"bias": 1, "weights": {"cosine": True}}}},
        "sets.s.weights",
    ),
]


def test_true_and_false_are_no_numbers(api: Api, subtests: pytest.Subtests) -> None:
    api.flow("f")
    for method, path, body, field in NO_NUMBERS:
        with subtests.test(f"{method} {path} {field}"):
            error = api.refused(method, path, 422, json=body)
            assert (error["field"], "valid" in error["message"]) == (field, True)


def test_every_request_body_refuses_them() -> None:
    own = [
        module
        for name, module in sys.modules.items()
        if name.startswith(("api.", "memorybase.features.")) and not name.startswith(("api.web", "api.contract"))
    ]
    bodies = {name: kind for module in own for name, kind in vars(module).items() if re.search("[a-z]Body$", name)}
    assert len(bodies) > 40
    assert [name for name, kind in bodies.items() if not issubclass(kind, Sent)] == ["ErrorBody"]  # an answer


def test_every_invalid_field_is_named(api: Api) -> None:
    error = api.refused("POST", "/memories", 422, json={"name": "", "threshold": 0, "x": 1})
    named = {error["field"], *(other["field"] for other in error["details"]["others"])}
    assert named == {"name", "flow_id", "threshold", "x"}


def test_errors_never_repeat_message_text(api: Api, subtests: pytest.Subtests) -> None:
    flow = api.flow()
    for message in [
        {"role": "user", "content": [{"type": "text", "text": {"is": SECRET_TEXT}}]},
        {"role": "user", "content": {"is": SECRET_TEXT}},
        {"role": "user", "content": SECRET_TEXT + "\x00"},
        SECRET_TEXT,
    ]:
        with subtests.test(message=message):
            body = {"session_id": "s", "messages": [message]}
            assert "Ada" not in api.call("POST", f"/flows/{flow}/runs", expect=422, json=body).text


def test_errors_never_repeat_a_query(api: Api) -> None:
    answer = api.call("POST", "/search", expect=422, json={"flow_id": 1, "query": {"q": SECRET_TEXT}, "mode": 2})
    assert "Ada" not in answer.text


def test_a_lone_surrogate_in_a_field_or_its_name_is_422(api: Api) -> None:
    for body in ('{"name": "\\ud800"}', '{"name": "n", "\\ud800": 1}'):
        api.refused("POST", "/flows", 422, content=body, headers={"Content-Type": "application/json"})


class TestBodySize:
    def test_a_body_with_a_content_length_beyond_the_limit_is_413(self, api: Api) -> None:
        error = api.refused("POST", "/flows", 413, content=b"x" * 200_001)
        assert (error["code"], error["limit"]) == ("too_large", 200_000)

    def test_a_chunked_body_beyond_the_limit_is_413(self, api: Api) -> None:
        def chunks() -> Iterator[bytes]:
            for _ in range(21):
                yield b" " * 10_000

        assert api.refused("POST", "/flows", 413, content=chunks())["limit"] == 200_000

    def test_a_chunked_body_within_the_bound_is_read(self, api: Api) -> None:
        def chunks() -> Iterator[bytes]:
            yield b'{"name": '
            yield b'"f"}'

        api.call("POST", "/flows", expect=201, content=chunks(), headers={"Content-Type": "application/json"})

    def test_messages_have_their_own_limits(self, api: Api) -> None:
        flow = api.flow()
        many = [{"role": "user", "content": "x"}] * 51
        error = api.refused("POST", f"/flows/{flow}/runs", 422, json={"session_id": "s", "messages": many})
        assert (error["field"], error["value"], error["limit"]) == ("messages", 51, 50)
        large = [{"role": "user", "content": "x" * 60_000}]
        error = api.refused("POST", f"/flows/{flow}/runs", 422, json={"session_id": "s", "messages": large})
        assert (error["field"], error["limit"]) == ("messages[0]", 50_000)


class TestRequestId:
    def test_a_request_id_of_the_caller_is_returned(self, api: Api) -> None:
        answer = api.call("GET", "/nowhere", expect=404, headers={"X-Request-Id": "abc-1"})
        assert answer.headers["x-request-id"] == answer.json()["error"]["request_id"] == "abc-1"

    def test_an_unusable_request_id_is_replaced(self, api: Api) -> None:
        ids = {
            api.call("GET", "/flows", headers={"X-Request-Id": given}).headers["x-request-id"] for given in ("", "a b")
        }
        assert len(ids) == 2
        assert not ids & {"", "a b"}


class TestUnexpected:
    def test_a_crash_is_500_without_details(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        def crash(*_: object, **__: object) -> None:
            raise RuntimeError(SECRET_TEXT)

        monkeypatch.setattr("memorybase.core.read_models.sessions.list_flows", crash)
        answer = api.call("GET", "/flows", expect=500)
        assert answer.json()["error"]["code"] == "internal_error"
        assert answer.headers["x-request-id"] == answer.json()["error"]["request_id"]
        assert "Ada" not in answer.text

    def test_the_words_of_a_database_driver_are_for_the_log(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        said = 'connection to server at "10.0.0.7", port 5432 failed: FATAL: role "boss" does not exist'

        def fail(services: Services, *_: object, **__: object) -> None:
            with services.database.reading():
                raise sa.exc.OperationalError("SELECT 1", {}, Exception(said))

        monkeypatch.setattr("memorybase.core.read_models.sessions.list_flows", fail)
        with structlog.testing.capture_logs() as logged:
            answer = api.call("GET", "/flows", expect=503)
        assert answer.json()["error"]["message"] == "The database is unavailable."
        assert "boss" not in answer.text
        assert [each["reason"] for each in logged] == [f"The database is unavailable: {said}"]

    def test_the_log_says_why_a_store_did_not_answer(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise VectorStoreUnavailable(operation="query", reason="ReadTimeout")

        monkeypatch.setattr("memorybase.core.read_models.sessions.list_flows", fail)
        with structlog.testing.capture_logs() as logged:
            api.call("GET", "/flows", expect=503)
        assert [(each["operation"], each["cause"]) for each in logged] == [("query", "ReadTimeout")]

    def test_an_outage_is_503_with_retry_after(self, api: Api) -> None:
        api.flow()
        api.vectors.away = True
        answer = api.call("POST", "/memories", expect=503, json={"name": "n", "flow_id": "support"})
        error = answer.json()["error"]
        assert (error["code"], error["retryable"]) == ("vector_store_unavailable", True)
        assert int(answer.headers["retry-after"]) > 0


class TestHealth:
    def test_live_needs_no_key(self, api: Api) -> None:
        for path in ("/health/live", "/v1/health/live"):
            assert api.client.get(path).json()["status"] == "ok"

    def test_not_ready_names_the_failing_parts(self, api: Api) -> None:
        answer = api.client.get("/health/ready")
        assert answer.status_code == 503
        assert answer.json()["error"]["details"]["failing"] == ["worker", "sweeper"]
        assert answer.headers["retry-after"]

    def test_ready_once_every_part_responds(self, api: Api) -> None:
        from memorybase.core.operations import heartbeats

        heartbeats.beat(api.services, "worker@1", "worker")
        heartbeats.beat(api.services, "sweeper@1", "sweeper")
        answer = api.client.get("/health/ready")
        assert (answer.status_code, set(answer.json()["parts"].values())) == (200, {"ok"})
        api.vectors.away = api.queue.away = True
        assert api.client.get("/health/ready").json()["error"]["details"]["failing"] == ["redis", "chroma"]


class TestDocuments:
    def test_fastapis_pages_are_off(self, api: Api) -> None:
        for path in ("/redoc", "/v1/docs"):
            assert api.client.get(path).status_code == 404

    def test_the_reference_page_loads_nothing_from_elsewhere(self, api: Api) -> None:
        page = api.client.get("/docs")
        assert page.status_code == 200
        assert "//" not in page.text
        assert "script-src 'self';" in page.headers["content-security-policy"]

    def test_without_its_package_the_reference_page_says_what_to_install(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        docs_page._resources.cache_clear()
        monkeypatch.setattr("api.docs_page.PACKAGE", "no_such_package")
        for path in ("/docs", "/docs/swagger-ui.css"):
            assert "pip install '.[docs]'" in api.client.get(path).json()["detail"]
        docs_page._resources.cache_clear()

    def test_openapi_needs_no_key(self, api: Api) -> None:
        assert json.loads(api.client.get("/v1/openapi.json").text)["info"]["title"] == "memorybase"

    def test_cors_is_off(self, api: Api) -> None:
        answer = api.client.get("/health/live", headers={"Origin": "https://elsewhere.example"})
        assert "access-control-allow-origin" not in answer.headers


CONTEXT = {"flow_id": "f", "session_id": "s", "token_budget": 9}
UPPER = "6F9619FF-8B86-4011-B42D-00CF4FC964FF"


UNKNOWN_IDS = [
    ("GET", f"/flows/{UPPER}", {}),
    ("GET", f"/memories/{UPPER}", {}),
    ("GET", f"/memories/{UPPER.replace('-', '')}", {}),
    ("GET", f"/jobs/{UPPER}", {}),
    ("DELETE", f"/keys/{UPPER}", {}),
    ("GET", "/messages", {"params": {"memory_base_id": UPPER}}),
    ("GET", "/export", {"params": {"memory_base_id": UPPER}}),
    ("POST", "/context", {"json": CONTEXT | {"memory_base_ids": [UPPER]}}),
    ("GET", "/flows/" + "x" * 128, {}),
]


def test_a_404_repeats_the_id_as_it_was_spelled(api: Api, subtests: pytest.Subtests) -> None:
    api.flow("f")
    for method, path, options in UNKNOWN_IDS:
        with subtests.test(f"{method} {path} {options}"):
            sent = path.rsplit("/", 1)[1] if "json" not in options and "params" not in options else UPPER
            assert api.refused(method, path, 404, **options)["value"] == sent


def test_a_conflict_repeats_the_id_as_it_was_sent(api: Api) -> None:
    flow = api.flow("f")
    base = api.memory("notes", "f", threshold=1)["id"].upper()
    message = {"role": "assistant", "content": "a", "id": "m-1"}
    api.post("/flows/f/runs", {"session_id": "s", "run_id": "r-1", "messages": [message]}, expect=201)
    changed = [{**message, "content": "b"}]
    bodies = [
        ({"session_id": "t", "run_id": "r-1", "messages": []}, "r-1"),
        ({"session_id": "t", "messages": [message]}, "m-1"),
        ({"session_id": "s", "messages": changed}, "m-1"),
        ({"session_id": "s", "messages": [{**message, "role": "user"}], "on_conflict": "update"}, "m-1"),
    ]
    for body, sent in bodies:
        assert api.refused("POST", f"/flows/{flow}/runs", 409, json=body)["value"] == sent
    execution = {"flow_id": "f", "session_id": "t", "run_id": "r-1", "node_id": "n"}
    execution |= {"status": "succeeded", "outputs": {}}
    assert api.refused("PUT", "/node-executions/e-1", 409, json=execution)["value"] == "r-1"
    api.work()
    api.post(f"/memories/{base}/regenerate", expect=202)
    assert api.refused("POST", f"/memories/{base}/regenerate", 409)["value"] == base
    api.call("PUT", "/flows/f/chat-memories/n", json={"name": "m", "chat_id": "c"}, expect=201)
    api.post("/flows/f/chat-memories/n/messages", {"chat_id": "c", "messages": [message]}, expect=201)
    post = {"chat_id": "c", "messages": changed}
    assert api.refused("POST", "/flows/f/chat-memories/n/messages", 409, json=post)["value"] == "m-1"


class TestProblemDetails:
    """RFC 9457."""

    def test_every_error_is_a_problem_too(self, api: Api) -> None:
        api.flow("f")
        answer = api.call("POST", "/memories", json={"name": "n", "flow_id": "f", "threshold": 0}, expect=422).json()
        error = answer.pop("error")
        assert answer == {
            "type": "urn:memorybase:error:invalid_request",
            "title": "A field of the request is invalid",
            "status": 422,
            "detail": error["message"],
        }

    def test_its_type_is_the_one_that_the_caller_accepts(self, api: Api, subtests: pytest.Subtests) -> None:
        for accepted, sent in [
            (None, "application/json"),
            ("*/*", "application/json"),
            ("application/json", "application/json"),
            ("application/json, application/problem+json", "application/problem+json"),
        ]:
            with subtests.test(accepted=accepted):
                headers = {} if accepted is None else {"Accept": accepted}
                assert api.call("GET", "/nowhere", headers=headers, expect=404).headers["content-type"] == sent

    def test_only_errors_are_problems(self, api: Api) -> None:
        answer = api.call("GET", "/flows", headers={"Accept": "application/problem+json"})
        assert answer.headers["content-type"] == "application/json"

    def test_one_code_has_one_title(self) -> None:
        titles = {(kind.code, failures.title_of(kind)) for kind in subclasses(MemorybaseError)}
        assert len({code for code, _ in titles}) == len(titles) > 30
        assert all(title and not title.endswith(".") for _, title in titles)

    def test_every_code_is_in_the_document(self) -> None:
        described = CONTRACT["components"]["schemas"]["ErrorBody"]["properties"]["code"]["enum"]
        assert described == sorted({kind.code for kind in subclasses(MemorybaseError)})


def subclasses(kind: type[MemorybaseError]) -> list[type[MemorybaseError]]:
    """The class, and all below it that are part of memorybase."""
    below = [each for direct in kind.__subclasses__() for each in subclasses(direct)]
    return [kind, *(each for each in below if each.__module__.partition(".")[0] in {"memorybase", "api"})]
