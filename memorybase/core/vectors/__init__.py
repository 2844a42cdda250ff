"""The vector store: its protocol, the adapters for Chroma and pgvector, and verified writes.

    store             the VectorStore protocol, its records and hits
    chroma            the adapter for a Chroma server; the only import of chromadb
    chroma_limits     limits of one request to Chroma; chroma_database: the file of one on this machine
    pgvector          the adapter for PostgreSQL, with the conditions of a query; pgvector_layout has its tables and
                      statements
    collection_names  names that are never used twice
    chunk_ids         deterministic ids: memory base, message, version, index
    purging           stores whose log keeps deleted chunks until it is purged
    stores            all stores as one; guarded_store: one of them that does not answer
    verified_writes   verified writes: read back, find and rewrite records that no query reaches
    index_damage      damage to an index, found by reading every vector
    saved             vectors in files, by the text that they belong to
    search            shared by the searches of memory bases and of knowledge bases

To add a vector store:

1. Implement `store.VectorStore` in a module next to `chroma`; its queries filter by $in, $gte, $lte and $and. Add it to
   the `store` fixture of tests/contract/test_vector_store.py until that passes.
2. Give it an entry in `memorybase/core/vector_stores.py`, and its address a setting and a `resolved_` property in
   `settings.py`; docs/reference/settings.md has its settings.
3. Build it in `wiring.py`, and pin its client in constraints.txt.
4. Say in `sessions/receipts.py` what an erasure leaves in it, and in `cli/doctor.py` what can be wrong with it. Of the
   command line, `stack/child.py` resets the addresses of other stores.

Callers use `verified_writes.write_records`.
"""

from __future__ import annotations
