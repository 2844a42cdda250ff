"""Chat memories as Splox has them: logs of chats that the nodes of a flow write to and read from.

    memories      create, list and delete memories (put_memory)
    config        a memory's limits, templates and summaries
    message_log   post_messages, read_messages, delete_messages; a log is never trimmed
    views         view_chat: what a model is given of a chat
    summaries     summaries of what views leave out, made in a worker
    templates     render messages and chat ids
    template_work what a rendering may cost
    nodes         the memory nodes of a flow, for Python; over HTTP see the client's integrations/langgraph
    lines         chats in exports and imports
    queries       their statements
    hooks; routes for the API

The tables are the core's (models/chat_memories), which counts chats, and holds, lists and erases them with sessions; so
are the statements for that (queries/chats).
"""

from __future__ import annotations
