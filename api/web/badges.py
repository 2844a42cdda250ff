"""Tone and words of the states that several views show as badges."""

from __future__ import annotations

from memorybase.queries.coverage import SearchState

SEARCH_STATES = {
    SearchState.SEARCHABLE: ("ok", "Ingested"),
    SearchState.UPDATING: ("working", "Updating after an edit"),
    SearchState.INGESTING: ("working", "Ingesting"),
    SearchState.WAITING: ("waiting", "Waiting"),
    SearchState.FAILED: ("failed", "Not searchable"),
    SearchState.LOST: ("failed", "Lost its vectors"),
    SearchState.SKIPPED: ("off", "Not included"),
    SearchState.NOT_COUNTED: ("off", "History only"),
}
