"""Which step decided where a result stands, in words, with the message that lent or took its place. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from memorybase.core.messages import message_text
from memorybase.core.search.bands import MIN_SCORE
from memorybase.core.search.exact_matches import text_of
from memorybase.core.search.hits import Hit
from memorybase.core.search.part_weights import PARTS
from memorybase.core.search.scoring import ENOUGH_EVIDENCE

if TYPE_CHECKING:
    from api.web.playground.shown import Step

LINK_CHARS = 80
CORRECTS = "It took the place and the score of the message that it corrects"
REPLACES = "It took the place and the score of an earlier message about the same thing"
REPEATS = "It repeats another message, so it ranks right below that one"
REPLIES = "It replies to an exact match of your question, so it comes right behind that one"

Refusal = Literal["no_answer", "not_known", "asks_again", "lacks_name", "behind"]
_REFUSED: Mapping[Refusal, str] = {
    "no_answer": "The memory does not seem to answer this question, so nothing is recalled",
    "not_known": "It says only that something is not known, so it is not recalled",
    "asks_again": "It only asks the question again, so it is not recalled",
    "lacks_name": "The memory answers this question by a rare name alone, which this message lacks",
    "behind": "It is too far behind the best result",
}


@dataclass(frozen=True, slots=True)
class Other:
    """The message that lent or took a place. `is_listed`: it is among the results; else it has a page of its own."""

    message_id: UUID
    text: str
    is_listed: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """The step that decided, `step` by the name that it has in the walk."""

    text: str
    step: str
    other: Other | None = None


def decision(hit: Hit, steps: Sequence[Step], listed: Mapping[UUID, Hit]) -> Decision | None:
    """None if the score is a cosine alone."""
    if not steps:
        return None
    parts = hit.parts or {}
    for message_id, text, step in _moves(hit, parts):
        if message_id is not None:
            return Decision(text, step, _other(message_id, listed))
    if hit.exact_match is not None:
        return Decision(f"{text_of(hit.exact_match, None)} of your question, so it comes first whatever its score", "")
    if hit.pinned and hit.score >= MIN_SCORE:
        return Decision("It is pinned, so it comes before results that are not", "")
    return _of_the_score(parts, hit.score, steps)


def _of_the_score(parts: Mapping[str, Any], score: float, steps: Sequence[Step]) -> Decision | None:
    if "reranker" in parts:
        return Decision("The reranker read the question and the message together", "reranker")
    refused = refusal(parts, score)
    if refused is not None:
        return Decision(_REFUSED[refused], "answers")
    most = max((step for step in steps if step.part in PARTS), key=lambda step: step.width, default=None)
    return None if most is None else Decision(f"Most of it: {most.text[0].lower()}{most.text[1:]}", most.part)


def refusal(parts: Mapping[str, Any], score: float) -> Refusal | None:
    """Why a result is not recalled, whatever it says; None if it is, or if words alone were compared."""
    if parts.get("evidence") is None:
        return None
    if parts["evidence"] < ENOUGH_EVIDENCE:
        return "no_answer"
    if parts.get("signals", {}).get("says_nothing", {}).get("value"):
        return "not_known" if parts.get("non_answer") else "asks_again"
    if parts.get("lacks_name"):
        return "lacks_name"
    return "behind" if parts.get("own_score", score) < MIN_SCORE else None


def _moves(hit: Hit, parts: Mapping[str, Any]) -> list[tuple[UUID | None, str, str]]:
    place_of = parts.get("place_of")
    is_corrected = hit.corrects is not None and hit.corrects.message_id == place_of
    return [
        (place_of, CORRECTS if is_corrected else REPLACES, "own"),
        (parts.get("echo_of"), REPEATS, "own"),
        (hit.reply_to, REPLIES, ""),
    ]


def _other(message_id: UUID, listed: Mapping[UUID, Hit]) -> Other:
    found = listed.get(message_id)
    text = "" if found is None else " ".join(message_text(found.content).split())
    if len(text) > LINK_CHARS:
        text = f"{text[:LINK_CHARS].rstrip()}…"
    return Other(message_id, f"“{text}”" if text else "that message", found is not None)
