"""Compares memorybase with other memories: speed, faults, recall and deletion, all on this machine.

    python bench/compare.py [DATA ...] [--peers mem0,langchain] [--only speed,kills] [--messages 600] [--grown 2000]
        [--kills 10] [--every 4] [--budget 2000] [--results FOLDER] [--json FILE]

Each memory runs in a process and an environment of its own, with the same model and the same texts, and is called as
its documentation shows: see bench/peers. memorybase is called in the same way, over HTTP, as a stack and as one
process. `make bench-peers` installs the environments and runs this. bench/README.md explains the figures.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import runs
from comparing.child import PEERS, Child, Environments, Failed, Peer, empty_directory
from comparing.deletion import deletion
from comparing.faults import full_disk, kills, two_writers
from comparing.recall import recall
from comparing.speed import speed
from ingesting.figures import Figures, requests, table, without_requests
from recalling import formats
from runs import Run

from memorybase.core.embedding.source import find_source
from memorybase.core.settings import Settings

PARTS = ("speed", "kills", "full_disk", "two_writers", "recall", "deletion")
Part = Callable[[Environments, Peer], Figures]


def names(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """The names in a comma-separated list; argparse reports unknown ones."""

    def parse(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",")]
        if unknown := [name for name in found if name not in allowed]:
            raise argparse.ArgumentTypeError(f"must be some of {', '.join(allowed)} (got {unknown[0]!r})")
        return found

    return parse


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs="*", help="files for recall, in the formats of bench/recall.py")
    arguments.add_argument("--peers", type=names([*PEERS]), default=[*PEERS], help=f"of {','.join(PEERS)}")
    arguments.add_argument("--only", type=names(PARTS), default=list(PARTS), help=f"of {','.join(PARTS)}")
    arguments.add_argument("--messages", type=int, default=600, help="in calls of ten, for speed")
    arguments.add_argument("--grown", type=int, default=2_000, help="messages after which memory is measured again")
    arguments.add_argument("--kills", type=int, default=10)
    arguments.add_argument("--every", type=int, default=4, help="ask only every n-th question")
    arguments.add_argument("--budget", type=int, default=2_000, help="tokens of a context")
    arguments.add_argument("--environments", type=Path, default=runs.ROOT, help="the folder of the environments")
    runs.add_option(arguments)
    arguments.add_argument("--json", type=Path)
    return arguments


def parts(chosen: argparse.Namespace, kept: Run) -> dict[str, Part]:
    """What is measured, by its name in the report; recall needs data."""
    read = [formats.read(file) for file in chosen.data]
    found: dict[str, Part] = {
        "speed": lambda at, peer: speed(at, peer, count=chosen.messages, grown=chosen.grown),
        "kills": lambda at, peer: kills(at, peer, times=chosen.kills),
        "full_disk": full_disk,
        "two_writers": two_writers,
        "recall": lambda at, peer: recall(at, peer, read, kept, every=chosen.every, budget=chosen.budget),
        "deletion": deletion,
    }
    return {name: part for name, part in found.items() if name in chosen.only and (read or name != "recall")}


def measure(environments: Environments, peer: Peer, wanted: dict[str, Part], figures: Figures) -> None:
    """Each part's figures; one that failed says so in its place, and the others go on."""
    try:
        with empty_directory() as directory, Child(environments, peer, directory) as child:
            figures |= child.call("about")
    except Failed as error:
        print(f"{peer.name} does not start: {error}")
        return
    for name, part in wanted.items():
        print(f"{peer.name}: {name} ... ", end="", flush=True)
        began = time.perf_counter()
        try:
            figures[name] = part(environments, peer)
        except Failed as error:
            figures[name] = {"failed": str(error)}
        print(f"{time.perf_counter() - began:.0f} s{' failed' if 'failed' in figures[name] else ''}", flush=True)


def main() -> None:
    chosen = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # processes and mounted disks end with their blocks
    settings = Settings()
    environments = Environments(chosen.environments, find_source(settings.embedding_model).folder)
    kept = Run({"about": runs.about(settings, chosen.data), "peers": {}})
    wanted = parts(chosen, kept)
    try:
        for peer in map(PEERS.__getitem__, chosen.peers):
            if environments.has(peer):
                measure(environments, peer, wanted, kept.report["peers"].setdefault(peer.name, {}))
            else:
                print(f"{peer.name} is left out: {peer.environment} is missing; `make install-peers` installs it")
    finally:  # keep what was measured before a failure
        for each in requests(kept.report["peers"]):
            kept.add(**each)
        kept.report = without_requests(kept.report)
        print(table(kept.report["peers"]))
        if chosen.json:
            chosen.json.write_text(json.dumps(kept.report, indent=2) + "\n")
        if chosen.results:
            kept.write(chosen.results)


if __name__ == "__main__":
    main()
