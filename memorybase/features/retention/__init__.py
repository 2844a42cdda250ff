"""Retention: messages are deleted when they are old enough, unless a legal hold keeps them.

    passes      the sweeper's part: what has expired is deleted, a bounded part in each pass
    forgetting  the same for the knowledge base of a memory base alone: the conversation stays
    uses        the same for what models were given
    copies      the same for deleted messages that could be restored
    budget      what one pass may do
    receipts    what each pass deleted, in numbers
    erasures    what was deleted because somebody asked for it
    preview     what the next pass would delete
    holds       place, list and lift legal holds
    models, queries, hooks; routes, page and commands for the API, the web page and the command line

A rule is a column of the core: `flows.retain_days`, `memory_bases.retain_days`, `sessions.expires_at`; the core knows
from `queries.expiry` when it has expired. Holds are asked before every deletion of a caller. Deletions go through
`sessions.edits`, so that repairs update the stores. Each session is one transaction with its receipt: a sweeper that is
killed leaves nothing half done, and any number of sweepers may run.
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
    from memorybase.features.retention import hooks

    return hooks.HOOKS


def _routes() -> Routes:
    from memorybase.features.retention import routes

    return routes.ROUTES


def _pages() -> Pages:
    from memorybase.features.retention import page

    return page.PAGES


def _commands() -> Commands:
    from memorybase.features.retention import commands

    return commands.COMMANDS


EXTENSION = Extension(name="retention", hooks=_hooks, routes=_routes, pages=_pages, commands=_commands)
