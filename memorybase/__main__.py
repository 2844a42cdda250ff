"""`python -m memorybase`, where the script is not on the PATH."""

from __future__ import annotations

from memorybase.cli import main

main()
