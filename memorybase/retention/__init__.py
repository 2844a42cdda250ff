"""Retention: messages are deleted when they are old enough, unless a legal hold keeps them.

    passes     the sweeper's part: what has expired is deleted, a bounded part in each pass
    forgetting the same for the knowledge base of a memory base alone: the conversation stays
    receipts   what each pass deleted, in numbers
    preview    what the next pass would delete
    holds      place, list and lift legal holds

`queries.retention` says when a message has expired, and `queries.holds` is asked before every deletion of the package
`sessions`. A rule is a column: `flows.retain_days`, `memory_bases.retain_days`, `sessions.expires_at`. Deletions go
through `sessions.edits`, so that repairs update the stores. Each session is one transaction with its receipt: a sweeper
that is killed leaves nothing half done, and any number of sweepers may run.
"""

from __future__ import annotations
