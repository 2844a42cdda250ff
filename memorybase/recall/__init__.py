"""Recall: a query to ranked messages.

    where to look, what is pending   one read transaction
    the question                     its words, whom it names, which time it asks for or tells
    candidates by words              the keyword index in SQL, of stored and pending messages alike
    the query's vector               by the serving generation's model, with no transaction open
    candidates by vectors            the store's nearest chunks, unfiltered first; what is pending by its own vectors
    verified                         in SQL: the message exists, in this version, in this flow, and passes the filters
    scored, cut                      all signals in one score; one row a message, best first; a reranker, where set
    read again                       the rows themselves and their neighbours

The store proposes and SQL decides: a chunk whose message is gone or was edited is dropped. A store that does not answer
is an error, never an empty answer.
"""

from __future__ import annotations

from memorybase.recall.answer import Hit, SearchAnswer, search, turns_around
from memorybase.recall.request import (
    MAX_EXCLUDED,
    MAX_FILTER_KEYS,
    MAX_HALF_LIFE_DAYS,
    MAX_NEIGHBORS,
    MODES,
    Mode,
    SearchRequest,
)
from memorybase.recall.weights import (
    MAX_NOTE_CHARS,
    MAX_WEIGHT,
    StoredWeights,
    WeightSet,
    WeightsView,
    get_weights,
    set_weights,
)

__all__ = [
    "MAX_EXCLUDED",
    "MAX_FILTER_KEYS",
    "MAX_HALF_LIFE_DAYS",
    "MAX_NEIGHBORS",
    "MAX_NOTE_CHARS",
    "MAX_WEIGHT",
    "MODES",
    "Hit",
    "Mode",
    "SearchAnswer",
    "SearchRequest",
    "StoredWeights",
    "WeightSet",
    "WeightsView",
    "get_weights",
    "search",
    "set_weights",
    "turns_around",
]
