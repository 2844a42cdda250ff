"""Knowledge bases: the registry of all of them, and the documents of the ordinary ones.

SQL is the truth here too: a document's row holds its text, and its chunks in the store can be made again from it. A
memory base's knowledge base is listed with the others, but written, searched and deleted by the memory base alone.

    registry    every knowledge base, listed; ordinary ones created, searched, rebuilt and deleted
    documents   the documents of an ordinary one: chunked, embedded, written, found
    queries     the rows of both
"""

from __future__ import annotations
