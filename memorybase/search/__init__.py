"""Search: a query to ranked messages. The store proposes, SQL verifies; an outage is an error, never an empty result.

    search               the search, top to bottom: read it first
    several              the same over several memory bases or all
    request              a request and its bounds
    conditions           comparisons with metadata, for callers that filter by more than equal values
    knowledge            what a knowledge id of Dify names
    query_parser         a query's terms, names and dates, and what it asks for
    keyword_search       candidates by terms, from the keyword index
    vector_search        candidates by vectors: stored chunks and pending messages
    stored_candidates    stored chunks, verified in SQL: the message exists in this version and passes
    pending_candidates   pending messages, embedded during the search
    hybrid               the candidates of both halves, scored
    signals              one number each for what a message and the turns around it show
    late_interaction     how well tokens of the question match tokens of a message
    scoring              all signals in one score
    pins                 pinned messages come first, where they are relevant
    bands                words for scores: strong, good, fair, weak
    parts                the parts of a score in a user's words, and factors for them
    weights              a memory base's own weights
    reranking            an optional cross-encoder
    corrections          later messages that say something else about what the query asks for
    spread               results of questions about an order, spread over sessions
    alike                messages with the same text
    query_vectors        vectors of the latest queries
    snippets, passages   the passage of a hit that matched
    packing              passages that fit a token budget

Callers use `search.search` and `request.SearchRequest`.
"""

from __future__ import annotations
