"""Quotas: how much a user and each API key may use. Messages a day, stored messages, searches a minute, end users.

    bounds    the four quotas, who is charged, and the bounds that hold for a call
    charges   what captures and searches call: `charged`, `charge_messages`, `charge_restored`, `charge_search`
    counting  count what is stored: when a quota of it is new, and again by the sweeper
    manage    change quotas
    usage     limit, use and reset of each quota

Each quota has a counter: a row for each window, or one row for what is stored. What is stored is charged in its own
transaction, so both are committed or neither. Without a quota nothing is done. `acting_as` says who calls; without it
the quotas of the user hold. Docs: docs/decisions/README.md#0125.
"""

from __future__ import annotations
