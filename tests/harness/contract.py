"""The OpenAPI document as it is committed; tests/integration/api/test_openapi.py holds it against the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
# To read it takes a hundredth of what it takes to make it, in every test process.
CONTRACT: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
