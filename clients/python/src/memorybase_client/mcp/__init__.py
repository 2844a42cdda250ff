"""The MCP server: tools, resources and prompts over the HTTP API. Needs the extra `mcp`.

__main__      the command memorybase-mcp
server        the server, and its transports: build_server, http_sessions, serve_stdio
instructions  what the server tells a model about itself
scope         whose memory a call may reach, and the errors that a model reads
tools         the eight tools
answers       their output schemas
documents     resources: transcripts, summaries and messages as text
prompts       recall and catch_up

The API mounts the same server at /mcp, with a client that calls the API in its own process.
"""

from __future__ import annotations

import gc
from importlib import metadata
from importlib.util import find_spec

OLDEST = 2  # an earlier SDK, which another package may have brought, has no MCPServer


def is_installed() -> bool:
    """Whether the extra is installed. Importing this package alone loads nothing of it."""
    return find_spec("mcp") is not None and int(metadata.version("mcp").split(".")[0]) >= OLDEST


def serve_stdio(url: str, key: str, *, flow: str | None, end_user: str | None) -> None:
    """Serve one scope of the API at this address on standard input and output, until the input ends."""
    # The SDK's import takes most of the start, and creates objects that all stay: collecting garbage meanwhile would
    # add half of its time.
    gc.disable()
    try:
        from memorybase_client.mcp import server
    finally:
        gc.enable()
    gc.freeze()
    server.serve_stdio(url, key, flow=flow, end_user=end_user)
