"""Flows, sessions and messages: create flows; edit, delete and erase what was captured.

    flows      create a flow
    edits      change or delete a message or a session; erase an end user
    relinking  lead threads around a deleted message
    deletion   delete a flow; remove the rows of deleted sessions once every store is repaired

SQL changes at once. Each change marks the affected sessions as dirty; repairs in `ingestion` update the stores.
"""

from __future__ import annotations
