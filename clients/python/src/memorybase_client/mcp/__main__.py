"""`memorybase-mcp`, or `python -m memorybase_client.mcp`: the MCP server on standard input and output."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from memorybase_client import __version__, errors
from memorybase_client._calls import DEFAULT_URL, connection_of
from memorybase_client.mcp import is_installed, serve_stdio

INTERRUPTED = 130  # as shells do it


def main() -> None:
    """Serve until the input ends. There is no option for the key: every user of the machine can read options."""
    options = _options()
    url, key = _connection(options)
    if not url.startswith(("http://", "https://")):
        _fail(f"The URL must begin with http:// or https:// (got {url!r})")
    if not is_installed():
        _fail("The extra mcp is missing. In a copy of the repository run: pip install './clients/python[mcp]'")
    try:
        serve_stdio(url, key, flow=options.flow or None, end_user=options.end_user or None)
    except errors.MemorybaseError as error:
        _fail(error.message)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "memorybase-mcp",
        description="Serve MCP on standard input and output, for agents that start a program. The API key is read "
        "from MEMORYBASE_API_KEY; without it, the stack that `memorybase up` runs for this user is found.",
        allow_abbrev=False,  # --key would be --key-file
    )
    parser.add_argument(
        "--url", help=f"the API's URL (default: MEMORYBASE_URL, else the stack of this machine, else {DEFAULT_URL})"
    )
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="a file that holds the API key")
    parser.add_argument(
        "--flow",
        default=os.environ.get("MEMORYBASE_FLOW"),
        help="the id of the flow to serve (default: MEMORYBASE_FLOW, else the key's only flow)",
    )
    parser.add_argument(
        "--end-user",
        default=os.environ.get("MEMORYBASE_END_USER"),
        help="serve only the sessions of this end user (default: MEMORYBASE_END_USER, else all sessions)",
    )
    parser.add_argument("--version", action="version", version=__version__)
    return parser.parse_args()


def _connection(options: argparse.Namespace) -> tuple[str, str]:
    key = None if options.key_file is None else _content(options.key_file)
    if key is not None and not key.strip():
        _fail(f"{options.key_file} must hold an API key (it is empty)")
    try:
        return connection_of(options.url, key)
    except ValueError as error:
        _fail(f"{error}. --key-file names a file that holds the key")


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        _fail(f"{file} cannot be read: {reason}")


def _fail(reason: str) -> NoReturn:
    sys.stderr.write(f"error: {reason}\n")
    sys.exit(1)


if __name__ == "__main__":
    main()
