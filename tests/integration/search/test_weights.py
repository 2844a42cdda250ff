"""A memory base's own weights: setting, using and undoing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from harness.api import Api, open_api
from harness.rows import each_row
from harness.world import World

from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.search.scoring import DEFAULT, SETS
from memorybase.core.search.weights import StoredWeights, WeightSet, get_weights, set_weights
from memorybase.core.settings import Settings

Json = dict[str, Any]

SET = DEFAULT.name
WORDS_ALONE: Json = {"sets": {name: {"bias": -1.0, "weights": {"nearby": 3.0}} for name in SETS}}
DENSE: Json = {"sets": {SET: {"bias": -2.0, "weights": {"dense": 4.0}}}, "questions": 40, "note": "by hand"}
DEFAULT_SETS = {name: {"bias": each.bias, "weights": dict(each.of)} for name, each in SETS.items()}


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, api_settings: Settings) -> Iterator[Api]:
    """The API on both databases."""
    if request.param == "postgresql":
        api_settings = api_settings.model_copy(update={"database_url": request.getfixturevalue("ready_postgres_url")})
    with open_api(api_settings) as opened:
        yield opened


def of(body: Json) -> Json:
    """What the API returns for these weights."""
    return {"fitted_at": None, "questions": None, "note": None, "half_life_days": None} | body


def put(api: Api, base: str, body: Json) -> Json:
    answer: Json = api.call("PUT", f"/memories/{base}/weights", json=body).json()
    return answer


def explained(api: Api, base: str, **wanted: Any) -> list[Json]:
    body = {"query": "the cat", "explain": True, "mode": "keyword", **wanted}
    results: list[Json] = api.post(f"/memories/{base}/search", body)["results"]
    return results


@pytest.fixture
def base(home: Api) -> str:
    home.flow()
    made: str = home.memory(capture="all")["id"]
    home.capture(
        "hello there",
        "we saw the sea at Nice, Cannes, Antibes and more",
        "a cat",
        "the cat sleeps on the cat's own chair",
    )
    return made


class TestStored:
    def test_set_undone_and_taken_away(self, home: Api, base: str) -> None:
        path = f"/memories/{base}/weights"
        assert home.get(path) == {"defaults": DEFAULT_SETS, "stored": None, "previous": None}
        assert put(home, base, WORDS_ALONE) == {"defaults": DEFAULT_SETS, "stored": of(WORDS_ALONE), "previous": None}
        fitted = DENSE | {"fitted_at": "2026-01-02T03:04:05Z"}
        put(home, base, fitted)
        assert home.get(path) == {"defaults": DEFAULT_SETS, "stored": of(fitted), "previous": of(WORDS_ALONE)}
        put(home, base, home.get(path)["previous"])
        assert home.get(path) == {"defaults": DEFAULT_SETS, "stored": of(WORDS_ALONE), "previous": of(fitted)}
        home.delete(path)
        assert home.get(path) == {"defaults": DEFAULT_SETS, "stored": None, "previous": of(WORDS_ALONE)}

    def test_a_call_can_be_repeated(self, home: Api, base: str) -> None:
        path = f"/memories/{base}/weights"
        for body in (WORDS_ALONE, DENSE, DENSE):
            put(home, base, body)
        assert home.get(path)["previous"] == of(WORDS_ALONE)
        for _ in range(2):
            home.delete(path)
        assert home.get(path)["previous"] == of(DENSE)

    @each_row(
        ("body", "field"),
        [
            ({"sets": {}}, "sets"),
            ({"sets": {"mine": DENSE["sets"][SET]}}, "sets"),
            ({"sets": {SET: {"bias": 0, "weights": {"sparse": 1}}}}, f"sets.{SET}.weights"),
            ({"sets": {SET: {"bias": 0, "weights": {"dense": 101}}}}, f"sets.{SET}.weights.dense"),
            ({"sets": {SET: {"bias": "high", "weights": {}}}}, f"sets.{SET}.bias"),
            ({"sets": {SET: {"weights": {}}}}, f"sets.{SET}.bias"),
            (DENSE | {"note": "x" * 501}, "note"),
            (DENSE | {"gain": 1}, "gain"),
        ],
    )
    def test_what_cannot_be_weights_is_refused_by_name(self, home: Api, base: str, body: Json, field: str) -> None:
        assert home.refused("PUT", f"/memories/{base}/weights", 422, json=body)["field"] == field
        assert home.get(f"/memories/{base}/weights")["stored"] is None

    def test_no_number_that_is_none_gets_in(self, api: Api) -> None:
        api.flow()
        base = api.memory()["id"]
        content = '{"sets": {"default": {"bias": NaN, "weights": {}}}}'
        api.refused("PUT", f"/memories/{base}/weights", 422, content=content)

    def test_signals_that_searches_no_longer_use_have_no_weight(self, world: World) -> None:
        base = world.new_base(threshold=1)
        old = {"sets": {SET: {"bias": 1.0, "weights": {"first_person": 1.0, "dense": 2.0}}}, "fitted_at": None}
        with world.services.database.transaction() as db:
            row = require_memory_base(db, world.user_id, base, lock=True)
            row.search_weights = old | {"questions": None, "note": None}
        view = get_weights(world.services, world.user_id, base)
        assert view.stored == StoredWeights({SET: WeightSet(1.0, {"dense": 2.0})})
        set_weights(world.services, world.user_id, base, view.stored)  # what was read can be stored again

    def test_sets_that_searches_no_longer_use_are_not_stored_ones(self, world: World) -> None:
        base = world.new_base(threshold=1)
        old = {"sets": {"with_token_vectors": {"bias": 1.0, "weights": {"capitals": 1.0}}}, "fitted_at": None}
        kept = old | {"questions": None, "note": None, "half_life_days": 7.0}
        with world.services.database.transaction() as db:
            row = require_memory_base(db, world.user_id, base, lock=True)
            row.search_weights, row.previous_search_weights = kept, kept | {"half_life_days": None}
        view = get_weights(world.services, world.user_id, base)
        assert view.stored == StoredWeights({}, half_life_days=7.0)
        assert view.previous is None
        set_weights(world.services, world.user_id, base, view.stored)  # what was read can be stored again

    def test_a_base_that_is_deleted_has_none(self, api: Api) -> None:
        api.flow()
        base = api.memory()["id"]
        api.delete(f"/memories/{base}")
        for method in ("GET", "PUT", "DELETE"):
            api.refused(method, f"/memories/{base}/weights", 404, json=DENSE if method == "PUT" else None)


class TestUsed:
    @pytest.mark.parametrize("mode", ["keyword", "hybrid"])
    def test_a_search_uses_them_at_once_and_says_so(self, home: Api, base: str, mode: str) -> None:
        before = explained(home, base, mode=mode)
        assert {hit["parts"]["weights"] for hit in before} == {"default"}
        put(home, base, WORDS_ALONE)
        after = explained(home, base, mode=mode)
        assert {hit["parts"]["weights"] for hit in after} == {"tuned"}
        assert {hit["message_id"] for hit in after} == {hit["message_id"] for hit in before}
        for hit in after:
            for name, each in hit["parts"]["signals"].items():
                assert each["share"] == pytest.approx(3 * each["value"] if name == "nearby" else 0, abs=1e-5)
        assert explained(home, base, mode=mode, default_weights=True) == before
        home.delete(f"/memories/{base}/weights")
        assert explained(home, base, mode=mode) == before

    def test_the_largest_weights_give_scores(self, home: Api, base: str) -> None:
        for sign in (1, -1):
            weights = dict.fromkeys(DEFAULT.of, 100.0 * sign)
            put(home, base, {"sets": {SET: {"bias": 100.0 * sign, "weights": weights}}})
            assert all(0 <= hit["score"] <= 1 for hit in explained(home, base))

    def test_dense_has_no_weights(self, home: Api, base: str) -> None:
        before = explained(home, base, mode="dense")
        put(home, base, WORDS_ALONE)
        assert explained(home, base, mode="dense") == before
        assert "weights" not in before[0]["parts"]

    def test_a_search_of_a_flow_uses_each_bases_own(self, home: Api, base: str) -> None:
        other = home.memory("other", capture="all")["id"]
        wanted = {"query": "the cat", "flow_id": "support", "mode": "keyword", "explain": True}
        put(home, base, {"sets": {SET: {"bias": 50.0, "weights": {}}}})
        hits = home.post("/search", wanted)["results"]
        assert {(hit["memory_base_id"], hit["parts"]["weights"]) for hit in hits} == {(base, "tuned")}
        put(home, base, {"sets": {SET: {"bias": -50.0, "weights": {}}}})
        hits = home.post("/search", wanted)["results"]
        assert {(hit["memory_base_id"], hit["parts"]["weights"]) for hit in hits} == {(other, "default")}
