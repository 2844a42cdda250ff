"""Quotas: how much a user and each API key may use. Messages a day, stored messages, searches a minute, end users.

    bounds    the four quotas, and the bounds that hold for a caller
    charges   what captures, restorations and searches are charged
    counting  count what is stored: when a quota of it is new, and again by the sweeper
    manage    change quotas
    usage     limit, use and reset of each quota, and which are used up
    models, queries, hooks; routes, page and commands for the API, the web page and the command line

Each quota has a counter: a row for each window, or one row for what is stored. What is stored is charged in its own
transaction, so both are committed or neither. Without a quota nothing is done. Who is charged is in
memorybase/core/callers.py. Docs: docs/decisions/README.md#0125.
"""

from __future__ import annotations
