"""The inverted index in SQL. The transaction that captures, edits or deletes a message updates it.

    analyzer   text to terms and traits (asks a question, tells a time or a number), in the language of the text
    scripts    what words are made of in each script, and which spellings are one
    figures    numbers, dates and codes in every form that they are written in
    identifiers  the words inside of getUserById and user_id
    languages/ what is known of each language, and which one a text is in
    index      add, replace, remove and reindex messages
    packing    one row for what a term occurs in a part of a session, once the part is older
    orphans    delete what versions before have left of deleted messages
    partitions divide the postings of a large PostgreSQL database

Its statements are in `queries/keyword_index.py` and `queries/posting_blocks.py`.

It always matches the messages in SQL, for every memory base of a flow, so no query waits for a rebuild.
"""

from __future__ import annotations
