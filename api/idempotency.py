"""The header Idempotency-Key: a request is carried out once, and its repetitions get the first answer.

Of a request without the header, only its absence is looked at.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from sqlalchemy.orm import Session as OrmSession
from starlette.exceptions import HTTPException

from api.locations import PREFIX
from memorybase.core import errors, idempotency
from memorybase.core.idempotency import KEY_LENGTH, Answer, Claim
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Result = TypeVar("Result")

HEADER, REPLAYED = idempotency.FIELD, "Idempotency-Replayed"

log = get_logger(__name__)

_types: dict[type[Any], TypeAdapter[Any]] = {}  # of answers: making one takes a millisecond


@dataclass(slots=True)
class KeyedRequest:
    """A request with a key, while it is carried out."""

    operation: str
    left_out: str | None  # a field of the answer that is not stored
    claim: Claim
    kept: Answer | None = None

    def keep(self, db: OrmSession, status: int, answer: Any, headers: Mapping[str, str]) -> None:
        """Store the answer in the operation's transaction. Raises IdempotencyInProgress if the claim is lost."""
        kind = type(answer)
        if kind not in _types:
            _types[kind] = TypeAdapter(kind)
        body = _types[kind].dump_json(answer)
        self.kept = _stored(self.left_out, status, body, headers.get("Location"))
        idempotency.keep(db, self.claim, self.kept)


def once(operation: str, scope: str | None, left_out: str | None, handler: Handler) -> Handler:
    """The handler of an operation, which looks for the header. `scope`: of the operation, which a replay needs too.
    `left_out`: the field of the answer that is not stored; the route completes or refuses a replay."""

    async def answered(request: Request) -> Response:
        if HEADER not in request.headers:
            return await handler(request)
        if scope is not None:
            request.state.principal.require(scope)
        return await _answered(operation, left_out, handler, request)

    return answered


def keeping(
    request: Request, status: int, answer_of: Callable[[OrmSession, Result], tuple[Any, Mapping[str, str]]]
) -> Callable[[OrmSession, Result], None] | None:
    """A callback for an operation to run before it commits: it stores the answer and headers that `answer_of` returns.
    None for a request without a key."""
    keyed: KeyedRequest | None = getattr(request.state, "keyed_request", None)
    if keyed is None:
        return None

    def keep(db: OrmSession, result: Result) -> None:
        keyed.keep(db, status, *answer_of(db, result))

    return keep


def operation_id(request: Request) -> UUID | None:
    """An id that is the same in each attempt at a request with a key, to derive ids from."""
    keyed: KeyedRequest | None = getattr(request.state, "keyed_request", None)
    return None if keyed is None else keyed.claim.operation_id


def replayed(request: Request) -> dict[str, Any] | None:
    """The first answer, without the field that is left out, if this request repeats one."""
    found: dict[str, Any] | None = getattr(request.state, "replayed", None)
    return found


def refuse_replay(request: Request) -> None:
    """For what shows a secret once: raises SecretNotStored for a request that has created it."""
    first = replayed(request)
    if first is not None:
        raise errors.SecretNotStored(field=HEADER, existing_id=first["id"])


async def _answered(operation: str, left_out: str | None, handler: Handler, request: Request) -> Response:
    services: Services = request.app.state.services
    user_id, key, fingerprint = request.state.principal.user_id, _key_of(request), await _fingerprint(request)
    claimed = await run_in_threadpool(idempotency.claim, services, user_id, key, fingerprint)
    if isinstance(claimed, Answer):
        return await _replay(left_out, handler, request, claimed)
    keyed = request.state.keyed_request = KeyedRequest(operation, left_out, claimed)
    renewing = asyncio.create_task(_renew(services, claimed))
    try:
        response = await handler(request)
    except Exception as error:
        await _release(services, claimed, was_rejected=_is_rejection(error))
        raise
    finally:
        renewing.cancel()
    if keyed.kept is None:
        location = response.headers.get("location")
        keyed.kept = _stored(left_out, response.status_code, bytes(response.body), location)
        await _keep_afterwards(services, keyed)
    return _response(keyed.kept) if left_out is None else response


async def _replay(left_out: str | None, handler: Handler, request: Request, answer: Answer) -> Response:
    if left_out is None:
        response = _response(answer)
    else:
        request.state.replayed = json.loads(answer.body)
        response = await handler(request)
    response.headers[REPLAYED] = "true"
    return response


def _key_of(request: Request) -> str:
    """The key, a string with or without the quotes of a structured field. Raises InvalidRequest."""
    sent = request.headers.getlist(HEADER)
    if len(sent) > 1:
        raise errors.InvalidRequest(f"{HEADER} must be sent once", field=HEADER, value=len(sent), limit=1)
    key = sent[0].strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = key[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if not key or len(key) > KEY_LENGTH:
        message = f"{HEADER} must have 1 to {KEY_LENGTH} characters (got {len(key)})"
        raise errors.InvalidRequest(message, field=HEADER, value=len(key), limit=[1, KEY_LENGTH])
    if not (key.isascii() and key.isprintable()):
        raise errors.InvalidRequest(f"{HEADER} must have printable ASCII characters only", field=HEADER)
    return key


async def _fingerprint(request: Request) -> bytes:
    path = request.scope["path"].removeprefix(PREFIX)  # the bare paths are the same operations
    target = json.dumps([request.method, path, request.scope["query_string"].decode("latin-1")])
    return hashlib.sha256(target.encode() + b"\n" + await request.body()).digest()


def _stored(left_out: str | None, status: int, body: bytes, location: str | None) -> Answer:
    """The answer as it is stored."""
    if left_out is None:
        return Answer(status, body.decode(), location)
    return Answer(status, json.dumps({**json.loads(body), left_out: None}), location)


def _response(answer: Answer) -> Response:
    headers = {} if answer.location is None else {"Location": answer.location}
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")


def _is_rejection(error: Exception) -> bool:
    if isinstance(error, errors.MemorybaseError):
        # The transaction that collided was rolled back, not those before it: a repetition keeps the ids.
        return error.status_code < 500 and not isinstance(error, errors.ConstraintViolated)
    return isinstance(error, RequestValidationError | HTTPException)


async def _renew(services: Services, claimed: Claim) -> None:
    while True:
        await asyncio.sleep(idempotency.RENEW_SECONDS)
        with suppress(errors.EnvironmentFailure):  # if that lasts, the lease expires, and `keep` fails
            await run_in_threadpool(idempotency.renew, services, claimed)


async def _release(services: Services, claimed: Claim, *, was_rejected: bool) -> None:
    # The caller gets the operation's own error. Without the release, its lease expires.
    with suppress(errors.EnvironmentFailure):
        await run_in_threadpool(idempotency.release, services, claimed, was_rejected=was_rejected)


async def _keep_afterwards(services: Services, keyed: KeyedRequest) -> None:
    if keyed.kept is None:
        return
    try:
        await run_in_threadpool(idempotency.keep_afterwards, services, keyed.claim, keyed.kept)
    except errors.EnvironmentFailure as error:  # what was asked for is done
        log.warning("answer_not_kept", operation=keyed.operation, error_code=error.code)
