"""Dify: memory for its apps and for runtimes that follow its documents.

    routes        Dify's External Knowledge API
    knowledge     what a knowledge id names
    memory        TokenBufferMemory, NodeTokenBufferMemory, MemoryConfig, MemoryMode and fetch_memory: Python only
    node_objects  NodeObjectMemory: a node's turns as documents in object storage, the first design of node memory
    document      such a document
    append_log    a document with concurrent appends
    object_store  local directories, and any fsspec store such as S3
    deletion      deletes documents of deleted sessions and flows, and old ones
    hooks         what the core calls

The history of conversations and nodes is the core's: the memory classes are presets of it with Dify's names.
"""

from __future__ import annotations
