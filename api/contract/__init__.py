"""The OpenAPI document: FastAPI generates it from routes and types, and this package adds what code cannot say.

    document.py        the steps, in order: schemas and the properties that they describe, errors, headers
    parts.py           its properties, parameters and operations
    messages.py        schemas of messages, which the domain reads as plain JSON
    lines.py           schemas of bodies that are lines or events, not one JSON value
    typed.py           schemas of other plain JSON

Nothing here changes what the API accepts or returns. A test compares each schema with what it returns.
"""

from __future__ import annotations

from api.contract.document import SERVERS, TAGS, completed

__all__ = ["SERVERS", "TAGS", "completed"]
