"""Tone and words of the states that several views show as badges."""

from __future__ import annotations

SEARCHABLE = ("ok", "Searchable")
INGESTING = ("working", "Ingesting")
NOT_SEARCHABLE = ("failed", "Not searchable")
LOST = ("failed", "Lost its vectors")
