"""`python -m upgrade --database sqlite`: one upgrade, the report as text, exit code 1 after a violation.

`make check-upgrade` runs tests/acceptance/test_upgrade.py, which has several.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from upgrade.run import plan_of, run
from upgrade.versions import NoHistory, older_version


def main() -> int:
    parser = argparse.ArgumentParser(prog="upgrade", description=__doc__)
    parser.add_argument("--old", default="", help="a git ref or a folder; else the version before the newest migration")
    parser.add_argument("--before", default="", help="instead: the version before this revision")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="postgresql")
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds of load in each step")
    parser.add_argument("--seed", type=int, default=None, help="repeats the choices of a run, not its timing")
    parser.add_argument("--keep", action="store_true", help="keep logs and history also of a run that is fine")
    options = parser.parse_args()
    # Ctrl-C and SIGTERM end every process that was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with tempfile.TemporaryDirectory(prefix="memorybase-old-") as folder:
        try:
            old = older_version(Path(folder), options.old, before=options.before)
        except NoHistory as error:
            sys.exit(f"error: {error}")
        report = run(plan_of(seed, options.seconds, options.database), old, keep=options.keep)
    sys.stdout.write(f"{report}\n")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
