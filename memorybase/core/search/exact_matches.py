"""Messages with the text that a person searches for come first, each with the reply to it directly behind.

Whoever pastes a text looks for its message, also for a question that was asked before. A model asks for an answer, so
its searches, which have a `min_score`, lead with none. Scores stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

from memorybase.core.keyword_index import scripts
from memorybase.core.messages import message_text
from memorybase.core.queries.search import Features, Target
from memorybase.core.search import query_parser
from memorybase.core.search.demotion import Contents, normalized

if TYPE_CHECKING:
    from memorybase.core.search.candidates import Candidate
    from memorybase.core.search.hits import Hit

LEADING = 3  # messages
EXAMINED = 32  # candidates whose texts are compared
PART_WORDS = 3  # that a text has at least if it is found as a part of another one
MOST_OTHER_TERMS = 2  # of a message with the text of a few words, which may be indexed in another language
UNITS_OF_A_WORD = 2  # in text without spaces, about
REPLY_WITHIN = 4  # turns
SPEAKERS = ("user", "assistant")

Extent = Literal["whole", "part"]


class Lead(NamedTuple):
    """Why a result comes before others. `place`: among those that do. Of a reply: the message before it."""

    place: int
    exact_match: Extent | None = None
    reply_to: UUID | None = None


Turns = Callable[[Target, Collection[int]], Mapping[int, Features]]  # eligible messages of a target by position


def text_of(exact_match: str | None, reply_to: UUID | None) -> str:
    """Why a result is first, for people; empty if its score says so."""
    if reply_to is not None:
        return "Reply to the exact match"
    return {"whole": "Exact match", "part": "Exact match of a part"}.get(exact_match or "", "")


def place_of(lead: Lead | None) -> float:
    """The first key by which results are sorted."""
    return math.inf if lead is None else lead.place


def marked(
    candidates: Sequence[Candidate], text: str, language: str, contents: Contents, turns: Turns
) -> Sequence[Candidate]:
    """The candidates of one flow, those with the text and the replies to them with their leads; a reply that is no
    candidate yet is added. `candidates` itself if none has the text."""
    said = _suspects(candidates, text, contents)
    found_extents = {id_: extent_of(each, text, language) for id_, each in said.items()}
    extents = {id_: extent for id_, extent in found_extents.items() if extent is not None}
    if not extents:
        return candidates
    found = {each.message_id: each for each in candidates if each.message_id in extents}
    orders = {id_: _order(extents[id_], said[id_], text, each.features) for id_, each in found.items()}
    leading = sorted(found.values(), key=lambda each: orders[each.message_id])[:LEADING]
    replies = {each.message_id: reply for each in leading if (reply := _reply(each, turns)) is not None}
    leads = _leads([each.message_id for each in leading], extents, {id_: reply.id for id_, reply in replies.items()})
    known = {each.message_id for each in candidates}
    added = [_unscored(found[id_], reply) for id_, reply in replies.items() if reply.id not in known]
    return [
        each._replace(lead=leads[each.message_id]) if each.message_id in leads else each
        for each in (*candidates, *added)
    ]


def _suspects(candidates: Sequence[Candidate], text: str, contents: Contents) -> dict[UUID, str]:
    """The texts of candidates that may have the text, by their words."""
    most = math.inf if _words(text) >= PART_WORDS else MOST_OTHER_TERMS
    suspects = [each for each in candidates if each.other_terms < most]
    if not suspects:
        return {}
    suspects.sort(key=lambda each: (each.other_terms, -each.features.timestamp.timestamp()))
    texts = contents({each.message_id for each in suspects[:EXAMINED]})
    return {id_: message_text(content) for id_, content in texts.items()}


def _order(extent: Extent, said: str, searched: str, message: Features | Hit) -> tuple[bool, int, float, int]:
    """The sort key of exact matches: the whole text first, then the longest part; newest first."""
    shared = min(len(said), len(searched)) if extent == "part" else 0
    return extent == "part", -shared, -message.timestamp.timestamp(), -message.seq


def extent_of(said: str, searched: str, language: str) -> Extent | None:
    """How a message says the searched text: as a whole, or one of the two as a part of the other.

    Polite words around a question are not searched for: "Thanks a lot!"
    """
    one, other = normalized(said), normalized(searched)
    if not one or not other:
        return None
    if one == other:
        return "whole"
    if len(one) > len(other):
        is_part = _words(searched) >= PART_WORDS and _holds(one, other)
    else:
        is_part = _words(said) >= PART_WORDS and _holds(other, one) and not query_parser.is_small_talk(said, language)
    return "part" if is_part else None


def _words(text: str) -> int:
    """Number of words of a text, up to PART_WORDS. Figures are none: "1 249,90" is asked for as a value."""
    words = 0
    for word in scripts.WORD.finditer(text):
        if not any(map(str.isalpha, word[0])):
            continue
        words += max(1, len(word[0]) // UNITS_OF_A_WORD) if scripts.is_unspaced(word[0]) else 1
        if words >= PART_WORDS:
            break
    return words


def _holds(longer: str, shorter: str) -> bool:
    """Whether a normalized text has the other one, as whole words where words have spaces."""
    start = longer.find(shorter)
    while start >= 0:
        if _is_boundary(longer, start) and _is_boundary(longer, start + len(shorter)):
            return True
        start = longer.find(shorter, start + 1)
    return False


def _is_boundary(text: str, at: int) -> bool:
    beside = text[max(0, at - 1) : at + 1]
    return len(beside) < 2 or " " in beside or any(map(scripts.is_unspaced, beside))


def _reply(candidate: Candidate, turns: Turns) -> Features | None:
    """The next message of the session by somebody else."""
    asked = candidate.features
    found = turns(candidate.target, range(asked.position + 1, asked.position + 1 + REPLY_WITHIN))
    following = (found[position] for position in sorted(found) if found[position].session_id == asked.session_id)
    return next((each for each in following if each.role in SPEAKERS and each.role != asked.role), None)


def _unscored(asked: Candidate, reply: Features) -> Candidate:
    """A candidate for a reply that no word and no vector found."""
    return unscored(asked)._replace(
        features=reply,
        text="",
        chunk=0,
        source="pending" if reply.chunks is None else "store",
        passage=None,
        other_terms=math.inf,
    )


def unscored(candidate: Candidate) -> Candidate:
    """The candidate without what it would have in another search."""
    return candidate._replace(score=0.0, values=None if candidate.values is None else {}, coverage=0.0)


def with_lead(hit: Hit, lead: Lead | None) -> Hit:
    lead = lead or Lead(0)
    return replace(hit, exact_match=lead.exact_match, reply_to=lead.reply_to)


def leads_of(hits: Iterable[Hit], searched: str) -> dict[UUID, Lead]:
    """The leads among the hits of several searches, by message, as `marked` would give them."""
    orders: dict[UUID, tuple[bool, int, float, int]] = {}
    extents: dict[UUID, Extent] = {}
    replies: dict[UUID, UUID] = {}
    for each in hits:
        if each.exact_match is not None:
            extents[each.message_id] = each.exact_match
            orders[each.message_id] = _order(each.exact_match, message_text(each.content), searched, each)
        if each.reply_to is not None:
            replies[each.reply_to] = each.message_id
    return _leads(sorted(orders, key=lambda id_: orders[id_])[:LEADING], extents, replies)


def _leads(leading: Sequence[UUID], extents: Mapping[UUID, Extent], replies: Mapping[UUID, UUID]) -> dict[UUID, Lead]:
    """The leads of these messages, in their order, and of their replies, each directly behind."""
    leads: dict[UUID, Lead] = {}
    for id_ in leading:
        leads.setdefault(id_, Lead(len(leads), extents[id_]))
        if id_ in replies:
            leads.setdefault(replies[id_], Lead(len(leads), extents.get(replies[id_]), reply_to=id_))
    return leads
