"""Changes to what was captured: flows made and deleted; messages and sessions edited, deleted and erased.

    flows      create a flow
    edits      change or delete a message or a session; erase an end user
    deletion   delete a flow with everything in it; rows of deleted sessions once every store has followed

Each change marks the sessions whose knowledge bases must follow; repairs in `ingestion` make them.
"""

from __future__ import annotations
