"""Chat memories: logs of chats that nodes write to and read from (Splox).

memories      created, listed, deleted
config        limits, templates and summaries of a memory
message_log   a chat's messages, written, read and deleted; never trimmed
views         what a model is given of a chat
summaries     of what a view leaves out, made in a worker
templates     how messages become text
nodes         the node of a flow: read before the model, written after it
"""

from __future__ import annotations
