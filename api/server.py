"""The server: uvicorn with bounds on connections, headers and time, and without trust in forwarded addresses."""

from __future__ import annotations

import gc
from typing import cast

import uvicorn
from fastapi import FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from api.app import application
from api.connections import Connections
from api.file_limit import raise_file_limit
from api.http_protocol import BoundedHttp, Bounds
from api.limits import site_of
from memorybase import telemetry
from memorybase.settings import Settings
from memorybase.telemetry import get_logger

# Files that are not connections of callers: of the database, Redis, Chroma, models and logs.
OWN_FILES = 256
# Without this, stopping would wait for clients to close their event streams.
STOP_SECONDS = 3
COLLECT_AFTER = 10_000  # objects

log = get_logger(__name__)


def serve(host: str, port: int, root_path: str = "") -> None:
    """Serve the API until SIGTERM or SIGINT."""
    app = application()
    settings: Settings = app.state.settings
    telemetry.configure(settings)
    app.state.connections_bounded = True
    _spare_the_collector()
    uvicorn.run(
        app,
        host=host,
        port=port,
        root_path=root_path,
        http=bounded_protocol(app, raise_file_limit()),
        ws="none",
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=STOP_SECONDS,
        proxy_headers=False,  # the application trusts the setting trusted_proxies
        server_header=False,
        access_log=False,
    )


def _spare_the_collector() -> None:
    """What is loaded now stays: leave it out of every later collection. And collect less often, since the thousands of
    objects that a request makes are freed without."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)


def bounded_protocol(app: FastAPI, files: int) -> type[BoundedHttp]:
    """The protocol of a server, whose connections share their bounds; `files` is the limit of open files."""
    settings: Settings = app.state.settings
    proxies = ProxyHeadersMiddleware(app, settings.trusted_proxies).trusted_hosts  # type: ignore[arg-type]
    most = min(settings.max_connections, max(files - OWN_FILES, files // 2))
    if most < settings.max_connections:
        log.warning("file_limit_low", limit=files, max_connections=most)
    connections = Connections(
        most,
        min(settings.max_connections_per_address, most),
        lambda address: None if address in proxies else site_of(address),
    )
    bounds = Bounds(
        connections=connections,
        max_header_bytes=settings.max_header_bytes,
        header_seconds=settings.header_timeout_seconds,
        body_seconds=settings.body_timeout_seconds,
        write_seconds=settings.write_timeout_seconds,
    )
    return cast("type[BoundedHttp]", type("ServedHttp", (BoundedHttp,), {"bounds": bounds}))
