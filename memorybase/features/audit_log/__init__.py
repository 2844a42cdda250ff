"""The audit log: who changed or read what, when, and from where; never the text.

    recording   an entry in the transaction of its change, or in its own
    chain       sealing, verifying and pruning: each entry's hash covers the one before it
    entries     list and export
    models, queries, hooks; routes, page and commands for the API, the web page and the command line

An entry is written with its change, so there is none without the other. Sealing happens later, in the sweeper: a chain
in the transaction of a change would make every change wait for the one before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybase.extension import Extension

if TYPE_CHECKING:
    from api.extension import Routes
    from api.web.extension import Pages
    from memorybase.cli.extension import Commands
    from memorybase.extension import Hooks


def _hooks() -> Hooks:
    from memorybase.features.audit_log import hooks

    return hooks.HOOKS


def _routes() -> Routes:
    from memorybase.features.audit_log import routes

    return routes.ROUTES


def _pages() -> Pages:
    from memorybase.features.audit_log import page

    return page.PAGES


def _commands() -> Commands:
    from memorybase.features.audit_log import commands

    return commands.COMMANDS


EXTENSION = Extension(name="audit_log", hooks=_hooks, routes=_routes, pages=_pages, commands=_commands)
