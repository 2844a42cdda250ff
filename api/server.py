"""The server: uvicorn with bounds on connections, headers and time, and without trust in forwarded addresses."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from types import FrameType
from typing import cast

import uvicorn
from fastapi import FastAPI
from uvicorn.config import LOGGING_CONFIG
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from api.app import application
from api.connections import Connections
from api.file_limit import raise_file_limit
from api.http_protocol import BoundedHttp
from api.limits import site_of
from memorybase.core import collector, telemetry
from memorybase.core.settings import Settings
from memorybase.core.telemetry import get_logger

# Files that are not connections of callers: of the database, Redis, Chroma, models and logs.
OWN_FILES = 256
MAX_CONNECTIONS = 4_096
MAX_CONNECTIONS_PER_ADDRESS = 1_024  # trusted proxies have no separate bound
KEEP_ALIVE_SECONDS = 620  # of an idle connection; proxies must close theirs before, Google's do after 600
# Without this, stopping would wait for clients to close their event streams.
STOP_SECONDS = 3
TICK_SECONDS = 1.0  # between two looks at the time, for the header `Date`
EXIT_STARTUP = 3  # uvicorn's own

log = get_logger(__name__)


def serve(host: str, port: int, root_path: str = "") -> None:
    """Serve the API as this process until SIGTERM or SIGINT."""
    app = application()
    telemetry.configure(app.state.settings)
    if not serve_app(app, host, port, root_path):
        sys.exit(EXIT_STARTUP)


def serve_app(app: FastAPI, host: str, port: int, root_path: str = "", *, has_own_log: bool = True) -> bool:
    """Serve it until SIGTERM or SIGINT. Returns whether it has started. Without an own log of the server, its lines go
    where all others go."""
    app.state.connections_bounded = True
    collector.spare_loaded()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        root_path=root_path,
        http=bounded_protocol(app, raise_file_limit()),
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        proxy_headers=False,  # the application trusts the setting trusted_proxies
        server_header=False,
        access_log=False,
        log_config=LOGGING_CONFIG if has_own_log else None,
    )
    server = Server(config)
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    return server.started


class Server(uvicorn.Server):
    """uvicorn's own asks ten times a second whether to stop. This one is told, and tells waits and streams, whose
    connections it would cut."""

    _stop: asyncio.Event | None = None
    _loop: asyncio.AbstractEventLoop

    async def main_loop(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), TICK_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        cast("FastAPI", self.config.app).state.ending = True
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)


def bounded_protocol(app: FastAPI, files: int) -> type[BoundedHttp]:
    """The protocol of a server, whose connections share their bounds; `files` is the limit of open files."""
    settings: Settings = app.state.settings
    proxies = ProxyHeadersMiddleware(app, settings.trusted_proxies).trusted_hosts  # type: ignore[arg-type]
    most = min(MAX_CONNECTIONS, max(files - OWN_FILES, files // 2))
    if most < MAX_CONNECTIONS:
        log.warning("file_limit_low", limit=files, max_connections=most)
    connections = Connections(
        most,
        min(MAX_CONNECTIONS_PER_ADDRESS, most),
        lambda address: None if address in proxies else site_of(address),
    )
    return cast("type[BoundedHttp]", type("ServedHttp", (BoundedHttp,), {"all_connections": connections}))
