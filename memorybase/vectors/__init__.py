"""The vector store: its protocol, the adapters for Chroma and pgvector, and verified writes.

    store             the VectorStore protocol, its records and hits
    chroma            the adapter for a Chroma server; the only import of chromadb
    chroma_limits     what one request to Chroma may hold
    pgvector          the adapter for PostgreSQL, with the conditions of a query; pgvector_layout has its tables and
                      statements
    collection_names  names that are never used twice
    chunk_ids         deterministic ids: memory base, message, version, index
    stores            all stores as one; guarded_store: one of them that does not answer
    verified_writes   verified writes: read back, find and rewrite records that no query reaches
    index_damage      damage to an index: what reading every vector can tell
    saved             vectors in files, by the text that they belong to
    search            what the searches of memory bases and of knowledge bases share

To add a vector store:

1. Implement `store.VectorStore` in a module beside `chroma`; its queries filter by $in, $gte, $lte and $and. Add it to
   the `store` fixture of tests/contract/test_vector_store.py until that passes.
2. Name it: `VectorStoreName` and its address in `settings.py`, where `_with_other` knows which stores there are, and
   its suffix in `collection_names`.
3. Build it in `wiring.py`, check it in `operations/health.py`, and give it words in `operations/stack_parts.py`,
   `operations/problems.py`, `operations/exposition.py` (bytes of a value) and `cli/doctor.py`.
4. Pin its client in constraints.txt; docs/reference/settings.md has its settings.

Callers use `verified_writes.write_records`.
"""

from __future__ import annotations
