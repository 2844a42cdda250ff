"""Node memory as objects in a store, without a database: the first design of Dify's node memory.

node_memory    NodeObjectMemory: a node's turns in a conversation; clean_up deletes old documents
erasure        deletes the documents of a conversation or an app
append_log     a JSON document with concurrent appends
object_store   local directories, and any fsspec store such as S3
"""

from __future__ import annotations

from memorybase.conversation.node_object_memory.node_memory import NodeObjectMemory, objects_of
from memorybase.conversation.node_object_memory.object_store import objects_at

__all__ = ["NodeObjectMemory", "objects_at", "objects_of"]
