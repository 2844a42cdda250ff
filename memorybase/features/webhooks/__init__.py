"""Webhooks: tell other systems what happened, by the Standard Webhooks specification.

    outbox        the types of events, and `record`, which writes them in the transaction of the event
    endpoints     where events go: create, change, delete, rotate the secret
    addresses     which URLs and which addresses may be called
    signatures    secrets, and the signature of a request
    requests      one request to a checked address, bounded in time and size
    sender        the sweeper's thread: claim what is due, send it, record the result
    deliveries    list, replay, delete what is old
    health        what metrics and the list of problems say
    models, queries, errors, hooks; routes, page and commands for the API, the web page and the command line

A delivery is a row of the outbox for one endpoint. It is sent at least once, in no promised order; `webhook-id` is the
same each time. No request is sent inside a transaction, nor by a process that captures or embeds.
"""

from __future__ import annotations
