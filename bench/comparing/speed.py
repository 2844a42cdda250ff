"""How fast a memory stores and finds messages, and what it takes: memory and disk."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ingesting.figures import Figures, latencies, rate
from ingesting.texts import Corpus

from comparing.child import Child, Environments, Peer, empty_directory, messages, size_mb

CALL = 10  # messages
GROWING_CALL = 100
SEARCHABLE = 20  # messages that are waited for
SEARCHES = 50
LONGEST_SECONDS = 60.0  # that one message is waited for
LIMIT = 10


class NotFound(Exception):
    """A search for a message's own text did not find it."""


def speed(environments: Environments, peer: Peer, *, count: int, grown: int) -> Figures:
    """`count` messages in calls of ten, then searches; then up to `grown` messages, and searches again."""
    corpus = Corpus.made()
    with empty_directory() as directory:
        began = time.perf_counter()
        with Child(environments, peer, directory) as child:
            figures: Figures = {"ready_seconds": round(time.perf_counter() - began, 1)}
            add(child, corpus.take(CALL), "warm")
            child.call("wait")
            search(child, corpus, 5)
            is_server = child.call("about")["is_server"]
            figures["rest_mb"] = child.memory_mb(is_server=is_server)
            figures["tens"] = in_calls(child, corpus, min(count, peer.messages), CALL)
            figures["searchable"] = searchable(child, corpus)
            figures["search"] = search(child, corpus, SEARCHES)
            held = CALL + min(count, peer.messages) + SEARCHABLE
            if grown > held:
                figures["growing"] = in_calls(child, corpus, grown - held, GROWING_CALL)
                figures["search_grown"] = search(child, corpus, SEARCHES)
            figures |= {"messages": max(grown, held), "grown_mb": child.memory_mb(is_server=is_server)}
        figures["disk_mb"] = size_mb(directory)
    return figures


def add(child: Child, texts: Sequence[str], session: str) -> float:
    """The milliseconds until they were acknowledged."""
    return child.timed("add", person="speed", session=session, messages=messages(texts, session), key=session)[0]


def in_calls(child: Child, corpus: Corpus, count: int, size: int) -> Figures:
    """Each call in a session of its own, one after the other; the rate is that until all are in the index."""
    texts = corpus.take(count)
    began = time.perf_counter()
    took = [add(child, texts[index : index + size], f"{size}-{index}") / 1000 for index in range(0, count, size)]
    child.call("wait")
    seconds = time.perf_counter() - began
    return {"messages": count, "messages_per_second": rate(count, seconds), **latencies(took)}


def searchable(child: Child, corpus: Corpus) -> Figures:
    """From the request to store one message until a search finds it."""
    took = []
    try:
        for number, text in enumerate(corpus.take(SEARCHABLE)):
            took.append(_found_after(child, text, f"single-{number}"))
    except NotFound as error:
        return {"failed": str(error)}
    return latencies(took)


def _found_after(child: Child, text: str, session: str) -> float:
    """Seconds; raises NotFound."""
    began = time.perf_counter()
    add(child, [text], session)
    while not any(text in each["text"] for each in child.call("search", person="speed", question=text, limit=LIMIT)):
        if time.perf_counter() - began > LONGEST_SECONDS:
            raise NotFound(f"a message was not among the first {LIMIT} within {LONGEST_SECONDS:g} s")
    return time.perf_counter() - began


def search(child: Child, corpus: Corpus, count: int) -> Figures:
    return latencies(
        [
            child.timed("search", person="speed", question=question, limit=LIMIT)[0] / 1000
            for question in corpus.questions(count)
        ]
    )
