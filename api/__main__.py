"""`python -m api --host 127.0.0.1 --port 8000`: serve the API."""

from __future__ import annotations

import argparse
import sys

from memorybase.core import collector


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m api", description="Serve the API and the web page.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
    parser.add_argument("--root-path", default="", help="path prefix that a reverse proxy removes, such as /memory")
    options = parser.parse_args()
    with collector.spared():
        import pydantic

        from api import server
        from memorybase.core.settings import describe_settings
    try:
        server.serve(options.host, options.port, options.root_path)
    except pydantic.ValidationError as error:
        sys.exit(f"error: {describe_settings(error)}")


if __name__ == "__main__":
    main()
