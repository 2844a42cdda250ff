"""Webhooks: tell other systems what happened, by the Standard Webhooks specification.

    outbox        the types of events, and `record`, which writes them in the transaction of the event
    endpoints     where events go: create, change, delete, rotate the secret
    addresses     which URLs and which addresses may be called
    signatures    secrets, and the signature of a request
    requests      one request to a checked address, bounded in time and size
    sender        the sweeper's thread: claim what is due, send it, record the result
    deliveries    list, replay, delete what is old
    health        what metrics and the list of problems say
    models, queries, errors, hooks; routes, page and commands for the API, the web page and the command line

A delivery is a row of the outbox for one endpoint. It is sent at least once, in no promised order; `webhook-id` is the
same each time. No request is sent inside a transaction, nor by a process that captures or embeds.
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
    from memorybase.features.webhooks import hooks

    return hooks.HOOKS


def _routes() -> Routes:
    from memorybase.features.webhooks import routes

    return routes.ROUTES


def _pages() -> Pages:
    from memorybase.features.webhooks import page

    return page.PAGES


def _commands() -> Commands:
    from memorybase.features.webhooks import commands

    return commands.COMMANDS


EXTENSION = Extension(name="webhooks", hooks=_hooks, routes=_routes, pages=_pages, commands=_commands)
