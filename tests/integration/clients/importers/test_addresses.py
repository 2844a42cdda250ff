"""Reading another system's HTTP API: pages, lists that lead to sessions, keys, and servers that fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from harness.rows import each_row
from memorybase_client import errors
from memorybase_client.importers.records import Report
from memorybase_client.importers.runs import Part
from memorybase_client.importers.systems import ImportSource, read_runs

from memorybase.cli.import_runs import header_lines
from memorybase.core.errors import InvalidRequest

KEY = {"Authorization": "Api-Key k"}


class Server:
    """Answers these paths, with their queries, to those who send the key; `asked` are all paths, in order."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.url = ""


@contextmanager
def serving(answers: dict[str, Any]) -> Iterator[Server]:
    served = Server(answers)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            served.asked.append(self.path)
            answer = served.answers.get(self.path)
            status = 200 if answer is not None else 404
            if self.headers.get("Authorization") != KEY["Authorization"]:
                status, answer = 401, {"detail": "no key"}
            if isinstance(answer, str):
                self.send_response(302)
                self.send_header("Location", answer)
                self.end_headers()
                return
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer if answer is not None else {"detail": "not here"}).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def read(system: str, url: str, report: Report | None = None, headers: dict[str, str] | None = None) -> list[Part]:
    source = ImportSource(url, headers=KEY if headers is None else headers)
    return list(read_runs(system, source, report or Report()))


def texts(parts: list[Part]) -> list[tuple[str, str]]:
    return [(part.session_id, message["content"]) for part in parts for message in part.messages]


def zep(uuid: str, content: str) -> dict[str, Any]:
    return {"uuid": uuid, "role": "user", "content": content, "created_at": "2026-01-01T00:00:00Z"}


def working_memory(*texts: str) -> dict[str, Any]:
    messages = [
        {"id": f"m{number}", "role": "user", "content": text, "created_at": "2026-01-01T00:00:00Z"}
        for number, text in enumerate(texts)
    ]
    return {"messages": messages, "namespace": "harbour", "user_id": "anna"}


def test_the_pages_of_a_thread_are_one_session() -> None:
    pages = {
        "/threads/t1/messages": {"items": [zep("u1", "one")], "next_cursor": "c 2"},
        "/threads/t1/messages?cursor=c+2": {"items": [zep("u2", "two")], "next_cursor": None},
    }
    with serving(pages) as server:
        assert texts(read("zep", f"{server.url}/threads/t1/messages")) == [("t1", "one"), ("t1", "two")]


def test_the_list_of_working_memories_leads_to_each_on_every_page() -> None:
    answers = {
        "/v1/working-memory/?limit=2": {"sessions": ["a", "b/c"], "total": 3},
        "/v1/working-memory/?limit=2&offset=2": {"sessions": ["d"], "total": 3},
        "/v1/working-memory/a": working_memory("one"),
        "/v1/working-memory/b%2Fc": working_memory("two", "three"),
        "/v1/working-memory/d": working_memory("four"),
    }
    with serving(answers) as server:
        report = Report()
        found = texts(read("agent-memory-server", f"{server.url}/v1/working-memory/?limit=2", report))
    assert found == [("a", "one"), ("b/c", "two"), ("b/c", "three"), ("d", "four")]
    assert report.counts == {}


def test_a_page_that_names_itself_is_read_once() -> None:
    with serving({"/m?cursor=c": {"items": [zep("u1", "one")], "next_cursor": "c"}}) as server:
        assert len(texts(read("zep", f"{server.url}/m?cursor=c"))) == 1
        assert len(server.asked) == 1


@each_row("headers", [{}, {"Authorization": "wrong"}])
def test_a_refused_key_is_an_error_and_no_empty_import(headers: dict[str, str]) -> None:
    with serving({"/m": {"items": []}}) as server, pytest.raises(errors.InvalidRequest, match="401"):
        read("zep", f"{server.url}/m?token=secret", headers=headers)


def test_an_error_shows_neither_password_nor_query() -> None:
    with serving({}) as server, pytest.raises(errors.InvalidRequest) as refused:
        read("zep", f"{server.url.replace('http://', 'http://me:word@')}/m?token=secret")
    assert "secret" not in str(refused.value)
    assert "word" not in str(refused.value)


def test_a_redirect_is_refused_since_the_key_is_not_for_others() -> None:
    with serving({"/m": "http://127.0.0.1:9/elsewhere"}) as server:
        with pytest.raises(errors.InvalidRequest, match="302"):
            read("zep", f"{server.url}/m")
        assert server.asked == ["/m"]


def test_a_page_that_fails_later_ends_the_import_and_says_so() -> None:
    with serving({"/m": {"items": [zep("u1", "one")], "next_cursor": "gone"}}) as server:
        report = Report()
        assert len(texts(read("zep", f"{server.url}/m", report))) == 1
    assert report.broken is not None
    assert "404" in report.broken


def test_a_server_that_is_away_is_an_error() -> None:
    with pytest.raises(errors.InvalidRequest, match="cannot be read"):
        read("zep", "http://127.0.0.1:9/m")


def test_headers_without_an_address_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    file.write_text("[]")
    with pytest.raises(errors.InvalidRequest, match="--header"):
        read("zep", str(file))


def test_headers_come_from_the_command_line_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key.txt"
    file.write_text("Authorization: Api-Key k\nX-Team: harbour\n")
    assert dict(header_lines(f"@{file}")) == {"Authorization": "Api-Key k", "X-Team": "harbour"}
    assert dict(header_lines("X-API-Key: a:b")) == {"X-API-Key": "a:b"}
    with pytest.raises(InvalidRequest, match="Name: value"):
        dict(header_lines("no colon"))
