"""One module a page."""

from __future__ import annotations


def register() -> None:
    """Make the pages known to NiceGUI."""
    from api.web.pages import (  # noqa: F401 - importing them registers them
        health,
        keys,
        knowledge,
        memories,
    )
