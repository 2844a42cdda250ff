"""A PostgreSQL of the benchmark's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.postgres import DEPLOYED, PostgresServer

# What PostgreSQL does by default: a commit waits for the disk. The last of two settings counts.
DURABLE = ("-c", "fsync=on", "-c", "full_page_writes=on")


class DurablePostgres(PostgresServer):
    """A server as it is deployed, unless settings say otherwise, without what makes the tests' quick to throw away."""

    def __init__(self, **settings: str) -> None:
        super().__init__(**DEPLOYED | settings)

    def command(self) -> list[str]:
        return [*super().command(), *DURABLE]


@contextmanager
def running_postgresql() -> Iterator[str]:
    """The URL of an empty database."""
    server = DurablePostgres()
    try:
        server.start()
        yield server.url(server.create_database())
    finally:
        server.close()
