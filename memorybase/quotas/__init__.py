"""Quotas: how much a user and each API key may use. Messages a day, stored messages, searches a minute, end users.

    bounds    the four quotas, who is charged, and the bounds that hold for a call
    charges   what captures and searches call: `charged` and `charge_search`
    slices    the parts of quotas that this process holds, in memory
    counters  takes slices from the database, and gives back what is left of them
    people    the end users that count
    manage    change quotas
    usage     limit, use and reset of each quota
    recount   the sweeper's part: what is stored now

A process takes a slice of what is left of a quota from a row of the database, and spends it in memory: no capture
touches a row, and no number of processes together exceeds the quota. Without a quota nothing is done. `acting_as` says
who calls; without it the quotas of the user hold. Docs: docs/decisions/README.md#0091.
"""

from __future__ import annotations
