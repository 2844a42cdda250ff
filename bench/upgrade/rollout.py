"""Processes of an old and of a new version over the same stores, replaced one by one under load."""

from __future__ import annotations

import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from chaos.cluster import KEY, Cluster, Plan
from harness.pieces import ApiServer, SweeperServer
from harness.process import Server
from harness.worker import WorkerServer

from memorybase.core.database import migrate
from memorybase.core.settings import Settings
from upgrade.versions import Version

DRAIN_SECONDS = 40.0  # of a process that is asked to end
# A migration gives up when it does not get its lock, and is run again: docs/decisions/README.md#0010.
MIGRATION_TRIES = 5
MIGRATION_PAUSE_SECONDS = 1.0
CONSUMERS_FIRST = ("sweeper", "worker", "api")


class _OfVersion(Server):
    """A process that runs from the tree of its version."""

    version: Version

    def environment(self) -> dict[str, str]:
        return self.version.environment(super().environment())

    def popen_options(self) -> dict[str, Any]:
        return {"cwd": self.version.tree}


AnyServer = TypeVar("AnyServer", bound=_OfVersion)


class _Api(_OfVersion, ApiServer):
    pass


class _Worker(_OfVersion, WorkerServer):
    pass


class _Sweeper(_OfVersion, SweeperServer):
    pass


class Rollout(Cluster):
    """All processes of the old version at first, on tables that the old version made.

    `violations`: processes that did not end in time, or ended by themselves.
    """

    def __init__(self, plan: Plan, directory: Path, cleanup: ExitStack, old: Version) -> None:
        self.version = old
        self.violations: list[str] = []
        self.migrations = 0  # tries
        self._started = 0
        super().__init__(plan, directory, cleanup)

    def migrate(self, version: Version) -> None:
        """`memorybase migrate` of this version, while everything runs."""
        for _ in range(MIGRATION_TRIES):
            self.migrations += 1
            done = version.command("migrate", environment=self.settings.child_environment())
            if done.returncode == 0:
                revision = migrate.current(self.settings.resolved_database_url)
                if revision != version.revision or revision == self.version.revision:
                    self.violations.append(f"the migration from {self.version.revision} ended at {revision}")
                return
            time.sleep(MIGRATION_PAUSE_SECONDS)
        raise AssertionError(f"the migration failed {MIGRATION_TRIES} times: {done.stderr[-2000:]}")

    def replace(self, version: Version, kinds: tuple[str, ...] = CONSUMERS_FIRST, numbers: slice = slice(None)) -> None:
        """Replace processes by those of this version, kind by kind, one after the other."""
        self.version = version
        for kind in kinds:
            for name in self.names(kind)[numbers]:
                self._replace(name)

    def look_at_processes(self) -> None:
        """Remember which have ended by themselves."""
        self.violations += [f"{name} ended by itself" for name, each in self.servers.items() if not each.running]

    def _settings(self) -> Settings:
        return super()._settings().model_copy(update={"webhook_allowed_networks": ["127.0.0.0/8"]})

    def _prepare(self) -> None:
        environment = self.settings.child_environment() | {"MEMORYBASE_API_KEY": KEY}
        done = self.version.command("prepare", environment=environment)
        assert done.returncode == 0, f"memorybase prepare of {self.version.name} failed: {done.stderr[-2000:]}"

    def _api(self) -> ApiServer:
        return self._of_version(_Api(self.settings))

    def _worker(self, number: int) -> WorkerServer:
        self._started += 1
        return self._of_version(_Worker(self.settings, flags=("-n", f"upgrade{number}-{self._started}@%h")))

    def _sweeper(self) -> SweeperServer:
        return self._of_version(_Sweeper(self.services))

    def _of_version(self, server: AnyServer) -> AnyServer:
        server.version = self.version
        return server

    def _replace(self, name: str) -> None:
        kind, number = name.split("-")
        old = self.servers[name]
        if kind == "api":
            # At the same address, as behind a load balancer with fixed addresses; the other API answers meanwhile.
            assert isinstance(old, _Api)
            old.version = self.version
            self._end(old)
            old.start()
            return
        new = self._worker(int(number)) if kind == "worker" else self._sweeper()
        self._add(name, new)
        new.start()
        self._end(old)
        old.close()

    def _end(self, server: Server) -> None:
        """Ask it to end, as a process manager does."""
        assert server._process is not None, f"{server.name} was never started"
        server._process.terminate()
        try:
            server._process.wait(DRAIN_SECONDS)
        except subprocess.TimeoutExpired:
            self.violations.append(f"{server.name} did not end within {DRAIN_SECONDS:g} s")
            server.kill()
