"""`make soak DURATION=3600`: an hour of mixed load with faults of the machine; its report as text. Needs root (mount)
and a C compiler."""

from __future__ import annotations

import argparse
import random
import signal
import sys

import runs

from soak.run import Plan, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--duration", type=float, default=3600.0, help="seconds of load")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--rate", type=float, default=20.0, help="messages a second that the clients aim at")
    parser.add_argument("--disk", type=int, default=4_000, help="size of the disk in MB")
    parser.add_argument("--one-process", action="store_true", help="`memorybase up --one-process`")
    runs.add_option(parser)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    plan, about = Plan(seed, options.duration, options.one_process, options.rate, options.disk), runs.machine()
    report = run(plan)
    sys.stdout.write(f"{report}\n")
    if options.results:
        report.kept(about, plan).write(options.results)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
