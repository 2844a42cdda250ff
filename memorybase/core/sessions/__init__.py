"""Flows, sessions and messages: create flows; edit, delete and erase captured messages.

    flows      create a flow
    edits      change, mute, pin or delete a message; change or delete a session; erase an end user
    restoring  store a deleted message again, while that is possible
    curation   one action on many messages, its undo, and the history of a message
    difference the changes of a text by an edit
    relinking  lead threads around a deleted message
    bulk       ingest what waits of many sessions
    planned_deletion  deletions of sessions and memory bases on the web page, which can be undone for 30 seconds
    receipts   numbers of erased rows, kept as evidence
    chat_deletion   what is deleted of chats: of an end user, what expired
    deletion   delete a flow; remove the rows of deleted sessions once every store is repaired

SQL changes at once. Each change marks the affected sessions as dirty; repairs in `ingestion` update the stores.
"""

from __future__ import annotations
