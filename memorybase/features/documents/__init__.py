"""Knowledge bases of documents. SQL is the source of truth: a document's row holds its text, and its chunks can be
rebuilt from it. The registry of knowledge bases is the core's, since each memory base has an entry.

    knowledge   list all knowledge bases; create, search, rebuild and delete ordinary ones. Callers use this module
    documents   chunk, embed, write and find the documents of an ordinary one
    comparison  compare collections with SQL, and rebuild what a restore has lost
    models, queries, hooks; routes and page for the API and the web page
"""

from __future__ import annotations
