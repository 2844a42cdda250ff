"""The committed OpenAPI document; tests/integration/api/test_openapi.py compares it with the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
# In every test process, reading it takes a hundredth of the time of building it.
CONTRACT: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """The part of the document itself, or that to which it refers."""
    while "$ref" in part:
        target: Any = CONTRACT
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part
