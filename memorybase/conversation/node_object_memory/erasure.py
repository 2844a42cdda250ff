"""Deletes the documents of a conversation or of a whole app, quarantined ones included.

Deletions of sessions and flows call this, and the sweeper until it succeeds; Python code may call it for conversations
that were never captured. A process that flushes afterwards creates its document again, with only what it flushes.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from uuid import UUID

from memorybase.conversation.node_object_memory.append_log import QUARANTINE
from memorybase.conversation.node_object_memory.node_memory import folder_of, objects_of
from memorybase.conversation.node_object_memory.object_store import Objects
from memorybase.queries import flows
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

PASSES = 3  # a listing may miss what a concurrent writer adds


def delete_conversation(objects: Objects, app_id: str, conversation_id: str) -> int:
    """Delete every node's memory of a conversation; returns how many objects."""
    return _delete_folder(objects, folder_of(app_id, conversation_id))


def delete_app(objects: Objects, app_id: str) -> int:
    """Delete the node memory of every conversation of an app; returns how many objects."""
    return _delete_folder(objects, folder_of(app_id))


def erase(services: Services, flow_id: UUID, conversation_id: str | None = None) -> bool:
    """Delete a flow's documents, or those of one session, in the store of the setting node_memory_url. False: the store
    failed, try again.

    Documents name no user, so a flow's external id counts as an app only if no other user has a flow with it."""
    with services.database.reading() as db:
        external_id = flows.unshared_external_id(db, flow_id)
    app_ids = [str(flow_id)] if external_id is None else [str(flow_id), external_id]
    try:
        objects = objects_of(services.settings)
        for app_id in app_ids:
            if conversation_id is None:
                delete_app(objects, app_id)
            else:
                delete_conversation(objects, app_id, conversation_id)
    except Exception as error:  # noqa: BLE001 - every kind of store has its own errors
        log.warning("node_memory_not_deleted", error=type(error).__name__)
        return False
    return True


def _delete_folder(objects: Objects, folder: str) -> int:
    deleted = 0
    for root in (folder, QUARANTINE + folder):
        for _ in range(PASSES):
            keys = [key for key, _ in objects.written(root)]
            if not keys:
                break
            for key in keys:
                objects.delete(key)
            deleted += len(keys)
            parents = {str(parent) for key in keys for parent in PurePosixPath(key).parents if str(parent) != "."}
            for parent in sorted(parents, key=len, reverse=True):
                objects.remove_empty(parent)
    return deleted
