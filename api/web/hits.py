"""A search's hits: the message that was found, the turns around it, and how its score came about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts, shares
from api.web.shares import Group, Piece
from api.web.visits import Visit
from memorybase.messages import message_text
from memorybase.search.search import Hit

SHOWN_CHARS = 1_200
AROUND_MARK = 300  # characters shown on either side of a passage in a message that is longer
NEIGHBOUR_CHARS = 280
NO_TEXT = "(no text)"


def show_hits(visit: Visit, flow_id: UUID, hits: Sequence[Hit]) -> None:
    """In their order, all bars on one scale."""
    parts.heading("Hits").classes("unseen")
    pieces = {hit.message_id: shares.pieces_of(hit.parts or {"dense": hit.score}) for hit in hits}
    there = {piece.group for each in pieces.values() for piece in each}
    _legend([group for group in shares.GROUPS if group in there])
    scale = max((shares.length_of(each) for each in pieces.values()), default=0.0)
    with ui.element("ol").classes("hits").props('aria-label="Hits"'):
        for rank, hit in enumerate(hits, start=1):
            with ui.element("li").classes("card hit"):
                _head(visit, flow_id, hit, rank)
                _turns(hit)
                _bar(pieces[hit.message_id], scale)
                _why(hit)


def excerpt(content: str, start: int, end: int) -> tuple[str, str, str]:
    """A message as it is shown: what stands before the passage that matched, that, and what stands behind it.

    The middle is empty where the whole message matched, or nothing of it is known to.
    """
    if not content[start:end] or not (content[:start] + content[end:]).strip():
        return parts.clipped(content, SHOWN_CHARS), "", ""
    before, behind = content[:start], content[end:]
    if len(content) > SHOWN_CHARS:
        before = f"…{before[-AROUND_MARK:]}" if len(before) > AROUND_MARK else before
        behind = parts.clipped(behind, AROUND_MARK)
    return before, content[start:end], behind


def _head(visit: Visit, flow_id: UUID, hit: Hit, rank: int) -> None:
    with ui.element("div").classes("hit-head"):
        parts.heading(f"{rank}. {_speaker(hit.role, hit.sender_name)}", 3)
        with ui.element("span").classes("quiet"):
            parts.said("span", "in ")
            parts.link(visit, hit.session_id, parts.session_path(flow_id, hit.session_id, hit.memory_base_id))
        parts.said("span", parts.moment(hit.timestamp)).classes("quiet")
        if hit.pending:
            parts.badge("pending: not ingested", "warn")
        parts.said("strong", f"Score {_rounded(hit.score)}").classes("score")


def _turns(hit: Hit) -> None:
    with ui.element("div").classes("turns"):
        for turn in hit.before:
            _neighbour(turn)
        before, marked, behind = excerpt(message_text(hit.content) or NO_TEXT, hit.snippet_start, hit.snippet_end)
        with ui.element("p").classes("turn found"):
            for tag, words in (("span", before), ("mark", marked), ("span", behind)):
                if words:
                    parts.said(tag, words)
        for turn in hit.after:
            _neighbour(turn)


def _neighbour(turn: Mapping[str, Any]) -> None:
    text = parts.clipped(message_text(turn["content"]) or NO_TEXT, NEIGHBOUR_CHARS)
    parts.said("p", f"{_speaker(turn['role'], turn['sender_name'])}: {text}").classes("turn quiet")


def _speaker(role: str, name: str | None) -> str:
    return f"{name} ({role})" if name else role


def _rounded(score: float) -> str:
    return f"{score:.2f}" if score >= 0.01 else "below 0.01"


def _legend(groups: Sequence[Group]) -> None:
    with ui.element("dl").classes("legend").props('aria-label="What the bars show"'):
        for group in groups:
            with ui.element("div"):
                with ui.element("dt"):
                    ui.element("span").classes(f"swatch {group.look}")
                    parts.said("span", group.name)
                parts.said("dd", group.why)


def _bar(pieces: Sequence[Piece], scale: float) -> None:
    words = f"What gave the score: {shares.in_words(pieces)}"
    with ui.element("div").classes("shares").props(f"role=img aria-label={json.dumps(words)}"):
        for piece in pieces:
            made = ui.element("div").classes(f"piece {piece.group.look}")
            made.style(f"width: {abs(piece.share) / scale if scale else 0:.2%}")


def _why(hit: Hit) -> None:
    """The whole account, built when somebody wants it."""
    explained = hit.parts or {}
    with ui.element("details").classes("why") as fold:
        parts.said("summary", f"Why {_rounded(hit.score)}")
        told = ui.element("div")

    def tell() -> None:
        if not told.default_slot.children:
            with told:
                _account(hit.score, explained)

    fold.on("toggle", tell)


def _account(score: float, explained: Mapping[str, Any]) -> None:
    lines = shares.account_of(explained)
    if not lines:
        ui.label(f"The cosine of the message's best chunk and the question, {_rounded(score)}, is the score.")
        return
    region = (
        ui.element("div").classes("scrolls").props('tabindex="0" role=region aria-label="The account of the score"')
    )
    with region, ui.element("table").classes("account"):
        with ui.element("thead"), ui.element("tr"):
            for words in ("Signal", "Value", "Share", "What it is"):
                parts.said("th", words).props("scope=col")
        with ui.element("tbody"):
            for line in lines:
                with ui.element("tr"):
                    for words in (line.name, line.value, line.share, line.why):
                        parts.said("td", words)
    ui.label(_end_of(score, explained)).classes("quiet")


def _end_of(score: float, explained: Mapping[str, Any]) -> str:
    said = "The shares' sum goes through the logistic function, which makes it a score between 0 and 1"
    if explained["recency"] != 1:
        said += f", times {explained['recency']:.2f} for the message's age"
    if "reranker" in explained:
        return f"{said}; of the best, the reranker then gave this one {explained['reranker']:.2f}, which is the score."
    return f"{said}: {_rounded(score)}."
