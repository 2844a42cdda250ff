"""Requests under an Idempotency-Key: each is carried out once, and its repetitions get the first answer.

    claims    claim a request, keep its answer in the transaction that carries it out, release it, forget old ones
    queries   the statements

A request is claimed with a token and a short lease before anything is done. Its answer is stored by a statement that
finds the row only while it has that token: in the transaction of the operation itself, so either both are committed or
neither, and a process that has lost its claim commits nothing. Operations that cannot do so derive ids from the
`operation_id`, which stays the same in each attempt. `api/idempotency.py` says which operation does what.
"""

from __future__ import annotations
