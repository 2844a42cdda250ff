"""The LangGraph store: it does what InMemoryStore does, keeps its items, and never takes an outage for an answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain
from random import Random
from typing import Any, TypedDict
from uuid import uuid4

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from memorybase_client import Client, errors
from memorybase_client.integrations.langgraph import MemorybaseStore
from stack import Stack

ANNA = ("memories", "anna")
ALL = 1_000  # more than any of these stores has
# Of a call whose deadline is a second; a hung connection would take minutes.
PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end


@pytest.fixture
def store(client: Client, flow: str) -> MemorybaseStore:
    return MemorybaseStore(client, flow)


class State(TypedDict):
    said: str
    found: list[str]


def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
    store.put(ANNA, "said", {"text": state["said"]})
    return {}


def recall(state: State, *, store: BaseStore) -> dict[str, Any]:
    return {"found": [item.value["text"] for item in store.search(ANNA, query=state["said"])]}


async def recall_async(state: State, *, store: BaseStore) -> dict[str, Any]:
    return {"found": [item.value["text"] for item in await store.asearch(ANNA, query=state["said"])]}


def graph_of(node: Callable[..., Any], store: BaseStore) -> Any:
    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(store=store)


# In a graph


def test_what_one_graph_stores_another_one_finds(client: Client, flow: str) -> None:
    said = "My boat lies at berth 12."
    graph_of(remember, MemorybaseStore(client, flow)).invoke({"said": said, "found": []})
    after = graph_of(recall, MemorybaseStore(client, flow)).invoke({"said": "Where is the boat?", "found": []})
    assert after["found"] == [said]


@pytest.mark.anyio
async def test_nodes_of_an_async_graph_read_it_too(store: MemorybaseStore) -> None:
    await store.aput(ANNA, "berth", {"text": "My boat lies at berth 12."})
    after = await graph_of(recall_async, store).ainvoke({"said": "Where is the boat?", "found": []})
    assert after["found"] == ["My boat lies at berth 12."]


# What every store does


class Reference(InMemoryStore):
    """InMemoryStore, which other than this store lists namespaces without items, even those that were only read."""

    def batch(self, ops: Any) -> Any:
        listed = list(ops)
        results = [None if isinstance(op, PutOp) else self._alone(op) for op in listed]
        super().batch([op for op in listed if isinstance(op, PutOp)])
        return results

    def _alone(self, op: Any) -> Any:
        for namespace in [namespace for namespace, items in self._data.items() if not items]:
            del self._data[namespace]
        return super().batch([op])[0]


class Operations:
    """Random operations on few namespaces and keys, so that they meet."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def put(self) -> PutOp:
        value = None if self._random.random() < 0.25 else self._value()
        return PutOp(self._namespace(), self._random.choice(["k", "l", "k.l", "ü/?"]), value)

    def get(self) -> GetOp:
        return GetOp(self._namespace(), self._random.choice(["k", "l", "k.l", "ü/?", "never"]))

    def search(self) -> SearchOp:
        prefix = self._namespace()[: self._random.randint(0, 3)]
        conditions = [
            None,
            {"color": "red"},
            {"n": {"$gte": 2}},
            {"n": {"$gt": 1, "$lte": 3}},
            {"n": {"$lt": 2}},
            {"n": {"$eq": 1}},
            {"color": {"$ne": "red"}},
            {"deep": {"x": [1, {"y": 2}]}},
            {"none": None},
        ]
        return SearchOp(prefix, filter=self._random.choice(conditions), limit=ALL)

    def list_namespaces(self) -> ListNamespacesOp:
        conditions = tuple(
            MatchCondition(self._random.choice(["prefix", "suffix"]), self._pattern())
            for _ in range(self._random.randint(0, 2))
        )
        return ListNamespacesOp(conditions, max_depth=self._random.choice([None, 1, 2]), limit=ALL)

    def _namespace(self) -> tuple[str, ...]:
        return tuple(self._random.choice(["a", "b", "*", "a b"]) for _ in range(self._random.randint(1, 3)))

    def _pattern(self) -> tuple[str, ...]:
        return tuple(self._random.choice(["a", "b", "*"]) for _ in range(self._random.randint(1, 2)))

    def _value(self) -> dict[str, Any]:
        numbers = {"n": self._random.randint(0, 4), "share": 0.5, "none": None}
        return {"color": self._random.choice(["red", "blue"]), "deep": {"x": [1, {"y": 2}]}, **numbers}


def shown(result: Any) -> Any:
    """A result without its times and, for a search, without an order."""
    if isinstance(result, Item):
        return (result.namespace, result.key, result.value)
    if isinstance(result, list) and result and isinstance(result[0], Item):
        return sorted((shown(item) for item in result), key=lambda item: item[:2])
    return result


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_operations_have_the_results_of_the_store_in_memory(store: MemorybaseStore, seed: int) -> None:
    made, random, reference = Operations(seed), Random(seed), Reference()
    kinds = [made.put, made.put, made.get, made.search, made.list_namespaces]
    for _ in range(60):
        ops: list[Any] = [random.choice(kinds)() for _ in range(random.randint(1, 3))]
        assert [shown(each) for each in store.batch(ops)] == [shown(each) for each in reference.batch(ops)], ops


def test_pages_of_a_search_are_parts_of_the_whole(store: MemorybaseStore) -> None:
    for number in range(7):
        store.put(("memories", f"user {number % 2}"), str(number), {"text": f"note {number}"})
    whole = [(item.namespace, item.key) for item in store.search(("memories",), limit=ALL)]
    pages = [
        [(item.namespace, item.key) for item in store.search(("memories",), limit=3, offset=offset)]
        for offset in (0, 3, 6, 9)
    ]
    assert len(whole) == 7
    assert list(chain.from_iterable(pages)) == whole
    namespaces = [store.list_namespaces(limit=1, offset=offset) for offset in (0, 1, 2)]
    assert namespaces == [[("memories", "user 0")], [("memories", "user 1")], []]


def test_times_say_when_an_item_was_created_and_when_it_was_last_put(store: MemorybaseStore) -> None:
    store.put(ANNA, "berth", {"text": "12"})
    first = store.get(ANNA, "berth")
    store.put(ANNA, "berth", {"text": "13"})
    second = store.get(ANNA, "berth")
    assert first is not None
    assert second is not None
    assert first.created_at == first.updated_at == second.created_at
    assert second.updated_at > first.updated_at


def test_a_deleted_item_can_be_put_again_and_again(store: MemorybaseStore) -> None:
    for text in ("first", "second", "third"):
        store.put(ANNA, "berth", {"text": text})
        item = store.get(ANNA, "berth")
        assert item is not None
        assert item.value == {"text": text}
        assert [each.value for each in store.search(ANNA)] == [{"text": text}]
        store.delete(ANNA, "berth")
        assert store.get(ANNA, "berth") is None
        assert store.search(ANNA, query=text) == []
    assert store.list_namespaces() == []


def test_concurrent_puts_of_a_new_item_make_one(store: MemorybaseStore, flow: str) -> None:
    def put(number: int) -> None:
        with Client(store._client.url, store._client._key) as client:
            MemorybaseStore(client, flow).put(ANNA, "berth", {"number": number})

    threads = [threading.Thread(target=put, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.search(ANNA)) == 1


def test_long_and_odd_names_are_kept_apart(store: MemorybaseStore) -> None:
    long = "x" * 300
    namespaces = [(long,), (long, long), (f"{long}y",), (" ",), ("  ",), ("a\nb",), ("ü", "日本"), ("*",)]
    for number, namespace in enumerate(namespaces):
        store.put(namespace, long, {"number": number})
    assert store.list_namespaces() == sorted(namespaces)
    for number, namespace in enumerate(namespaces):
        item = store.get(namespace, long)
        assert item is not None
        assert (item.namespace, item.key, item.value) == (namespace, long, {"number": number})
    assert {item.value["number"] for item in store.search((long,))} == {0, 1}


def test_a_value_that_a_database_cannot_hold_is_kept_and_found(store: MemorybaseStore) -> None:
    value = {"text": "a NUL \x00 and half a character \ud83d", "size": float("inf")}
    store.put(("a", "\ud83d"), "\x00", value)
    store.put(ANNA, "plain", {"text": "a raft"})
    assert store.list_namespaces() == sorted([("a", "\ud83d"), ANNA])
    [found] = store.search(("a",), filter={"size": float("inf")}, query="half a character")
    item = store.get(("a", "\ud83d"), "\x00")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (found.namespace, found.key, value)


def test_stores_do_not_share_items(client: Client, flow: str) -> None:
    one, other = MemorybaseStore(client, flow), MemorybaseStore(client, f"{flow}-2")
    one.put(ANNA, "berth", {"number": 1})
    other.put(ANNA, "berth", {"number": 2})
    assert [item.value for item in one.search(())] == [{"number": 1}]
    assert [item.value for item in other.search(())] == [{"number": 2}]


# Search by a query


def test_a_query_ranks_what_fits_and_lists_the_rest_after_it(store: MemorybaseStore) -> None:
    store.put(ANNA, "food", {"text": "I am allergic to peanuts."})
    store.put(ANNA, "berth", {"text": "My boat lies at berth 12."})
    store.put(("memories", "bob"), "berth", {"text": "My boat lies at berth 40."})
    found = store.search(ANNA, query="Where is the boat?")
    assert [item.key for item in found] == ["berth", "food"]
    assert found[0].score is not None
    assert [item.namespace for item in store.search(("memories",), query="berth 40", limit=1)] == [("memories", "bob")]
    assert [item.key for item in store.search(ANNA, query="boat", filter={"text": {"$ne": "x"}}, limit=1)] == ["berth"]


def test_an_edited_item_is_found_by_its_new_text_only(store: MemorybaseStore) -> None:
    store.put(ANNA, "berth", {"text": "My boat lies at berth 12."})
    store.put(ANNA, "berth", {"text": "I sold it and bought a bicycle."})
    (found,) = store.search(ANNA, query="bicycle")
    assert found.value == {"text": "I sold it and bought a bicycle."}


def test_only_indexed_paths_are_searched(client: Client, flow: str) -> None:
    store = MemorybaseStore(client, flow, index=["title", "parts[*].text"])
    store.put(ANNA, "a", {"title": "harbour", "parts": [{"text": "albatross"}], "hidden": "peanuts"})
    store.put(ANNA, "b", {"title": "harbour", "hidden": "peanuts"}, index=["hidden"])
    store.put(ANNA, "c", {"title": "albatross"}, index=False)
    contents = {message.metadata["key"]: message.content for message in client.list_messages(flow_id=flow)}
    assert contents == {"a": "harbour\nalbatross", "b": "peanuts", "c": ""}
    assert [item.key for item in store.search(ANNA, query="albatross", limit=1)] == ["a"]
    assert store.get(ANNA, "c") is not None


# What is refused


def test_what_the_store_cannot_do_is_refused_before_anything_is_stored(store: MemorybaseStore) -> None:
    with pytest.raises(NotImplementedError, match="ttl is not supported by MemorybaseStore"):
        store.batch([PutOp(ANNA, "a", {"n": 1}), PutOp(ANNA, "b", {"n": 1}, ttl=5)])
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        store.put(ANNA, "a", {"n": 1}, ttl=5)
    with pytest.raises(ValueError, match=r"filter operator must be one of .*got '\$near'"):
        store.search(ANNA, filter={"n": {"$near": 1}})
    with pytest.raises(ValueError, match="limit and offset must be at least 0"):
        store.search(ANNA, limit=-1)
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "a", {"n": 1})])
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp((), "a", {"n": 1})])
    with pytest.raises(TypeError, match=r"value of 'memories/anna/a' must be JSON.*datetime"):
        store.put(ANNA, "a", {"at": datetime.now(UTC)})
    assert store.search(()) == []


# While memorybase is away

ASKED: list[Callable[[BaseStore], object]] = [
    lambda store: store.get(ANNA, "berth"),
    lambda store: store.search(ANNA),
    lambda store: store.search(ANNA, query="boat"),
    lambda store: store.list_namespaces(),
    lambda store: store.put(ANNA, "berth", {"n": 1}),
    lambda store: store.delete(ANNA, "berth"),
]


@pytest.mark.parametrize("ask", ASKED)
def test_an_outage_is_an_error_and_never_an_empty_result(
    stack: Stack, store: MemorybaseStore, ask: Callable[[BaseStore], object]
) -> None:
    stack.kill()
    with pytest.raises(errors.ConnectionFailed, match="No answer from"):
        ask(store)


@pytest.mark.parametrize("ask", ASKED)
def test_a_server_that_does_not_answer_is_an_error_in_time(
    stack: Stack, flow: str, ask: Callable[[BaseStore], object]
) -> None:
    with Client(stack.url, stack.key, timeout_seconds=0.5, tries=1) as client:
        stack.freeze()
        begin = time.monotonic()
        with pytest.raises(errors.ConnectionFailed):
            ask(MemorybaseStore(client, flow))
        assert time.monotonic() - begin < PATIENCE_SECONDS


def test_a_graph_whose_server_is_killed_between_two_nodes_fails_and_can_be_run_again(
    stack: Stack, store: MemorybaseStore
) -> None:
    kills = [stack.kill]

    def kill(state: State) -> dict[str, Any]:
        del state
        for each in kills:
            each()
        return {}

    graph = StateGraph(State)
    graph.add_sequence([("remember", remember), ("kill", kill), ("recall", recall)])
    graph.add_edge(START, "remember")
    compiled = graph.compile(store=store)
    said = f"My boat lies at berth {uuid4()}."
    with pytest.raises(errors.ConnectionFailed):
        compiled.invoke({"said": said, "found": []})
    stack.restart()
    kills.clear()
    assert compiled.invoke({"said": said, "found": []})["found"] == [said]
