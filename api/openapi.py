"""The contract as a file: `python -m api.openapi > docs/reference/openapi.json`."""

from __future__ import annotations

import json
import sys

from api.app import create_app


def document() -> str:
    """The OpenAPI document, written the same way every time."""
    return json.dumps(create_app().openapi(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
