"""`make chaos DURATION=600 SEED=7 DATABASE=sqlite`, or `make chaos-net` on a network: the report as text and JSON."""

from __future__ import annotations

import argparse
import random
import signal
import sys
from pathlib import Path

import runs
from harness.namespace import why_not

from chaos.cluster import Plan
from chaos.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--duration", type=float, default=60.0, help="seconds of faults")
    parser.add_argument("--seed", type=int, default=None, help="repeats the choices of a run, not its timing")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "replicated"), default="sqlite")
    parser.add_argument("--vectors", choices=("chroma", "pgvector"), default="chroma", help="pgvector: not on sqlite")
    parser.add_argument("--workers", type=int, default=None, help="3, on SQLite 2")
    parser.add_argument("--rate", type=float, default=50.0, help="messages a second that the clients aim at")
    parser.add_argument(
        "--one-process", action="store_true", help="on sqlite, a fault every 8 s: a start takes seconds"
    )
    parser.add_argument("--kills", type=int, default=0, help="nothing but kills, and no more than these")
    parser.add_argument("--network", action="store_true", help="every process in a network namespace; root and Linux")
    parser.add_argument("--keep", action="store_true", help="keep logs, faults and history also of a run that is fine")
    parser.add_argument("--report", type=Path, default=None, help="where to write the report as JSON")
    runs.add_option(parser)
    options = parser.parse_args()
    if options.vectors == "pgvector" and options.database == "sqlite":
        parser.error("--vectors pgvector needs --database postgresql or replicated")
    if options.one_process and (options.database != "sqlite" or options.network):
        parser.error("--one-process runs on sqlite, without --network")
    # Ctrl-C and SIGTERM end every process that was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    if options.network and (needed := why_not()):
        sys.exit(f"error: {needed}")
    if options.network and options.database == "replicated":
        sys.exit("error: --network runs on sqlite or postgresql")
    workers = options.workers or (2 if options.database == "sqlite" and not options.network else 3)
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    about = runs.machine()
    report = run(
        Plan(
            seed,
            options.duration,
            options.database,
            vectors=options.vectors,
            workers=workers,
            messages_per_second=options.rate,
            one_process=options.one_process,
            kills=options.kills,
            fault_every_seconds=8.0 if options.one_process else 1.8,
            network=options.network,
            apis=2 if options.network else 1,
            call_seconds=4 if options.network else 10,
        ),
        keep=options.keep,
    )
    sys.stdout.write(f"{report}\n")
    if options.report:
        options.report.write_text(report.as_json() + "\n")
    if options.results:
        report.kept(about).write(options.results)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
