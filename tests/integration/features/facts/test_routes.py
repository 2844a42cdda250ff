"""Facts over the API: turned on, listed, searched, shown in contexts and deleted, within one user and one end user."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from harness.api import Api, Json
from harness.statements import recorded

SAID = {
    "role": "user",
    "content": "The ketch of Carl needs a berth with shore power.",
    "id": "carl-1",
    "metadata": {"boat": "ketch"},
}


def distilled(api: Api) -> Json:
    """A memory base with one fact of Carl's."""
    flow = api.flow()
    base = api.memory(capture="all", flow=flow)
    on = api.call("PUT", f"/memories/{base['id']}/distillation", json={"enabled": True}).json()
    assert (on["enabled"], on["available"], on["state"]) == (True, True, "idle")
    body = {"session_id": "s1", "end_user_id": "carl", "messages": [SAID]}
    api.post(f"/flows/{flow}/runs", body, expect=201)
    api.post(f"/memories/{base['id']}/flush", {"session_id": "s1"}, expect=202)
    api.work()
    return base


def test_facts_are_listed_searched_and_deleted(api: Api) -> None:
    base = distilled(api)["id"]
    [listed] = api.get(f"/memories/{base}/facts", end_user_id="carl")["items"]
    assert (listed["what"], listed["derived"], listed["end_user_id"]) == (SAID["content"][:-1], True, "carl")
    [source] = listed["sources"]
    [found] = api.post(f"/memories/{base}/facts/search", {"query": "Who needs shore power?"})["facts"]
    assert (found["kind"], found["fact_id"]) == ("fact", listed["id"])
    assert found["source_message_ids"] == [source["message_id"]]
    assert api.get(f"/memories/{base}/facts", end_user_id="dora")["items"] == []
    api.delete(f"/memories/{base}/facts/{listed['id']}")
    api.refused("GET", f"/memories/{base}/facts/{listed['id']}", 404)


def test_a_context_has_facts_only_if_they_are_asked_for(api: Api) -> None:
    distilled(api)
    body = {
        "flow_id": "support",
        "session_id": "s2",
        "end_user_id": "carl",
        "token_budget": 2_000,
        "query": "Who needs shore power?",
    }
    plain = api.post("/context", body)
    assert "fact" not in {source["kind"] for source in plain["sources"]}
    assert plain["report"]["facts"] == []
    run_id = str(uuid4())
    view = api.post("/context", body | {"recall": {"facts": True}, "run_id": run_id, "node_id": "agent"})
    [used] = api.get(f"/flows/support/runs/{run_id}/memory")["nodes"]
    assert used["report"]["facts"] == view["report"]["facts"]
    [source] = [source for source in view["sources"] if source["kind"] == "fact"]
    [fact] = view["report"]["facts"]
    assert source["message_ids"] == fact["source_message_ids"]
    assert view["report"]["spent"]["facts"] == source["tokens"] > 0
    shown = view["messages"][view["sources"].index(source)]
    assert "not instructions" in shown["content"]
    assert SAID["content"][:-1] in shown["content"]
    small = api.post("/context", body | {"token_budget": 60, "recall": {"facts": True}})
    assert small["report"]["facts"] == []  # they do not fit into half of the share
    assert small["report"]["tokens_after"] <= 60


def test_a_search_has_facts_only_if_they_are_asked_for(api: Api) -> None:
    base = distilled(api)["id"]
    body = {"query": "Who needs shore power?"}
    with recorded(api.services.database.engine) as sent:
        plain = api.post(f"/memories/{base}/search", body)
    assert plain["facts"] == []
    assert [text for text, _ in sent if "fact" in text] == []
    [listed] = api.get(f"/memories/{base}/facts")["items"]
    calls: list[tuple[str, Json]] = [
        (f"/memories/{base}/search", {}),
        ("/search", {"flow_id": "support"}),
        ("/search", {"all": True}),
        ("/search", {"memory_base_ids": [base]}),
    ]
    for path, where in calls:
        found = api.post(path, body | where | {"facts": True})
        assert found["results"] == plain["results"]  # facts neither add nor move a message
        [fact] = found["facts"]
        assert (fact["kind"], fact["derived"], fact["fact_id"]) == ("fact", True, listed["id"])
        assert fact["source_message_ids"] == [each["message_id"] for each in listed["sources"]]


def test_facts_beside_a_search_pass_its_filters(api: Api) -> None:
    base = distilled(api)["id"]

    def found(**filters: Any) -> int:
        body = {"query": "Who needs shore power?", "facts": True, **filters}
        return len(api.post(f"/memories/{base}/search", body)["facts"])

    later, earlier = "2100-01-01T00:00:00Z", "2000-01-01T00:00:00Z"
    for passing in (
        {"session_id": "s1"},
        {"end_user_id": "carl"},
        {"roles": ["user"]},
        {"metadata": {"boat": "ketch"}},
        {"exclude_message_ids": ["carl-2"]},
        {"since": earlier, "until": later},
        {"min_score": 1},
    ):
        assert found(**passing) == 1, passing
    for other in (
        {"session_id": "s2"},
        {"end_user_id": "dora"},
        {"roles": ["assistant"]},
        {"metadata": {"boat": "sloop"}},
        {"exclude_message_ids": ["carl-1"]},
        {"since": later},
        {"until": earlier},
    ):
        assert found(**other) == 0, other
    api.call("PATCH", "/messages/carl-1", json={"muted": True})
    assert found() == 0


def test_a_search_of_a_limited_key_has_only_that_persons_facts(api: Api) -> None:
    base = distilled(api)["id"]
    body = {"query": "Who needs shore power?", "facts": True}
    for name, count in (("dora", 0), ("carl", 1)):
        key = api.limited_key(end_user_id=name)
        for path, where in ((f"/memories/{base}/search", {}), ("/search", {"flow_id": "support"})):
            assert len(key.post(path, body | where)["facts"]) == count
        assert len(key.get(f"/memories/{base}/facts")["items"]) == count


def test_a_deleted_message_leaves_no_fact_in_contexts(api: Api) -> None:
    base = distilled(api)["id"]
    api.call("DELETE", "/messages/carl-1")
    assert api.get(f"/memories/{base}/facts")["items"] == []
    body = {"flow_id": "support", "session_id": "s2", "end_user_id": "carl", "token_budget": 2_000, "query": "power"}
    assert api.post("/context", body | {"recall": {"facts": True}})["report"]["facts"] == []


def test_the_receipt_of_an_erasure_counts_facts(api: Api) -> None:
    distilled(api)
    assert api.call("DELETE", "/end-users/carl").json()["facts"] == 1
