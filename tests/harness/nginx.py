"""nginx with the configuration of docs/howto/run-in-production.md, or with the sign-in of page-behind-a-proxy.md."""

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

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto"
LOCATIONS = re.compile(r"    location / \{.*?\n    \}\n.*?(?=\n\}\n)", re.DOTALL)
# What asks for a person's account: a cookie names one who is signed in.
SIGN_IN = """
server {{
    listen 127.0.0.1:{port};
    location = /oauth2/auth {{
        if ($cookie_person = "") {{ return 401; }}
        add_header X-Auth-Request-Email $cookie_person;
        return 204;
    }}
    location / {{ return 200 "who are you?"; }}
}}
"""
FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def documented(page: str) -> str:
    """The configuration on the page."""
    (found,) = re.findall(r"```nginx\n(.*?)```", (HOWTO / page).read_text(), re.DOTALL)
    return str(found)


def _replaced(text: str, old: str, new: str) -> str:
    assert old in text, f"the page has no longer {old}"
    return text.replace(old, new)


class NginxServer(PortServer):
    """In front of an API on this machine. Only ports and the certificate differ from the pages. `with_sign_in`: people
    sign in before they see the page."""

    name = "nginx"

    def __init__(self, directory: Path, api_port: int, *, with_sign_in: bool = False) -> None:
        super().__init__(directory)
        self.api_port = api_port
        self.with_sign_in = with_sign_in
        self.sign_in_port, self._sign_in_claim = claim_port()
        self.http_port, self._http_claim = claim_port()
        self._program = next(filter(None, map(shutil.which, ("nginx", "/usr/sbin/nginx"))), None)
        if self._program is None:
            pytest.fail("The test of the reverse proxy needs nginx: apt-get install nginx", pytrace=False)

    def close(self) -> None:
        super().close()
        self._http_claim.close()
        self._sign_in_claim.close()

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

    def _signing_in(self, site: str) -> str:
        locations = documented("page-behind-a-proxy.md")
        locations = _replaced(locations, "127.0.0.1:4180", f"127.0.0.1:{self.sign_in_port}")
        return _replaced(site, LOCATIONS.findall(site)[0], locations) + SIGN_IN.format(port=self.sign_in_port)

    def _write(self) -> None:
        site = documented("run-in-production.md")
        for ours, test in (
            ("listen 80;", f"listen 127.0.0.1:{self.http_port};"),
            ("listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"),
            ("server 127.0.0.1:8000;", f"server 127.0.0.1:{self.api_port};"),
            ("/etc/letsencrypt/live/memory.example.com", str(self.directory)),
        ):
            site = _replaced(site, ours, test)
        if self.with_sign_in:
            site = self._signing_in(site)
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
