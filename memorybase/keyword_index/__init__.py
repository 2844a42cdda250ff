"""The inverted index in SQL, kept in the transaction that captures, edits or deletes a message.

    analyzer   text to terms, and what a turn shows by its form (asks, tells a time or a number)
    index      add, replace, remove and reindex messages
    queries    postings, speakers and the counts that scores need

It holds exactly what SQL holds, for every memory base of a flow, and no query ever waits for a rebuild.
"""

from __future__ import annotations
