"""Our reading of the harness's models: what a provider is given and returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Document:
    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, Any]] | None = None
    timestamp: str | None = None
    context: str | None = None
