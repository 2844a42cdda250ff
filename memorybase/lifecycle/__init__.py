"""What else may touch a store: create, edit, repair, regenerate, compare, delete."""

from __future__ import annotations

from memorybase.lifecycle.bases import (
    MAX_IDLE_SECONDS,
    NewMemoryBase,
    create_flow,
    create_memory_base,
    put_flow,
    update_memory_base,
)
from memorybase.lifecycle.builds import (
    RegenerateResult,
    cancel_job,
    complete_build,
    finish_builds,
    regenerate,
)
from memorybase.lifecycle.comparing import Mismatch, check_mismatch, compare_counts
from memorybase.lifecycle.deletion import (
    delete_flow,
    delete_memory_base,
    drop_retired,
    finish_deletions,
    forget_deleted,
    remove_deleted_sessions,
)
from memorybase.lifecycle.edits import (
    Erasure,
    delete_message,
    delete_session,
    discard_dead_letter,
    edit_message,
    erase_end_user,
    retry_dead_letter,
    update_session,
)
from memorybase.lifecycle.reconciling import (
    Orphan,
    Reconciled,
    drop_orphans,
    find_orphans,
    reconcile_base,
)
from memorybase.lifecycle.repairs import remove_late_writes, repair

__all__ = [
    "MAX_IDLE_SECONDS",
    "Erasure",
    "Mismatch",
    "NewMemoryBase",
    "Orphan",
    "Reconciled",
    "RegenerateResult",
    "cancel_job",
    "check_mismatch",
    "compare_counts",
    "complete_build",
    "create_flow",
    "create_memory_base",
    "delete_flow",
    "delete_memory_base",
    "delete_message",
    "delete_session",
    "discard_dead_letter",
    "drop_orphans",
    "drop_retired",
    "edit_message",
    "erase_end_user",
    "find_orphans",
    "finish_builds",
    "finish_deletions",
    "forget_deleted",
    "put_flow",
    "reconcile_base",
    "regenerate",
    "remove_deleted_sessions",
    "remove_late_writes",
    "repair",
    "retry_dead_letter",
    "update_memory_base",
    "update_session",
]
