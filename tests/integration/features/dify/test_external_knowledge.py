"""Dify's External Knowledge API: what Dify sends, what it shows, and what it must never be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from harness.api import Api, Json

from memorybase.core import errors
from memorybase.core.search import search
from memorybase.features.dify.routes import CONTENT_CHARS, DEFAULT_TOP_K

PATH = "/dify/retrieval"
SENT = "2026-11-22T10:15:00Z"


def ask(api: Api, knowledge_id: str = "support", query: str = "boat", *, expect: int = 200, **fields: Any) -> Any:
    body = {"knowledge_id": knowledge_id, "query": query, "retrieval_setting": {"top_k": 10, "score_threshold": 0.0}}
    return api.post(PATH, body | fields, expect=expect)


def records(api: Api, *asked: Any, **fields: Any) -> list[Json]:
    answer: list[Json] = ask(api, *asked, **fields)["records"]
    return answer


def found(api: Api, *conditions: Json, logical: str | None = "and", **fields: Any) -> set[str]:
    """The contents that a search with these conditions finds."""
    condition = {"logical_operator": logical, "conditions": list(conditions)}
    return {record["content"] for record in records(api, metadata_condition=condition, **fields)}


def condition(name: Any, operator: str, value: Any = None) -> Json:
    return {"name": name, "comparison_operator": operator, "value": value}


def message(text: str, *, role: str = "user", **fields: Any) -> Json:
    return {"role": role, "content": text, **fields}


@pytest.fixture
def base(api: Api) -> Json:
    """A memory base of two end users; what Anna says is ingested, what Bob says is pending."""
    base = api.memory("Harbour notes", capture="all", threshold=3)
    anna = [
        message("The boat lies at berth 12.", id="m1", timestamp=SENT, metadata={"topic": "boat", "berth": 12}),
        message(
            "I noted the boat.",
            role="assistant",
            sender_name="Helper",
            timestamp="2026-11-22T10:16:00Z",
            metadata={"topic": "note"},
        ),
        message("The boat is old and blue.", timestamp="2026-11-23T08:00:00Z"),
    ]
    where = "/flows/support/runs"
    api.post(where, {"session_id": "anna-1", "end_user_id": "anna", "run_id": "r1", "messages": anna}, expect=201)
    api.work()
    bob = [
        message("My boat sank.", timestamp="2026-11-24T08:00:00Z", metadata={"topic": "boat", "tags": ["sad", "sea"]})
    ]
    api.post(where, {"session_id": "bob-1", "end_user_id": "bob", "messages": bob}, expect=201)
    return base


ANNA = {"The boat lies at berth 12.", "I noted the boat.", "The boat is old and blue."}
BOB = {"My boat sank."}


# What is answered


def test_a_record_is_a_message_with_what_is_known_about_it(api: Api, base: Json) -> None:
    first = next(each for each in records(api) if each["content"] == "The boat lies at berth 12.")
    stored = api.get("/messages/m1")
    assert first.keys() == {"content", "score", "title", "metadata"}
    assert 0 < first["score"] <= 1
    assert first["title"] == "user, 2026-11-22 10:15 UTC, anna-1"
    assert first["metadata"] == {
        "topic": "boat",
        "berth": 12,
        "flow_id": "support",
        "memory_base_id": base["id"],
        "session_id": "anna-1",
        "run_id": stored["run_id"],
        "message_id": stored["id"],
        "role": "user",
        "sender_name": None,
        "timestamp": "2026-11-22T10:15:00+00:00",
        "seq": 1,
    }


@pytest.mark.usefixtures("base")
def test_a_senders_name_is_in_the_title(api: Api) -> None:
    (note,) = (each for each in records(api) if each["content"] == "I noted the boat.")
    assert note["title"].startswith("Helper, 20")


@pytest.mark.usefixtures("base")
def test_the_answer_is_ordered_by_score_and_metadata_is_never_null(api: Api) -> None:
    answer = records(api)
    assert [each["score"] for each in answer] == sorted((each["score"] for each in answer), reverse=True)
    assert {each["content"] for each in answer} == ANNA | BOB
    assert all(isinstance(each["metadata"], dict) for each in answer)


@pytest.mark.usefixtures("base")
def test_a_long_message_is_answered_by_the_passage_that_matched(api: Api) -> None:
    whole, longer = ("Boats sail on the sea. " * 200)[:CONTENT_CHARS], "Trains run on rails. " * 200 + "A ferry left."
    for text in (whole, longer):
        api.capture(text, session="long")
    (shown,) = (each for each in records(api, "support", "ferry") if "ferry" in each["content"])
    assert len(shown["content"]) <= 600
    assert shown["metadata"]["excerpt"] is True
    (shown,) = (each for each in records(api, "support", "sail") if "Boats" in each["content"])
    assert shown["content"] == whole
    assert "excerpt" not in shown["metadata"]


@pytest.mark.usefixtures("base")
def test_metadata_of_a_message_hides_nothing_that_is_known(api: Api) -> None:
    api.post(
        "/flows/support/runs",
        {
            "session_id": "s",
            "messages": [
                message("A yacht.", id="odd", metadata={"role": "captain", "session_id": "mine", "excerpt": "x"})
            ],
        },
        expect=201,
    )
    (yacht,) = (each for each in records(api, "support", "yacht") if each["content"] == "A yacht.")
    assert (yacht["metadata"]["role"], yacht["metadata"]["session_id"]) == ("user", "s")
    assert found(api, condition("metadata.role", "is", "captain"), query="yacht") == {"A yacht."}
    assert found(api, condition("role", "is", "captain"), query="yacht") == set()


def test_nothing_found_is_an_empty_list(api: Api) -> None:
    api.memory(flow=api.flow())
    assert ask(api) == {"records": []}


# What is searched


KNOWLEDGE: list[tuple[Callable[[Json], str], set[str]]] = [
    (lambda base: base["id"], ANNA | BOB),
    (lambda base: base["id"].upper(), ANNA | BOB),
    (lambda _: "Harbour notes", ANNA | BOB),
    (lambda base: base["flow_id"], ANNA | BOB),
    (lambda _: "support", ANNA | BOB),
    (lambda _: "support/anna", ANNA),
    (lambda base: f"{base['id']}/bob", BOB),
    (lambda _: "Harbour notes/bob", BOB),
    (lambda _: "support/nobody", set()),
]


def test_a_knowledge_id_is_a_memory_base_or_a_flow_and_perhaps_an_end_user(
    api: Api, base: Json, subtests: pytest.Subtests
) -> None:
    for named, wanted in KNOWLEDGE:
        with subtests.test(named(base)):
            assert {record["content"] for record in records(api, named(base))} == wanted


def test_a_slash_in_a_name_or_an_id_is_encoded(api: Api) -> None:
    api.call("PUT", "/flows/team%2Fboats", json={"name": "boats"}, expect=201)
    api.memory("a/b", "team/boats", capture="all")
    body = {"session_id": "s", "end_user_id": "anna/1", "messages": [message("A boat.")]}
    api.call("POST", "/flows/team%2Fboats/runs", json=body, expect=201)
    for knowledge in ("team%2Fboats", "team%2Fboats/anna%2F1", "a%2Fb", "a%2Fb/anna%2F1"):
        assert [each["content"] for each in records(api, knowledge)] == ["A boat."]
    for knowledge in ("team/boats", "team/boats/anna%2F1", "a/b"):
        assert ask(api, knowledge, expect=404)["error_code"] == 2001


@pytest.mark.usefixtures("base")
def test_a_memory_base_is_named_before_a_flow(api: Api) -> None:
    api.flow("Harbour notes")
    api.memory("others", "Harbour notes")
    assert {record["content"] for record in records(api, "Harbour notes")} == ANNA | BOB


@pytest.mark.usefixtures("base")
def test_a_flow_is_searched_in_all_its_memory_bases(api: Api) -> None:
    api.memory("second", capture="outputs", start="all")
    api.work()
    assert {record["content"] for record in records(api)} == ANNA | BOB
    assert {record["content"] for record in records(api, "second")} == {"I noted the boat."}


# Settings of the retrieval


@pytest.mark.usefixtures("base")
def test_settings_that_dify_leaves_out_have_defaults(api: Api, subtests: pytest.Subtests) -> None:
    api.capture(*(f"boat number {number}" for number in range(DEFAULT_TOP_K)), session="more")
    for setting in [None, {}, {"top_k": None}, {"top_k": None, "score_threshold": None}]:
        with subtests.test(setting=setting):
            assert len(records(api, retrieval_setting=setting)) == DEFAULT_TOP_K


@pytest.mark.usefixtures("base")
def test_top_k_and_the_score_threshold_limit_the_answer(api: Api) -> None:
    scores = [each["score"] for each in records(api)]
    assert len(set(scores)) > 1, "else no threshold lies between"
    assert [each["score"] for each in records(api, retrieval_setting={"top_k": 1})] == scores[:1]
    higher = [each["score"] for each in records(api, retrieval_setting={"top_k": 10, "score_threshold": scores[0]})]
    assert 0 < len(higher) < len(scores)
    assert min(higher) == scores[0]


@pytest.mark.usefixtures("base")
def test_what_dify_will_add_to_the_request_is_ignored(api: Api) -> None:
    setting = {"top_k": 10, "score_threshold": 0.0, "rerank": True}
    conditions = {"logical_operator": "and", "conditions": [condition("role", "is", "user") | {"id": "x"}], "mode": "m"}
    answer = records(api, retrieval_setting=setting, metadata_condition=conditions, user="u", attachments=[])
    assert {each["metadata"]["role"] for each in answer} == {"user"}


# Conditions


@pytest.mark.usefixtures("base")
def test_the_operators_filter_what_is_found(api: Api) -> None:
    both = ANNA | BOB
    noted, berth, blue = "I noted the boat.", "The boat lies at berth 12.", "The boat is old and blue."
    wanted: list[tuple[Any, str, Any, set[str]]] = [
        ("topic", "contains", "oa", {berth, *BOB}),
        ("topic", "not contains", "oa", {noted, blue}),
        ("topic", "start with", "no", {noted}),
        ("topic", "end with", "te", {noted}),
        ("topic", "is", "note", {noted}),
        ("topic", "is not", "note", both - {noted}),
        ("topic", "in", ["note", "boat"], {noted, berth, *BOB}),
        ("topic", "not in", "note, boat", {blue}),
        ("topic", "empty", None, {blue}),
        ("topic", "not empty", None, both - {blue}),
        ("berth", "=", 12, {berth}),
        ("berth", "≠", 12, both - {berth}),
        ("berth", ">", 11, {berth}),
        ("berth", "<", 12, set()),
        ("berth", "≥", 12, {berth}),
        ("berth", "≤", 11, set()),
        ("timestamp", "before", "2026-11-22T10:15:01Z", {berth}),
        ("timestamp", "≤", 1795342500, {berth}),
        ("timestamp", "after", "2026-11-23T07:59:59Z", {blue, *BOB}),
        ("timestamp", "after", "2026-11-23T08:00:00Z", BOB),
        ("tags", "is", "sea", BOB),
        (["berth", "tags"], "not empty", None, {berth, *BOB}),
        ("session_id", "is", "bob-1", BOB),
        ("session_id", "is not", "bob-1", ANNA),
        ("end_user_id", "is", "anna", ANNA),
        ("end_user_id", "in", ["anna", "bob"], both),
        ("role", "is", "assistant", {noted}),
        ("sender_name", "is", "Helper", {noted}),
        ("seq", "≤", 1, {berth, *BOB}),
    ]
    for name, operator, value, texts in wanted:
        assert found(api, condition(name, operator, value)) == texts, (name, operator, value)


@pytest.mark.usefixtures("base")
def test_conditions_are_joined_by_and_or_or(api: Api) -> None:
    two = condition("topic", "is", "boat"), condition("end_user_id", "is", "anna")
    assert found(api, *two) == {"The boat lies at berth 12."}
    assert found(api, *two, logical=None) == {"The boat lies at berth 12."}
    assert found(api, *two, logical="or") == ANNA | BOB


@pytest.mark.usefixtures("base")
def test_without_conditions_nothing_is_left_out(api: Api, subtests: pytest.Subtests) -> None:
    for absent in [None, {}, {"conditions": None}, {"logical_operator": "or", "conditions": []}]:
        with subtests.test(absent=absent):
            assert {each["content"] for each in records(api, metadata_condition=absent)} == ANNA | BOB


@pytest.mark.usefixtures("base")
def test_a_condition_cannot_reach_another_end_user(api: Api) -> None:
    assert found(api, condition("end_user_id", "is", "bob"), knowledge_id="support/anna") == set()


@pytest.mark.parametrize("ingested", [True, False])
def test_a_condition_that_few_of_many_messages_fit_finds_them(api: Api, ingested: bool) -> None:
    """400 better matches do not fit, and what fits is not among the newest messages."""
    api.memory(flow=api.flow(), threshold=1 if ingested else 1_000)
    few = [message(f"Rope {kind} lies in the small boat.", role="assistant", metadata={"kind": kind}) for kind in "xyz"]
    api.post("/flows/support/runs", {"session_id": "first", "messages": few}, expect=201)
    for number in range(8):
        api.capture(*["boat boat boat"] * 50, session=f"s{number}")
    api.work()
    assert found(api, condition("kind", "in", ["x", "y"])) == {few[0]["content"], few[1]["content"]}
    assert found(api, condition("kind", "not empty")) == {each["content"] for each in few}
    either = condition("kind", "is", "x"), condition("kind", "is", "z")
    assert found(api, *either, logical="or") == {few[0]["content"], few[2]["content"]}


def test_conditions_read_metadata_on_postgresql(postgres_api: Api) -> None:
    api = postgres_api
    api.memory(flow=api.flow(), threshold=1)
    body = {"session_id": "s", "messages": [message("boat", role="assistant", metadata={"n": 4.5, "on": True})]}
    api.post("/flows/support/runs", body, expect=201)
    api.work()
    assert found(api, condition("n", ">", 4), condition("on", "is", "true")) == {"boat"}
    assert found(api, condition("n", ">", 5)) == set()


# Errors in Dify's form


def error(api: Api, expect: int, **options: Any) -> tuple[int, str]:
    answer = api.call("POST", PATH, expect=expect, **options)
    body = answer.json()
    assert body.keys() == {"error_code", "error_msg"}
    assert answer.headers["x-request-id"]
    return body["error_code"], body["error_msg"]


def test_a_header_of_another_form_is_1001(api: Api, subtests: pytest.Subtests) -> None:
    for header in ["", "Basic x", "Bearer", "Bearer ", "the-key-from-the-settings"]:
        with subtests.test(header=header):
            code, text = error(api, 403, headers={"Authorization": header}, json={})
            assert (code, text) == (1001, "The header must be 'Authorization: Bearer KEY'.")


def test_an_unknown_key_is_1002_and_no_404(api: Api) -> None:
    """When the connection is saved, Dify sends an empty POST and refuses only 403, 404 and 502."""
    assert error(api, 403, headers={"Authorization": "Bearer mb_unknown"})[0] == 1002
    code, text = error(api, 422)
    assert (code, text) == (422, "body: This field is required")


def test_a_key_without_the_scope_is_1002(api: Api) -> None:
    code, text = error(api.of_user("local", "write"), 403, json={})
    assert (code, "lacks the scope 'read'" in text) == (1002, True)


@pytest.mark.usefixtures("base")
def test_an_unknown_knowledge_id_is_2001(api: Api, subtests: pytest.Subtests) -> None:
    for knowledge in (
        "nothing",
        "0b0f5d8e-5c1c-4b0a-9d2e-2f0a4f1f7c11",
        "support/",
        "/anna",
        "a/b/c",
        "support%2F",
        "x" * 201,
    ):
        with subtests.test(knowledge[:50]):
            answer = ask(api, knowledge, expect=404)
            assert (answer["error_code"], "There is no such knowledge" in answer["error_msg"]) == (2001, True)


def test_a_flow_without_a_memory_base_is_2001(api: Api) -> None:
    api.flow()
    answer = ask(api, expect=404)
    assert (answer["error_code"], "no memory base" in answer["error_msg"]) == (2001, True)


def test_what_is_being_deleted_is_2001(api: Api, base: Json) -> None:
    api.delete(f"/memories/{base['id']}")
    for knowledge in (base["id"], "Harbour notes", "support"):
        assert ask(api, knowledge, expect=404)["error_code"] == 2001


BAD_INPUT: list[tuple[Json, str]] = [
    ({"knowledge_id": 7}, "knowledge_id must "),
    ({"knowledge_id": ""}, "knowledge_id must "),
    ({"knowledge_id": "x" * 1_001}, "knowledge_id must have at most 1000 characters (got 1001)"),
    ({"knowledge_id": "a\x00"}, "knowledge_id: Text must not contain a NUL character"),
    ({"knowledge_id": "support/a%00"}, "Text must not contain a NUL character"),
    ({"query": ""}, "query must "),
    ({"query": " "}, "query must not be empty"),
    ({"retrieval_setting": {"top_k": 0}}, "retrieval_setting.top_k must be greater than or equal to 1 (got 0)"),
    ({"retrieval_setting": {"top_k": 101}}, "retrieval_setting.top_k must be from 1 to 100 (got 101)"),
    ({"retrieval_setting": {"top_k": True}}, "retrieval_setting.top_k must be a valid integer (got True)"),
    (
        {"retrieval_setting": {"top_k": 4, "score_threshold": 1.5}},
        "retrieval_setting.score_threshold must be less than or equal to 1 (got 1.5, ",
    ),
    ({"retrieval_setting": "all"}, "retrieval_setting must be "),
    (
        {"metadata_condition": {"logical_operator": "xor"}},
        "metadata_condition.logical_operator must be 'and' or 'or' (got xor)",
    ),
    ({"metadata_condition": {"conditions": [condition("a", "is", "x")] * 21}}, "at most 20 items"),
    (
        {"metadata_condition": {"conditions": [{"comparison_operator": "is"}]}},
        "metadata_condition.conditions[0].name: This field is required",
    ),
    (
        {"metadata_condition": {"conditions": [condition("a", "is", "x"), condition("a", "like", "x")]}},
        "metadata_condition.conditions[1].comparison_operator must be one of contains, ",
    ),
    (
        {"metadata_condition": {"conditions": [condition("a", ">", "many")]}},
        "metadata_condition.conditions[0].value must be a number or a time for the operator > (got 'many')",
    ),
    (
        {"metadata_condition": {"conditions": [condition("a", "is")]}},
        "metadata_condition.conditions[0].value must be there for the operator is",
    ),
]


@pytest.mark.usefixtures("base")
def test_bad_input_names_the_field_the_value_and_the_bound(api: Api, subtests: pytest.Subtests) -> None:
    for fields, said in BAD_INPUT:
        with subtests.test(said):
            body = {"knowledge_id": "support", "query": "boat"} | fields
            code, text = error(api, 422, json=body)
            assert code == 422
            assert said in text


def test_other_errors_have_the_form_too(api: Api) -> None:
    assert error(api, 400, content=b"{", headers={"Content-Type": "application/json"})[0] == 400
    code, text = error(api, 422, json={}, params={"wait": 1})
    assert (code, text) == (422, "wait: This call takes no query parameters")


@pytest.mark.usefixtures("base")
def test_an_outage_is_an_error_and_never_an_empty_list(api: Api, subtests: pytest.Subtests) -> None:
    outages: dict[str, Callable[[], None]] = {
        "store": lambda: api.vectors.fail_next(errors.VectorStoreUnavailable(), on="query"),
        "collection": lambda: api.vectors.fail_next(errors.CollectionMissing(), on="query"),
        "model": lambda: api.embedders.get().fail_with(errors.ModelUnavailable()),
    }
    for name, begin in outages.items():
        with subtests.test(name):
            assert records(api), "the row before has ended"
            begin()
            answer = ask(api, query=f"boat {name}", expect=503)  # a vector of each: that of a query is kept
            assert answer["error_code"] == 503
            assert answer["error_msg"]


@pytest.mark.usefixtures("base")
def test_an_outage_says_when_to_retry(api: Api) -> None:
    api.vectors.fail_next(errors.VectorStoreUnavailable(), on="query")
    answer = api.call("POST", PATH, json={"knowledge_id": "support", "query": "boat"}, expect=503)
    assert answer.headers["retry-after"] == "5"


@pytest.mark.usefixtures("base")
def test_a_defect_is_500(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(search, "search", broken)
    answer = api.call("POST", PATH, json={"knowledge_id": "support", "query": "boat"}, expect=500)
    assert "secret" not in answer.text


def test_a_record_says_what_a_later_message_corrects(api: Api) -> None:
    api.memory("Plans", capture="all")
    older, newer = "The database plan allows 20 connections.", "The database plan now has 40 connections."
    for number, text in enumerate((older, newer)):
        api.post("/flows/support/runs", {"session_id": f"s{number}", "messages": [message(text)]}, expect=201)
    found = [record["content"] for record in records(api, query="How many connections does the database plan allow?")]
    assert found == [newer, f"{older} (corrected later: was 20 connections, now 40 connections)"]
