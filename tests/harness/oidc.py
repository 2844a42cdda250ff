"""A certified OpenID Connect provider, oidc-provider of npm, and a person who signs in to it with a browser."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

import httpx

from harness.process import PortServer

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "mcp_clients" / "oidc.js"
MODULES = ROOT / ".mcp-clients" / "node_modules"
PAGE_SECRET = "the-secret-of-the-page"

_ACTION = re.compile(r'action="([^"]+)"')
_FIELDS = re.compile(r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"')


class OidcServer(PortServer):
    """It issues tokens for the resources of memorybase at this address."""

    name = "oidc"

    def __init__(self, directory: Path, public_url: str) -> None:
        super().__init__(directory)
        self.public_url = public_url

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        folder = self.directory / "oidc"
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / PROGRAM.name).write_text(PROGRAM.read_text())
        if not (folder / "node_modules").exists():
            (folder / "node_modules").symlink_to(MODULES)
        return ["node", str(folder / PROGRAM.name), str(self.port), self.public_url, PAGE_SECRET]

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/jwks", trust_env=False, timeout=60).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


def sign_in(address: str, person: str, until: str) -> str:
    """Where the provider sends the browser of a person who signs in and agrees: an address that begins so."""
    with httpx.Client(trust_env=False, timeout=60) as browser:
        for _ in range(20):
            if address.startswith(until):
                return address
            answer = browser.get(address)
            if answer.is_redirect:
                address = urljoin(address, answer.headers["location"])
                continue
            assert answer.status_code == httpx.codes.OK, answer.text
            forms = _ACTION.search(answer.text)
            assert forms, answer.text
            fields = dict(_FIELDS.findall(answer.text))
            answer = browser.post(urljoin(address, forms[1]), data={**fields, "login": person, "password": "any"})
            address = urljoin(address, answer.headers["location"])
    raise AssertionError(f"the sign-in ended at {address}")
