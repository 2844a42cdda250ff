"""The results of a search: each message with the turns around it, and its score explained."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts, score_breakdown
from api.web.score_breakdown import Contribution, Group
from api.web.visits import Visit
from memorybase.messages import message_text
from memorybase.search.scoring import WEAK_SCORE
from memorybase.search.search import Hit

SHOWN_CHARS = 1_200
CONTEXT_CHARS = 300  # shown on either side of a passage in a longer message
NEIGHBOR_CHARS = 280
NO_TEXT = "(no text)"
SCALE = (
    "Scores are from 0 to 1, and so are the bars. Nine of ten results above 0.7 are right, two of three from 0.5 to "
    f"0.7, and three of a hundred below {WEAK_SCORE:g}."
)


def show_results(visit: Visit, flow_id: UUID, hits: Sequence[Hit]) -> None:
    """In the order given. A whole bar is a score of 1."""
    parts.heading("Results").classes("visually-hidden")
    explained = {hit.message_id: hit.parts or {"dense": hit.score} for hit in hits}
    weak = {hit.message_id for hit in hits if score_breakdown.is_weak(hit.score, explained[hit.message_id])}
    if len(weak) == len(hits):
        with parts.banner(
            "Nothing fits well", f"All results score below {WEAK_SCORE:g}. Such results are seldom right."
        ):
            pass
    contributions = {
        message_id: score_breakdown.contributions_of(explanation) for message_id, explanation in explained.items()
    }
    groups = {contribution.group for each in contributions.values() for contribution in each if contribution.share > 0}
    _legend([group for group in score_breakdown.GROUPS if group in groups])
    if any("signals" in explanation for explanation in explained.values()):
        parts.hint(SCALE)
    with ui.element("ol").classes("hits").props('aria-label="Results"'):
        for rank, hit in enumerate(hits, start=1):
            with ui.element("li").classes("card hit weak" if hit.message_id in weak else "card hit"):
                _header(visit, flow_id, hit, rank, weak=hit.message_id in weak)
                _turns(hit)
                _bar(contributions[hit.message_id], hit.score)
                _details(hit)


def excerpt(content: str, start: int, end: int) -> tuple[str, str, str]:
    """The text before the matching passage, the passage, and the text after it.

    The passage is empty if the whole message matched or the match is unknown.
    """
    if not content[start:end] or not (content[:start] + content[end:]).strip():
        return parts.truncate(content, SHOWN_CHARS), "", ""
    before, after = content[:start], content[end:]
    if len(content) > SHOWN_CHARS:
        before = f"…{before[-CONTEXT_CHARS:]}" if len(before) > CONTEXT_CHARS else before
        after = parts.truncate(after, CONTEXT_CHARS)
    return before, content[start:end], after


def _header(visit: Visit, flow_id: UUID, hit: Hit, rank: int, *, weak: bool) -> None:
    with ui.element("div").classes("hit-head"):
        parts.heading(f"{rank}. {_speaker(hit.role, hit.sender_name)}", 3)
        with ui.element("span").classes("muted"):
            parts.text_element("span", "in ")
            parts.link(visit, hit.session_id, parts.session_path(flow_id, hit.session_id, hit.memory_base_id))
        parts.text_element("span", parts.utc_time(hit.timestamp)).classes("muted")
        if hit.pending:
            parts.badge("not ingested", "warn")
        if weak:
            parts.badge("weak", "calm")
        parts.text_element("strong", f"Score {_rounded(hit.score)}").classes("score")


def _turns(hit: Hit) -> None:
    with ui.element("div").classes("turns"):
        for turn in hit.before:
            _neighbor(turn)
        before, passage, after = excerpt(message_text(hit.content) or NO_TEXT, hit.snippet_start, hit.snippet_end)
        with ui.element("p").classes("turn found"):
            for tag, text in (("span", before), ("mark", passage), ("span", after)):
                if text:
                    parts.text_element(tag, text)
        for turn in hit.after:
            _neighbor(turn)


def _neighbor(turn: Mapping[str, Any]) -> None:
    text = parts.truncate(message_text(turn["content"]) or NO_TEXT, NEIGHBOR_CHARS)
    parts.text_element("p", f"{_speaker(turn['role'], turn['sender_name'])}: {text}").classes("turn muted")


def _speaker(role: str, name: str | None) -> str:
    return f"{name} ({role})" if name else role


def _rounded(score: float) -> str:
    return f"{score:.2f}" if score >= 0.01 else "<0.01"


def _legend(groups: Sequence[Group]) -> None:
    with ui.element("dl").classes("legend").props('aria-label="Legend of the score bars"'):
        for group in groups:
            with ui.element("div"):
                with ui.element("dt"):
                    ui.element("span").classes(f"swatch {group.css_class}")
                    parts.text_element("span", group.name)
                parts.text_element("dd", group.description)


def _bar(contributions: Sequence[Contribution], score: float) -> None:
    label = f"Score {_rounded(score)} of 1. Contributions: {score_breakdown.describe(contributions)}"
    with ui.element("div").classes("score-bar").props(f"role=img aria-label={json.dumps(label)}"):
        for group, length in score_breakdown.bar_segments(contributions, score):
            ui.element("div").classes(f"segment {group.css_class}").style(f"width: {length:.2%}")


def _details(hit: Hit) -> None:
    """Every signal of the score, built when it is first opened."""
    with ui.element("details").classes("score-details") as details:
        parts.text_element("summary", "Score details")
        body = ui.element("div")

    def show() -> None:
        if not body.default_slot.children:
            with body:
                _signals(hit.score, hit.parts or {})

    details.on("toggle", show)


def _signals(score: float, explanation: Mapping[str, Any]) -> None:
    lines = score_breakdown.lines_of(explanation)
    if not lines:
        ui.label(f"The score is the cosine similarity of the question and the message's best chunk: {_rounded(score)}.")
        return
    region = ui.element("div").classes("scroll-x").props('tabindex="0" role=region aria-label="Signals of the score"')
    with region, ui.element("table").classes("signals"):
        with ui.element("thead"), ui.element("tr"):
            for column in ("Signal", "Value", "Contribution", "Description"):
                parts.text_element("th", column).props("scope=col")
        with ui.element("tbody"):
            for line in lines:
                with ui.element("tr"):
                    for text in (line.name, line.value, line.share, line.description):
                        parts.text_element("td", text)
    parts.hint(_final_step(score, explanation))


def _final_step(score: float, explanation: Mapping[str, Any]) -> str:
    text = "The logistic function turns the sum of the contributions into a score between 0 and 1"
    if explanation["recency"] != 1:
        text += f", multiplied by {explanation['recency']:.2f} for the message's age"
    if "reranker" in explanation:
        return f"{text}. The reranker then replaced this score with {explanation['reranker']:.2f}."
    return f"{text}: {_rounded(score)}."
