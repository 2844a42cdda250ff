"""The doubles of the tests' harness, whose folder this package puts on the path."""

from __future__ import annotations

from harness.doubles import FakeEmbedder, FakeEmbedders, InMemoryLocks, InMemoryQueue, InMemoryVectors

__all__ = ["FakeEmbedder", "FakeEmbedders", "InMemoryLocks", "InMemoryQueue", "InMemoryVectors"]
