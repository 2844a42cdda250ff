"""How long a caller waits: for an acknowledgement, until a message is found, and for a search."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

from ingesting.figures import Figures, latencies, rate
from ingesting.target import Base, Target, in_calls, new_base
from ingesting.texts import Corpus

BACKLOG = 6_000  # messages that wait while acknowledgements are measured
BACKLOG_RUN = 100
CAPTURES_PER_SECOND = 25
CAPTURES = 500  # at most; measuring ends with the backlog
GIVE_UP_SECONDS = 60.0  # a message that is not found by then is counted as not found
POLL_SECONDS = 0.005
WATCHERS = 16
FILL_RUN = 50
FILL_SECONDS = 3_600.0


def paced(per_second: float, number: int) -> Iterator[int]:
    """Numbers, each not before its time; a late one does not push the others back."""
    began = time.monotonic()
    for index in range(number):
        time.sleep(max(0.0, began + index / per_second - time.monotonic()))
        yield index


def capture(target: Target, corpus: Corpus) -> Figures:
    """Acknowledgement of runs of two messages while a backlog is being ingested by the same worker."""
    backlog = new_base(target.client, "backlog", threshold=10_000, auto_capture=False)
    for index, page in enumerate(in_calls(corpus.take(BACKLOG), BACKLOG_RUN)):
        backlog.capture(f"session {index}", page)
    base = new_base(target.client, "capture", threshold=10)
    for number in range(5):  # a connection that is open, statements that are known
        base.capture("warm", [f"warm {number}"])
    runs = in_calls(corpus.take(2 * CAPTURES), 2)
    target.client.flush_memory_base(backlog.id)
    flushed = time.perf_counter()
    seconds: list[float] = []
    for index in paced(CAPTURES_PER_SECOND, CAPTURES):
        if index % CAPTURES_PER_SECOND == 0 and backlog.state().total_processed >= BACKLOG:
            break
        began = time.perf_counter()
        base.capture(f"session {index % 20}", runs[index])
        seconds.append(time.perf_counter() - began)
    ingested = backlog.state().total_processed
    figures = latencies(seconds) | {
        "runs_per_second": CAPTURES_PER_SECOND,
        "backlog_ingested_per_second": rate(ingested, time.perf_counter() - flushed),
        "failed_jobs": base.failed_jobs(),
    }
    for done in (backlog, base):  # what is left of them would disturb the next section
        target.client.delete_memory_base(done.id)
    return figures


@dataclass(frozen=True)
class Load:
    """`every`: one in so many runs is searched for; looking for each would be the greater load."""

    runs_per_second: float
    runs: int
    every: int


LOADS = {"paced": Load(2.0, 50, every=1), "20_messages_per_second": Load(10.0, 200, every=4)}


@dataclass(frozen=True)
class Found:
    """When a message was first in a search's answer, counted from its request and from its acknowledgement."""

    from_request: float
    from_answer: float


def searchable(target: Target, corpus: Corpus) -> Figures:
    """From capture until a hybrid search that leaves pending messages out answers with the message. Threshold 1, runs
    of two messages at a steady pace; of some runs the second message is searched for without a pause."""
    return {name: _searchable(target, corpus, load) for name, load in LOADS.items()}


def _searchable(target: Target, corpus: Corpus, load: Load) -> Figures:
    base = new_base(target.client, "searchable", threshold=1)
    runs = in_calls(corpus.take(2 * load.runs), 2)
    _watch(base, 0, ["warm", "warm as well"])
    watched: list[Future[Found | None]] = []
    others: list[Future[object]] = []
    with ThreadPoolExecutor(WATCHERS) as watching, ThreadPoolExecutor(2) as capturing:
        for index in paced(load.runs_per_second, load.runs):
            if index % load.every == 0:
                watched.append(watching.submit(_watch, base, index, runs[index]))
            else:
                others.append(capturing.submit(base.capture, f"session {index % 20}", runs[index]))
    for other in others:
        other.result()
    found = [each for each in (future.result() for future in watched) if each is not None]
    base.wait_ingested(2 * load.runs + 2)
    return {
        "runs_per_second": load.runs_per_second,
        "from_answer": latencies([each.from_answer for each in found]),
        "from_request": latencies([each.from_request for each in found]),
        "not_found": len(watched) - len(found),
        "failed_jobs": base.failed_jobs(),
    }


def _watch(base: Base, index: int, texts: Sequence[str]) -> Found | None:
    """Capture a run and search for its last message until it is there."""
    wanted = f"{texts[-1]} {uuid4().hex[:12]}"
    began = time.perf_counter()
    answer = base.capture(f"session {index % 20}", [*texts[:-1], wanted])
    answered = time.perf_counter()
    message_id = answer.messages[-1].id
    while time.perf_counter() - answered < GIVE_UP_SECONDS:
        results = base.search(wanted, include_pending=False)
        now = time.perf_counter()
        if any(each.message_id == message_id for each in results):
            return Found(now - began, now - answered)
        time.sleep(POLL_SECONDS)
    return None


def search(target: Target, corpus: Corpus, *, sizes: Sequence[int], number: int) -> Figures:
    """Hybrid searches, one after the other, of questions not asked before, in a memory base that is filled through the
    product from size to size."""
    base = new_base(target.client, "search", threshold=FILL_RUN)
    figures: Figures = {}
    held = 0
    for size in sorted(sizes):
        began = time.perf_counter()
        for index, page in enumerate(in_calls(corpus.take(size - held), FILL_RUN)):
            base.capture(f"session {held + index * FILL_RUN}", page)
        target.client.wait_until_searchable(base.id, timeout_seconds=FILL_SECONDS)
        filled = rate(size - held, time.perf_counter() - began)
        held = size
        for question in corpus.questions(5):
            base.search(f"{question} warm {size}")
        # With a number, so that no answer or vector is known from the size before.
        took = [_search_seconds(base, f"{question} ({size})") for question in corpus.questions(number)]
        figures[f"{size}_messages"] = latencies(took) | {"filled_per_second": filled}
    return figures


def _search_seconds(base: Base, query: str) -> float:
    began = time.perf_counter()
    base.search(query)
    return time.perf_counter() - began
