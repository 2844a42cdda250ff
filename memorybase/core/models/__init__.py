"""Tables and constraints, without logic, for SQLite and PostgreSQL.

    accounts       users, API keys, links to the web page, requests that may be repeated
    sessions       flows, sessions, runs, messages, the keyword index
    curation       changes of single messages, deleted messages that can be restored
    memory_bases   memory bases, generations, the progress of each session
    jobs           ingestion jobs, the ledger, token vectors, dead letters, heartbeats, what endpoints were asked for
    knowledge      knowledge bases
    labels         which found messages are right for a question
    receipts       how much was deleted
    chat_memories, node_memory, summaries   conversation memory

Lock order, everywhere: memory_bases, then sessions (the seq counter), then session_progress by id, then what features
lock when messages change, then jobs, then what they lock in their other hooks, in their order. A transaction that
charges a caller locks nothing else after that.
"""

from __future__ import annotations

from memorybase.core.models.accounts import ApiKey, IdempotencyKey, User, WebTicket
from memorybase.core.models.base import (
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
    PreparationKind,
    Priority,
    UtcDateTime,
)
from memorybase.core.models.chat_memories import Chat, ChatMemory, ChatRecord
from memorybase.core.models.curation import MessageChange, RestorableMessage
from memorybase.core.models.jobs import DeadLetter, EmbeddingUsage, Heartbeat, IngestionJob, LedgerEntry, TokenVectors
from memorybase.core.models.knowledge import KnowledgeBase
from memorybase.core.models.memory_bases import (
    Generation,
    MemoryBase,
    PlannedBaseDeletion,
    Preparation,
    SessionProgress,
)
from memorybase.core.models.node_memory import MemoryUse, MemoryUseMessage, NodeExecution
from memorybase.core.models.receipts import Receipt
from memorybase.core.models.sessions import (
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
    SpokenLanguage,
)
from memorybase.core.models.summaries import SessionSummary

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
    "EmbeddingUsage",
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
    "MemoryBase",
    "MemoryUse",
    "MemoryUseMessage",
    "Message",
    "MessageChange",
    "NodeExecution",
    "PlannedBaseDeletion",
    "PlannedDeletion",
    "Posting",
    "Preparation",
    "PreparationKind",
    "Priority",
    "Receipt",
    "RestorableMessage",
    "Run",
    "Session",
    "SessionProgress",
    "SessionSummary",
    "Speaker",
    "SpokenLanguage",
    "TokenVectors",
    "User",
    "UtcDateTime",
    "WebTicket",
]
