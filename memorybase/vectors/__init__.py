"""The vector store: its protocol, the Chroma adapter, and verified writes.

    store       the VectorStore protocol, its records and hits
    chroma      the adapter for a Chroma server; the only import of chromadb
    chunk_ids   deterministic ids: memory base, message, version, index
    visibility  verified writes: read back, find and rewrite records that no query reaches
    search      what the searches of memory bases and of knowledge bases share

Another vector store must implement the protocol and pass tests/contract. Callers use `visibility.write_records`.
"""

from __future__ import annotations
