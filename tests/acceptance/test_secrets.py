"""What was said and who may call is in no log of a real stack; names of things never become paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from uuid import UUID

import httpx
import pytest
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until

from memorybase.core.knowledge_bases.registry import METADATA_FILE

pytestmark = pytest.mark.slow  # processes are started and stopped

# In everything that a caller says; never part of a log line, whatever the level.
SECRET = "xyzzy7q"
ESCAPING = ("../../../outside", "/tmp/outside", "../..", "a/../../outside", "..\\outside", "C:\\outside", "~/outside")


class LoudStack(EmbeddedStack):
    """With every log line that there is."""

    def environment(self) -> dict[str, str]:
        return super().environment() | {"MEMORYBASE_LOG_LEVEL": "DEBUG"}


class Used(NamedTuple):
    stack: EmbeddedStack
    given_out: tuple[str, ...]


class Caller:
    def __init__(self, url: str) -> None:
        headers = {"Authorization": f"Bearer {KEY}"}
        self.http = httpx.Client(base_url=f"{url}/v1", headers=headers, trust_env=False, timeout=60)

    def call(self, method: str, path: str, *expected: int, **options: Any) -> Any:
        answer = self.http.request(method, path, **options)
        assert answer.status_code in (expected or (200,)), f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


@pytest.fixture(scope="module", params=["stack", "one process"])
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    """A stack that has done everything with secret words, stopped; and what it gave out: the secret of a key, tokens
    of links to sign in."""
    stack = LoudStack(tmp_path_factory.mktemp("secrets") / "deep" / "er")
    stack.directory.mkdir(parents=True)
    stack.one_process = request.param == "one process"
    try:
        stack.start()
        caller = Caller(stack.url)
        with caller.http:
            secret = speak(caller)
            link = caller.call("POST", "/sign-in-links", 201)["url_path"]
            look_around(caller, link)
        stack.stop()
        printed = next(line for line in stack.output().splitlines() if line.startswith("sign in: "))
        yield Used(stack, (secret, *(each.partition("token=")[2] for each in (link, printed))))
    finally:
        stack.close()


def look_around(caller: Caller, link: str) -> None:
    """The pages that show what was said, as a browser first asks for them; and one that fails."""
    (base,) = caller.call("GET", "/memories")["items"]
    shown = urlencode({"flow": base["flow_id"], "id": f"{SECRET}/session"})
    with httpx.Client(
        base_url=str(caller.http.base_url.join("/")), trust_env=False, timeout=60, follow_redirects=True
    ) as browser:
        assert browser.get(link).url.path == "/ui/"
        pages = (
            f"/ui/session?{shown}",
            f"/ui/memories/{base['id']}/search?q={SECRET}",
            f"/ui/run?flow=f&id={SECRET}",
            f"/ui/nothing?q={SECRET}",
        )
        assert [browser.get(page).status_code for page in pages] == [200, 200, 404, 404]


def speak(caller: Caller) -> str:
    """Say the secret wherever something can be said, also where it is refused; the new key's secret."""
    caller.call("PUT", "/flows/f", 201, json={"name": f"{SECRET} flow"})
    base = caller.call("POST", "/memories", 201, json={"name": SECRET, "flow_id": "f", "threshold": 1})["id"]
    said = [
        {"role": "assistant", "content": f"{SECRET} word", "metadata": {"k": SECRET}, "id": f"{SECRET}-id"},
        {"role": "user", "content": [{"type": "text", "text": SECRET}], "sender_name": SECRET},
    ]
    run = {"session_id": f"{SECRET}/session", "end_user_id": f"{SECRET}-user", "run_id": f"{SECRET}-run"}
    message = caller.call("POST", "/flows/f/runs", 201, json=run | {"messages": said})["messages"][0]["id"]
    wait_until(lambda: caller.call("GET", f"/memories/{base}")["total_processed"] == 1, 60, "the message is ingested")
    caller.call("POST", "/flows/f/runs", 409, json=run | {"messages": [said[0] | {"content": f"{SECRET} other"}]})
    caller.call("PATCH", f"/messages/{message}", json={"content": f"{SECRET} edited"})
    assert caller.call("POST", f"/memories/{base}/search", json={"query": f"{SECRET} word"})["results"]
    caller.call("GET", "/messages", params={"session_id": SECRET})
    refuse(caller, base)
    return documents_and_keys(caller)


def refuse(caller: Caller, base: str) -> None:
    """Errors are logged more often than what goes well."""
    caller.call(
        "POST", "/flows/f/runs", 422, json={"session_id": "s", "messages": [{"role": SECRET, "content": SECRET}]}
    )
    caller.call("POST", "/flows/f/runs", 422, json={"session_id": f"{SECRET}\0", "messages": []})
    caller.call("POST", "/flows/f/runs", 400, content=f'{{"{SECRET}'.encode())
    caller.call("POST", f"/memories/{base}/search", 422, json={"query": SECRET, "top_k": SECRET})
    caller.call("GET", f"/flows/{SECRET}", 404)
    caller.call("GET", "/flows", 401, headers={"Authorization": f"Bearer mb_{SECRET}"})


def documents_and_keys(caller: Caller) -> str:
    for name in (f"{SECRET} book", *ESCAPING):
        caller.call("POST", "/knowledge-bases", 201, json={"name": name})
        path = f"/knowledge-bases/{quote(name, safe='')}"
        caller.call("POST", f"{path}/documents", json={"documents": [{"text": f"{SECRET} text", "id": name}]})
        caller.call("POST", f"{path}/search", json={"query": SECRET})
    secret: str = caller.call("POST", "/keys", 201, json={"name": SECRET, "scopes": ["read"]})["secret"]
    caller.call("GET", "/flows", headers={"Authorization": f"Bearer {secret}"})
    caller.call("GET", "/keys", 403, headers={"Authorization": f"Bearer {secret}"})
    return secret


def test_no_log_has_what_was_said_or_a_key(used: Used) -> None:
    stack, given_out = used
    logs = sorted((stack.data / "logs").iterdir())
    of_stack = {"api.log", "worker.log", "sweeper.log", "chroma.log", "redis.log"}
    assert (set() if stack.one_process else of_stack) <= {log.name for log in logs}
    assert any("[debug" in line for line in stack.worker_log.read_text().splitlines())
    assert all(len(word) > 32 for word in given_out)
    on_terminal = given_out[:-1]  # the last token is what it prints there
    for log, given in [(stack.log, on_terminal), *((log, given_out) for log in logs)]:
        for word in (SECRET, KEY, *given):
            lines = [line for line in log.read_text(errors="replace").splitlines() if word in line]
            assert not lines, f"{log.name} says what nobody should read there: {lines[:3]}"


def test_nothing_that_was_given_out_is_on_disk(used: Used) -> None:
    stack, given_out = used
    written = [file for file in stack.data.rglob("*") if file.is_file() and not file.is_symlink()]
    assert written
    assert [file for file in written if any(word.encode() in file.read_bytes() for word in given_out)] == []


def test_names_become_no_paths(used: Used) -> None:
    stack, _ = used
    root = stack.directory.parent.parent
    outside = [file for file in root.rglob("*") if file.is_file() and not file.is_relative_to(stack.data)]
    assert outside == [stack.log]
    assert not Path("/tmp/outside").exists()
    folders = list((stack.data / "knowledge_bases").iterdir())
    assert len(folders) == len(ESCAPING) + 2  # and the book, and the memory base's
    assert all(UUID(folder.name) and [f.name for f in folder.iterdir()] == [METADATA_FILE] for folder in folders)
    assert not any("outside" in file.name for file in stack.data.rglob("*"))
