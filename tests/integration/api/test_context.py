"""GET, POST and DELETE /summary, and POST /context, as a caller sees them."""

from __future__ import annotations

from typing import Any

from harness.api import Api

from memorybase.core.caveats import MAX_QUERY_CHARS
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.conversation.session_memory.summary_job import make_summary

ASKED = {"flow_id": "support", "session_id": "s1"}


def talk(api: Api, count: int) -> None:
    api.flow()
    for number in range(1, count + 1):
        messages = [{"role": "user", "content": f"q{number}"}, {"role": "assistant", "content": f"a{number}"}]
        api.post("/flows/support/runs", {"session_id": "s1", "messages": messages}, expect=201)


def context(api: Api, **fields: Any) -> Any:
    return api.post("/context", {**ASKED, "token_budget": 1_000, **fields})


def test_a_summary_is_requested_read_and_deleted(api: Api) -> None:
    talk(api, 5)
    api.refused("GET", "/summary", 404, params=ASKED)

    assert api.post("/summary", ASKED, expect=202)["summary"] is None
    api.queue.drain_task(SUMMARIZE, lambda each: make_summary(api.services, each))

    found = api.get("/summary", **ASKED)
    assert found["covers"] == {"from_seq": 1, "to_seq": 4}
    assert (found["summarizer"], found["preset"], found["stale"]) == ("extractive", "token_buffer", False)
    assert found["summary"] == "user: q1\nassistant: a1\nuser: q2\nassistant: a2"
    api.delete("/summary", **ASKED)
    api.refused("DELETE", "/summary", 404, params=ASKED)
    assert api.refused("POST", "/summary", 422, json=ASKED | {"summarizer": "nobody"})["limit"] == ["extractive"]
    assert api.refused("GET", "/summary", 422, params=ASKED | {"preset": "any"})["field"] == "preset"


def test_a_context_by_preset_and_config(api: Api) -> None:
    talk(api, 5)
    context(api, preset="flowx_5")
    api.queue.drain_task(SUMMARIZE, lambda each: make_summary(api.services, each))

    five = context(api, preset="flowx_5", run_id="r", node_id="agent")
    assert five["text"].startswith("user: q3\nagent: a3\n")
    assert "Summary of previous replies: user: q1" in five["text"]
    assert [source["kind"] for source in five["sources"]] == ["summary", *["history"] * 6]
    assert five["report"]["budget"] == 1_000
    node = api.get("/flows/support/runs/r/memory")["nodes"][0]
    assert [pair["userMessage"] for pair in node["memoryUseSummary"]["chatMessages"]] == ["q5", "q4", "q3"]

    two = context(api, preset="window", config={"max_turns": 1, "format": "langchain"})
    assert [message["type"] for message in two["messages"]] == ["human", "ai"]
    assert context(api, preset="flowx_6", config={"pairs": 2})["text"] == "user: q4\nagent: a4\nuser: q5\nagent: a5"
    assert context(api, use_memory=False)["messages"] == []


def test_a_context_out_of_bounds_names_the_field(api: Api) -> None:
    talk(api, 1)
    for fields, field in (
        ({"token_budget": 0}, "token_budget"),
        ({"preset": "all"}, "preset"),
        ({"config": {"pairs": 0}}, "config.pairs"),
        ({"config": {"temperature": 1}}, "config.temperature"),
        ({"recall": {"share": 2}}, "recall.share"),
        ({"recall": {"top_k": 1_000}, "query": "q"}, "top_k"),
        ({"recall": {"top_k": 0}, "query": "q"}, "recall.top_k"),
        ({"config": {"summarizer": "nobody"}}, "summarizer"),
    ):
        body = {**ASKED, "token_budget": 100, **fields}
        assert api.refused("POST", "/context", 422, json=body)["field"] == field
    api.refused("POST", "/context", 404, json=ASKED | {"flow_id": "unknown", "token_budget": 100})


def test_a_context_reports_how_its_budget_was_spent(api: Api) -> None:
    talk(api, 5)

    small = context(api, token_budget=30, query="q1", config={"clip": False}, recall={"top_k": None})

    report = small["report"]
    assert report["spent"].keys() == {"summary", "standing", "recall", "facts", "history", "unused"}
    assert sum(report["spent"].values()) == report["budget"] == 30
    assert report["spent"]["history"] == sum(each["tokens"] for each in small["sources"] if each["kind"] == "history")


def test_a_search_returns_the_position_of_its_passage(api: Api) -> None:
    memory = api.memory(threshold=1, capture="all")
    text = "Nothing of the kind. " * 60 + "The boat lies in berth 12. " + "Nothing of the kind. " * 60
    api.post("/flows/support/runs", {"session_id": "s1", "messages": [{"role": "user", "content": text}]}, expect=201)

    (hit,) = api.post(f"/memories/{memory['id']}/search", {"query": "berth boat", "mode": "keyword"})["results"]

    assert "The boat lies in berth 12." in hit["snippet"]
    assert text[hit["snippet_start"] : hit["snippet_end"]] == hit["snippet"]
    assert len(hit["snippet"]) <= 600


def test_a_context_ends_at_the_leaf_that_the_caller_names(api: Api) -> None:
    api.flow()
    for number, parent in ((1, None), (2, "a1"), (3, "a1")):
        question = {"role": "user", "content": f"q{number}", "id": f"q{number}", "parent_message_id": parent}
        answer = {"role": "assistant", "content": f"a{number}", "id": f"a{number}"}
        api.post("/flows/support/runs", {"session_id": "s", "messages": [question, answer]}, expect=201)
    body = {"flow_id": "support", "session_id": "s", "token_budget": 500}

    for preset in ("token_buffer", "window", "flowx_5"):
        asked = body | {"preset": preset}
        assert [m["content"] for m in api.post("/context", asked)["messages"]] == ["q1", "a1", "q3", "a3"]
        earlier = api.post("/context", asked | {"leaf_id": "a2"})
        assert [m["content"] for m in earlier["messages"]] == ["q1", "a1", "q2", "a2"]
    assert api.refused("POST", "/context", 404, json=body | {"leaf_id": "unknown"})["field"] == "leaf_id"


def test_an_answer_says_why_it_holds_less_than_expected(api: Api) -> None:
    talk(api, 1)

    def codes(answer: Any) -> list[str]:
        return [each["code"] for each in answer["warnings"]]

    nowhere = {"flow_id": "support", "query": "boat"}
    assert codes(api.post("/search", nowhere)) == ["no_memory_base"]
    assert codes(api.post("/search", nowhere | {"session_id": "s2"})) == ["no_memory_base", "unknown_session"]
    assert codes(context(api, query="boat", session_id="s2")["report"]) == ["unknown_session", "no_memory_base"]
    outputs = api.post("/memories", {"name": "outputs", "flow_id": "support"}, expect=201)
    assert codes(outputs) == ["outputs_only"]
    assert codes(api.post("/memories", {"name": "all", "flow_id": "support", "capture": "all"}, expect=201)) == []
    assert codes(api.post("/search", nowhere)) == []
    assert codes(api.post(f"/memories/{outputs['id']}/search", {"query": "boat", "session_id": "s2"})) == [
        "unknown_session"
    ]
    assert codes(context(api, query="boat")["report"]) == []


def test_of_a_long_query_the_end_is_searched_for_everywhere_and_the_answer_says_so(api: Api) -> None:
    talk(api, 1)
    base = api.memory(capture="all")["id"]
    api.post("/knowledge-bases", {"name": "kb"}, expect=201)
    api.post("/knowledge-bases/kb/documents", {"documents": [{"text": "The boat is blue."}]})
    end = "a1 " * 2_667
    query = "raft " * 20_000 + end[:-1]
    asked = {"flow_id": "support", "query": query}

    limit = MAX_QUERY_CHARS
    wrong = {}
    for path, body in (
        ("/search", asked),
        (f"/memories/{base}/search", {"query": query}),
        ("/context", ASKED | asked | {"token_budget": 1_000}),
        ("/knowledge-bases/kb/search", {"query": query}),
        (f"/memories/{base}/facts/search", {"query": query}),
    ):
        answer = api.post(path, body)
        codes = [each["code"] for each in answer.get("report", answer)["warnings"]]
        shorter = api.post(path, body | {"query": query[-limit:]})
        if codes != ["query_cut"] or shorter.get("results") != answer.get("results"):
            wrong[path] = codes
    assert wrong == {}
    assert api.post("/dify/retrieval", {"knowledge_id": "support", "query": query})["records"]
    mark = {"flow_id": "support", "message_id": api.get("/messages", **ASKED)["items"][0]["id"], "right": True}
    assert api.post("/labels", mark | {"query": query})["query"] == query[-limit:]
    given = {"session_id": "s1", "messages": [], "sources": [], "query": query}
    used = api.call("PUT", "/flows/support/runs/r9/memory/agent", json=given).json()
    assert used["query"] == query[-limit:]
