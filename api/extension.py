"""What a feature adds to the API."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Operations, and what the document says of their tag if the core has none of it."""

    router: APIRouter
    tag: str = ""
    description: str = ""
