"""Read models: what every list and look-up of the API shows, within one user. Reading only; nothing here locks."""

from __future__ import annotations

from memorybase.catalog.activity import DEFAULT_BUCKETS, MAX_BUCKETS, Activity, Bucket, activity
from memorybase.catalog.branches import Branch, branches
from memorybase.catalog.conversations import (
    FlowView,
    MessageQuery,
    MessageView,
    RunView,
    SessionView,
    get_flow,
    get_message,
    get_run,
    get_session,
    list_flows,
    list_messages,
    list_runs,
    list_sessions,
)
from memorybase.catalog.memory_bases import (
    BaseSessionView,
    MemoryBaseStatus,
    MemoryBaseView,
    SessionState,
    get_memory_base,
    list_base_sessions,
    list_memory_bases,
)
from memorybase.catalog.work import (
    DeadLetterView,
    JobView,
    get_job,
    job_states,
    jobs_pending,
    list_dead_letters,
    list_jobs,
    owed_targets,
)
from memorybase.queries.catalog_paging import DEFAULT_SIZE, MAX_SIZE, MAX_SKIP, Page, PageRequest

__all__ = [
    "DEFAULT_BUCKETS",
    "DEFAULT_SIZE",
    "MAX_BUCKETS",
    "MAX_SIZE",
    "MAX_SKIP",
    "Activity",
    "BaseSessionView",
    "Branch",
    "Bucket",
    "DeadLetterView",
    "FlowView",
    "JobView",
    "MemoryBaseStatus",
    "MemoryBaseView",
    "MessageQuery",
    "MessageView",
    "Page",
    "PageRequest",
    "RunView",
    "SessionState",
    "SessionView",
    "activity",
    "branches",
    "get_flow",
    "get_job",
    "get_memory_base",
    "get_message",
    "get_run",
    "get_session",
    "job_states",
    "jobs_pending",
    "list_base_sessions",
    "list_dead_letters",
    "list_flows",
    "list_jobs",
    "list_memory_bases",
    "list_messages",
    "list_runs",
    "list_sessions",
    "owed_targets",
]
