"""A small client of the HTTP API, for commands that use a running stack."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Self
from urllib.parse import quote

import httpx

from memorybase import errors

TRIES = 8  # attempts of a call that got a retryable answer or lost its connection
LONGEST_PAUSE_SECONDS = 5.0
STALLED_SECONDS = 120.0  # stop waiting after this long without progress
REFLUSH_SECONDS = 2.0

Json = dict[str, Any]


class Client:
    """Calls `/v1` with one key. Raises MemorybaseError with the server's message."""

    def __init__(self, url: str, key: str, *, timeout_seconds: float = 60.0, tries: int = TRIES) -> None:
        self.url = url.rstrip("/")
        self._tries = tries
        self._http = httpx.Client(
            base_url=f"{self.url}/v1",
            # A key may contain non-ASCII characters.
            headers={b"Authorization": f"Bearer {key}".encode()},
            timeout=timeout_seconds,
            # The stack is on this machine or network: ignore proxies for the internet.
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def call(
        self, method: str, path: str, *, allow: tuple[int, ...] = (), tries: int | None = None, **options: Any
    ) -> Any:
        """The answer's JSON. `tries` lowers the client's own. Retries are safe for all calls but deleting a chat's
        latest request: the caller chooses ids, and a flush is idempotent."""
        pause = 0.1
        tries = self._tries if tries is None else min(tries, self._tries)
        for attempt in range(1, tries + 1):
            try:
                answer = self._http.request(method, path, **options)
            except httpx.TransportError as exc:
                if attempt == tries:
                    text = f"Nothing answers at {self.url}. Start the stack with: memorybase up"
                    raise errors.NotReady(text) from exc
            else:
                if answer.is_success or answer.status_code in allow:
                    return answer.json() if answer.content else None
                if answer.status_code not in {429, 503} or attempt == tries:
                    raise _error_of(answer)
                pause = _retry_after(answer) or pause
            time.sleep(min(pause, LONGEST_PAUSE_SECONDS))
            pause *= 2
        raise AssertionError("unreachable")

    def stream(self, path: str, **params: Any) -> Iterator[bytes]:
        """The answer's body in pieces. Raises NotReady if the connection breaks."""
        try:
            with self._http.stream("GET", path, params=params) as answer:
                if not answer.is_success:
                    answer.read()
                    raise _error_of(answer)
                yield from answer.iter_bytes()
        except httpx.TransportError as exc:
            raise errors.NotReady(f"The connection to {self.url} broke. Run the command again.") from exc

    def get(self, path: str, **params: Any) -> Any:
        return self.call("GET", path, params=params)

    def pages(self, path: str, **params: Any) -> Iterator[Json]:
        """Every item of a list, by cursor, so that inserts meanwhile shift nothing."""
        cursor: str | None = None
        while True:
            page = self.get(path, size=200, **params, **({"cursor": cursor} if cursor else {}))
            yield from page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def put_flow(self, flow: str) -> None:
        self.call("PUT", f"/flows/{quote(flow, safe='')}", json={"name": flow})

    def post_run(self, flow: str, run: Json) -> Json:
        answer: Json = self.call("POST", f"/flows/{quote(flow, safe='')}/runs", json=run)
        return answer

    def sign_in_link(self) -> str:
        """A link that signs a browser in to the web page with this client's key, once."""
        link: Json = self.call("POST", "/sign-in-links")
        return f"{self.url}{link['url_path']}"

    def find_memory(self, name: str) -> Json:
        """The memory base with that name. Raises NotFound that lists the existing ones."""
        names = []
        for memory in self.pages("/memories"):
            if memory["name"] == name:
                return memory
            names.append(memory["name"])
        existing = f"Existing: {', '.join(sorted(names)[:20])}" if names else "There are none yet"
        raise errors.NotFound(f"There is no memory base named {name}. {existing}.", field="memory", value=name)

    def memory(self, memory_id: str) -> Json:
        answer: Json = self.get(f"/memories/{memory_id}")
        return answer

    def search(self, memory_id: str, query: str, top_k: int, mode: str = "hybrid") -> list[Json]:
        results: list[Json] = self.ask(memory_id, query=query, top_k=top_k, mode=mode)["results"]
        return results

    def ask(self, memory_id: str, **body: Any) -> Json:
        """The complete answer of a search; `body` as in the API."""
        answer: Json = self.call("POST", f"/memories/{memory_id}/search", json=body)
        return answer

    def message(self, message_id: str, *, flow_id: str | None = None) -> Json | None:
        """A message by its UUID or external id, which other flows may have too; None if there is none."""
        params = {} if flow_id is None else {"flow_id": flow_id}
        found: Json = self.call("GET", f"/messages/{quote(message_id, safe='')}", params=params, allow=(404,))
        return None if "error" in found else found

    def weights(self, memory_id: str) -> Json:
        """The default weights of a search, the memory base's own, and its previous ones."""
        answer: Json = self.get(f"/memories/{memory_id}/weights")
        return answer

    def set_weights(self, memory_id: str, stored: Json | None) -> None:
        """Set the memory base's own weights; None restores the default ones."""
        if stored is None:
            self.call("DELETE", f"/memories/{memory_id}/weights")
        else:
            self.call("PUT", f"/memories/{memory_id}/weights", json=stored)

    def settle(self, memory_id: str, progress: Callable[[Json], None]) -> Json:
        """Flush until nothing is pending and no job is active; returns the memory base. Raises NotReady if ingestion
        stalls."""
        progressed = time.monotonic()
        flushed = last = 0.0
        while True:
            memory = self.memory(memory_id)
            progress(memory)
            if memory["pending_messages"] == 0 and memory["status"] == "ready":
                return memory
            now = time.monotonic()
            if memory["total_processed"] != last:
                last, progressed = memory["total_processed"], now
            if now - progressed > STALLED_SECONDS:
                text = f"Nothing was ingested for {STALLED_SECONDS:g} s; {memory['pending_messages']} are pending."
                raise errors.NotReady(f"{text} Run `memorybase doctor` for fixes.")
            # Flush again only if messages without a job remain, because a flush locks each session that has a job.
            if not flushed or (memory["status"] == "pending" and now - flushed > REFLUSH_SECONDS):
                # 409: every pending session already has a job, which may not cover the last message.
                self.call("POST", f"/memories/{memory_id}/flush", allow=(409,))
                flushed = now
            time.sleep(0.1)


def _error_of(answer: httpx.Response) -> errors.MemorybaseError:
    try:
        error = answer.json()["error"]
        text, code, field = error["message"], error["code"], error.get("field")
    except (ValueError, KeyError, TypeError):
        text, code, field = f"The server answered {answer.status_code}.", "unexpected_answer", None
    if answer.status_code == 401:
        text += " Pass the key with --key or MEMORYBASE_API_KEY."
    kind = errors.EnvironmentFailure if answer.status_code >= 500 else errors.CallerError
    return kind(text, field=field, status=answer.status_code, code=code)


def _retry_after(answer: httpx.Response) -> float | None:
    try:
        return float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
