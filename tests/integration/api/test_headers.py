"""Headers of answers: where a created thing is, and how many calls are left."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from harness.api import Api, open_api

from memorybase.core.settings import Settings


def created(api: Api, method: str, path: str, body: object) -> str:
    """The Location of what the call creates, which must exist."""
    where = api.call(method, path, json=body, expect=201).headers["location"]
    assert where.startswith("/v1/")
    return where.removeprefix("/v1")


class TestLocation:
    def test_a_flow_a_run_and_a_memory_base_are_where_the_answer_says(self, api: Api) -> None:
        assert api.get(created(api, "POST", "/flows", {"name": "generated"}))["name"] == "generated"
        assert api.get(created(api, "PUT", "/flows/a%2Fb", {"name": "mine"}))["external_id"] == "a/b"
        api.flow("support")
        body = {"session_id": "s", "run_id": "r", "messages": [{"role": "user", "content": "hi"}]}
        assert api.get(created(api, "POST", "/flows/support/runs", body))["external_id"] == "r"
        where = created(api, "POST", "/memories", {"name": "notes", "flow_id": "support"})
        assert api.get(where)["name"] == "notes"

    def test_chat_memories_with_odd_names_are_where_the_answer_says(self, api: Api) -> None:
        api.flow("support")
        where = created(api, "PUT", "/flows/support/chat-memories/a%2Fb%20c", {"name": "n", "chat_id": "{{ c }}"})
        assert api.get(where)["node_id"] == "a/b c"
        posted = {"chat_id": "chat/1 &x", "messages": [{"role": "user", "content": "hi"}]}
        page = api.call("GET", created(api, "POST", f"{where}/messages", posted)).json()
        assert [message["content"] for message in page["items"]] == ["hi"]

    def test_a_node_execution_and_a_knowledge_base_are_where_the_answer_says(self, api: Api) -> None:
        api.flow("support")
        body = {
            "flow_id": "support",
            "session_id": "s",
            "run_id": "r",
            "node_id": "n",
            "status": "succeeded",
            "outputs": {"text": "t"},
        }
        assert api.get(created(api, "PUT", "/node-executions/e1", body))["external_id"] == "e1"
        assert api.get(created(api, "POST", "/knowledge-bases", {"name": "a/b ü"}))["name"] == "a/b ü"

    def test_a_key_can_be_revoked_where_the_answer_says(self, api: Api) -> None:
        api.delete(created(api, "POST", "/keys", {"name": "k", "scopes": ["read"]}))

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("PUT", "/flows/support", {"name": "again"}),
            ("POST", "/flows/support/runs", {"session_id": "s", "run_id": "r", "messages": []}),
        ],
    )
    def test_a_repeat_has_none(self, api: Api, method: str, path: str, body: object) -> None:
        api.flow("support")
        api.call(method, path, json=body, expect=(200, 201))
        assert "location" not in api.call(method, path, json=body, expect=200).headers

    def test_the_token_of_a_sign_in_link_is_in_no_header(self, api: Api) -> None:
        answer = api.call("POST", "/sign-in-links", expect=201)
        token = answer.json()["url_path"].partition("token=")[2]
        assert token
        assert all(token not in value for value in answer.headers.values())


class TestRateLimit:
    @pytest.fixture
    def slow(self, api_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
        monkeypatch.setattr("api.limits.BURST_SECONDS", 3)
        limited = api_settings.model_copy(update={"rate_limit_per_second": 1})
        with open_api(limited, monotonic=lambda: 1_000.0) as opened:
            yield opened

    def test_each_answer_says_how_many_calls_are_left(self, slow: Api) -> None:
        answers = [slow.call("GET", "/flows", expect=(200, 429)) for _ in range(4)]
        assert [answer.headers["ratelimit"] for answer in answers] == [
            '"calls";r=2;t=1',
            '"calls";r=1;t=2',
            '"calls";r=0;t=3',
            '"calls";r=0;t=1',
        ]
        assert {answer.headers["ratelimit-policy"] for answer in answers[:3]} == {'"calls";q=3;w=3'}
        assert answers[3].headers["ratelimit"] == f'"calls";r=0;t={answers[3].headers["retry-after"]}'

    def test_the_time_until_all_calls_are_left_is_in_seconds(self, slow: Api) -> None:
        found = re.search(r";t=(\d+)$", slow.call("GET", "/flows").headers["ratelimit"])
        assert found
        assert int(found[1]) == 1

    def test_an_error_has_them_too(self, slow: Api) -> None:
        assert "ratelimit" in slow.call("GET", "/flows/none-such", expect=404).headers

    def test_without_a_limit_there_are_none(self, api_settings: Settings) -> None:
        with open_api(api_settings.model_copy(update={"rate_limit_per_second": 0})) as unlimited:
            assert "ratelimit" not in unlimited.call("GET", "/flows").headers

    def test_a_stranger_learns_nothing(self, slow: Api) -> None:
        answer = slow.client.get("/v1/flows", headers={"Authorization": "Bearer wrong"})
        assert (answer.status_code, "ratelimit" in answer.headers) == (401, False)
