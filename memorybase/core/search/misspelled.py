"""Reads a word of a question that its flow does not know as the nearest words that it knows.

The index holds hashes, so its words cannot be listed: all near words are made and looked up, by the keys of an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.analyzer import PLAIN, analyzer, term_key
from memorybase.core.queries import keyword_index as postings
from memorybase.core.search import slips

LANGUAGES = 3  # of the flow, in which near words are looked up
MEANT = 3  # near words that a word is read as
MOST_WITH_ACCENTS = 1_500  # near words that are looked up with accents too: thousands are as many milliseconds


def meant(db: OrmSession, flow_id: UUID, word: str, languages: Sequence[str]) -> dict[int, str]:
    """The keys of the nearest words in the flow, with their terms; none if it has none, or for a word that is too
    short."""
    plain = scripts.without_accents(word)
    groups = [[plain]] if plain != word else []
    for group in (*groups, *slips.near(plain)):
        keys = _keys(flow_id, group, languages[:LANGUAGES])
        known = postings.known(db, keys)
        if known:
            return dict(islice(((key, term) for key, term in keys.items() if key in known), MEANT))
    return {}


def _keys(flow_id: UUID, words: Iterable[str], languages: Sequence[str]) -> dict[int, str]:
    """The keys of words in every language, with and without accents, in the order of the words, with their terms."""
    words = list(words)
    stems = [analyzer(name).stems(words) for name in languages]
    terms = dict.fromkeys(term for same in zip(*stems, strict=True) for term in same)
    if len(words) > MOST_WITH_ACCENTS:
        return {term_key(flow_id, term): term for term in terms}
    return {term_key(flow_id, each): term for term in terms for each in (term, PLAIN + term)}
