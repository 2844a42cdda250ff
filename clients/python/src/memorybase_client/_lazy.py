"""The models, imported when the first answer is parsed: pydantic takes as long to import as all else together."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Models:
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("memorybase_client.models"), name)


models = _Models()
