"""Tables and constraints, without logic, for SQLite and PostgreSQL.

    accounts       users, API keys, links to the web page, requests that may be repeated
    sessions       flows, sessions, runs, messages, the keyword index
    curation       changes of single messages, deleted messages that can be restored
    memory_bases   memory bases, generations, the progress of each session
    memory_maps    maps of memory bases
    jobs           ingestion jobs, the ledger, token vectors, dead letters, heartbeats
    knowledge      knowledge bases and documents
    labels         which found messages are right for a question
    chat_memories, node_memory, summaries   conversation memory

Lock order, everywhere: memory_bases, then sessions (the seq counter), then session_progress by id, then jobs.
"""

from __future__ import annotations

from memorybase.models.accounts import ApiKey, IdempotencyKey, User, WebTicket
from memorybase.models.base import (
    ACTIVE_STATES,
    ID_LENGTH,
    IS_ACTIVE,
    IS_FAILED,
    IS_IN_ORDER,
    IS_LAST_IN_BASE,
    IS_RUNNING,
    MODEL_LENGTH,
    NAME_LENGTH,
    Base,
    BigId,
    Capture,
    GenerationState,
    JobKind,
    JobState,
    Json,
    UtcDateTime,
)
from memorybase.models.chat_memories import Chat, ChatMemory, ChatRecord
from memorybase.models.curation import MessageChange, RestorableMessage
from memorybase.models.jobs import DeadLetter, Heartbeat, IngestionJob, LedgerEntry, TokenVectors
from memorybase.models.knowledge import Document, KnowledgeBase
from memorybase.models.labels import SearchLabel
from memorybase.models.memory_bases import Generation, MemoryBase, PlannedBaseDeletion, SessionProgress
from memorybase.models.memory_maps import MapPoint, MemoryMap
from memorybase.models.node_memory import MemoryUse, MemoryUseMessage, NodeExecution
from memorybase.models.sessions import (
    IS_BEHIND,
    IS_MUTED,
    IS_PINNED,
    DeletedMessage,
    Flow,
    Message,
    PlannedDeletion,
    Posting,
    Run,
    Session,
    Speaker,
)
from memorybase.models.summaries import SessionSummary

__all__ = [
    "ACTIVE_STATES",
    "ID_LENGTH",
    "IS_ACTIVE",
    "IS_BEHIND",
    "IS_FAILED",
    "IS_IN_ORDER",
    "IS_LAST_IN_BASE",
    "IS_MUTED",
    "IS_PINNED",
    "IS_RUNNING",
    "MODEL_LENGTH",
    "NAME_LENGTH",
    "ApiKey",
    "Base",
    "BigId",
    "Capture",
    "Chat",
    "ChatMemory",
    "ChatRecord",
    "DeadLetter",
    "DeletedMessage",
    "Document",
    "Flow",
    "Generation",
    "GenerationState",
    "Heartbeat",
    "IdempotencyKey",
    "IngestionJob",
    "JobKind",
    "JobState",
    "Json",
    "KnowledgeBase",
    "LedgerEntry",
    "MapPoint",
    "MemoryBase",
    "MemoryMap",
    "MemoryUse",
    "MemoryUseMessage",
    "Message",
    "MessageChange",
    "NodeExecution",
    "PlannedBaseDeletion",
    "PlannedDeletion",
    "Posting",
    "RestorableMessage",
    "Run",
    "SearchLabel",
    "Session",
    "SessionProgress",
    "SessionSummary",
    "Speaker",
    "TokenVectors",
    "User",
    "UtcDateTime",
    "WebTicket",
]
