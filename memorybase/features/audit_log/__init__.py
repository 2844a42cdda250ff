"""The audit log: who changed or read what, when, and from where; never the text.

    recording   an entry in the transaction of its change, or in its own
    chain       sealing, verifying and pruning: each entry's hash covers the one before it
    entries     list and export
    models, queries, hooks; routes, page and commands for the API, the web page and the command line

An entry is written with its change, so there is none without the other. Sealing happens later, in the sweeper: a chain
in the transaction of a change would make every change wait for the one before it.
"""

from __future__ import annotations
