"""Lists: pages, cursors that are stable under changes, and filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from harness.api import Api


def walk(api: Api, path: str, **params: Any) -> Iterator[dict[str, Any]]:
    """Every page, by following the cursor."""
    while True:
        page = api.get(path, **params)
        yield page
        if "next_cursor" not in page:
            return
        params["cursor"] = page["next_cursor"]


class TestPages:
    def test_a_page_has_items_total_page_size_and_cursor(self, api: Api) -> None:
        for name in ("a", "b", "c"):
            api.flow(name)
        page = api.get("/flows", page=2, size=1)
        assert page.keys() == {"items", "total", "page", "size", "next_cursor"}
        assert (page["total"], page["page"], page["size"], page["items"][0]["name"]) == (3, 2, 1, "b")
        assert "next_cursor" not in api.get("/flows", page=2, size=2)

    def test_an_offset_is_added_to_the_pages_start(self, api: Api) -> None:
        for name in "abcde":
            api.flow(name)
        assert [flow["name"] for flow in api.get("/flows", page=2, size=2, offset=1)["items"]] == ["d", "e"]

    def test_a_page_beyond_the_end_is_empty(self, api: Api) -> None:
        api.flow()
        page = api.get("/flows", page=10_000_000, size=200, offset=10_000_000)
        assert (page["items"], page["total"]) == ([], 1)

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_a_cursor_shows_every_row_once_during_inserts_and_deletes(self, api: Api, order: str) -> None:
        ids = [m["id"] for m in api.capture(*"abcdefgh")["messages"]]
        seen: list[str] = []
        for number, page in enumerate(walk(api, "/messages", flow_id="support", session_id="s1", order=order, size=2)):
            seen += [message["content"] for message in page["items"]]
            if number == 0:  # what was seen goes, and more comes
                api.delete(f"/messages/{ids[0] if order == 'asc' else ids[7]}", expect=200)
                api.capture("i")
        assert seen == (list("abcdefghi") if order == "asc" else list("hgfedcba"))

    def test_a_cursor_walks_every_list(self, api: Api, subtests: pytest.Subtests) -> None:
        for number in range(5):
            api.flow(f"f{number}")
            api.memory(f"m{number}", flow=f"f{number}")
            api.capture("x", flow=f"f{number}", session=f"s{number}")
            api.capture("y", flow="f0", session=f"t{number}")
        for path in ["/flows", "/messages", "/sessions", "/memories", "/flows/f0/runs"]:
            with subtests.test(path):
                whole = api.get(path)
                walked = [item for page in walk(api, path, size=2) for item in page["items"]]
                assert walked == whole["items"]
                assert len(walked) == whole["total"] >= 5

    def test_a_cursor_excludes_page_and_offset_and_fits_one_list(self, api: Api) -> None:
        for name in "ab":
            api.flow(name)
        cursor = api.get("/flows", size=1)["next_cursor"]
        assert api.refused("GET", f"/flows?cursor={cursor}&page=2", 422)["field"] == "cursor"
        assert api.refused("GET", f"/sessions?cursor={cursor}", 422)["field"] == "cursor"

    def test_keys_are_paged_too(self, api: Api) -> None:
        for number in range(4):
            api.post("/keys", {"name": f"k{number}", "scopes": ["read"]}, expect=201)
        assert [key["name"] for key in api.get("/keys", page=2, size=2)["items"]] == ["k1", "k2"]


def test_jobs_over_all_memory_bases(api: Api) -> None:
    for name in ("one", "two"):
        api.flow(name)
        api.memory(f"memory {name}", flow=name, threshold=1)
        api.capture("a", flow=name, session=f"session {name}")
    assert api.of_user("eve").get("/jobs")["total"] == 0
    jobs = api.get("/jobs")["items"]
    assert [(job["memory_base_name"], job["session_id"]) for job in jobs] == [
        ("memory two", "session two"),
        ("memory one", "session one"),
    ]
    assert [item for page in walk(api, "/jobs", size=1) for item in page["items"]] == jobs
    assert api.get("/jobs", session_id="session one")["items"] == jobs[1:]
    assert (api.get("/jobs", state="queued")["total"], api.get("/jobs", state="done")["total"]) == (2, 0)
    api.work()
    assert (api.get("/jobs", state="queued")["total"], api.get("/jobs", state="done")["total"]) == (0, 2)


class TestMessages:
    @pytest.fixture
    def filled(self, api: Api) -> Api:
        api.flow("f")
        api.flow("g")
        turns = [
            {"role": "user", "content": "q", "timestamp": "2026-01-01T00:00:00Z"},
            {"role": "assistant", "content": "a", "timestamp": "2026-01-02T00:00:00Z"},
            {"role": "tool", "content": "t", "timestamp": "2026-01-03T00:00:00Z"},
        ]
        for flow, session, user in (("f", "s", "ada"), ("f", "t", "bob"), ("g", "s", "ada")):
            body = {"session_id": session, "run_id": f"{flow}{session}", "end_user_id": user, "messages": turns}
            api.post(f"/flows/{flow}/runs", body, expect=201)
        return api

    def test_filters(self, filled: Api, subtests: pytest.Subtests) -> None:
        for params, total in [
            ({}, 9),
            ({"flow_id": "f"}, 6),
            ({"session_id": "s"}, 6),
            ({"session_id": "t"}, 3),
            ({"flow_id": "f", "session_id": "s"}, 3),
            ({"end_user_id": "ada"}, 6),
            ({"end_user_id": "nobody"}, 0),
            ({"run_id": "ft"}, 3),
            ({"role": "assistant"}, 3),
            ({"is_output": "true"}, 3),
            ({"is_output": "false"}, 6),
            ({"since": "2026-01-02T00:00:00Z"}, 6),
            ({"until": "2026-01-02T00:00:00Z"}, 6),
            ({"since": "2026-01-02", "until": "2026-01-02"}, 3),
            ({"flow_id": "g", "role": "user", "end_user_id": "ada", "session_id": "s"}, 1),
            ({"session_id": "none-such"}, 0),
        ]:
            with subtests.test(f"{params} {total}"):
                page = filled.get("/messages", **params)
                assert (page["total"], len(page["items"])) == (total, total)
                assert not any("ingested" in message for message in page["items"])

    def test_messages_of_a_session_are_ordered_by_seq_in_either_direction(self, filled: Api) -> None:
        for params in ({"session_id": "t"}, {"flow_id": "f", "session_id": "s"}, {"run_id": "ft"}):
            assert [m["seq"] for m in filled.get("/messages", **params)["items"]] == [1, 2, 3]
            assert [m["seq"] for m in filled.get("/messages", order="desc", **params)["items"]] == [3, 2, 1]

    def test_memory_base_id_selects_its_flow_and_adds_ingested(self, filled: Api) -> None:
        base = filled.memory(flow="f")["id"]
        filled.post(f"/memories/{base}/flush", {"session_id": "s"}, expect=202)
        filled.work()
        messages = filled.get("/messages", memory_base_id=base)["items"]
        assert {(m["session_id"], m["role"]) for m in messages if m["ingested"]} == {("s", "assistant")}
        assert len(messages) == 6
        for ingested, total in (("true", 1), ("false", 5)):
            assert filled.get("/messages", memory_base_id=base, ingested=ingested)["total"] == total
        assert filled.get("/messages", memory_base_id=base, session_id="t", ingested="true")["total"] == 0

    def test_conflicting_or_missing_ids_are_refused(self, filled: Api) -> None:
        base = filled.memory(flow="f")["id"]
        assert filled.get("/messages", memory_base_id=base, flow_id="f")["total"] == 6
        assert filled.refused("GET", f"/messages?memory_base_id={base}&flow_id=g", 422)["field"] == "flow_id"
        assert filled.refused("GET", "/messages?ingested=true", 422)["field"] == "ingested"
        assert filled.refused("GET", "/messages?flow_id=none-such", 404)["field"] == "flow_id"
        assert filled.refused("GET", "/messages?run_id=none-such", 404)["field"] == "run_id"
        other = filled.of_user("eve")
        assert other.refused("GET", f"/messages?memory_base_id={base}", 404)["field"] == "memory_base_id"


@pytest.mark.both_databases
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_messages_are_listed_next_to_one_of_their_session(request: pytest.FixtureRequest, database: str) -> None:
    api: Api = request.getfixturevalue("api" if database == "sqlite" else "postgres_api")
    said = [{"role": "user", "content": each, "id": each, "timestamp": "2026-01-01T00:00:00Z"} for each in "abcde"]
    api.flow()
    for session, messages in (("s1", said[:3]), ("s2", [{"role": "user", "content": "x"}]), ("s1", said[3:])):
        body = {"session_id": session, "messages": messages, "end_user_id": "ada" if session == "s1" else "bob"}
        api.post("/flows/support/runs", body, expect=201)

    def listed(**params: Any) -> tuple[str, int]:
        page = api.get("/messages", flow_id="support", **params)
        return "".join(each["content"] for each in page["items"]), page["total"]

    assert listed(before_message_id="c") == ("ab", 2)
    assert listed(before_message_id="c", order="desc", size=1) == ("b", 2)
    assert listed(after_message_id="c", size=1) == ("d", 2)
    assert listed(after_message_id="a", before_message_id="e") == ("bcd", 3)
    assert listed(after_message_id="e", session_id="s1", end_user_id="ada") == ("", 0)
    first = api.get("/messages", after_message_id="a", size=2)
    assert [each["content"] for each in first["items"]] == ["b", "c"]
    following = api.get("/messages", after_message_id="a", size=2, cursor=first["next_cursor"])
    assert [each["content"] for each in following["items"]] == ["d", "e"]

    for params in ("after_message_id=gone", "after_message_id=c&session_id=s2", "after_message_id=c&end_user_id=bob"):
        error = api.refused("GET", f"/messages?flow_id=support&{params}", 404)
        assert (error["field"], error["value"]) == ("after_message_id", params.partition("&")[0].partition("=")[2])
    assert api.refused("GET", "/messages?before_message_id=gone", 404)["field"] == "before_message_id"


class TestEdits:
    def test_an_edit_raises_the_version_and_names_the_repairs(self, api: Api) -> None:
        base = api.memory(threshold=1)["id"]
        message = api.capture("before")["messages"][0]["id"]
        api.work()
        (job,) = api.patch(f"/messages/{message}", {"content": "after", "metadata": {"k": 1}})["job_ids"]
        assert api.get(f"/jobs/{job}")["kind"] == "repair"
        api.work()
        stored = api.get(f"/messages/{message}")
        assert (stored["content"], stored["metadata"], stored["version"]) == ("after", {"k": 1}, 2)
        assert stored["edited_at"]
        (hit,) = api.post(f"/memories/{base}/search", {"query": "after"})["results"]
        assert (hit["content"], hit["pending"]) == ("after", False)

    def test_what_cannot_be_edited_is_named(self, api: Api, subtests: pytest.Subtests) -> None:
        message = api.capture("x")["messages"][0]["id"]
        for body, field in [
            ({"role": "user"}, "role"),
            ({"content": None}, "content"),
            ({"content": 7}, "content"),
            ({"files": None}, "files"),
        ]:
            with subtests.test(body=body):
                assert api.refused("PATCH", f"/messages/{message}", 422, json=body)["field"] == field

    def test_a_deleted_message_is_404(self, api: Api) -> None:
        base = api.memory(threshold=1)["id"]
        message = api.capture("x")["messages"][0]["id"]
        api.work()
        assert len(api.delete(f"/messages/{message}", expect=200).json()["job_ids"]) == 1
        api.refused("GET", f"/messages/{message}", 404)
        assert api.post(f"/memories/{base}/search", {"query": "x"})["results"] == []
        api.work()
        assert api.get(f"/memories/{base}")["total_processed"] == 0


class TestSessions:
    def test_sessions_are_listed_by_flow_and_end_user(self, api: Api) -> None:
        api.flow("f")
        api.flow("g")
        api.capture("a", "b", flow="f", session="s/1", end_user_id="ada")
        api.capture("c", flow="g", session="t")
        assert [s["session_id"] for s in api.get("/sessions")["items"]] == ["s/1", "t"]
        (only,) = api.get("/sessions", flow_id="f")["items"]
        assert (only["messages"], only["end_user_id"], only["metadata"]) == (2, "ada", {})
        assert api.get("/sessions", end_user_id="ada")["items"] == [only]

    def test_the_latest_captured_sessions_come_first_if_asked_for(self, api: Api) -> None:
        api.flow()
        for session in ("s1", "s2", "s3", "s1"):
            api.capture(f"to {session}", session=session, run_id=str(uuid4()))
        pages = walk(api, "/sessions", flow_id="support", order="recent", size=1)
        assert [page["items"][0]["session_id"] for page in pages] == ["s1", "s3", "s2"]
        oldest = api.get("/sessions", flow_id="support", size=1)
        assert [session["session_id"] for session in oldest["items"]] == ["s1"]
        api.refused("GET", "/sessions", 422, params={"cursor": oldest["next_cursor"], "order": "recent"})

    def test_a_rename_keeps_the_messages(self, api: Api) -> None:
        api.capture("a", session="old")
        body = {"flow_id": "support", "session_id": "old", "new_session_id": "new", "metadata": {"k": 1}}
        answer = api.patch("/sessions", body)
        assert (answer["session_id"], answer["metadata"], answer["messages"]) == ("new", {"k": 1}, 1)
        assert api.get("/messages", session_id="new")["total"] == 1
        assert api.refused("PATCH", "/sessions", 404, json=body)["field"] == "session_id"

    def test_a_rename_to_an_existing_id_is_409(self, api: Api) -> None:
        api.flow()
        for session in ("a", "b"):
            api.capture("x", session=session)
        body = {"flow_id": "support", "session_id": "a", "new_session_id": "b"}
        assert api.refused("PATCH", "/sessions", 409, json=body)["code"] == "session_conflict"

    def test_a_rename_to_the_id_of_a_deleted_session_says_so(self, api: Api) -> None:
        api.memory(threshold=1)
        for session in ("a", "b"):
            api.capture("x", session=session)
        api.work()
        api.delete("/sessions", flow_id="support", session_id="b", expect=200)
        body = {"flow_id": "support", "session_id": "a", "new_session_id": "b"}
        refused = api.refused("PATCH", "/sessions", 409, json=body)
        assert "was deleted and is not removed everywhere yet" in refused["message"]

    def test_deleting_a_session_deletes_its_messages(self, api: Api) -> None:
        api.capture("x", session="a/b ä")
        gone = api.delete("/sessions", flow_id="support", session_id="a/b ä", expect=200).json()
        assert (gone["sessions"], gone["chunks"]) == (1, 0)
        assert api.get("/sessions")["total"] == api.get("/messages")["total"] == 0
        assert api.refused("DELETE", "/sessions?session_id=a", 422)["field"] == "flow_id"


class TestMemoryBases:
    @pytest.fixture
    def named(self, api: Api) -> Api:
        api.flow("boats")
        api.flow("cars")
        api.memory("Zeta", "boats")
        api.memory("alpha 100%", "cars", auto_capture=False)
        api.memory("Beta", "cars")
        return api

    def test_filters_and_orders(self, named: Api, subtests: pytest.Subtests) -> None:
        for params, names in [
            ({"order": "recent"}, ["Beta", "alpha 100%", "Zeta"]),
            ({"text": "BOAT"}, ["Zeta"]),
            ({"text": "eta"}, ["Zeta", "Beta"]),
            ({"text": "100%"}, ["alpha 100%"]),
            ({"auto_capture": False}, ["alpha 100%"]),
            ({"text": "cars", "auto_capture": True, "flow_id": "cars"}, ["Beta"]),
        ]:
            with subtests.test(params=params):
                page = named.get("/memories", **params)
                assert ([base["name"] for base in page["items"]], page["total"]) == (names, len(names))

    def test_names_are_walked_by_cursor(self, named: Api) -> None:
        whole = named.get("/memories", order="name")["items"]
        assert [item for page in walk(named, "/memories", order="name", size=1) for item in page["items"]] == whole

    def test_another_users_flow_matches_no_text(self, named: Api) -> None:
        assert named.of_user("eve").get("/memories", text="boats")["total"] == 0
