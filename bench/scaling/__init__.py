"""The parts of bench/scale.py: a store of a given size, and what its operations cost.

    texts       made turns and answers; word frequencies by Zipf
    embedder    vectors with topics for these texts, which cost nothing to compute
    rows        rows as captures and jobs leave them, in batches
    bulk        rows into SQLite or PostgreSQL, with the secondary indexes built afterwards
    stage       the servers, the services over them, and the processor time of each
    operations  what a user does again and again
    long_runs   what is done once in a while: mismatch, reconcile, export, backup, regenerate
    storage     bytes of each table and index, memory and disk of each process
    report      the table and the plot

What is made depends on the seed alone, except for ids and times.
"""

from __future__ import annotations

import sys
from pathlib import Path

# For the tests' harness, which has the servers.
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
