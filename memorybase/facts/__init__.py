"""Facts that a language model distils from messages. They are kept next to the verbatim text, never instead of it.

    prompt      pure: the model's prompt, and the schema of its answer
    checks      pure: which facts of an answer are accepted, and why the others are refused
    duplicates  pure: whether two facts say the same, and whether one may correct the other
    batch       the messages of one request
    distill     the job: claim a session, ask the model, store what passes the checks and move on
    usage       tokens and cost: counted, and bounded for each day
    thread      runs the job in a worker, next to ingestion
    manage      turn it on and off for a memory base; its state; list and delete facts
    recall      the facts that are about a question
    for_search  the same next to a search, within its filters

A fact holds as long as all messages that it rests on exist in the version that the model read. Callers use
`thread.DistillerThread`, `manage`, `recall.recall` and `for_search.facts_for_search`.
"""

from __future__ import annotations
