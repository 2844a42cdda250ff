"""Knowledge bases: the registry of all, with a file beside each collection.

Only a memory base writes, searches and deletes its knowledge base. Others belong to features.

    registry    entries and their names, the files, what a name must be
"""

from __future__ import annotations
