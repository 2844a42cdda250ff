"""A query to ranked messages. The store proposes and SQL decides; an outage is an error, never an empty answer.

    search               the search itself, top to bottom: read it first
    request              what a caller asks for, checked
    query_parser         the question: its words, whom it names, which time it asks for or tells
    keyword_search       candidates by words, from the keyword index
    vector_search        the query's vector, what the store has near it, and what is pending
    stored_candidates    candidates from the store, verified in SQL: the message exists in this version and passes
    pending_candidates   what no store holds yet, embedded while the caller waits
    hybrid               candidates of both halves, compared and scored
    signals              what a message and the turns around it show, a number each
    late_interaction     how well tokens of the question match tokens of a message
    scoring              all signals in one score
    weights              a memory base's own weights
    reranking            a cross-encoder, where one is set
    snippets, passages   what is shown of a hit: the passage that matched
    packing              passages that fit a budget of tokens
    queries              what a search asks of SQL

Callers need `search.search` and `request.SearchRequest`.
"""

from __future__ import annotations
