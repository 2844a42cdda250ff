"""Deletes documents of node memory: of a deleted session or flow, and those without recent writes.

A process that flushes after a deletion creates its document again, with only what it flushes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from uuid import UUID

from memorybase.core import deadlines
from memorybase.core.database import clock
from memorybase.core.queries import flows, heartbeats
from memorybase.core.services import Services, Task
from memorybase.core.settings import Settings
from memorybase.core.telemetry import get_logger
from memorybase.features.dify.append_log import QUARANTINE
from memorybase.features.dify.document import FOLDER, folder_of
from memorybase.features.dify.node_objects import objects_of
from memorybase.features.dify.object_store import Objects

log = get_logger(__name__)

CLEAN_UP = "clean_node_memory"  # the turn that one sweeper takes
CLEAN_UP_TASK = Task("memorybase.clean_node_memory")
CLEANED_EVERY = timedelta(days=1)
PASSES = 3  # a listing may miss what a concurrent writer adds


def delete_documents(objects: Objects, app_id: str, conversation_id: str | None = None) -> int:
    """Delete the memory of all nodes of an app or of one conversation, quarantined documents included; returns how many
    objects."""
    deleted = 0
    folder = folder_of(app_id, conversation_id)
    for root in (folder, QUARANTINE + folder):
        for _ in range(PASSES):
            keys = [key for key, _ in objects.written(root)]
            if not keys:
                break
            _delete(objects, keys)
            deleted += len(keys)
    return deleted


def erase(services: Services, flow_id: UUID, session_id: str | None) -> bool:
    """Delete the documents of a flow or of one session, in the store of the setting node_memory_url. False: the store
    failed, try again.

    Documents name no user, so a flow's external id counts as an app only if no other user has a flow with it."""
    with services.database.reading() as db:
        external_id = flows.unshared_external_id(db, flow_id)
    try:
        objects = objects_of(services.settings)
        for app_id in (str(flow_id), external_id):
            if app_id is not None:
                delete_documents(objects, app_id, session_id)
    except Exception as error:  # noqa: BLE001 - every kind of store has its own errors
        log.warning("node_memory_not_deleted", error=type(error).__name__)
        return False
    return True


def enqueue_clean_up(services: Services) -> int:
    """Enqueue the clean-up once a day if node_memory_days is set; returns whether it was enqueued."""
    if services.settings.node_memory_days == 0:
        return 0
    if not heartbeats.take_turn(services.database, CLEAN_UP, CLEANED_EVERY):
        return 0
    enqueued = services.queue.notify(CLEAN_UP_TASK)
    if not enqueued:  # the next pass tries again
        with services.database.transaction() as db:
            heartbeats.delete(db, CLEAN_UP)
    return enqueued


def clean_up(services: Services, *_: object) -> int:
    """The worker's task: delete old documents by the database's clock, as this host's may be ahead."""
    with services.database.reading(snapshot=False) as db:
        now = clock.now(db)
    return delete_old(services.settings, now)


def delete_old(settings: Settings, now: datetime) -> int:
    """Delete documents without writes in the node_memory_days before `now`; returns how many. 0 days: none.

    Stops at half of the time after which a worker would exit; the next day's clean-up continues.
    """
    if settings.node_memory_days == 0:
        return 0
    until = time.monotonic() + deadlines.JOB_SECONDS / 2
    before = now - timedelta(days=settings.node_memory_days)
    objects = objects_of(settings)
    written: dict[str, list[tuple[str, datetime]]] = {}
    for key, moment in objects.written(FOLDER):
        document = key.partition(".json.d/")[0].removesuffix(".json")
        written.setdefault(document, []).append((key, moment))
    deleted = 0
    for parts in written.values():
        if max(moment for _, moment in parts) >= before:
            continue
        if time.monotonic() > until:
            break
        _delete(objects, [key for key, _ in parts])
        deleted += 1
    return deleted


def _delete(objects: Objects, keys: Sequence[str]) -> None:
    """Delete objects one by one, so that those written meanwhile stay, and the folders that are empty then."""
    for key in keys:
        objects.delete(key)
    parents = {str(parent) for key in keys for parent in PurePosixPath(key).parents if str(parent) != "."}
    for parent in sorted(parents, key=len, reverse=True):
        objects.remove_empty(parent)
