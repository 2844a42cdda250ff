"""Two PostgreSQL servers, of which one follows the other, and which change places when the first is killed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psutil

from harness.postgres import USER, PostgresServer
from harness.waiting import wait_until

CATCH_UP_SECONDS = 60.0
SETTINGS = {"full_page_writes": "on"}  # for pg_rewind


class Standby(PostgresServer):
    """A streaming standby of a running server, under a name that is also that of its slot."""

    def __init__(self, primary: PostgresServer, name: str) -> None:
        self._primary = primary
        self._name = name
        super().__init__(**SETTINGS)

    def _make_cluster(self) -> None:
        source = self._primary.conninfo(application_name=self._name)
        self.run_program(
            "pg_basebackup",
            "--dbname",
            source,
            "--pgdata",
            str(self.data),
            "--write-recovery-conf",
            "--create-slot",
            "--slot",
            self._name,
            "--checkpoint",
            "fast",
            "--no-sync",
        )


class Replicated:
    """`primary` takes writes, `standby` follows it. `synchronous`: a commit waits for the standby."""

    def __init__(self, *, synchronous: bool) -> None:
        self.synchronous = synchronous
        self.primary = PostgresServer(**SETTINGS)
        self.standby = self.primary  # until start()
        self._servers: list[PostgresServer] = [self.primary]
        self._names = {id(self.primary): "s0"}

    def start(self) -> None:
        self.primary.start()
        # pg_rewind needs the log since before the promotion. It starts the server itself, without our arguments.
        self.primary.execute("ALTER SYSTEM SET wal_keep_size = '256MB'")
        self.standby = Standby(self.primary, "s1")
        self._servers.append(self.standby)
        self._names[id(self.standby)] = "s1"
        self.standby.start()
        self._set_up_pair()

    def close(self) -> None:
        for server in self._servers:
            if server.running:  # a standby that is not there would hold the stop of its primary up
                server.kill_all()
            server.close()

    def url(self, dbname: str) -> str:
        """Both servers, in an order that does not change."""
        hosts = "&".join(f"host={server.directory}" for server in self._servers)
        return f"postgresql+psycopg://{USER}@/{dbname}?{hosts}"

    def create_database(self) -> str:
        """A database with the tables, on both servers."""
        name = self.primary.create_database(template=self.primary.template)
        self.wait_for_standby()
        return name

    def promote(self) -> None:
        """Make the standby the primary, which it becomes without the setting that makes commits wait."""
        self.standby.execute("SELECT pg_promote()")
        self.primary, self.standby = self.standby, self.primary

    def fail_over(self) -> None:
        """Kill the primary and promote its standby."""
        self.primary.kill_all()
        self.promote()

    def rejoin(self) -> None:
        """Make the killed server a standby of the new primary."""
        name = self._names[id(self.standby)]
        source = self.primary.conninfo(application_name=name)
        self.standby.run_program(
            "pg_rewind", "-D", str(self.standby.data), "--source-server", source, "-R", "--no-sync"
        )
        self.primary.execute(f"SELECT pg_create_physical_replication_slot('{name}')")
        # pg_rewind has copied the other server's configuration, with the slot that it used.
        with (self.standby.data / "postgresql.auto.conf").open("a") as configuration:
            configuration.write(f"primary_slot_name = '{name}'\n")
        self.standby.start()
        self._set_up_pair()

    def wait_for_standby(self) -> None:
        """Until the standby has replayed what is committed now."""
        ((position,),) = self.primary.execute("SELECT pg_current_wal_flush_lsn()")
        statement = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        wait_until(lambda: self.standby.execute(statement) == [(True,)], CATCH_UP_SECONDS, "the standby has caught up")

    def stop_shipping(self) -> None:
        """Freeze what sends the log: commits are acknowledged, unless they wait for the standby, and go nowhere."""
        for sender in self._senders():
            sender.suspend()

    def ship_again(self) -> None:
        for sender in self._senders():
            with suppress(psutil.NoSuchProcess):
                sender.resume()

    def _senders(self) -> list[psutil.Process]:
        return [psutil.Process(pid) for (pid,) in self.primary.execute("SELECT pid FROM pg_stat_replication")]

    def _set_up_pair(self) -> None:
        names = self._names[id(self.standby)] if self.synchronous else ""
        self.primary.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        self.primary.execute("SELECT pg_reload_conf()")
        state = "sync" if self.synchronous else "async"
        wait_until(lambda: self._states() == [("streaming", state)], CATCH_UP_SECONDS, f"the standby is {state}")

    def _states(self) -> list[tuple[Any, ...]]:
        return self.primary.execute("SELECT state, sync_state FROM pg_stat_replication")
