"""Tables and constraints, without logic, for SQLite and PostgreSQL.

    accounts       users, API keys, links to the web page
    sessions       flows, sessions, runs, messages, the keyword index
    memory_bases   memory bases, generations, the progress of each session
    jobs           ingestion jobs, the ledger, token vectors, dead letters, heartbeats
    knowledge      knowledge bases and documents
    chat_memories, node_memory, summaries   conversation memory

Lock order, everywhere: memory_bases, then sessions (the seq counter), then session_progress by id, then jobs.
"""

from __future__ import annotations

from memorybase.models.accounts import ApiKey, User, WebTicket
from memorybase.models.base import (
    ACTIVE_STATES,
    ID_LENGTH,
    IS_ACTIVE,
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
from memorybase.models.jobs import DeadLetter, Heartbeat, IngestionJob, LedgerEntry, TokenVectors
from memorybase.models.knowledge import Document, KnowledgeBase
from memorybase.models.memory_bases import Generation, MemoryBase, SessionProgress
from memorybase.models.node_memory import MemoryUse, MemoryUseMessage, NodeExecution
from memorybase.models.sessions import DeletedMessage, Flow, Message, Posting, Run, Session, Speaker
from memorybase.models.summaries import SessionSummary

__all__ = [
    "ACTIVE_STATES",
    "ID_LENGTH",
    "IS_ACTIVE",
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
    "NodeExecution",
    "Posting",
    "Run",
    "Session",
    "SessionProgress",
    "SessionSummary",
    "Speaker",
    "TokenVectors",
    "User",
    "UtcDateTime",
    "WebTicket",
]
