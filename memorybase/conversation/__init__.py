"""Conversation memory: what a model reads on its next turn.

One engine for every kind of memory. The engine is pure: records in, a view out; no SQL, no HTTP, no clock, no model.

    view = build_view(
        records,                                    # any order; seq decides
        ViewOptions(thread="inferred", limits=Limits(max_tokens=2000, prune="turn"), align="strict"),
        counter=ESTIMATE,                           # or counter_named("hf:all-MiniLM-L6-v2")
        summary=Summary(text="...", from_seq=1, to_seq=40),
        predefined=[...],
    )
    view.messages, view.sources, view.text, view.report; view.overflow is what to summarise next

A log is never changed by a view: a larger limit, an undo or a new summary later finds everything there.

    records        Record, what a log holds and a view is made of; NIL parents
    files          FileRef, and the resolver that turns one into a content part
    groups         a tool call with its results; turns; what no model accepts
    threads        the thread of a conversation with branches, and Dify's walk to compare with
    tokens         TokenCounter, and what is counted beside text
    counters       counters by name: the estimate, a Hugging Face tokenizer, tiktoken
    clearing       tool results emptied
    images         the image budget
    trimming       Limits: what fits, in whole units
    clipping       one message cut to fit
    fitting        limits and a summary together
    rendering      aligned, in OpenAI's or LangChain's shape
    transcripts    as text: role prefixes; session memory's structure
    view           the order of all this, and the report
    memory_config  Dify's MemoryConfig, and where history goes in a prompt

Around it is what stores and makes:

    captured        a session's messages as records, newest first
    session_memory  what a model is told of a session: presets (pure too)
    summaries       summaries of sessions: what there is, and asking for one
    summarising     making them, in a worker
    summarizers     who writes them: a protocol, the extractive one, chat models
    extracting      a summary out of the conversation's own sentences
"""

from __future__ import annotations

from memorybase.conversation.clearing import Clearing
from memorybase.conversation.files import FileRef, FileResolver
from memorybase.conversation.fitting import Summary
from memorybase.conversation.records import UUID_NIL, Record
from memorybase.conversation.tokens import ESTIMATE, TextCounter, TokenCounter
from memorybase.conversation.transcripts import Prefixes
from memorybase.conversation.trimming import Cut, Limits, Threshold
from memorybase.conversation.view import Report, Source, View, ViewOptions, build_view

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
