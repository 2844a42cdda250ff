"""Node memory as objects in a store, without a database: the first design of Dify's node memory.

node_memory    NodeTokenBufferMemory: a node's turns in a conversation; clean_up deletes old documents
append_log     a JSON document with concurrent appends
object_store   local directories, and any fsspec store such as S3
"""

from __future__ import annotations
