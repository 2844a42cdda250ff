"""Knowledge bases of documents. SQL is the source of truth: a document's row holds its text, and its chunks can be
rebuilt from it. The registry of knowledge bases is the core's, since each memory base has an entry.

    knowledge   list all knowledge bases; create, search, rebuild and delete ordinary ones. Callers use this module
    documents   chunk, embed, write and find the documents of an ordinary one
    comparison  compare collections with SQL, and rebuild what a restore has lost
    models, queries, hooks; routes and page for the API and the web page
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybase.extension import Extension

if TYPE_CHECKING:
    from api.extension import Routes
    from api.web.extension import Pages
    from memorybase.extension import Hooks


def _hooks() -> Hooks:
    from memorybase.features.documents import hooks

    return hooks.HOOKS


def _routes() -> Routes:
    from memorybase.features.documents import routes

    return routes.ROUTES


def _pages() -> Pages:
    from memorybase.features.documents import page

    return page.PAGES


EXTENSION = Extension(name="documents", hooks=_hooks, routes=_routes, pages=_pages)
