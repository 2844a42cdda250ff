"""Search in a memory base: a question, the hits, and why they are hits."""

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

from api.web import hits, parts
from api.web.frame import frame
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
    "dense": "Dense: meaning alone",
    "keyword": "Keyword: words alone",
}
MOST_HITS = 50
MOST_NEIGHBOURS = 5
BY_PROGRAM = """curl {url}/v1/memories/{base_id}/search \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{{"query": "What was decided?", "top_k": 5, "explain": true}}'"""
# A step back in the browser's history is an earlier search; a step to a place on the page is none.
GO_BACK = """
window.askedFor = location.search;
window.addEventListener('popstate', () => { if (location.search !== window.askedFor) location.reload(); });
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as its address has it: words, which are checked when it is made."""

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
    def of(cls, words: Mapping[str, str]) -> Asked:
        return cls(**{each.name: words[each.name] for each in fields(cls) if each.name in words})

    @property
    def said(self) -> dict[str, str]:
        """What differs from the defaults."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: values[each.name] for each in fields(self) if values[each.name] != each.default}

    @property
    def filters(self) -> int:
        return len(self.said.keys() - {"q", "mode"})

    def request(self, base_id: UUID) -> SearchRequest:
        """Raises InvalidRequest for what is no number or no time."""
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
            neighbors=int(_number("neighbors", self.neighbors, MOST_NEIGHBOURS) or 0),
            top_k=int(_number("top_k", self.top_k, MOST_HITS) or 0),
            include_pending=self.pending != "no",
            explain=True,
        )


@ui.page("/memories/{memory_base_id}/search", title="Search")
async def search(visit: Visitor, memory_base_id: UUID) -> None:
    base = await visit.ask(memory_bases.get_memory_base, memory_base_id)
    SearchPage(visit, base).build()


class SearchPage:
    def __init__(self, visit: Visit, base: MemoryBaseView) -> None:
        self._visit = visit
        self._base = base
        self._made = 0
        self._address = Asked.of(visit.request.query_params)
        self._fields: dict[str, Any] = {}

    def build(self) -> None:
        base = self._base
        with frame(self._visit, f"Search {base.name}", back=(base.name, f"/memories/{base.id}")):
            with ui.element("div").classes("head"):
                parts.heading("Search", 1)
                with ui.element("div").classes("ways"):
                    parts.link(self._visit, "Jobs and dead letters", f"/memories/{base.id}/jobs")
            self._form(self._address)
            self._said = ui.label().classes("quiet").props("role=status")
            self._results = ui.element("section").classes("results").props('aria-label="Results"')
            ui.run_javascript(GO_BACK)
            if self._address.q:
                # The page stands at once; a search may have to wait for a store that does not answer.
                self._said.set_text("Searching …")
                ui.timer(0, self._search, once=True)
            else:
                with self._results:
                    self._invite()

    # -----------------------------------------------------------------------------------------------------------
    # What is asked

    def _form(self, asked: Asked) -> None:
        mode = asked.mode if asked.mode in MODES else "hybrid"
        with ui.element("form").classes("card").props("role=search") as form:
            with ui.element("div").classes("asking"):
                question = ui.input("Question", value=asked.q).props("outlined dense")
                if not asked.q:
                    question.props("autofocus")
                self._fields["q"] = question
                select = ui.select(MODES, value=mode, label="Mode", on_change=self._other_mode)
                self._fields["mode"] = select.props("outlined dense")
                ui.button("Search").props("no-caps unelevated type=submit")
            with ui.element("details") as fold:
                self._summary = parts.said("summary", "")
                self._filters(asked)
            if asked.filters:
                fold.props("open")
            self._count_filters(asked)
        form.on("submit.prevent", self._search)

    def _filters(self, asked: Asked) -> None:
        roles = [role for role in asked.roles.split(",") if role in ROLES]
        with ui.element("div").classes("form"):
            made: dict[str, Any] = {
                "session_id": ui.input("Session", value=asked.session_id),
                "end_user_id": ui.input("End user", value=asked.end_user_id),
                "roles": ui.select(list(ROLES), value=roles, multiple=True, label="Roles"),
                "since": ui.input("Since (UTC)", value=_minute(asked.since)).props("type=datetime-local stack-label"),
                "until": ui.input("Until (UTC)", value=_minute(asked.until)).props("type=datetime-local stack-label"),
                "min_score": _number_field("Score at least", asked.min_score, 0, 1, step=0.05),
                "neighbors": _number_field("Neighbours on each side", asked.neighbors, 0, MOST_NEIGHBOURS),
                "top_k": _number_field("Hits at most", asked.top_k, 1, MOST_HITS),
            }
            for each in made.values():
                each.props("outlined dense hide-bottom-space")
            made["pending"] = ui.switch("With messages that are not ingested yet", value=asked.pending != "no").classes(
                "wide"
            )
        self._fields |= made

    def _asked(self) -> Asked:
        return Asked.of({name: _words(each.value) for name, each in self._fields.items()})

    def _count_filters(self, asked: Asked) -> None:
        self._summary.set_text(f"Filters ({asked.filters} set)" if asked.filters else "Filters")

    async def _other_mode(self) -> None:
        if self._fields["q"].value:
            await self._search()

    async def _by_keyword(self) -> None:
        self._fields["mode"].value = "keyword"  # which searches

    # -----------------------------------------------------------------------------------------------------------
    # What is found

    async def _search(self) -> None:
        asked = self._asked()
        self._made += 1
        made = self._made
        self._said.set_text("Searching …")
        self._count_filters(asked)
        self._remember(asked)
        try:
            found: SearchAnswer | errors.MemorybaseError = await self._visit.ask(_find, asked, self._base.id)
        except errors.Unauthorized:
            ui.navigate.reload()
            return
        except errors.MemorybaseError as error:
            found = error
        if made != self._made:  # a later search is under way
            return
        self._results.clear()
        with self._results:
            if isinstance(found, SearchAnswer):
                self._show(asked, found)
            else:
                self._said.set_text("")
                self._explain(asked, found)

    def _remember(self, asked: Asked) -> None:
        """The search in the address, to be linked and loaded again."""
        if asked != self._address:
            self._address = asked
            path = f"{self._visit.root}/memories/{self._base.id}/search?{urlencode(asked.said)}"
            ui.run_javascript(f"history.pushState({{}}, '', {json.dumps(path)}); window.askedFor = location.search;")

    def _show(self, asked: Asked, answer: SearchAnswer) -> None:
        count = len(answer.results)
        self._said.set_text(f"{parts.plural(count, 'hit') if count else 'No hits'} in {answer.took_ms:.0f} ms")
        if count:
            hits.show_hits(self._visit, self._base.flow_id, answer.results)
        else:
            with parts.empty("Nothing was found", _advice(asked, self._base)):
                pass

    def _explain(self, asked: Asked, error: errors.MemorybaseError) -> None:
        """Why there is no answer; which is never the same as an empty one."""
        if isinstance(error, errors.CallerError):
            with parts.banner("This search cannot be made", parts.in_words(error)):
                pass
            return
        words = f"{parts.in_words(error)} This says nothing about what is remembered."
        with parts.banner("Search does not work now", words, "bad"):
            if isinstance(error, errors.CollectionMissing):
                parts.link(self._visit, "Regenerate it on the memory's page", f"/memories/{self._base.id}")
            else:
                parts.button("Search again", self._search)
            if asked.mode != "keyword" and not isinstance(error, errors.DatabaseUnavailable):
                parts.button("Search by keyword instead", self._by_keyword)

    def _invite(self) -> None:
        command = BY_PROGRAM.format(url=self._visit.origin, base_id=self._base.id)
        words = "Ask above in your own words and press Enter. A program asks like this:"
        with parts.empty("What do you want to know?", words, command):
            pass


def _find(services: Services, user_id: UUID, asked: Asked, base_id: UUID) -> SearchAnswer:
    return message_search.search(services, user_id, asked.request(base_id))


def _advice(asked: Asked, base: MemoryBaseView) -> str:
    """What to try when there are no hits."""
    tries = []
    if asked.filters:
        tries.append("take filters away")
    if asked.mode == "keyword":
        tries.append("ask with other words, or in hybrid mode, which also finds what is said differently")
    if not base.total_processed and not base.pending_messages:
        tries.append("send the flow's runs first: this memory has no messages yet")
    said = "; or ".join(tries) or "ask with other words"
    return f"Try this: {said}."


def _number_field(words: str, value: str, low: float, high: float, step: float = 1) -> ui.number:
    try:
        shown = float(value) if value else None
    except ValueError:
        shown = None
    return ui.number(words, value=shown, min=low, max=high, step=step)


def _minute(words: str) -> str:
    """A time of the address as a browser's field for times takes it."""
    try:
        found = _time("time", words)
    except errors.InvalidRequest:
        return ""
    return found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M") if found else ""


def _words(value: Any) -> str:
    """A control's value as the address has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | int):
        return f"{value:g}"
    if isinstance(value, list):
        return ",".join(role for role in ROLES if role in value)
    return str(value or "")


def _number(name: str, words: str, most: float | None) -> float | None:
    if not words:
        return None
    try:
        value = float(words)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise errors.InvalidRequest("This is no number", field=name, value=words)
    return value if most is None else min(value, most)


def _time(name: str, words: str) -> datetime | None:
    if not words:
        return None
    try:
        found = datetime.fromisoformat(words)
    except ValueError as exc:
        raise errors.InvalidRequest("This is no time", field=name, value=words) from exc
    return found if found.tzinfo else found.replace(tzinfo=UTC)
