"""A LangGraph store in memorybase: `builder.compile(store=MemorybaseStore(Client(), "my-store"))`.

    store        flow, with its own memory base
    namespace    session; its end user is the namespace's first two labels, so that what is below them is read by index
    item         message: the value is metadata, its text the content, which queries search
    key          run, of which only the latest message counts: the id of a deleted message is never used again

Unlike a capture, an operation raises MemorybaseError if memorybase is unreachable: an outage is never "no such
item".
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import uuid4

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from memorybase_client import Client, errors, models
from memorybase_client.integrations._flows import capture_now
from memorybase_client.integrations._messages import is_storable, storable_text

Json = dict[str, Any]
Namespace = tuple[str, ...]

MAX_ID_CHARS = 128
SCOPE_LABELS = 2  # of a namespace: they are the end user of its session
RANKED = 100  # results of one search, the server's bound
WHOLE = "item_json"
PUT_TRIES = 3  # of an item that others delete at the same time

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class MemorybaseStore(BaseStore):
    """Items in one flow of memorybase, which the first put creates.

    Every operation raises MemorybaseError if memorybase is unreachable. `index` are the paths whose texts queries
    search, by default the whole value. A batch reads first, then writes; it is not atomic. ttl is not supported.
    """

    __slots__ = ("_client", "_flow_id", "_index")

    def __init__(self, client: Client, flow_id: str, *, index: Sequence[str] | None = None) -> None:
        if not flow_id:
            raise ValueError("flow_id must not be empty")
        self._client = client
        self._flow_id = flow_id
        self._index = None if index is None else list(index)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The result of each operation. Reads see the state before the batch; of several puts of one item the last
        counts."""
        listed = list(ops)
        for op in listed:
            _check(op)
        results: list[Result] = [self._read(op) for op in listed]
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        for op in puts.values():
            self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a thread, so that the event loop is free."""
        return await asyncio.to_thread(self.batch, list(ops))

    # Reading

    def _read(self, op: Op) -> Result:
        try:
            if isinstance(op, GetOp):
                message = self._latest(_run_id(op.namespace, op.key))
                return None if message is None else Item(**_fields_of(message.metadata, message.timestamp))
            if isinstance(op, SearchOp):
                return list(islice(self._found(op), op.offset, op.offset + op.limit))
            if isinstance(op, ListNamespacesOp):
                return self._namespaces(op)
        except errors.NotFound:  # the first put creates the flow
            return None if isinstance(op, GetOp) else []
        return None

    def _latest(self, run_id: str) -> models.MessageView | None:
        items = self._client.list_messages(flow_id=self._flow_id, run_id=run_id, order="desc", size=1).page().items
        return items[0] if items else None

    def _found(self, op: SearchOp) -> Iterator[SearchItem]:
        """Matching items: by rank for a query, then the others that match, latest first."""
        seen: set[tuple[Namespace, str]] = set()
        for item in self._candidates(op):
            if (item.namespace, item.key) not in seen:
                seen.add((item.namespace, item.key))
                if _matches(item.value, op.filter or {}):
                    yield item

    def _candidates(self, op: SearchOp) -> Iterator[SearchItem]:
        if op.query and op.query.strip():
            yield from self._ranked(op, op.query)
        prefix = op.namespace_prefix
        for session in self._client.list_sessions(flow_id=self._flow_id, end_user_id=_scope_of(prefix)):
            if session.messages and _begins(self._namespace_of(session), prefix):
                yield from self._items_of(session.session_id)

    def _ranked(self, op: SearchOp, query: str) -> Iterator[SearchItem]:
        prefix = op.namespace_prefix
        hits = self._client.search_flow(
            query=storable_text(query),
            flow_id=self._flow_id,
            end_user_id=_scope_of(prefix),
            metadata={_level(len(prefix)): _name(prefix)} if prefix else None,
            min_score=0.0,
            top_k=RANKED if op.filter else max(1, min(RANKED, op.offset + op.limit)),
        ).results
        for hit in hits:
            if _is_item(hit.metadata):
                yield _item_of(hit.metadata, hit.timestamp, hit.score)

    def _items_of(self, session_id: str) -> Iterator[SearchItem]:
        for message in self._client.list_messages(flow_id=self._flow_id, session_id=session_id, order="desc"):
            if _is_item(message.metadata):
                yield _item_of(message.metadata, message.timestamp)

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        prefix = max((_literal_prefix(each) for each in conditions), key=len, default=())
        found: set[Namespace] = set()
        for session in self._client.list_sessions(flow_id=self._flow_id, end_user_id=_scope_of(prefix)):
            namespace = self._namespace_of(session) if session.messages else None
            if namespace is not None and all(_fits(each, namespace) for each in conditions):
                found.add(namespace[: op.max_depth])
        return sorted(found)[op.offset : op.offset + op.limit]

    def _namespace_of(self, session: models.SessionView) -> Namespace | None:
        """None if it is no session of a store."""
        if not session.session_id.startswith("."):
            return tuple(session.session_id.split("."))
        item = next(self._items_of(session.session_id), None)
        return None if item is None else item.namespace

    # Writing

    def _put(self, op: PutOp) -> None:
        run_id = _run_id(op.namespace, op.key)
        if op.value is None:
            self._delete(run_id)
            return
        now = datetime.now(UTC).isoformat()
        message: Json = {
            "role": "assistant",
            "content": self._text(op),
            "metadata": _metadata_of(op.namespace, op.key, op.value, now),
            "timestamp": now,
        }
        for _ in range(PUT_TRIES):
            stored_id = self._store_new(op.namespace, run_id, message)
            if stored_id is None:
                return
            with suppress(errors.NotFound):  # deleted meanwhile: store it as a new one
                self._client.edit_message(
                    stored_id, flow_id=self._flow_id, content=message["content"], metadata=message["metadata"]
                )
                return
        text = f"The item was deleted {PUT_TRIES} times while it was put; it is not stored"
        raise errors.Conflict(text, retryable=True)

    def _store_new(self, namespace: Namespace, run_id: str, message: Json) -> str | None:
        """None if it is stored now; else the id of the message that the item has already."""
        answer = self._capture(namespace, run_id, {"id": run_id, **message})
        if answer.created:
            return None
        if not answer.deleted:
            return str(answer.id)
        stored = self._latest(run_id)
        if stored is not None:
            return str(stored.id)
        self._capture(namespace, run_id, {"id": f"{run_id}.{uuid4().hex}", **message})
        return None

    def _capture(self, namespace: Namespace, run_id: str, message: Json) -> models.CapturedMessage:
        return capture_now(
            self._client,
            self._flow_id,
            message,
            kind="store",
            session_id=_name(namespace),
            end_user_id=_scope_of(namespace) or _name(namespace),
            run_id=run_id,
        )

    def _delete(self, run_id: str) -> None:
        with suppress(errors.NotFound):
            while (message := self._latest(run_id)) is not None:
                with suppress(errors.NotFound):  # others delete it too
                    self._client.delete_message(message.id, flow_id=self._flow_id)

    def _text(self, op: PutOp) -> str:
        """The text that queries search; an item without text is found by its namespace and key only."""
        if op.index is False:
            return ""
        paths = self._index if op.index is None else op.index
        if paths is None:
            found = _lines(op.value)
        else:
            found = (text for path in paths for text in get_text_at_path(op.value, path))
        return storable_text("\n".join(found))


def _check(op: Op) -> None:
    """Raises ValueError for what this store cannot do."""
    validate_op_namespace(op)
    if isinstance(op, PutOp):
        if not op.namespace:
            raise InvalidNamespaceError("Namespace cannot be empty.")
        if op.ttl is not None:
            raise NotImplementedError("ttl is not supported by MemorybaseStore: put the item without it")
        try:
            json.dumps(op.value)
        except (TypeError, ValueError) as error:
            where = f"{'/'.join(op.namespace)}/{op.key}"
            raise type(error)(f"The value of {where!r} must be JSON, since it is stored: {error}") from None
    elif isinstance(op, SearchOp):
        _check_filter(op.filter or {})
    if isinstance(op, SearchOp | ListNamespacesOp) and min(op.limit, op.offset) < 0:
        raise ValueError(f"limit and offset must be at least 0 (got {op.limit} and {op.offset})")


# Names


def _name(namespace: Namespace) -> str:
    """The namespace as an id. Labels contain no period and are not empty, so one that begins with a period is a
    digest."""
    text = ".".join(namespace)
    if len(text) <= MAX_ID_CHARS and text.isprintable() and text.strip() == text:
        return text
    return f".{_digest(list(namespace))}"


def _scope_of(prefix: Namespace) -> str | None:
    """The end user of all namespaces that begin so; None if they have several."""
    return _name(prefix[:SCOPE_LABELS]) if len(prefix) >= SCOPE_LABELS else None


def _run_id(namespace: Namespace, key: str) -> str:
    return f"item-{_digest([list(namespace), key])}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _level(depth: int) -> str:
    return f"namespace_{depth}"


# Items


def _metadata_of(namespace: Namespace, key: str, value: Mapping[str, Any], updated_at: str) -> Json:
    """Includes the name of each prefix of the namespace, since searches filter by equal values. Values that the server
    cannot store become JSON text."""
    levels = {_level(depth): _name(namespace[:depth]) for depth in range(1, len(namespace) + 1)}
    item = {"namespace": list(namespace), "key": key, "value": dict(value)}
    stored = item if is_storable(item) else {WHOLE: json.dumps(item)}
    return {**stored, "updated_at": updated_at, **levels}


def _is_item(metadata: Mapping[str, Any]) -> bool:
    return "updated_at" in metadata and (WHOLE in metadata or {"namespace", "key", "value"} <= metadata.keys())


def _item_of(metadata: Mapping[str, Any], created_at: datetime, score: float | None = None) -> SearchItem:
    return SearchItem(**_fields_of(metadata, created_at), score=score)


def _fields_of(metadata: Mapping[str, Any], created_at: datetime) -> Json:
    item = json.loads(metadata[WHOLE]) if WHOLE in metadata else metadata
    return {
        "namespace": tuple(item["namespace"]),
        "key": item["key"],
        "value": item["value"],
        "created_at": created_at,
        "updated_at": datetime.fromisoformat(metadata["updated_at"]),
    }


def _lines(value: Any, name: str = "") -> Iterator[str]:
    """Each text and number in a value, after the name of its field."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _lines(below, str(key))
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _lines(below, name)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)


# Conditions


def _begins(namespace: Namespace | None, prefix: Namespace) -> bool:
    return namespace is not None and namespace[: len(prefix)] == prefix


def _literal_prefix(condition: MatchCondition) -> Namespace:
    """The labels up to the first wildcard with which all matching namespaces begin."""
    if condition.match_type != "prefix":
        return ()
    path = tuple(condition.path)
    return path[: path.index("*")] if "*" in path else path


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _check_filter(condition: Any) -> None:
    if isinstance(condition, Mapping):
        for name, below in condition.items():
            if name.startswith("$") and name not in _OPERATORS:
                raise ValueError(f"filter operator must be one of {', '.join(_OPERATORS)} (got {name!r})")
            _check_filter(below)


def _matches(value: Any, condition: Any) -> bool:
    if isinstance(condition, list | tuple):
        are_lists = isinstance(value, list | tuple) and len(value) == len(condition)
        return are_lists and all(_matches(one, wanted) for one, wanted in zip(value, condition, strict=True))
    if not isinstance(condition, Mapping):
        return bool(value == condition)
    if any(name.startswith("$") for name in condition):
        return all(_holds(name, value, operand) for name, operand in condition.items())
    return isinstance(value, Mapping) and all(_matches(value.get(key), below) for key, below in condition.items())


def _holds(name: str, value: Any, operand: Any) -> bool:
    """Whether the comparison holds: numbers by size, other texts by letters. What cannot be compared does not."""
    if name in {"$eq", "$ne"}:
        return _OPERATORS[name](value, operand)
    try:
        return _OPERATORS[name](float(value), float(operand))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(operand, str) and _OPERATORS[name](value, operand)
