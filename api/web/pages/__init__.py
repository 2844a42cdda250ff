"""One module a page."""

from __future__ import annotations


def register() -> None:
    """Make the pages known to NiceGUI."""
    from api.web.pages import (  # noqa: F401 - importing them registers them
        flows,
        health,
        jobs,
        keys,
        knowledge,
        memories,
        memory,
        run,
        search,
        session,
    )
