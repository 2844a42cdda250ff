"""Dependencies of routes: the services, the caller, the page, and the ids that the caller sent."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, get_origin
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response, Security
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from api import calls, idempotency, key_limits
from api.admission import Bulkhead, Work, admission_of
from api.key_limits import Rule
from api.limits import Gate
from api.locations import PREFIX
from api.middleware import path_text
from api.operations import Policy, policy_of
from api.proxy_user import USER
from api.schemas import ERRORS, Identifier, SentUuid, Stored
from memorybase.core import errors, ids, validation
from memorybase.core.auth import access_tokens, api_keys
from memorybase.core.auth.api_keys import Principal
from memorybase.core.callers import acting_as
from memorybase.core.calls import Effect
from memorybase.core.database import paging
from memorybase.core.models import ID_LENGTH
from memorybase.core.services import Services

MAX_TEXT_FILTER = 200  # characters
ISSUER_SECONDS = 5.0  # that a call waits for the authorization server

BEARER = HTTPBearer(auto_error=False, scheme_name="Bearer", description="An API key.")
HEADER = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="ApiKey", description="An API key.")


class CheckedRoute(APIRoute):
    """Refuses unknown query parameters, and repeated ones that take one value: neither a misspelt filter nor one that
    another replaces may widen a request. It answers below PREFIX, and without it."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options |= {"generate_unique_id_function": _operation_id, "strict_content_type": False}
        super().__init__(PREFIX + path, endpoint, **options)
        self.path_regex = re.compile(self.path_regex.pattern.replace(f"^{PREFIX}", f"^(?:{PREFIX})?", 1))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        parameters = _query_parameters(self.dependant)
        known = sorted(parameters)
        lists = {name for name, is_list in parameters.items() if is_list}

        async def checked(request: Request) -> Response:
            check_query(request, known, lists)
            return await handler(request)

        return checked


def _operation_id(route: APIRoute) -> str:
    return route.name


def check_query(request: Request, known: Sequence[str], lists: Collection[str] = ()) -> None:
    """Raises InvalidRequest for an unknown query parameter, and for a repeated one that is no list."""
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            raise _unknown_parameter(name, known)
        if name in seen and name not in lists:
            raise errors.InvalidRequest("A query parameter must be given once", field=name)
        seen.add(name)


def _query_parameters(dependant: Dependant) -> dict[str, bool]:
    """The names, and whether each takes several values."""
    found: dict[str, bool] = {}
    for field in dependant.query_params:
        annotation = field.field_info.annotation
        fields: Mapping[str, FieldInfo] = {field.alias: field.field_info}
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            fields = annotation.model_fields
        found |= {each.alias or name: get_origin(each.annotation) is list for name, each in fields.items()}
    for each in dependant.dependencies:
        found |= _query_parameters(each)
    return found


def _unknown_parameter(name: str, known: Sequence[str]) -> errors.InvalidRequest:
    nearest = difflib.get_close_matches(name, known, n=1)
    if nearest:
        message = f"Unknown query parameter; did you mean {nearest[0]}?"
    elif known:
        message = f"A query parameter must be one of {', '.join(known)}"
    else:
        message = "This call takes no query parameters"
    return errors.InvalidRequest(message, field=name)


class KeyedRoute(CheckedRoute):
    """Checks the API key before everything else: no caller without a key learns the format of a request. Then narrows
    the request to the limits of the key, and admits it to its class of work."""

    @property
    def policy(self) -> Policy:
        return policy_of(self.endpoint)

    @property
    def scope(self) -> str | None:
        """The scope that the operation requires; None if its function decides."""
        return next((_scopes[each.call] for each in self.dependant.dependencies if each.call in _scopes), None)

    @property
    def only_reads(self) -> bool:
        return "GET" in (self.methods or ()) or self.scope == "read"

    @property
    def work(self) -> Work:
        return self.policy.work or (Work.READ if self.only_reads else Work.CHANGE)

    @property
    def effect(self) -> Effect:
        if self.policy.effect is not None:
            return self.policy.effect
        if self.only_reads:
            return Effect.NOTHING
        return Effect.CAPTURE if self.work is Work.CAPTURE else Effect.CHANGE

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        policy, work = self.policy, self.work
        handler = calls.recorded(self.name, self.effect, policy.without_effect, super().get_route_handler())
        if policy.once:
            handler = idempotency.once(self.name, self.scope, policy.left_out, handler)

        async def keyed(request: Request) -> Response:
            admission = admission_of(request)
            request.state.principal = await authenticate(request, admission.key_check(work))
            if request.state.principal.limits is not None:
                request = await _within_limits(request, self.name, policy.limits)
            with acting_as(request.state.principal.charged):
                if work is Work.STREAM:
                    return await handler(request)  # it is admitted for what it reads, not while it waits
                await request.body()  # FastAPI keeps it: no slot is held while a slow client sends
                async with admission.admitted(work, request.state.principal.key_id):
                    return await handler(request)

        return keyed


async def _within_limits(request: Request, operation: str, rule: Rule) -> Request:
    try:
        return await key_limits.within_limits(request, rule, admission_of(request)[Work.KEY])
    except (errors.OutsideKeyLimits, errors.NotFound) as error:
        await calls.note_denial(request, operation, error)
        raise


def keyed_router(*tags: str) -> APIRouter:
    """A router that requires an API key on every endpoint; its endpoints have these tags."""
    security = [Security(BEARER), Security(HEADER)]
    return APIRouter(tags=[*tags], route_class=KeyedRoute, dependencies=security, responses=ERRORS)


def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def _services(request: Request) -> Services:
    return services_of(request)


_scopes: dict[Callable[..., Any] | None, str] = {}  # that each of these dependencies requires


def _needs(scope: str) -> Callable[[Request], Awaitable[Principal]]:
    async def principal(request: Request) -> Principal:
        caller: Principal = request.state.principal
        caller.require(scope)
        return caller

    _scopes[principal] = scope
    return principal


async def _any_key(request: Request) -> Principal:
    caller: Principal = request.state.principal
    return caller


async def _page_request(
    page: Annotated[
        int, Query(ge=1, le=paging.MAX_SKIP, description="Number of the page, from 1. Not together with `cursor`.")
    ] = 1,
    size: Annotated[int, Query(ge=1, le=paging.MAX_SIZE, description="Maximum items of a page.")] = paging.DEFAULT_SIZE,
    offset: Annotated[
        int, Query(ge=0, le=paging.MAX_SKIP, description="Added to the position where the page starts.")
    ] = 0,
    cursor: Annotated[
        str | None, Query(max_length=1000, description="next_cursor of the previous page; stable under changes.")
    ] = None,
) -> paging.PageRequest:
    return paging.PageRequest(page=page, size=size, offset=offset, cursor=cursor)


_External = Path(description="A UUID, or the id that the caller chose.", max_length=ID_LENGTH)


async def _flow_in_path(request: Request, flow_id: Annotated[str, _External]) -> UUID:
    return ids.flow_id(_user_of(request), path_text(flow_id))


async def _flow_in_query(
    request: Request,
    flow_id: Annotated[Stored | None, Query(max_length=ID_LENGTH, description="A UUID, or the caller's id.")] = None,
) -> UUID | None:
    return None if flow_id is None else ids.flow_id(_user_of(request), flow_id)


async def _required_flow_in_query(
    request: Request,
    flow_id: Annotated[Stored, Query(max_length=ID_LENGTH, description="The flow: a UUID or the caller's id.")],
) -> UUID:
    return ids.flow_id(_user_of(request), flow_id)


async def _run_in_path(request: Request, run_id: Annotated[str, _External]) -> ids.CallerId:
    return ids.CallerId.of(_user_of(request), "run", path_text(run_id))


async def _message_in_path(request: Request, message_id: Annotated[str, _External]) -> ids.CallerId:
    return ids.CallerId.of(_user_of(request), "message", path_text(message_id))


async def _execution_in_path(request: Request, execution_id: Annotated[str, _External]) -> ids.CallerId:
    return ids.CallerId.of(_user_of(request), "node_execution", path_text(execution_id), name="execution_id")


def _text_in_path(sent: str, field: str) -> str:
    decoded = path_text(sent)
    validation.check_text(decoded, field)
    return decoded


async def _name_in_path(name: Annotated[str, Path(description="The name of the knowledge base.")]) -> str:
    return _text_in_path(name, "name")


async def _base_name_in_path(
    name: Annotated[str, Path(description="The name of the memory base; unique for the user.")],
) -> str:
    return _text_in_path(name, "name")


_Node = Path(min_length=1, max_length=ID_LENGTH, description="The node of the flow, named by the caller.")


async def _node_in_path(node_id: Annotated[str, _Node]) -> str:
    return _text_in_path(node_id, "node_id")


_EndUser = Path(min_length=1, max_length=ID_LENGTH, description="The person.")


async def _end_user_in_path(end_user_id: Annotated[str, _EndUser]) -> str:
    return _text_in_path(end_user_id, "end_user_id")


async def _run_in_query(
    request: Request,
    run_id: Annotated[
        Stored | None,
        Query(max_length=ID_LENGTH, description="Only messages of this run: a UUID or the caller's id."),
    ] = None,
) -> ids.CallerId | None:
    return None if run_id is None else ids.CallerId.of(_user_of(request), "run", run_id)


def _user_of(request: Request) -> UUID:
    caller: Principal = request.state.principal
    return caller.user_id


async def authenticate(request: Request, bulkhead: Bulkhead) -> Principal:
    """The caller, within the limits of its key or address. Raises Unauthorized and RateLimited."""
    gate: Gate = request.app.state.gate
    secret = secret_of(request)
    address = request.client.host if request.client else ""
    name = await gate.enter(services_of(request), secret, address)
    if not secret:
        gate.refused(name, address)
        raise errors.Unauthorized
    try:
        await _issuer_answered(services_of(request), secret)
        principal = await bulkhead.run(lambda: check_key(request))
    except errors.Unauthorized:
        gate.refused(name, address)
        raise
    gate.opened(name)
    request.scope["answer_headers"].update(gate.headers(name))
    if principal.token is not None and not request.scope.get(USER):
        request.scope[USER] = principal.token.subject  # so the audit log names the person
    return principal


async def _issuer_answered(services: Services, secret: str) -> None:
    """Wait for the keys that an access token needs, in no thread: `check_key` holds one of few."""
    if access_tokens.is_token(services.settings, secret):
        pending = access_tokens.pending(services, secret)
        if pending is not None:
            with suppress(TimeoutError):  # check_key says that the keys are unknown
                async with asyncio.timeout(ISSUER_SECONDS):
                    await asyncio.wrap_future(pending)


def check_key(request: Request) -> Principal:
    """The caller, if its key or access token is still valid; raises Unauthorized."""
    services, secret = services_of(request), secret_of(request)
    if access_tokens.is_token(services.settings, secret):
        return access_tokens.authenticate(services, secret)
    return api_keys.authenticate(services, secret)


def secret_of(request: Request) -> str:
    """The API key or access token that the request brings, from either header; empty without one."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    secret = credentials if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")
    # Headers are decoded as latin-1; a key from the settings may contain other characters.
    return secret.strip().encode("latin-1").decode(errors="replace")


ServicesDep = Annotated[Services, Depends(_services)]
Reader = Annotated[Principal, Depends(_needs("read"))]
Writer = Annotated[Principal, Depends(_needs("write"))]
Admin = Annotated[Principal, Depends(_needs("admin"))]
AnyKey = Annotated[Principal, Depends(_any_key)]
PageDep = Annotated[paging.PageRequest, Depends(_page_request)]
FlowId = Annotated[UUID, Depends(_flow_in_path)]
RunId = Annotated[ids.CallerId, Depends(_run_in_path)]
NodeId = Annotated[str, Depends(_node_in_path)]
MessageId = Annotated[ids.CallerId, Depends(_message_in_path)]
NodeExecutionId = Annotated[ids.CallerId, Depends(_execution_in_path)]
Named = Annotated[str, Depends(_name_in_path)]
BaseNamed = Annotated[str, Depends(_base_name_in_path)]
FlowNamed = Annotated[UUID, Depends(_required_flow_in_query)]
FlowFilter = Annotated[UUID | None, Depends(_flow_in_query)]
RunFilter = Annotated[ids.CallerId | None, Depends(_run_in_query)]
MemoryBaseId = Annotated[SentUuid, Path(description="The UUID of the memory base.")]
SessionNamed = Annotated[Identifier, Query(description="The session's id, chosen by the caller.")]
EndUserId = Annotated[str, Depends(_end_user_in_path)]
EndUserFilter = Annotated[
    Identifier | None,
    Query(description="The person that sessions or chats belong to; only what belongs to them."),
]
TextQuery = Annotated[
    Stored | None,
    Query(
        max_length=MAX_TEXT_FILTER,
        description="Sessions whose messages contain all of these words, or whose id, title or end user contains the "
        "text. End users whose id contains the text.",
    ),
]
