"""What the tests share. To get memorybase with a database there is one way of each kind:

World (world.py)          the domain in this process, with doubles (doubles.py) of everything but the database
Api (api.py)              HTTP in this process over a World
Served (served.py)        an Api on a port, with MCP if wanted
Topology (pieces.py)      a World over real stores, and processes over them that a test starts one by one
EmbeddedStack (stack.py)  `memorybase up`

A constant gets another value by monkeypatch, and in processes that a test starts by constants.py.

Real services are each a child process of its own, in a directory of its own, stopped by its pid.
"""

from __future__ import annotations

from harness.chroma import ChromaServer
from harness.postgres import PostgresServer
from harness.process import Server, running
from harness.redis import RedisServer
from harness.stack import EmbeddedStack
from harness.waiting import wait_until

__all__ = ["ChromaServer", "EmbeddedStack", "PostgresServer", "RedisServer", "Server", "running", "wait_until"]
