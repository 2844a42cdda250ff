"""mcp: the MCP server on standard input and output."""

from __future__ import annotations

from typing import Annotated

import typer
from memorybase_client.mcp import is_installed, serve_stdio

from memorybase import errors
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, address


def mcp(
    *,
    flow: Annotated[
        str | None, typer.Option(help="The id of the flow to serve. (default: the key's only flow)", show_default=False)
    ] = None,
    end_user: Annotated[
        str | None, typer.Option("--end-user", help="Serve only the sessions of this end user.", show_default=False)
    ] = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Serve MCP on standard input and output, for agents that start a program."""
    if not is_installed():
        raise errors.NotReady(errors.lacks_extra("The MCP server", "mcp"))
    api, secret = address(data_dir, url, key)
    serve_stdio(api, secret, flow=flow or None, end_user=end_user or None)
