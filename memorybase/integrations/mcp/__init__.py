"""The MCP server: tools, resources and prompts over the HTTP API. Needs the extra `mcp`.

server      the server, and its transports: build_server, http_sessions, serve_stdio
scope       whose memory a call may reach, and its calls of the HTTP API
tools       the eight tools
answers     their output schemas
documents   resources: transcripts, summaries and messages as text
prompts     recall and catch_up
"""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

OLDEST = 2  # an earlier SDK, which another package may have brought, has no MCPServer


def is_installed() -> bool:
    """Whether the extra is installed. Importing this package alone loads nothing of it."""
    return find_spec("mcp") is not None and int(metadata.version("mcp").split(".")[0]) >= OLDEST
