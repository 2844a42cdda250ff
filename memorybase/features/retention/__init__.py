"""Retention: messages are deleted when they are old enough, unless a legal hold keeps them.

    passes      the sweeper's part: what has expired is deleted, a bounded part in each pass
    forgetting  the same for the knowledge base of a memory base alone: the conversation stays
    uses        the same for what models were given
    copies      the same for deleted messages that could be restored
    budget      what one pass may do
    receipts    what each pass deleted, in numbers
    erasures    what was deleted because somebody asked for it
    preview     what the next pass would delete
    holds       place, list and lift legal holds
    models, queries, hooks; routes, page and commands for the API, the web page and the command line

A rule is a column of the core: `flows.retain_days`, `memory_bases.retain_days`, `sessions.expires_at`; the core knows
from `queries.expiry` when it has expired. Holds are asked before every deletion of a caller. Deletions go through
`sessions.edits`, so that repairs update the stores. Each session is one transaction with its receipt: a sweeper that is
killed leaves nothing half done, and any number of sweepers may run.
"""

from __future__ import annotations
