"""memorybase: the memory of LLM flows."""

from __future__ import annotations

__version__ = "0.1.0"
