"""Flows, sessions and messages: create flows; edit, delete and erase captured messages.

    flows      create a flow
    edits      change, mute, pin or delete a message; change or delete a session; erase an end user
    restoring  store a deleted message again, until its retention ends
    curation   one action on many messages, its undo, and the history of a message
    difference the changes of a text by an edit
    relinking  lead threads around a deleted message
    receipts   numbers of erased rows, kept as evidence
    chat_deletion   what is deleted of chats: of an end user, by retention
    deletion   delete a flow; remove the rows of deleted sessions once every store is repaired

SQL changes at once. Each change marks the affected sessions as dirty; repairs in `ingestion` update the stores.
"""

from __future__ import annotations
