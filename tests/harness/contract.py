"""The committed OpenAPI document; tests/integration/api/test_openapi.py compares it with the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
# In every test process, reading it takes a hundredth of the time of building it.
CONTRACT: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
