"""The callers beside the writing clients: searches, contexts, event streams and long polls."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable

import httpx
from chaos.clients import WORDS, Orders
from chaos.cluster import KEY

READ_SECONDS = 20.0
STREAM_SECONDS = 30.0
# What a read may be answered: its session is not there yet, or the stack is overloaded or broken.
REFUSED = (404, 409, 429, 503)


class Reading(threading.Thread):
    """Repeats one kind of call until the orders say stop; an answer that nobody may get is a complaint."""

    def __init__(self, name: str, orders: Orders, call: Callable[[httpx.Client], int], pause: float) -> None:
        super().__init__(name=name, daemon=True)
        self.answers: Counter[int] = Counter()
        self._orders = orders
        self._call = call
        self._pause = pause

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=self._orders.url, headers=headers, trust_env=False, timeout=READ_SECONDS) as client:
            while not self._orders.stop.wait(self._pause):
                try:
                    status = self._call(client)
                except httpx.TransportError:
                    status = 0  # cut
                self.answers[status] += 1
                if status not in {0, 200, *REFUSED}:
                    self._orders.complaints.append(f"{self.name}: {status}")


def readers(orders: Orders, bases: dict[str, str], seed: int) -> list[Reading]:
    """Two threads that search, one that asks for contexts, two that watch jobs and one that waits for them."""
    rng = random.Random(f"{seed}/readers")

    def words() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))

    def search(client: httpx.Client) -> int:
        base = rng.choice(list(bases.values()))
        return client.post(f"/memories/{base}/search", json={"query": words(), "top_k": 10}).status_code

    def context(client: httpx.Client) -> int:
        flow = rng.choice(list(bases))
        body = {
            "flow_id": flow,
            "session_id": "shared-0",
            "query": words(),
            "token_budget": 2000,
            "memory_base_ids": [bases[flow]],
        }
        return client.post("/context", json=body).status_code

    def newest_job(client: httpx.Client) -> str | None:
        answer = client.get("/jobs", params={"size": 1})
        items = answer.json()["items"] if answer.status_code == httpx.codes.OK else []
        return items[0]["id"] if items else None

    def stream(client: httpx.Client) -> int:
        if job := newest_job(client):
            with client.stream("GET", f"/jobs/{job}/events", timeout=STREAM_SECONDS) as answer:
                for _ in answer.iter_lines():
                    pass
                return answer.status_code
        return 200

    def poll(client: httpx.Client) -> int:
        job = newest_job(client)
        return client.get(f"/jobs/{job}", params={"wait": 10}).status_code if job else 200

    calls = (
        ("search", search, 0.5),
        ("search", search, 0.5),
        ("context", context, 1.0),
        ("stream", stream, 0.2),
        ("stream", stream, 0.2),
        ("poll", poll, 0.2),
    )
    return [Reading(name, orders, call, pause) for name, call, pause in calls]
