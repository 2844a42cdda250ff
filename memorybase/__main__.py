"""`python -m memorybase`, where the script is not on the PATH."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; Ctrl-C while it is still being loaded ends it silently."""
    try:
        from memorybase import cli
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
