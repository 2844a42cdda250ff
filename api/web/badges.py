"""Badges: a state as a tone and words, and those that several views show."""

from __future__ import annotations

from typing import Literal, NamedTuple

from memorybase.queries.coverage import SearchState


class Badge(NamedTuple):
    tone: Literal["ok", "working", "waiting", "failed", "off", "none"]
    text: str


SEARCH_STATES = {
    SearchState.SEARCHABLE: Badge("ok", "Ingested"),
    SearchState.UPDATING: Badge("working", "Updating after an edit"),
    SearchState.INGESTING: Badge("working", "Ingesting"),
    SearchState.WAITING: Badge("waiting", "Waiting"),
    SearchState.FAILED: Badge("failed", "Not searchable"),
    SearchState.LOST: Badge("failed", "Lost its vectors"),
    SearchState.SKIPPED: Badge("off", "Not included"),
    SearchState.NOT_COUNTED: Badge("off", "History only"),
}
