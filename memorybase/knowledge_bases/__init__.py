"""Knowledge bases: the registry of all, and the documents of ordinary ones.

SQL is the source of truth: a document's row holds its text, and its chunks can be rebuilt from it. A memory base's
knowledge base is listed here, but only the memory base writes, searches and deletes it.

    registry    list all; create, search, rebuild and delete ordinary ones. Callers use this module
    documents   chunk, embed, write and find the documents of an ordinary one
"""

from __future__ import annotations
