"""The parts of bench/ingest.py: what is measured, each section in a module of its own."""

from __future__ import annotations

import sys
from pathlib import Path

# For the tests' harness, which has the domain alone in one process, and a PostgreSQL.
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
