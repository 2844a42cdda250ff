"""Measures whether distillation delays ingestion: the time until messages are ingested, with and without it.

    python bench/distillation_cost.py [--pairs 10] [--messages 400] [--answer-seconds 0.25]

Two embedded stacks run at the same time: one without distillation, one with a model on the loopback address that
answers each request after `--answer-seconds` with a fact for every message. They ingest batches of messages of thirty
words in turn, in runs of twenty, each in a session of its own. `seconds` is the time from the first capture until all
are ingested; the facts of a batch are waited for before the next one, and not counted. `ratio` is the median over the
pairs of the second stack's time to the first's, `low` and `high` are its 95 % interval. `facts` were derived meanwhile
and afterwards.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from contextlib import ExitStack
from typing import Any

from ingesting.target import LOOK_SECONDS, Base, new_base
from production_cost import Quiet, ratio, sentence, serving, stack
from runs import machine

RUN = 20  # as many messages as one request of distillation has


class Side:
    """One of the two stacks, and how many messages it was given."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.captured = 0

    def ingest(self, rng: random.Random, messages: int) -> float:
        """The seconds until a batch is ingested."""
        runs = [[sentence(rng) for _ in range(RUN)] for _ in range(messages // RUN)]
        began = time.perf_counter()
        for texts in runs:
            self.base.capture(f"s{self.captured}", texts)
            self.captured += RUN
        self.base.wait_ingested(self.captured)
        return time.perf_counter() - began

    def wait_distilled(self) -> None:
        while self.base.client.get_distillation(self.base.id).state not in {"off", "idle"}:
            time.sleep(LOOK_SECONDS)


def model(seconds: float) -> type[Quiet]:
    """A model that answers after so long, and derives from every new message that it says what it says."""

    class Model(Quiet):
        def do_POST(self) -> None:  # noqa: N802 - the library calls it by this name
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(seconds)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answered(body["messages"][-1]["content"])).encode())

    return Model


def answered(prompt: str) -> dict[str, Any]:
    quoted = prompt.partition("<messages>\n")[2].partition("\n</messages>")[0]
    new = [message for message in map(json.loads, quoted.splitlines()) if message["new"]]
    facts = [
        {"who": each["speaker"], "what": each["text"], "when": None, "sources": [each["label"]], "corrects": None}
        for each in new
    ]
    content = json.dumps({"worth_remembering": True, "facts": facts})
    return {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--messages", type=int, default=400, help="in each batch")
    parser.add_argument("--answer-seconds", type=float, default=0.25, help="until the model answers")
    options = parser.parse_args()
    shared = {"MEMORYBASE_RATE_LIMIT_PER_SECOND": "0"}
    with ExitStack() as open_:
        url = open_.enter_context(serving(model(options.answer_seconds)))
        distilling = {
            "MEMORYBASE_DISTILLER": "openai",
            "MEMORYBASE_SUMMARIZER_URL": f"{url}/v1",
            "MEMORYBASE_DISTILLER_DAILY_TOKENS": "1000000000",
        }
        clients = [open_.enter_context(stack(shared | more)).client for more in ({}, distilling)]
        off, on = (Side(new_base(client, "said", threshold=RUN)) for client in clients)
        on.base.client.set_distillation(on.base.id, enabled=True)
        rng = random.Random(1)
        pairs: list[tuple[float, float]] = []
        for number in range(options.pairs + 1):
            order = (off, on) if number % 2 else (on, off)
            seconds = {}
            for side in order:
                seconds[side] = side.ingest(rng, options.messages)
                side.wait_distilled()
            pairs.append((seconds[off], seconds[on]))
        pairs = pairs[1:]  # the first batch warms up
        used = on.base.client.get_distillation(on.base.id).usage
    figures = {
        "off": round(statistics.median(each for each, _ in pairs), 3),
        "on": round(statistics.median(each for _, each in pairs), 3),
    } | ratio([with_facts / without for without, with_facts in pairs])
    report = machine() | vars(options) | {"seconds": figures, "requests": used.requests, "facts": used.facts}
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
