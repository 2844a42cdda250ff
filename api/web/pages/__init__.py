"""One module for each page."""

from __future__ import annotations


def register() -> None:
    """Register the pages with NiceGUI."""
    from api.web.pages import (  # noqa: F401 - the import registers them
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
