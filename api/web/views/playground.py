"""The playground: ask a question, see what is found and what a model would be given, change settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from api.web.calls import without_content
from api.web.extension import result_forms
from api.web.playground import asked as asking
from api.web.playground import code, given, shown
from api.web.playground.asked import Asked, Setting
from api.web.playground.compare import moves
from api.web.rendering import address
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.conversation import context
from memorybase.core.database.paging import MAX_SIZE, PageRequest
from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.operations import stack_parts
from memorybase.core.operations.stack_parts import PartView
from memorybase.core.queries.memory_base_lists import MemoryBaseQuery
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.read_models import memory_bases, sessions, titles
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.search import search, weights
from memorybase.core.search.part_weights import PartWeights
from memorybase.core.search.search import SearchResults
from memorybase.core.services import Services

router = APIRouter(include_in_schema=False)

SESSIONS_LISTED = 100
MAX_SAVED = 20  # memories at once

NO_FLOW = "Choose a flow to see this: a model is given the history and memories of one flow, never of every flow."
NOT_EMPTY = "This does not mean that nothing is there."


@dataclass(frozen=True, slots=True)
class Failure:
    """What the card of a failed search says, and the command that helps."""

    what: str
    text: str = ""
    command: str = "memorybase doctor"
    since: datetime | None = None


LOST = Failure(
    "A memory of this search lost its vectors",
    "Searches by meaning fail until it is rebuilt. Home names it, with the button.",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What can be chosen: the user's memories, those of the flow, and the sessions captured last."""

    flows: Sequence[sessions.FlowView]
    memories: Sequence[MemoryBaseView]
    sessions: Sequence[sessions.SessionView]

    def searched(self, ask: Asked) -> list[MemoryBaseView]:
        return [each for each in self.memories if not ask.memories or each.id in ask.memories]


@router.get("/playground")
async def playground(visit: Visitor) -> Response:
    ask = await _asked(visit)
    flow = ask.flow_uuid(visit.principal.user_id)
    scope = await visit.read(_scope, flow, ask)

    def link(**changes: Any) -> str:
        return visit.root + address("/playground", **ask.address(**changes))

    return visit.page(
        "playground.html",
        place="playground",
        title="Playground",
        ask=ask,
        scope=scope,
        asking=asking,
        searched=scope.searched(ask),
        without_b=_here(replace(ask, b=None)),
        link=link,
        fine=_is_fine(ask),
        no_flow=NO_FLOW,
    )


@router.get("/playground/results")
async def results(visit: Visitor) -> Response:
    """The results of A, and of B beside them."""
    ask = await _asked(visit)
    bases = await visit.read(_bases, ask.flow_uuid(visit.principal.user_id))
    sides: list[dict[str, Any]] = []
    for name, setting in (("A", ask.a), ("B", ask.b)):
        if setting is not None:
            sides.append({"name": name, "setting": setting, **await _side(visit, ask, setting)})
    moved: list[dict[UUID, str]] = [{}, {}]
    if len(sides) == 2 and all("rows" in side for side in sides):
        moved = list(moves(*(shown.message_ids(side["rows"]) for side in sides)))
    for side, moves_of_side in zip(sides, moved, strict=False):
        side["moves"] = moves_of_side
    found = [row.hit.message_id for side in sides for row in side.get("rows", ())]
    flows = {base.flow_id for base in bases}
    forms = [(each.template, await visit.read(each.read, ask, flows, found)) for each in result_forms() if found]
    flow_of = {base.id: base.flow_id for base in bases}
    hits = [row.hit for side in sides for row in side.get("rows", ())]
    sessions_ = {(flow_of[hit.memory_base_id], hit.session_id) for hit in hits if hit.memory_base_id in flow_of}
    answer = visit.fragment(
        "playground_results.html",
        ask=ask,
        sides=sides,
        forms=forms,
        bases={base.id: base for base in bases},
        query=_here(ask),
        plain=_here(_plain(ask)),
        saves=_to_save(ask, bases),
        snippets=code.snippets(ask, ask.a, visit.origin),
        titles=await visit.read(titles.session_titles, sessions_),
    )
    answer.headers["HX-Replace-Url"] = visit.root + _here(ask)
    return answer


@router.get("/playground/given")
async def model_is_given(visit: Visitor) -> Response:
    """What a model would be given with setting A."""
    ask = await _asked(visit)
    flow = ask.flow_uuid(visit.principal.user_id)
    found, failure, is_refused = None, None, False
    seconds = visit.deadlines.search
    try:
        found = None if flow is None else await visit.within(seconds, _given, ask, flow)
    except errors.QuotaExceeded:  # the results beside it say so
        is_refused = True
    except (errors.EnvironmentFailure, errors.CallerError, TimeoutError) as error:
        failure = await _failure(visit, error, seconds)
    return visit.fragment("playground_given.html", given=found, failure=failure, is_refused=is_refused, no_flow=NO_FLOW)


@router.post("/playground/save")
async def save(
    visit: Visitor,
    memory: Annotated[list[UUID], Form()],
    here: Annotated[str, Form()],
    recent: Annotated[float | None, Form(ge=0, allow_inf_nan=False)] = None,
) -> Response:
    """Keep the factors and the half-life of A for these memories."""
    ask = Asked.at(here)
    for base_id in memory:
        await visit.write(weights.keep_part_weights, base_id, ask.a.weights, recent)
    count = "this memory" if len(memory) == 1 else f"{len(memory)} memories"
    undo = address("/playground/undo", memory=[str(each) for each in memory], here=_here(ask))
    return visit.done(_here(_plain(ask)), f"Searches of {count} use these weights now.", undo=undo)


@router.post("/playground/undo")
async def undo_save(visit: Visitor, memory: Annotated[list[UUID], Query()], here: Annotated[str, Query()]) -> Response:
    """Return to the weights from before."""
    for base_id in memory:
        before = await visit.read(weights.get_weights, base_id)
        await visit.write(weights.set_weights, base_id, before.previous)
    return visit.done(here if here.startswith("/playground") else "/playground", "The weights from before are back.")


@router.get("/search")
@without_content
async def search_was_here(visit: Visitor) -> Response:
    kept = {
        name: value for name, value in visit.request.query_params.items() if name in {"q", "flow", "memory", "mode"}
    }
    return RedirectResponse(visit.root + address("/playground", **kept), 307)


@router.get("/memories/{memory_base_id}/search")
@without_content
async def search_of_memory_was_here(visit: Visitor, memory_base_id: UUID) -> Response:
    base = await visit.read(memory_bases.get_memory_base, memory_base_id)
    kept = {name: value for name, value in visit.request.query_params.items() if name in {"q", "mode"}}
    path = address("/playground", **kept, flow=str(base.flow_id), memory=str(base.id))
    return RedirectResponse(visit.root + path, 307)


async def _asked(visit: Visit) -> Asked:
    """What the address asks. Without a flow it is the only one that the memories belong to, if there is one: a model is
    given one flow's history. A session of a person asks for that person's messages, as a context does."""
    ask = Asked.of(visit.request.query_params)
    if not ask.flow and (only := await visit.read(memory_bases.only_flow, ask.memories)) is not None:
        ask = replace(ask, flow=only)
    flow = ask.flow_uuid(visit.principal.user_id)
    if not ask.flow or not ask.session or flow is None:
        return replace(ask, session="")
    try:
        found = await visit.read(sessions.get_session, flow, ask.session)
    except errors.NotFound:  # of the flow that was chosen before, or deleted
        return replace(ask, session="")
    return replace(ask, person=found.end_user_id or "")


def _is_fine(ask: Asked) -> bool:
    """Whether a setting below "Advanced" is another one than its default."""
    plain = Asked(
        q=ask.q,
        flow=ask.flow,
        session=ask.session,
        person=ask.person,
        role=ask.role,
        days=ask.days,
        as_of=ask.as_of,
        a=Setting(mode=ask.a.mode),
    )
    return ask != plain


def _plain(ask: Asked) -> Asked:
    """The search with the weights that the memories keep."""
    return replace(ask, a=replace(ask.a, weights=PartWeights(), half_life=None), b=None)


def _to_save(ask: Asked, bases: Sequence[MemoryBaseView]) -> list[MemoryBaseView]:
    """The memories whose weights can be set to those of A: the searched ones, if A changes any."""
    chosen = [base for base in bases if not ask.memories or base.id in ask.memories]
    changes = ask.b is None and ask.a.mode != "dense" and (ask.a.factors is not None or ask.a.half_life is not None)
    return chosen if changes and ask.q and len(chosen) <= MAX_SAVED else []


def _here(ask: Asked) -> str:
    return address("/playground", **ask.address())


def _scope(services: Services, user_id: UUID, flow: UUID | None, ask: Asked) -> Scope:
    flows = sessions.list_flows(services, user_id, PageRequest(size=MAX_SIZE)).items
    if flow is not None and flow not in {each.id for each in flows}:
        flows = [*flows, sessions.get_flow(services, user_id, flow)]
    listed: list[sessions.SessionView] = []
    if flow is not None:
        page = PageRequest(size=SESSIONS_LISTED)
        listed = list(
            sessions.list_sessions(
                services, user_id, SessionFilter(flow_id=flow, order="recent", without_planned=True), page
            ).items
        )
        if ask.session and ask.session not in {each.session_id for each in listed}:
            listed.append(sessions.get_session(services, user_id, flow, ask.session))
    return Scope(flows, _bases(services, user_id, flow), listed)


def _bases(services: Services, user_id: UUID, flow: UUID | None) -> Sequence[MemoryBaseView]:
    return memory_bases.list_memory_bases(
        services, user_id, PageRequest(size=MAX_SIZE), MemoryBaseQuery(flow_id=flow, without_planned=True)
    ).items


async def _side(visit: Visit, ask: Asked, setting: Setting) -> dict[str, Any]:
    """The rows of one setting, or why there are none."""
    if not ask.q:
        return {"rows": [], "took_ms": 0.0}
    is_several = bool(ask.searched_by(setting)) or not ask.flow
    seconds = visit.deadlines.several if is_several else visit.deadlines.search
    try:
        answer = await visit.within(seconds, _find, ask, setting)
    except (errors.EnvironmentFailure, TimeoutError) as error:
        by_words = _here(replace(ask, a=replace(ask.a, mode="keyword"), b=None))
        failure = await _failure(visit, error, seconds)
        return {"failure": failure, "by_words": by_words if setting.mode != "keyword" else ""}
    except errors.CallerError as error:
        return {"refused": error}
    words = analyzer(visit.services.settings.keyword_language).of(ask.q)
    is_dense = setting.mode == "dense"
    rows = shown.show(answer.results, ask.q, words, limit=setting.min_score, is_dense=is_dense)
    return {
        "rows": rows,
        "took_ms": answer.took_ms,
        "fits": sum(row.is_given for row in rows),
        "nothing_fits": shown.nothing_fits(rows),
    }


def _find(services: Services, user_id: UUID, ask: Asked, setting: Setting) -> SearchResults:
    request = ask.search(setting)
    flow = ask.flow_uuid(user_id)
    memories = ask.searched_by(setting)
    if memories or flow is None:
        return search.search_several(services, user_id, request, memories or None)
    return search.search(services, user_id, replace(request, flow_id=flow))


def _given(services: Services, user_id: UUID, ask: Asked, flow: UUID) -> given.Given:
    view = context.build_context(services, user_id, ask.context(flow, ask.a))
    hits = _find(services, user_id, ask, ask.a).results if ask.q else []
    return given.describe(view, hits, ask.a.min_score)


async def _failure(visit: Visit, error: Exception, seconds: float) -> Failure:
    """Of a part that is away it says the same as Health."""
    if isinstance(error, errors.CollectionMissing):
        return LOST
    if isinstance(error, errors.CallerError):
        return Failure(error.message.rstrip("."), command="")
    if part := await _away(visit, error):
        return Failure(f"{part.label} is away", f"{part.stops} {NOT_EMPTY}", part.command, part.since)
    if isinstance(error, errors.MemorybaseError):
        return Failure(error.message.rstrip("."), "Nothing was searched: this does not mean that nothing is there.")
    if problem := visit.services.embedders.problem():
        # A request waits longer for the model than this page for a search.
        what = f"{problem[0].upper()}{problem[1:]}"
        return Failure(what, f"Searches by meaning work once it is there. {NOT_EMPTY}")
    return Failure(f"The search did not end within {seconds:g} s", f"The model may still be loading. {NOT_EMPTY}")


async def _away(visit: Visit, error: Exception) -> PartView | None:
    """The first part among those that the search needed which does not answer."""
    stores = visit.services.settings.vector_stores_in_use
    store = error.details.get("store") if isinstance(error, errors.MemorybaseError) else None
    asked = {"database", *([store] if store else stores)}
    parts = await visit.read(_look, visit.deadlines.away)
    return next((part for part in parts if part.name in asked and not part.ok), None)


def _look(services: Services, _user_id: UUID, seconds: float) -> list[PartView]:
    # A check from before the search does not say why it failed.
    return stack_parts.part_views(services, seconds=seconds, fresh=0)
