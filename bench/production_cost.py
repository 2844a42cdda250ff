"""Measures what traces, the audit log and quotas add to a capture and to a search, over HTTP.

    python bench/production_cost.py [--on traces,audit,quotas] [--sampled 1.0] [--pairs 20] [--calls 100]

Two embedded stacks run at the same time: one without these features, one with those that `--on` names. They are called
in turn, in pairs of batches of the same calls, so that other work on the machine harms both alike. `ratio` is the
median over the pairs of the second stack's figure to the first's, `low` and `high` are its 95 % interval.
`processor_ms` is the time of the API's process on a processor in each call, `wall_ms` what the caller waits. A capture
has two messages of thirty words; a search is a hybrid one among a thousand messages. Traces go to a receiver in this
process that keeps nothing; `--sampled` is the share of requests that are traced.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
from ingesting.figures import Figures
from ingesting.target import Base, Target, new_base, running_stack
from runs import machine

FEATURES = ("traces", "audit", "quotas")
TEXT = (
    "garden market teacher doctor engine bridge river kitchen travelled promised repaired remembered painted forgotten "
    "colourful happily quietly everyone something letters mountains holidays musicians children questions answers"
)
WORDS = TEXT.split()
SEARCHED = 1_000  # messages
RUN = 2
WARM_UP = 60
AMPLE = json.dumps(
    dict.fromkeys(("messages_per_day", "stored_messages", "searches_per_minute", "end_users"), 1_000_000_000)
)
QUOTAS = {"MEMORYBASE_USER_QUOTAS": AMPLE, "MEMORYBASE_KEY_QUOTAS": AMPLE}


class Side:
    """One of the two stacks."""

    def __init__(self, target: Target) -> None:
        self.captured, self.searched = (new_base(target.client, name, threshold=10_000) for name in ("said", "sought"))
        self._api = psutil.Process(int(target.data.pid_file("api").read_text()))

    def fill(self, rng: random.Random) -> None:
        texts = [sentence(rng) for _ in range(SEARCHED)]
        for start in range(0, SEARCHED, 50):
            self.searched.capture(f"filled-{start}", texts[start : start + 50])
        self.searched.client.flush_memory_base(self.searched.id)
        self.searched.wait_ingested(SEARCHED)

    def measure(self, call: Callable[[Base], object], base: Base, calls: int) -> tuple[float, float]:
        """Milliseconds of the API's processor, and of waiting, in one of these calls."""
        used, began = _processor(self._api), time.perf_counter()
        for _ in range(calls):
            call(base)
        waited = time.perf_counter() - began
        return (_processor(self._api) - used) * 1_000 / calls, waited * 1_000 / calls


def _processor(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=30))


class Quiet(BaseHTTPRequestHandler):
    """Logs nothing."""

    def log_message(self, *_args: object) -> None:
        pass


class Collector(Quiet):
    """A receiver of traces that keeps nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server in this process."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def environment(features: list[str], endpoint: str, sampled: float) -> dict[str, str]:
    """The settings of a stack with these features and without the others."""
    chosen = {"MEMORYBASE_AUDIT": "all" if "audit" in features else "off", "MEMORYBASE_RATE_LIMIT_PER_SECOND": "0"}
    if "traces" in features:
        chosen |= {
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": str(sampled),
        }
    return chosen | (QUOTAS if "quotas" in features else {})


@contextmanager
def stack(variables: dict[str, str]) -> Iterator[Target]:
    """A stack with these variables; its processes inherit them when they start."""
    former = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        with running_stack() as target:
            yield target
    finally:
        for name, value in former.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def pairs_of(
    sides: tuple[Side, Side], which: str, call: Callable[[Base], object], options: argparse.Namespace
) -> Figures:
    """The figures of one kind of call, measured in turn."""
    for side in sides:
        side.measure(call, getattr(side, which), WARM_UP)
    found: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for number in range(options.pairs):
        order = sides if number % 2 else sides[::-1]
        measured = {id(side): side.measure(call, getattr(side, which), options.calls) for side in order}
        found.append((measured[id(sides[0])], measured[id(sides[1])]))
    return {
        name: {
            "off": round(statistics.median(off[index] for off, _ in found), 3),
            "on": round(statistics.median(on[index] for _, on in found), 3),
        }
        | ratio([on[index] / off[index] for off, on in found])
        for index, name in enumerate(("processor_ms", "wall_ms"))
    }


def ratio(ratios: list[float], draws: int = 2_000) -> Figures:
    """The median and its 95 % interval, by drawing pairs again."""
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(draws))
    return {
        "ratio": round(statistics.median(ratios), 3),
        "low": round(medians[int(draws * 0.025)], 3),
        "high": round(medians[int(draws * 0.975)], 3),
    }


def features(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in FEATURES:
            raise argparse.ArgumentTypeError(f"a feature must be one of {', '.join(FEATURES)} (got {name!r})")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", type=features, default=list(FEATURES), help=f"of {','.join(FEATURES)}")
    parser.add_argument("--sampled", type=float, default=1.0, help="the share of requests that are traced")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--calls", type=int, default=100, help="in each batch")
    options = parser.parse_args()
    report = machine() | {"on": options.on, "sampled": options.sampled if "traces" in options.on else None}
    with ExitStack() as open_:
        endpoint = open_.enter_context(serving(Collector))
        off = Side(open_.enter_context(stack(environment([], "", 0.0))))
        on = Side(open_.enter_context(stack(environment(options.on, endpoint, options.sampled))))
        sides = (off, on)
        rng = random.Random(1)
        for side in sides:
            side.fill(random.Random(2))
        said = iter(range(10**9))
        report["capture"] = pairs_of(
            sides,
            "captured",
            lambda base: base.capture(f"s{next(said) // 40}", [sentence(rng) for _ in range(RUN)]),
            options,
        )
        report["search"] = pairs_of(
            sides, "searched", lambda base: base.search(" ".join(rng.choices(WORDS, k=4))), options
        )
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
