"""Search: a query to ranked messages. The store proposes, SQL verifies; an outage is an error, never an empty result.

In the order of the work:

    search           the search, top to bottom, in one flow or several: read it first
    request          a request, its bounds and its filters
    conditions       its conditions on the fields of messages
    query_parser     a query's terms and names, and what it asks for
    periods          the times that a query names, from the tokens of date_tokens
    keyword_search   candidates by words: BM25 over the terms' postings
    vector_search    candidates by meaning: the store's nearest chunks, verified in SQL, and pending messages
    embedded         the vectors of the query and of pending messages, cached
    candidates       results of both: a message in the version that the memory base holds, which passes the filters
    signals          the features of a message and of the turns around it, one number each
    scoring          all signals in one score
    part_weights     the parts of a score in a user's words, and the weights that a request gives them
    bands            which scores are good
    ranking          scores candidates and orders them: pins, repetitions, alike texts, an optional reranker
    hits             the chosen messages with the passages that matched, and the turns around them
    passages         whole sentences of a text that have a question's terms
    corrections      what a hit says of a message that it corrects, or that corrects it

Besides:

    token_budget     passages of hits that fit a token budget
    weights          the weights of one memory base

Callers use `search.search`, `request.SearchRequest` and `hits.Hit`. The statements are in `queries/search.py`, which
says where those on pending messages, postings and token vectors are, and which index each needs.
"""

from __future__ import annotations
