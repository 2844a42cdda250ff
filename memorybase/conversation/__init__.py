"""Conversation memory: what a model reads on its next turn.

    context              POST /context: summary, recalled memories and history within one budget
    view/                the pure engine: records in, a view out; no SQL, no HTTP, no clock, no model
    history/             POST /history: token buffers of a conversation or of one node, node executions (Dify)
    chat_memory/         /chat-memories: logs of chats, their views, summaries and nodes (Splox)
    session_memory/      presets and summaries of captured sessions (FlowX)
    summarizers/         who writes summaries: chat models, or sentences of the conversation itself
    memory_use/          what each node's model was given, and what deletions take out of it
    node_object_memory/  node memory as objects in a store, without a database

One engine serves every kind of memory:

    view = build_view(
        records,                                    # any order; seq decides
        ViewOptions(thread="inferred", limits=Limits(max_tokens=2000, prune="turn"), align="strict"),
        counter=ESTIMATE,                           # or counter_named("hf:all-MiniLM-L6-v2")
        summary=Summary(text="...", from_seq=1, to_seq=40),
        predefined=[...],
    )
    view.messages, view.sources, view.text, view.report; view.overflow is what to summarise next

A log is never changed by a view: a larger limit, an undo or a new summary later finds everything there.
"""

from __future__ import annotations

from memorybase.conversation.view.budget import Summary
from memorybase.conversation.view.build import Report, Source, View, ViewOptions, build_view
from memorybase.conversation.view.files import FileRef, FileResolver
from memorybase.conversation.view.limits import Cut, Limits, Threshold
from memorybase.conversation.view.records import UUID_NIL, Record
from memorybase.conversation.view.tokens import ESTIMATE, TextCounter, TokenCounter
from memorybase.conversation.view.tool_results import Clearing
from memorybase.conversation.view.transcript import Prefixes

__all__ = [
    "ESTIMATE",
    "UUID_NIL",
    "Clearing",
    "Cut",
    "FileRef",
    "FileResolver",
    "Limits",
    "Prefixes",
    "Record",
    "Report",
    "Source",
    "Summary",
    "TextCounter",
    "Threshold",
    "TokenCounter",
    "View",
    "ViewOptions",
    "build_view",
]
