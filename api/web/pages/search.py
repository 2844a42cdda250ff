"""Search in a memory base: a question, its filters, the results and their scores."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from nicegui import ui

from api.web import parts, search_results
from api.web.layout import page_layout
from api.web.visits import Visit, Visitor
from memorybase import errors
from memorybase.messages import ROLES
from memorybase.read_models import memory_bases
from memorybase.read_models.memory_bases import MemoryBaseView
from memorybase.search import search as message_search
from memorybase.search.request import SearchRequest
from memorybase.search.search import SearchAnswer
from memorybase.services import Services

MODES = {
    "hybrid": "Hybrid: meaning and words",
    "dense": "Dense: meaning only",
    "keyword": "Keyword: words only",
}
MAX_RESULTS = 50
MAX_NEIGHBORS = 5
SEARCH_COMMAND = """curl {url}/v1/memories/{base_id}/search \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{{"query": "What was decided?", "top_k": 5, "explain": true}}'"""
# Going back in the browser's history repeats an earlier search; following an anchor on the page does not.
RELOAD_ON_BACK = """
window.shownSearch = location.search;
window.addEventListener('popstate', () => { if (location.search !== window.shownSearch) location.reload(); });
"""


@dataclass(frozen=True, slots=True)
class Query:
    """A search as in the page's address: strings, which `request` parses."""

    q: str = ""
    mode: str = "hybrid"
    session_id: str = ""
    end_user_id: str = ""
    roles: str = ""
    since: str = ""
    until: str = ""
    min_score: str = ""
    neighbors: str = "1"
    top_k: str = "10"
    pending: str = "yes"

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Query:
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    @property
    def changed(self) -> dict[str, str]:
        """The values that differ from the defaults."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: values[each.name] for each in fields(self) if values[each.name] != each.default}

    @property
    def filter_count(self) -> int:
        return len(self.changed.keys() - {"q", "mode"})

    def request(self, base_id: UUID) -> SearchRequest:
        """Raises InvalidRequest for an invalid number or time."""
        return SearchRequest(
            query=self.q,
            memory_base_id=base_id,
            mode=self.mode,
            session_id=self.session_id or None,
            end_user_id=self.end_user_id or None,
            roles=self.roles.split(",") if self.roles else None,
            since=_time("since", self.since),
            until=_time("until", self.until),
            min_score=_number("min_score", self.min_score, None),
            neighbors=int(_number("neighbors", self.neighbors, MAX_NEIGHBORS) or 0),
            top_k=int(_number("top_k", self.top_k, MAX_RESULTS) or 0),
            include_pending=self.pending != "no",
            explain=True,
        )


@ui.page("/memories/{memory_base_id}/search", title="Search")
async def search(visit: Visitor, memory_base_id: UUID) -> None:
    base = await visit.read(memory_bases.get_memory_base, memory_base_id)
    SearchPage(visit, base).build()


class SearchPage:
    def __init__(self, visit: Visit, base: MemoryBaseView) -> None:
        self._visit = visit
        self._base = base
        self._searches = 0
        self._address = Query.of(visit.request.query_params)
        self._fields: dict[str, Any] = {}

    def build(self) -> None:
        base = self._base
        with page_layout(self._visit, f"Search: {base.name}", back=(base.name, f"/memories/{base.id}")):
            with ui.element("div").classes("head"):
                parts.heading("Search", 1)
                with ui.element("div").classes("actions"):
                    parts.link(self._visit, "Jobs and dead letters", f"/memories/{base.id}/jobs")
            self._form(self._address)
            self._status = ui.label().classes("muted").props("role=status")
            self._results = ui.element("section").classes("results").props('aria-label="Results"')
            ui.run_javascript(RELOAD_ON_BACK)
            if self._address.q:
                # Show the page first: a search may wait for a vector store that does not respond.
                self._status.set_text("Searching…")
                ui.timer(0, self._search, once=True)
            else:
                with self._results:
                    self._show_start()

    # -----------------------------------------------------------------------------------------------------------
    # The form

    def _form(self, query: Query) -> None:
        mode = query.mode if query.mode in MODES else "hybrid"
        with ui.element("form").classes("card").props("role=search") as form:
            with ui.element("div").classes("search-row"):
                question = ui.input("Question", value=query.q).props("outlined dense")
                if not query.q:
                    question.props("autofocus")
                self._fields["q"] = question
                select = ui.select(MODES, value=mode, label="Mode", on_change=self._on_mode)
                self._fields["mode"] = select.props("outlined dense")
                ui.button("Search").props("no-caps unelevated type=submit")
            with ui.element("details") as details:
                self._summary = parts.text_element("summary", "")
                self._filters(query)
            if query.filter_count:
                details.props("open")
            self._count_filters(query)
        form.on("submit.prevent", self._search)

    def _filters(self, query: Query) -> None:
        roles = [role for role in query.roles.split(",") if role in ROLES]
        with ui.element("div").classes("form"):
            inputs: dict[str, Any] = {
                "session_id": ui.input("Session", value=query.session_id),
                "end_user_id": ui.input("End user", value=query.end_user_id),
                "roles": ui.select(list(ROLES), value=roles, multiple=True, label="Roles"),
                "since": ui.input("Since (UTC)", value=_minute(query.since)).props("type=datetime-local stack-label"),
                "until": ui.input("Until (UTC)", value=_minute(query.until)).props("type=datetime-local stack-label"),
                "min_score": _number_field("Minimum score", query.min_score, 0, 1, step=0.05),
                "neighbors": _number_field("Turns before and after", query.neighbors, 0, MAX_NEIGHBORS),
                "top_k": _number_field("Maximum results", query.top_k, 1, MAX_RESULTS),
            }
            for each in inputs.values():
                each.props("outlined dense hide-bottom-space")
            inputs["pending"] = ui.switch("Include pending messages", value=query.pending != "no").classes("wide")
        self._fields |= inputs

    def _query(self) -> Query:
        return Query.of({name: _as_text(field.value) for name, field in self._fields.items()})

    def _count_filters(self, query: Query) -> None:
        self._summary.set_text(f"Filters ({query.filter_count} set)" if query.filter_count else "Filters")

    async def _on_mode(self) -> None:
        if self._fields["q"].value:
            await self._search()

    async def _search_by_keyword(self) -> None:
        self._fields["mode"].value = "keyword"  # its on_change searches

    # -----------------------------------------------------------------------------------------------------------
    # The results

    async def _search(self) -> None:
        query = self._query()
        self._searches += 1
        search_number = self._searches
        self._status.set_text("Searching…")
        self._count_filters(query)
        self._update_address(query)
        try:
            result: SearchAnswer | errors.MemorybaseError = await self._visit.read(_find, query, self._base.id)
        except errors.Unauthorized:
            ui.navigate.reload()
            return
        except errors.MemorybaseError as error:
            result = error
        if search_number != self._searches:  # a newer search is running
            return
        self._results.clear()
        with self._results:
            if isinstance(result, SearchAnswer):
                self._show(query, result)
            else:
                self._status.set_text("")
                self._explain(query, result)

    def _update_address(self, query: Query) -> None:
        """Put the search into the page's address, so that it can be linked and reloaded."""
        if query != self._address:
            self._address = query
            path = f"{self._visit.root}/memories/{self._base.id}/search?{urlencode(query.changed)}"
            ui.run_javascript(f"history.pushState({{}}, '', {json.dumps(path)}); window.shownSearch = location.search;")

    def _show(self, query: Query, answer: SearchAnswer) -> None:
        count = len(answer.results)
        self._status.set_text(f"{parts.plural(count, 'result') if count else 'No results'} in {answer.took_ms:.0f} ms")
        if count:
            search_results.show_results(self._visit, self._base.flow_id, answer.results)
        else:
            parts.empty_state("No results found", _suggestions(query, self._base))

    def _explain(self, query: Query, error: errors.MemorybaseError) -> None:
        """Show why the search failed, which differs from finding nothing."""
        if isinstance(error, errors.CallerError):
            with parts.banner("Invalid search", parts.error_text(error)):
                pass
            return
        text = f"{parts.error_text(error)} The memory may still hold matching messages."
        with parts.banner("Search unavailable", text, "bad"):
            if isinstance(error, errors.CollectionMissing):
                parts.link(self._visit, "Regenerate on the memory's page", f"/memories/{self._base.id}")
            else:
                parts.button("Search again", self._search)
            if query.mode != "keyword" and not isinstance(error, errors.DatabaseUnavailable):
                parts.button("Use keyword search", self._search_by_keyword)

    def _show_start(self) -> None:
        command = SEARCH_COMMAND.format(url=self._visit.origin, base_id=self._base.id)
        parts.empty_state("Search this memory", "Enter a question above. A program searches like this:", command)


def _find(services: Services, user_id: UUID, query: Query, base_id: UUID) -> SearchAnswer:
    return message_search.search(services, user_id, query.request(base_id))


def _suggestions(query: Query, base: MemoryBaseView) -> str:
    """What to try if there are no results."""
    tries = []
    if query.filter_count:
        tries.append("remove filters")
    if query.mode == "keyword":
        tries.append("use other words, or hybrid mode, which also finds paraphrases")
    if not base.total_processed and not base.pending_messages:
        tries.append("capture runs of the flow first, since this memory has no messages")
    return f"Suggestions: {'; '.join(tries) or 'use other words'}."


def _number_field(label: str, value: str, low: float, high: float, step: float = 1) -> ui.number:
    try:
        shown = float(value) if value else None
    except ValueError:
        shown = None
    return ui.number(label, value=shown, min=low, max=high, step=step)


def _minute(text: str) -> str:
    """A time of the address in the format of a browser's datetime-local input."""
    try:
        time = _time("time", text)
    except errors.InvalidRequest:
        return ""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M") if time else ""


def _as_text(value: Any) -> str:
    """A field's value as a string of the address."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | int):
        return f"{value:g}"
    if isinstance(value, list):
        return ",".join(role for role in ROLES if role in value)
    return str(value or "")


def _number(name: str, text: str, maximum: float | None) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise errors.InvalidRequest(f"{name} must be a number (got {text!r})", field=name, value=text)
    return value if maximum is None else min(value, maximum)


def _time(name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as exc:
        message = f"{name} must be an ISO 8601 time (got {text!r})"
        raise errors.InvalidRequest(message, field=name, value=text) from exc
    return time if time.tzinfo else time.replace(tzinfo=UTC)
