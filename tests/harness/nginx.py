"""nginx with the configuration that docs/howto/run-in-production.md shows."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from harness.process import PortServer, claim_port

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "run-in-production.md"
FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def documented() -> str:
    """The configuration on the page."""
    (found,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


class NginxServer(PortServer):
    """In front of an API on this machine. Only ports and the certificate differ from the page."""

    name = "nginx"

    def __init__(self, directory: Path, api_port: int) -> None:
        super().__init__(directory)
        self.api_port = api_port
        self.http_port, self._http_claim = claim_port()
        self._program = next(filter(None, map(shutil.which, ("nginx", "/usr/sbin/nginx"))), None)
        if self._program is None:
            pytest.fail("The test of the reverse proxy needs nginx: apt-get install nginx", pytrace=False)

    def close(self) -> None:
        super().close()
        self._http_claim.close()

    def command(self) -> list[str]:
        self._write()
        assert self._program is not None
        return [self._program, "-p", str(self.directory), "-c", "nginx.conf", "-e", "error.log"]

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port)):
                return True
        except OSError:
            return False

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    def trust(self) -> ssl.SSLContext:
        """A client's context that trusts its certificate."""
        return ssl.create_default_context(cafile=str(self.directory / "fullchain.pem"))

    def _write(self) -> None:
        site = documented()
        for ours, test in (
            ("listen 80;", f"listen 127.0.0.1:{self.http_port};"),
            ("listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"),
            ("server 127.0.0.1:8000;", f"server 127.0.0.1:{self.api_port};"),
            ("/etc/letsencrypt/live/memory.example.com", str(self.directory)),
        ):
            assert ours in site, f"{PAGE.name} has no longer {ours}"
            site = site.replace(ours, test)
        (self.directory / "memorybase.conf").write_text(site)
        temporary = "\n".join(f"{each}_temp_path {each};" for each in FOLDERS)
        user = "user root;" if os.getuid() == 0 else ""
        (self.directory / "nginx.conf").write_text(
            f"{user} daemon off; pid nginx.pid; events {{}}\n"
            f"http {{ access_log off; {temporary}\ninclude memorybase.conf; }}\n"
        )
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost",
                "-keyout",
                "privkey.pem",
                "-out",
                "fullchain.pem",
            ],
            cwd=self.directory,
            check=True,
            capture_output=True,
        )
