"""Odd input is stored and returned as sent, or refused with its field. It never causes a 500 or a partial write."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from harness.api import Api, open_api
from harness.rows import each_row
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybase.core.messages import MAX_DEPTH
from memorybase.core.settings import Settings

MEGABYTE = 1_000_000
UNSTORABLE = ("a\x00b", "\x00", "\ud800", "a\udfffb", "\udc00\ud800")
ODD_TEXTS = (
    "",
    " ",
    "\n\t",
    "\u2028",
    "\ufeff",
    "\ufdd0",
    "\ufdd1/0",
    "\U0010ffff",
    "\x7f\x1b[31m",
    "null",
    "NaN",
    "\\ud800",
    "'; DROP TABLE messages; --",
    "%s{0}$x",
    "../../etc/passwd",
    "\u202eright to left\u202c",
    "שלום עולם",
    "مرحبا",
    "👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈",
    "e\u0301" * 50,
    "\U0001d56c\U0001d589",
    *UNSTORABLE,
)
ODD_NUMBERS = (
    0,
    -1,
    2**31,
    2**63,
    2**64,
    -(2**63) - 1,
    10**30,
    10**4_000,
    0.1,
    -0.0,
    5e-324,
    1.5e300,
    math.nan,
    math.inf,
)

Call = Callable[..., Any]


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Api]:
    """The API with its default limits."""
    with open_api(settings_in(tmp_path)) as opened:
        yield opened


@pytest.fixture
def postgresql(tmp_path: Path, ready_postgres_url: str) -> Iterator[Api]:
    with open_api(settings_in(tmp_path).model_copy(update={"database_url": ready_postgres_url})) as opened:
        yield opened


def settings_in(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, embedding_model="fake", api_key="key-of-the-settings", rate_limit_per_second=0)


# What is odd, and what of it can be kept.


def texts() -> st.SearchStrategy[str]:
    return st.sampled_from(ODD_TEXTS) | st.text(st.characters(), max_size=40)


def values() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.sampled_from(ODD_NUMBERS) | st.integers() | st.floats() | texts()
    return st.recursive(
        leaves, lambda below: st.lists(below, max_size=4) | st.dictionaries(texts(), below, max_size=4), max_leaves=10
    ) | st.integers(MAX_DEPTH - 8, MAX_DEPTH + 8).map(nested)


def nested(levels: int) -> Any:
    value: Any = "deep"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def messages() -> st.SearchStrategy[dict[str, Any]]:
    parts = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts()}, optional={"extra": values()}))
    return st.fixed_dictionaries(
        {"role": st.just("user"), "content": texts() | parts},
        optional={
            "metadata": st.dictionaries(texts(), values(), max_size=3),
            "files": st.lists(values(), max_size=2),
            "sender_name": texts(),
            "tool_calls": st.lists(st.dictionaries(texts(), values(), max_size=2), min_size=1, max_size=2),
        },
    )


def storable(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Whether PostgreSQL can store it and its nesting is allowed; an implementation independent of memorybase's."""
    if isinstance(value, str):
        return not any(c == "\x00" or 0xD800 <= ord(c) <= 0xDFFF for c in value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | dict):
        below = [*value, *value.values()] if isinstance(value, dict) else value
        return (levels > 0 or not below) and all(storable(each, levels - 1) for each in below)
    return True


def send(api: Api, method: str, path: str, body: Any) -> Any:
    """ASCII JSON with escapes, so that lone surrogates and NaN can be sent."""
    headers = {"Authorization": f"Bearer {api.secret}", "Content-Type": "application/json"}
    return api.client.request(method, f"/v1{path}", headers=headers, content=json.dumps(body).encode())


def keeps_or_refuses(api: Api, message: dict[str, Any], number: int) -> None:
    session = f"s{number}"
    answer = send(api, "POST", "/flows/odd/runs", {"session_id": session, "messages": [message]})
    refused = [name for name, value in message.items() if not storable(value)]
    if not refused:
        assert answer.status_code == 201, answer.text
        (kept,) = api.get("/messages", flow_id="odd", session_id=session)["items"]
        for name, value in message.items():
            assert same(kept[name], value), name
        return
    assert answer.status_code == 422, answer.text
    field = answer.json()["error"]["field"]
    assert any(field == f"messages[0].{name}" for name in refused), (field, refused)
    assert api.get("/messages", flow_id="odd", session_id=session)["items"] == []


def same(kept: Any, sent: Any) -> bool:
    """Equal as JSON: true is not 1, and a number is its value."""
    if isinstance(sent, dict):
        return isinstance(kept, dict) and kept.keys() == sent.keys() and all(same(kept[k], sent[k]) for k in sent)
    if isinstance(sent, list):
        return isinstance(kept, list) and len(kept) == len(sent) and all(map(same, kept, sent))
    if isinstance(sent, float):
        return float(kept) == sent
    return type(kept) is type(sent) and bool(kept == sent)


def try_many(api: Api, examples: int) -> None:
    api.flow("odd")
    tried = iter(range(1_000_000))

    @settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck))
    @given(message=messages())
    def keep_or_refuse(message: dict[str, Any]) -> None:
        keeps_or_refuses(api, message, next(tried))

    keep_or_refuse()


@pytest.mark.slow
def test_a_message_is_stored_as_sent_or_refused_with_its_field(sqlite: Api) -> None:
    try_many(sqlite, 200)


@pytest.mark.slow
def test_a_message_is_stored_as_sent_or_refused_on_postgresql(postgresql: Api) -> None:
    try_many(postgresql, 100)


# Every place that takes a text, with each odd text.


def text_places(api: Api) -> dict[str, tuple[Callable[[str], Any], Callable[[Any], Any] | None]]:
    """By field: how to send it, and what of the answer must be equal to it."""
    flow, base = api.flow("f"), api.memory("notes", "f")["id"]
    message = api.post(
        "/flows/f/runs", {"session_id": "s", "messages": [{"role": "user", "content": "x", "id": "m"}]}, expect=201
    )["messages"][0]["id"]
    api.post("/knowledge-bases", {"name": "book"}, expect=201)

    def run(**fields: Any) -> dict[str, Any]:
        return {"session_id": "s2", "messages": [{"role": "user", "content": "x"}], **fields}

    def put(text: str) -> Any:
        return send(api, "PUT", f"/flows/{in_url(text)}", {"name": "n"})

    def in_url(text: str) -> str:
        return quote(text[:1_000], safe="", errors="surrogatepass")  # clients refuse addresses of a megabyte

    def posted(path: str, body: Callable[[str], Any], method: str = "POST") -> Callable[[str], Any]:
        return lambda text: send(api, method, path, body(text))

    def asked(path: str, **query: str) -> Callable[[str], Any]:
        headers = {"Authorization": f"Bearer {api.secret}"}
        name = next(iter(query))

        def ask(text: str) -> Any:
            said = in_url(text)
            return api.client.get(f"/v1{path}?{name}={said}", headers=headers)

        return ask

    runs, book = f"/flows/{flow}/runs", "/knowledge-bases/book"
    return {
        "name": (posted("/flows", lambda t: {"name": t}), lambda a: a["name"]),
        "flow_id": (put, lambda a: a["external_id"]),
        "session_id": (posted(runs, lambda t: run(session_id=t)), lambda a: a["session_id"]),
        "run_id": (posted(runs, lambda t: run(run_id=t)), lambda a: a["run_external_id"]),
        "end_user_id": (posted(runs, lambda t: run(session_id=f"s of {t!a}", end_user_id=t)), None),
        "on_conflict": (posted(runs, lambda t: run(on_conflict=t)), None),
        "messages[0].id": (
            posted(runs, lambda t: run(session_id=f"s {t!a}", messages=[{"role": "user", "content": "x", "id": t}])),
            lambda a: a["messages"][0]["external_id"],
        ),
        "messages[0].role": (posted(runs, lambda t: run(messages=[{"role": t, "content": "x"}])), None),
        "kb_name": (
            posted("/memories", lambda t: {"name": f"m {t!a}", "kb_name": t, "flow_id": "f"}),
            lambda a: a["kb_name"],
        ),
        "embedding_model": (
            posted("/memories", lambda t: {"name": f"e {t!a}", "flow_id": "f", "embedding_model": t}),
            None,
        ),
        "content": (posted(f"/messages/{message}", lambda t: {"content": t}, "PATCH"), None),
        "metadata": (posted(f"/messages/{message}", lambda t: {"metadata": {t: t}}, "PATCH"), None),
        "files": (posted(f"/messages/{message}", lambda t: {"files": [t]}, "PATCH"), None),
        "new_session_id": (
            posted("/sessions", lambda t: {"flow_id": "f", "session_id": "none", "new_session_id": t}, "PATCH"),
            None,
        ),
        "session metadata": (
            posted("/sessions", lambda t: {"flow_id": "f", "session_id": "s", "metadata": {"k": t}}, "PATCH"),
            lambda a: a["metadata"]["k"],
        ),
        "query": (posted(f"/memories/{base}/search", lambda t: {"query": t}), None),
        "search metadata": (posted("/search", lambda t: {"flow_id": "f", "query": "q", "metadata": {t: t}}), None),
        "search session_id": (posted("/search", lambda t: {"flow_id": "f", "query": "q", "session_id": t}), None),
        "exclude_message_ids": (
            posted("/search", lambda t: {"flow_id": "f", "query": "q", "exclude_message_ids": [t]}),
            None,
        ),
        "documents[0].text": (posted(f"{book}/documents", lambda t: {"documents": [{"text": t}]}), None),
        "documents[0].id": (
            posted(f"{book}/documents", lambda t: {"documents": [{"text": "x", "id": t}]}),
            lambda a: a["documents"][0]["id"],
        ),
        "documents[0].metadata": (
            posted(f"{book}/documents", lambda t: {"documents": [{"text": "x", "metadata": {t: t}}]}),
            None,
        ),
        "book query": (posted(f"{book}/search", lambda t: {"query": t}), None),
        "book metadata": (posted(f"{book}/search", lambda t: {"query": "q", "metadata": {t: t}}), None),
        "key name": (posted("/keys", lambda t: {"name": t, "scopes": ["read"]}), lambda a: a["name"]),
        "expires_at": (posted("/keys", lambda t: {"name": "k", "scopes": ["read"], "expires_at": t}), None),
        "session_id of a list": (asked("/messages", session_id=""), None),
        "flow_id of a list": (asked("/messages", flow_id=""), None),
        "run_id of a list": (asked("/messages", run_id=""), None),
        "end_user_id of a list": (asked("/sessions", end_user_id=""), None),
        "since": (asked("/messages", since=""), None),
        "cursor": (asked("/messages", cursor=""), None),
        "state": (asked(f"/memories/{base}/jobs", state=""), None),
    }


def try_every_place(api: Api, odd: Sequence[str]) -> None:
    for position, (call, shown) in text_places(api).items():
        for text in odd:
            answer = call(text)
            where = f"{position} = {text[:40]!a}: {answer.status_code} {answer.text[:300]}"
            assert answer.status_code < 500, where
            if answer.is_success and shown is not None:
                assert shown(answer.json()) == text, where
            elif answer.status_code == 422:
                assert answer.json()["error"]["field"], where
            else:
                assert answer.is_success or answer.status_code in {400, 404, 405, 409, 413}, where


@pytest.mark.slow
def test_odd_text_in_any_field_is_stored_or_refused(sqlite: Api) -> None:
    try_every_place(sqlite, (*ODD_TEXTS, "x" * 129, "x" * 201, "🙂" * 50_000))


@pytest.mark.slow
def test_odd_text_in_any_field_is_stored_or_refused_on_postgresql(postgresql: Api) -> None:
    # What a database may take otherwise; the other texts are refused or passed on before one is asked.
    try_every_place(postgresql, (*UNSTORABLE, "\U0010ffff", "\ufdd1/0", "%s{0}$x", "x" * 201))


def test_odd_messages_survive_export_and_import(sqlite: Api) -> None:
    """Numbers beyond 64 bits, separators and emoji survive as JSON lines; nothing is duplicated."""
    sqlite.flow("f")
    odd = {"k": [10**30, 5e-324, *(text for text in ODD_TEXTS if storable(text))]}
    message = {"role": "user", "content": "\u2028🙂", "metadata": odd}
    assert send(sqlite, "POST", "/flows/f/runs", {"session_id": "s", "messages": [message]}).status_code == 201
    lines = sqlite.call("GET", "/export").content
    (said,) = [each for each in map(json.loads, lines.split(b"\n")[:-1]) if each["type"] == "message"]
    assert (said["content"], said["metadata"]) == ("\u2028🙂", odd)
    sqlite.call("POST", "/import", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert sqlite.get("/messages")["total"] == 1


def test_a_name_that_no_url_can_hold_is_refused(sqlite: Api, subtests: pytest.Subtests) -> None:
    for name in [".", ".."]:
        with subtests.test(name):
            assert sqlite.refused("POST", "/knowledge-bases", 422, json={"name": name})["field"] == "name"


NUMBERS = {
    "threshold": ("POST", "/memories", lambda n: {"name": f"n{n}"[:99], "flow_id": "f", "threshold": n}),
    "idle_after": ("POST", "/memories", lambda n: {"name": f"i{n}"[:99], "flow_id": "f", "idle_after": n}),
    "top_k": ("POST", "/search", lambda n: {"flow_id": "f", "query": "q", "top_k": n}),
    "min_score": ("POST", "/search", lambda n: {"flow_id": "f", "query": "q", "min_score": n}),
    "neighbors": ("POST", "/search", lambda n: {"flow_id": "f", "query": "q", "neighbors": n}),
    "metadata": ("POST", "/search", lambda n: {"flow_id": "f", "query": "q", "metadata": {"k": n}}),
    "since": ("POST", "/search", lambda n: {"flow_id": "f", "query": "q", "since": n}),
    "book metadata": ("POST", "/knowledge-bases/b/search", lambda n: {"query": "q", "metadata": {"k": n}}),
    "book min_score": ("POST", "/knowledge-bases/b/search", lambda n: {"query": "q", "min_score": n}),
    "expires_at": ("POST", "/keys", lambda n: {"name": "k", "scopes": ["read"], "expires_at": n}),
    "timestamp": (
        "POST",
        "/flows/f/runs",
        lambda n: {"session_id": "s", "messages": [{"role": "user", "content": "x", "timestamp": n}]},
    ),
    "document metadata": (
        "POST",
        "/knowledge-bases/b/documents",
        lambda n: {"documents": [{"text": "x", "metadata": {"k": n}}]},
    ),
}


def test_odd_numbers_are_accepted_or_refused_with_the_field(sqlite: Api, subtests: pytest.Subtests) -> None:
    sqlite.flow("f")
    sqlite.post("/knowledge-bases", {"name": "b"}, expect=201)
    sqlite.post("/knowledge-bases/b/documents", {"documents": [{"text": "q", "metadata": {"k": 1}}]})
    sqlite.memory("notes", "f")
    sqlite.capture("q", flow="f")
    for field, (method, path, body) in NUMBERS.items():
        for number in ODD_NUMBERS:
            with subtests.test(f"{field} = {str(number)[:40]}"):
                answer = send(sqlite, method, path, body(number))
                said = f"{answer.status_code} {answer.text[:300]}"
                assert answer.is_success or answer.status_code in {400, 409, 422}, said
                assert answer.status_code != 422 or answer.json()["error"]["field"], said


@each_row("value", [b"1" * 10_000, b"[" * 10_000])
def test_json_that_python_cannot_parse_is_400(sqlite: Api, value: bytes) -> None:
    headers = {"Authorization": f"Bearer {sqlite.secret}", "Content-Type": "application/json"}
    body = b'{"name": ' + value + b"}"
    assert sqlite.client.post("/v1/flows", headers=headers, content=body).status_code == 400


@pytest.mark.slow
@pytest.mark.parametrize("text", ["x" * MEGABYTE, "🙂 " * 200_000, "\u202e\u05e9\u05dc " * 80_000, "\n" * MEGABYTE])
def test_a_message_of_a_megabyte_is_stored_and_ingested(sqlite: Api, text: str) -> None:
    sqlite.flow("f")
    base = sqlite.memory("notes", "f", threshold=1)["id"]
    answer = send(
        sqlite, "POST", "/flows/f/runs", {"session_id": "s", "messages": [{"role": "assistant", "content": text}]}
    )
    assert answer.status_code == 201
    sqlite.work()
    (kept,) = sqlite.get("/messages", memory_base_id=base)["items"]
    assert kept["content"] == text
    assert kept["ingested"] is True


def test_beyond_the_bounds_is_413_or_422_with_the_bound(sqlite: Api) -> None:
    sqlite.flow("f")
    for size, status, field in ((5 * MEGABYTE, 422, "messages[0]"), (17 * MEGABYTE, 413, "body")):
        body = {"session_id": "s", "messages": [{"role": "user", "content": "x" * size}]}
        error = send(sqlite, "POST", "/flows/f/runs", body).json()["error"]
        assert (error["field"], error["limit"] < size) == (field, True), status
    assert sqlite.get("/messages")["total"] == 0
