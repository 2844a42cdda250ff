"""Whether a later English sentence asserts a change of the same thing, and not of another one. Pure.

"I moved the boat to berth 31" asserts it; "if I moved ...", "should I move ...?", "I did not move ...", "I want to
move ..." and what stands in quotation marks do not. "I moved my other boat" and "my brother moved" are about others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

Terms = Callable[[str], Collection[str]]

_CHANGING = (
    r"(?:mov|switch|chang|postpon|rais|lower|increas|decreas|replac|renam|reschedul|transfer|upgrad|extend|delay"
    r"|reduc|cut|promot|quit|leav|left|sell|sold|join|start|stop|becom|relocat|push|take over|rise|ris|go up)"
)
_NOT_DONE = re.compile(
    r"(?:\b(?:not|never|want(?:s|ed)? to|plan(?:s|ned|ning)? (?:to|on)|think(?:s|ing)? (?:of|about)|consider(?:s|ing)?"
    r"|hop(?:e|es|ing) to|going to|like to|might|may|could|would|should|will)\b|n't\b|'(?:d|ll)\b)"
    rf"(?: (?!only)\w+){{0,3}}? {_CHANGING}",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"\b(?:if|whether|unless)\b|\b(?:i|we|you|they|he|she|it)'d be\b|\bwould be\b", re.IGNORECASE)
_SUPPOSES = re.compile(r"^\W*(?:but |and |so )?(?:if|what if|suppos\w+|imagine|assum\w+|unless)\b", re.IGNORECASE)
_ASKS_WHETHER = re.compile(
    r"^\W*(?:(?:but|and|so) )?(?:should|would|will|has|have|had|is|are|was|were|does|did|do)\b", re.IGNORECASE
)
_GIVEN = re.compile(r"\b(?:since|because|now that|given that)\b", re.IGNORECASE)
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab](?:[^\"\u201c\u201d\u00bb\s]+\s+){2}[^\"\u201c\u201d\u00bb]*[\"\u201d\u00bb]?"
)
_ENDS = r"(?<=[.!?;])(?<!\bMr\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bMrs\.)\s+"
_SENTENCE_ENDS = re.compile(_ENDS)
_PARTS = re.compile(rf"{_ENDS}|[,:()\u2013\u2014]\s+|\s(?=(?:but|so|because|while|whereas|although)\s)")

_PEOPLE = (
    r"brother|sister|wife|husband|partner|mother|mum|mom|father|dad|parents|grand(?:mother|father|ma|pa|parents)"
    r"|son|daughter|kids?|children|child|cousin|uncle|aunt|nephew|niece|friends?|neighbou?rs?|boss|colleagues?"
    r"|girlfriend|boyfriend|roommate|flatmate|landlord"
)
_PERSON = re.compile(
    rf"(?:^\W*|[,.;:] |\b(?:and|but|so|that) )(?:my|our|his|her|the) (?:\w+ )?({_PEOPLE})\b(?!['\u2019])", re.IGNORECASE
)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|we|us|our)\b", re.IGNORECASE)
_THIRD_PERSON = re.compile(r"\b(?:he|she)\b", re.IGNORECASE)
_OWNER_ASKED = re.compile(r"(?<=\w )[A-Z]\w+(?=['\u2019]s)")
_OTHER = re.compile(r"\b(?:my|our|the|his|her) (?:other|second) (\w+)", re.IGNORECASE)
_OWNER = re.compile(r"\b(\w+)(?:['\u2019]s|s['\u2019]) (\w+)(?: (\w+))?")
_OF = re.compile(r"\b(?:the|my|our|an?) (?:\w+ )?(\w+) of (?:(?:the|my|our|a) )?(\w+)", re.IGNORECASE)
_AT = re.compile(r"\b(?:the|my|our|an?) (\w+) (?:to|for|at|in|from) (?:(?:the|my|our|a) )?(\w+)", re.IGNORECASE)
_MODIFIED = re.compile(r"(?=\b(?:the|my|our) (\w+) (\w+))", re.IGNORECASE)
# Words beside a thing that do not tell which one it is.
_NEUTRAL = re.compile(
    r"\d.*|\w+(?:ed|ing)|new|newly|recently|old|current|latest|whole|same|first|last|final|total|own|next"
    r"|best|main|overall|good|today|yesterday|week|month|year",
    re.IGNORECASE,
)
# The words of a question that say which thing: after an article, possessive or preposition, and names.
_NAMING = re.compile(
    r"\b(?:the|my|our|a|an|his|her|their|of|to|for|at|in|from) (?:the |my |our )?((?:\w+ ?){1,2})|(?<=\w )([A-Z]\w+)"
)
_PARTICIPLE = re.compile(r"\w+ed|kept|held|made|put|found|sold|taken|given|written", re.IGNORECASE)


def plain(sentence: str) -> str:
    """The sentence with a space for each character of a quotation of three or more words, as long as before."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), sentence)


def asserts(sentence: str, at: int) -> bool:
    """Whether what stands at this position is said to be so: not supposed, asked, denied or only planned."""
    text = sentence.replace("\u2019", "'")
    start, end = _part(text, at)
    part = text[start:end]
    if _SUPPOSES.search(text[_sentence_start(text, at) :]) or _SUPPOSED.search(part) or _NOT_DONE.search(part):
        return False
    if part.rstrip().endswith("?"):
        return _GIVEN.search(part) is not None or not _ASKS_WHETHER.search(text[_sentence_start(text, at) :])
    return True


def _part(text: str, at: int) -> tuple[int, int]:
    """The clause around a position."""
    start = max((match.end() for match in _PARTS.finditer(text) if match.end() <= at), default=0)
    end = min((match.start() for match in _PARTS.finditer(text) if match.start() > at), default=len(text))
    return start, end


def _sentence_start(text: str, at: int) -> int:
    return max((match.end() for match in _SENTENCE_ENDS.finditer(text) if match.end() <= at), default=0)


def is_about_another(query: str, older: str, newer: str, terms: Terms) -> bool:
    """Whether the later sentence names another thing or person than the earlier one."""
    known = {*terms(older), *terms(query)}
    if _is_of_another_person(older, query, newer, known, terms):
        return True
    return _is_another_thing(older, newer, known, set(terms(query)), terms)


def _is_of_another_person(older: str, query: str, newer: str, known: Collection[str], terms: Terms) -> bool:
    before = f"{older} {query}".casefold()
    for match in _PERSON.finditer(newer):
        owns = any(term in known for own in re.findall(r"\b(?:my|our) (\w+)", newer) for term in terms(own))
        if match[1].casefold() not in before and not owns:
            return True
    subject = newer.split(maxsplit=1)[0]
    if not subject[:1].isupper() or not _tells(subject, terms) or any(term in known for term in terms(subject)):
        return False
    is_third_person = _THIRD_PERSON.search(newer) and not _FIRST_PERSON.search(newer)
    said = set(terms(newer))
    return bool(is_third_person) or any(
        term in terms(older) and term not in said for name in _OWNER_ASKED.findall(query) for term in terms(name)
    )


def _is_another_thing(older: str, newer: str, known: Collection[str], asked: Collection[str], terms: Terms) -> bool:
    """Another word at the place of one that tells things apart: the search project, the rent of the garage."""

    def known_word(word: str) -> bool:
        return any(term in known for term in terms(word))

    if any(known_word(match[1]) for match in _OTHER.finditer(newer)):
        return True
    for owner, *things in _OWNER.findall(newer):
        if _tells(owner, terms) and not known_word(owner) and any(known_word(thing) for thing in things):
            return True
    said = set(terms(newer))
    for pattern, head, mark in ((_OF, 0, 1), (_AT, 0, 1), (_MODIFIED, 1, 0)):
        before = {_stem(groups[head], terms): _stem(groups[mark], terms) for groups in pattern.findall(older)}
        for groups in pattern.findall(newer):
            thing, which = _stem(groups[head], terms), _stem(groups[mark], terms)
            other = before.get(thing)
            is_asked = thing and other in asked and other not in said
            if is_asked and which not in known and _tells(groups[mark], terms):
                return True
    return False


def _tells(word: str, terms: Terms) -> bool:
    """Whether a word tells which thing is meant."""
    return bool(terms(word)) and not _NEUTRAL.fullmatch(word)


def _stem(word: str, terms: Terms) -> str:
    return next(iter(terms(word)), "")


def naming_terms(query: str, terms: Terms) -> frozenset[str]:
    """The terms by which a question names a thing; a later sentence about it has those that the earlier one has."""
    words = (word for match in _NAMING.findall(query) for group in match for word in group.split())
    return frozenset(term for word in words if not _PARTICIPLE.fullmatch(word) for term in terms(word))
