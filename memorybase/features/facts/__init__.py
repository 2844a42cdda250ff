"""Facts that a language model distils from messages. They are kept next to the verbatim text, never instead of it.

    prompt      pure: the model's prompt, and the schema of its answer
    checks      pure: which facts of an answer are accepted, and why the others are refused
    duplicates  pure: whether two facts say the same, and whether one may correct the other
    batch       the messages of one request
    job         claim a session, ask the model, store what passes the checks and move on
    claim       a worker's claim of a session; ask: the request to the model; store: what was accepted
    usage       tokens and cost: counted, and bounded for each day
    thread      runs the job in a worker, next to ingestion
    manage      turn it on and off for a memory base; its state; list and delete facts
    recall      the facts that are about a question
    for_search, for_context   the same next to a search, within its filters; as lines of a context
    models, queries, hooks; routes and page for the API and the web page

A fact holds as long as all messages that it rests on exist in the version that the model read. The answers of searches
and contexts declare their fields of facts themselves: their types are part of the API's contract.
"""

from __future__ import annotations
