"""The map of a memory base: its messages in two dimensions, near where they say alike things.

    projection  vectors to two dimensions by their principal components
    clusters    groups of near messages, and the words that name a group
    job         a worker computes a map and stores it; the sweeper repeats a lost notification
    read        request a map; read it, with a question projected onto it
    page_data   what the page's script draws
    models, queries, hooks; routes and page for the API and the web page

Only numbers are stored. Who speaks, in which session, and the words that name a cluster are read from the messages, so
what was deleted or edited does not show. Callers use `read.request_map`, `read.get_map` and `read.messages_on_map`.
"""

from __future__ import annotations
