"""Faults at random over real processes, and the invariants that hold afterwards; `python -m chaos` runs it."""

from __future__ import annotations
