"""Finds claims that something was done or never was: "I've never used Zotero", "I just downloaded Zotero". English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.keyword_index.languages import ENGLISH
from memorybase.features.hit_corrections.statements import clauses, prose_sentences

# Shares of the question's terms that the clause has. A denial repeats what it denies, a claim often names only a part.
DENIED_SHARE = 0.6
CLAIMED_SHARE = 0.4

_ASKS_WHETHER = re.compile(
    r"^\W*(?:have|has|had|did|do|does|am|is|are|was|were) (?:i|we|he|she|they|my|our|the)\b", re.IGNORECASE
)
_NEGATION = re.compile(r"\b(?:never|not|no longer|neither)\b|n't\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_CLAIM = re.compile(
    r"\b(?:i|we)(?:'(?:ve|d)| have| had| just| already| finally| recently| was| were| got| did| \w+ed)\b"
    r"|\bafter \w+ing\b|\bmy \w+ (?:of|was|is|improved|rose)\b",
    re.IGNORECASE,
)
_NO_CLAIM = re.compile(
    r"\b(?:i want|i'm trying|trying to|i'll|i would|i'd like|wonder|(?:can|could|would) you|should|how (?:can|do)"
    r"|thinking of|options?)\b",
    re.IGNORECASE,
)
# Words that a question with "ever" has and its answer has not.
_EMPTY = frozenset(("ever", "befor", "ani", "relat"))


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence. `denies`: it says that what is asked about did not happen."""

    text: str
    denies: bool
    share: float  # of the question's terms, in the clause that says so


def asks_whether(query: str, analyzer: Analyzer) -> bool:
    """Whether something was ever done: "Have I used Zotero?" """
    return analyzer.of(query).rules is ENGLISH and _ASKS_WHETHER.search(query) is not None


def claim_of(text: str, query: str, analyzer: Analyzer) -> Claim | None:
    """A message's claim about the object of a question: a denial if it has one, else the claim that fits best."""
    asked = set(analyzer.terms(query)) - _EMPTY
    found = list(_claims(text, asked, analyzer)) if asked else []
    return max(found, key=lambda claim: (claim.denies, claim.share), default=None)


def _claims(text: str, asked: set[str], analyzer: Analyzer) -> Iterator[Claim]:
    for sentence in prose_sentences(text, ENGLISH):
        for _, written in clauses(sentence, ENGLISH):
            clause = written.replace("\u2019", "'")
            share = len(asked.intersection(analyzer.terms(clause))) / len(asked)
            if _NEGATION.search(clause):
                if share >= DENIED_SHARE and _FIRST_PERSON.search(clause):
                    yield Claim(sentence, True, share)
            elif share >= CLAIMED_SHARE and _CLAIM.search(clause) and not _NO_CLAIM.search(clause):
                yield Claim(sentence, False, share)
