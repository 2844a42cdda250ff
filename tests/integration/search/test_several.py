"""A search over several memory bases, alike texts folded, weighed parts, and fading with age."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from harness.api import Api
from harness.plain_browser import Page, mounted
from harness.rows import each_row

from memorybase.core import errors
from memorybase.core.search import search
from memorybase.core.search.part_weights import PARTS

Json = dict[str, Any]

pytestmark = pytest.mark.usefixtures("flows")


@pytest.fixture
def bases() -> dict[str, str]:
    return {}


@pytest.fixture
def flows(api: Api, bases: dict[str, str]) -> None:
    """Two flows with a memory base each; the first has a second one."""
    for flow in ("harbour", "bakery"):
        api.flow(flow)
        bases[flow] = api.memory(flow=flow, name=flow, capture="all")["id"]
    bases["second"] = api.memory(flow="harbour", name="second", capture="all")["id"]
    api.capture("the berth has shore power", "boats sail", flow="harbour")
    api.capture("the bread has no berth", "shore power bakes bread", flow="bakery")


def found(api: Api, query: str = "berth with shore power", **body: Any) -> list[Json]:
    results: list[Json] = api.post("/search", {"query": query, "mode": "keyword", **body})["results"]
    return results


class TestScope:
    def test_several_memory_bases_of_two_flows_are_merged_by_score(self, api: Api, bases: dict[str, str]) -> None:
        one, two = (found(api, memory_base_ids=[bases[name]]) for name in ("harbour", "bakery"))
        both = found(api, memory_base_ids=[bases["harbour"], bases["bakery"]])
        assert sorted(hit["message_id"] for hit in both) == sorted(hit["message_id"] for hit in one + two)
        assert [hit["score"] for hit in both] == sorted((hit["score"] for hit in one + two), reverse=True)
        everything = found(api, all=True)  # a message of two memory bases may come from either
        assert [hit["message_id"] for hit in everything] == [hit["message_id"] for hit in both]

    def test_a_message_of_two_memory_bases_is_one_row(self, api: Api, bases: dict[str, str]) -> None:
        both = found(api, memory_base_ids=[bases["harbour"], bases["second"]])
        assert len({hit["message_id"] for hit in both}) == len(both) == 2

    def test_only_the_named_memory_bases_of_a_flow_are_searched(self, api: Api, bases: dict[str, str]) -> None:
        assert {hit["memory_base_id"] for hit in found(api, memory_base_ids=[bases["second"]])} == {bases["second"]}

    def test_top_k_bounds_the_merged_results(self, api: Api) -> None:
        assert [hit["content"] for hit in found(api, all=True, top_k=1)] == [found(api, all=True)[0]["content"]]

    def test_a_user_without_memory_bases_finds_nothing(self, api: Api, bases: dict[str, str]) -> None:
        for base in bases.values():
            api.call("DELETE", f"/memories/{base}", expect=(202, 204))
        assert found(api, all=True) == []

    @each_row(
        "where", [{}, {"all": True, "flow_id": "harbour"}, {"flow_id": "harbour", "memory_base_ids": ["harbour"]}]
    )
    def test_exactly_one_scope_is_given(self, api: Api, bases: dict[str, str], where: Json) -> None:
        where = where | ({"memory_base_ids": [bases["harbour"]]} if "memory_base_ids" in where else {})
        error = api.refused("POST", "/search", 422, json={"query": "berth"} | where)
        assert error["message"] == "Exactly one of flow_id, memory_base_ids and all must be given"

    def test_too_many_for_all_name_the_bound(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(search, "MAX_MEMORY_BASES", 2)
        error = api.refused("POST", "/search", 422, json={"query": "berth", "all": True})
        assert (error["field"], error["limit"]) == ("all", 2)

    def test_an_unknown_memory_base_is_named(self, api: Api, bases: dict[str, str]) -> None:
        unknown = "00000000-0000-4000-8000-000000000404"
        body = {"query": "berth", "memory_base_ids": [bases["harbour"], unknown]}
        error = api.refused("POST", "/search", 404, json=body)
        assert (error["field"], error["value"]) == ("memory_base_ids", unknown)

    def test_flows_are_searched_at_once_with_one_embedding(
        self, api: Api, bases: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        both, query = threading.Barrier(2, timeout=20), api.vectors.query

        def ask(*args: Any, **options: Any) -> Any:
            both.wait()  # until the search of the other flow asks too
            return query(*args, **options)

        monkeypatch.setattr(api.vectors, "query", ask)
        two = [bases["harbour"], bases["bakery"]]
        assert len(found(api, mode="hybrid", memory_base_ids=two, corrections=False)) == 4
        assert api.world.embedder.embedded.count("berth with shore power") == 1

    def test_an_outage_of_one_is_the_answer_for_all(self, api: Api) -> None:
        api.work()
        api.vectors.fail_next(errors.VectorStoreUnavailable(), on="query")
        body = {"query": "berth", "all": True}
        assert api.refused("POST", "/search", 503, json=body)["code"] == "vector_store_unavailable"


class TestAlike:
    def test_messages_with_the_same_text_fold_to_the_best(self, api: Api) -> None:
        api.capture("Is the berth free?", "is the BERTH free", "Is  the berth free!", session="later", flow="harbour")
        folded = found(api, "is the berth free", flow_id="harbour", fold_alike=True)
        assert [(hit["content"], hit["alike"]) for hit in folded if "free" in hit["content"].lower()] == [
            (folded[0]["content"], 2)
        ]
        assert [hit["alike"] for hit in found(api, "is the berth free", flow_id="harbour")][:3] == [0, 0, 0]

    def test_they_make_room_for_others(self, api: Api) -> None:
        api.capture(*["the berth has shore power"] * 5, session="again", flow="harbour")
        assert len({hit["content"] for hit in found(api, flow_id="harbour", top_k=2)}) == 1
        assert len({hit["content"] for hit in found(api, flow_id="harbour", top_k=2, fold_alike=True)}) == 2

    def test_across_flows(self, api: Api) -> None:
        api.capture("The berth has shore power.", session="again", flow="bakery")
        first = found(api, all=True, fold_alike=True)[0]
        assert first["alike"] == 1


class TestPartWeights:
    def test_a_factor_multiplies_the_shares_of_its_part(self, api: Api) -> None:
        plain, doubled = (
            found(api, flow_id="harbour", explain=True, weights=weights)[0]["parts"]["signals"]
            for weights in (None, {"words": 2})
        )
        assert doubled["nearby"]["share"] == pytest.approx(2 * plain["nearby"]["share"], abs=1e-5)
        assert doubled["dense"]["share"] == plain["dense"]["share"]

    def test_without_any_part_every_score_is_the_same(self, api: Api) -> None:
        hits = found(api, flow_id="harbour", weights=dict.fromkeys(PARTS, 0))
        assert len({hit["score"] for hit in hits}) == 1

    @each_row(("part", "factor"), [("meaning", 2.1), ("words", -1), ("luck", 1)])
    def test_a_factor_out_of_bounds_is_named(self, api: Api, part: str, factor: float) -> None:
        body = {"query": "q", "flow_id": "harbour", "weights": {part: factor}}
        assert api.refused("POST", "/search", 422, json=body)["field"] == f"weights.{part}"

    def test_a_context_recalls_with_them(self, api: Api) -> None:
        body = {"flow_id": "harbour", "session_id": "other", "token_budget": 500, "query": "berth with shore power"}
        given = [
            api.post("/context", body | {"recall": {"scope": "flow", "mode": "keyword", "min_score": 0.5, **recall}})
            for recall in ({"weights": {"words": 2}}, {"weights": dict.fromkeys(PARTS, 0)})
        ]
        assert [len(view["sources"]) for view in given] == [1, 0]


class TestAge:
    """`TestHalfLife` of test_hybrid.py says how much a score fades."""

    @pytest.fixture
    def aged(self, api: Api, flows: None) -> None:  # noqa: ARG002 - they come first
        year = datetime.now(UTC) - timedelta(days=365)
        old = {"role": "assistant", "content": "gate code 1234", "timestamp": year.isoformat()}
        new = {"role": "assistant", "content": "gate code 9999", "timestamp": datetime.now(UTC).isoformat()}
        for name, message in (("new", new), ("old", old)):
            api.post("/flows/bakery/runs", {"session_id": name, "messages": [message]}, expect=201)

    def scores(self, api: Api, **body: Any) -> dict[str, float]:
        hits = found(api, "gate code", flow_id="bakery", **body)
        return {hit["session_id"]: hit["score"] for hit in hits if hit["session_id"] in {"old", "new"}}

    @pytest.mark.usefixtures("aged")
    def test_a_memory_bases_half_life_counts_without_the_requests(self, api: Api, bases: dict[str, str]) -> None:
        even = self.scores(api)
        api.call("PUT", f"/memories/{bases['bakery']}/weights", json={"sets": {}, "half_life_days": 30})
        faded = self.scores(api)
        assert faded["new"] == pytest.approx(even["new"], rel=0.01)
        assert faded["old"] == pytest.approx(even["old"] / 2, rel=0.01)
        assert faded == pytest.approx(self.scores(api, half_life_days=30, default_weights=True), rel=1e-3)
        assert self.scores(api, half_life_days=0) == even == self.scores(api, default_weights=True)

    def test_weights_without_sets_need_a_half_life(self, api: Api, bases: dict[str, str]) -> None:
        path = f"/memories/{bases['bakery']}/weights"
        assert api.refused("PUT", path, 422, json={"sets": {}})["field"] == "sets"
        assert api.refused("PUT", path, 422, json={"sets": {}, "half_life_days": -1})["field"] == "half_life_days"


class TestRepeatedQuestion:
    def test_a_question_is_embedded_once(self, api: Api) -> None:
        embedded = api.embedders.get().embedded
        for weights in ({"words": 1}, {"words": 2}):
            found(api, "a berth never asked for", mode="hybrid", flow_id="harbour", weights=weights)
        assert len([text for text in embedded if "never" in text]) == 1


def test_the_page_shows_an_exact_match_before_what_fits(api: Api) -> None:
    api.capture("where is the berth with shore power?", flow="harbour")
    with mounted(api):
        said = Page(api).get("/playground/results?q=where+is+the+berth+with+shore+power&flow=harbour")
    assert said.index("Exact match<") < said.index('hit-text">where is') < said.index('hit-text">the <mark>')
