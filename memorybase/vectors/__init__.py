"""The vector store: a port, its Chroma adapter, and what makes a write trustworthy.

    store       the VectorStore protocol, its records, hits and batches
    chroma      the adapter for a Chroma server; the only import of chromadb
    chunk_ids   deterministic ids: memory base, message, version, index
    visibility  verified writes: read back, find and rewrite records that no query reaches
    search      what the searches of memory bases and of knowledge bases share

Another vector store implements the protocol and passes tests/contract.
"""

from __future__ import annotations
