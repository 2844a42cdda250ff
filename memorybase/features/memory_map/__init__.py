"""The map of a memory base: its messages in two dimensions, near where they say alike things.

    projection  vectors to two dimensions by their principal components
    clusters    groups of near messages, and the words that name a group
    job         a worker computes a map and stores it; the sweeper repeats a lost notification
    read        request a map; read it, with a question projected onto it
    page_data   what the page's script draws
    models, queries, hooks; routes and page for the API and the web page

Only numbers are stored. Who speaks, in which session, and the words that name a cluster are read from the messages, so
what was deleted or edited does not show. Callers use `read.request_map`, `read.get_map` and `read.messages_on_map`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybase.extension import Extension

if TYPE_CHECKING:
    from api.extension import Routes
    from api.web.extension import Pages
    from memorybase.extension import Hooks


def _hooks() -> Hooks:
    from memorybase.features.memory_map import hooks

    return hooks.HOOKS


def _routes() -> Routes:
    from memorybase.features.memory_map import routes

    return routes.ROUTES


def _pages() -> Pages:
    from memorybase.features.memory_map import page

    return page.PAGES


EXTENSION = Extension(name="memory_map", hooks=_hooks, routes=_routes, pages=_pages)
