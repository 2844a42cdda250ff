"""Conversation memory: the messages that a model reads on its next turn.

    context          POST /context: summary, standing statements, recalled memories and history within one budget
    context_parts, context_lines   what features add to it
    view/            build_view, the pure engine: records in, a view out; no SQL, HTTP, clock or model
    history/         POST /history: the newest turns of a conversation or of one node, and node executions
    session_memory/  presets and summaries of captured sessions (FlowX)
    summarizers/     chat models and sentence extraction, and the job that runs them
    memory_use/      the memory that each node's model was given, and its redaction after deletions

One engine serves every kind of memory:

    view = build_view(
        records,                                    # any order; seq decides
        ViewOptions(thread="inferred", limits=Limits(max_tokens=2000, prune="turn"), align="strict"),
        counter=ESTIMATE,                           # or counter_named("hf:all-MiniLM-L6-v2")
        summary=Summary(text="...", from_seq=1, to_seq=40),
        predefined=[...],
    )
    view.messages, view.sources, view.text, view.report; view.overflow is to be summarized next

A view never changes the log: a larger limit, an undo or a new summary can still use every message.
"""

from __future__ import annotations

from memorybase.core.conversation.view.budget import Summary
from memorybase.core.conversation.view.build import Report, Source, View, ViewOptions, build_view
from memorybase.core.conversation.view.clearing import ToolResultClearing
from memorybase.core.conversation.view.files import FileRef, FileResolver
from memorybase.core.conversation.view.limits import Cut, Limits, TrimThreshold
from memorybase.core.conversation.view.records import UUID_NIL, Record
from memorybase.core.conversation.view.rendering import Prefixes
from memorybase.core.conversation.view.tokens import ESTIMATE, TextCounter, TokenCounter

__all__ = [
    "ESTIMATE",
    "UUID_NIL",
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
    "TokenCounter",
    "ToolResultClearing",
    "TrimThreshold",
    "View",
    "ViewOptions",
    "build_view",
]
