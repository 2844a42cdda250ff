"""PgBouncer in transaction mode, with the configuration that docs/howto/postgresql.md shows."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness.postgres import USER, PostgresServer
from harness.process import PortServer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "postgresql.md"
PROGRAM = next(filter(None, map(shutil.which, (os.environ.get("PGBOUNCER", "pgbouncer"), "/usr/sbin/pgbouncer"))), None)
SERVER_CONNECTIONS = 2  # fewer than clients, so that they share


class PgBouncerServer(PortServer):
    """In front of every database of one server; as root it runs under another account."""

    name = "pgbouncer"

    def __init__(self, postgres: PostgresServer) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="memorybase-pgbouncer-", dir="/tmp")))
        if PROGRAM is None:
            pytest.fail("The tests of PgBouncer need it: apt-get install pgbouncer, or PGBOUNCER=path", pytrace=False)
        self.postgres = postgres
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._account is not None:
            os.chown(self.directory, self._account.pw_uid, self._account.pw_gid)

    @cached_property
    def prepares(self) -> bool:
        """Whether this version knows prepared statements."""
        said = subprocess.run([str(PROGRAM), "--version"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"PgBouncer (\d+)\.(\d+)", said)
        assert version is not None, said
        return (int(version[1]), int(version[2])) >= (1, 21)

    def url(self, dbname: str, **parameters: str) -> str:
        """SQLAlchemy's URL of a database behind the pooler; it prepares statements if this version knows them."""
        parameters = {"prepared_statements": "on" if self.prepares else "off", **parameters}
        further = "".join(f"&{name}={value}" for name, value in parameters.items())
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/{dbname}?pooler=transaction{further}"

    def command(self) -> list[str]:
        configuration = self.directory / "pgbouncer.ini"
        configuration.write_text(self._configuration())
        (self.directory / "users").write_text(f'"{USER}" ""\n')
        return [str(PROGRAM), str(configuration)]

    def popen_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": self.directory}
        if self._account is not None:
            options |= {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        return options

    def answers(self) -> bool:
        try:
            with psycopg.connect(host="127.0.0.1", port=self.port, user=USER, dbname="postgres", connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.directory)

    def _configuration(self) -> str:
        """The page's, for every database of the test's server."""
        (page,) = re.findall(r"```ini\n(\[databases\].*?)```", PAGE.read_text(), re.DOTALL)
        text = re.sub(r"^memorybase = .*$", f"* = host={self.postgres.directory} user={USER}", page, flags=re.MULTILINE)
        text = re.sub(
            r"^default_pool_size = .*$", f"default_pool_size = {SERVER_CONNECTIONS}", text, flags=re.MULTILINE
        )
        if not self.prepares:
            text = re.sub(r"^max_prepared_statements.*\n", "", text, flags=re.MULTILINE)
        return text + (
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {self.directory}/users\n"
        )
