"""Real services for the tests: each a child process of its own, in a directory of its own, stopped by its pid."""

from __future__ import annotations

from harness.chroma import ChromaServer
from harness.postgres import PostgresServer
from harness.process import Server
from harness.redis import RedisServer
from harness.stack import EmbeddedStack
from harness.waiting import wait_until

__all__ = ["ChromaServer", "EmbeddedStack", "PostgresServer", "RedisServer", "Server", "wait_until"]
