"""An authorization server's metadata and keys on the loopback address, and tokens that it signs, right ones and wrong.
For whole sign-ins there is harness.oidc."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PUBLIC_URL = "https://memory.example.com"


@cache
def key_named(kid: str) -> RSAPrivateKey:  # noqa: ARG001 - names the key for the cache
    """Generating one takes a tenth of a second."""
    return generate_private_key(65_537, 2_048)


def public_pem(kid: str) -> bytes:
    return key_named(kid).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def jwk_of(kid: str, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(key_named(kid).public_key(), as_dict=True)
    return {**found, "kid": kid, "use": "sig", "alg": "RS256", **fields}


@dataclass
class IssuerServer:
    """Its documents can be changed at any time. `status`: of every answer; while `is_silent`, none comes until
    `released`."""

    url: str
    keys: list[dict[str, Any]] = field(default_factory=lambda: [jwk_of("first")])
    metadata: dict[str, Any] = field(default_factory=dict)  # in place of the right fields
    status: int = 200
    is_silent: bool = False
    id_token: str = ""  # for every code
    forms: list[dict[str, list[str]]] = field(default_factory=list)  # that its token endpoint was sent
    authorized: list[str | None] = field(default_factory=list)  # by which header
    released: Event = field(default_factory=Event)
    asked: list[str] = field(default_factory=list)

    def token(self, kid: str = "first", *, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token of anna's for the whole server, but for these claims; None leaves one out."""
        now = int(time.time())
        usual = {"iss": self.url, "sub": "anna", "aud": f"{PUBLIC_URL}/mcp", "scope": "memory:read memory:write"}
        payload = {**usual, "iat": now, "exp": now + 300, **claims}
        sent = {name: value for name, value in payload.items() if value is not None}
        return jwt.encode(sent, key_named(kid), "RS256", headers={"kid": kid, "typ": "at+jwt", **(headers or {})})

    def document(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            addresses = {name: f"{self.url}/{name}" for name in ("authorization_endpoint", "token_endpoint")}
            return {"issuer": self.url, "jwks_uri": f"{self.url}/jwks", **addresses, **self.metadata}
        return {"keys": self.keys} if path == "/jwks" else None


def unsigned(token: str, header: dict[str, Any]) -> str:
    """The token's claims under this header, without a signature."""
    return f"{written(json.dumps(header).encode())}.{token.split('.')[1]}."


def written(part: bytes) -> str:
    """As a part of a token."""
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


@contextmanager
def serve_issuer() -> Iterator[IssuerServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            if issuer.is_silent:
                issuer.released.wait()
            self._answer(issuer.document(self.path))

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            issuer.forms.append(parse_qs(sent))
            issuer.authorized.append(self.headers.get("Authorization"))
            self._answer({"id_token": issuer.id_token})

        def _answer(self, found: dict[str, Any] | None) -> None:
            self.send_response(issuer.status if found is not None else 404)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    issuer = IssuerServer(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield issuer
    finally:
        issuer.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
