"""One shape for every error: {type, title, status, detail} of RFC 9457, and for programs {"error": {code, message,
field?, value?, limit?, retryable, request_id, details?}}.

An error repeats only ids, numbers, times and enum values that the caller sent, truncated; never message text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from api.limits import POLICY
from memorybase.core import errors
from memorybase.core.idempotency import RETRY_SECONDS
from memorybase.core.models import NAME_LENGTH
from memorybase.core.telemetry import get_logger

PROBLEM_TYPE = "urn:memorybase:error:"
VALUE_CHARS = NAME_LENGTH  # as long as an id or a name may be
DETAILED_ERRORS = 20

# Retry-After in seconds: a job of one session takes about one second, an outage or a build takes longer.
RETRY_AFTER_JOB = 1
RETRY_AFTER_OUTAGE = 5

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

_LIMITS = ("max_length", "min_length", "le", "lt", "ge", "gt")
_LENGTHS = {"string_too_long", "string_too_short", "too_long", "too_short"}
_TIME_TYPES = ("datetime_from_date_parsing", "datetime_parsing", "datetime_type")
_REPEATED = {"enum", "literal_error", "uuid_parsing", "uuid_type", *_TIME_TYPES}
_MESSAGES = {
    "extra_forbidden": "Unknown field",
    "missing": "This field is required",
    "uuid_parsing": "Input should be a UUID",
    **dict.fromkeys(_TIME_TYPES, "Input should be a date and a time such as 2026-11-16T10:00:00Z"),
}
_SUBJECT = re.compile(r"^\w+ should\b")  # of Pydantic's messages: "String should have at most 200 characters"

log = get_logger(__name__)


class NoSuchMethod(errors.CallerError):
    """This path does not allow this method. See the Allow header."""

    code = "method_not_allowed"
    status_code = 405


class RequestTimeout(errors.CallerError):
    """The client was too slow to send its request. Send it again on a faster connection."""

    code = "request_timeout"
    status_code = 408
    retryable = True


class HeadersTooLarge(errors.CallerError):
    """The request line and the headers are too large."""

    code = "headers_too_large"
    status_code = 431


class TooManyConnections(errors.MemorybaseError):
    """Too many connections are open. Try again with fewer connections."""

    code = "too_many_connections"
    status_code = 503
    retryable = True


class TooManyBodies(errors.MemorybaseError):
    """The bodies of other requests fill the memory for bodies. Try again."""

    code = "too_many_bodies"
    status_code = 503
    retryable = True


class Overloaded(errors.MemorybaseError):
    """Too much other work of this kind is in progress. Retry after the time in Retry-After."""

    code = "overloaded"
    status_code = 503
    retryable = True


def install(app: FastAPI) -> None:
    """Render every error in the one shape."""
    app.add_exception_handler(errors.MemorybaseError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_error)
    app.add_exception_handler(HTTPException, _on_http_error)


def render(error: errors.MemorybaseError, request_id: str) -> JSONResponse:
    """The response for an error; `request_id` is the value of the X-Request-Id header."""
    body = body_of(error, request_id)
    answer = {
        "type": PROBLEM_TYPE + error.code,
        "title": title_of(type(error)),
        "status": error.status_code,
        "detail": body["message"],
        "error": body,
    }
    return JSONResponse(answer, status_code=error.status_code, headers=headers_of(error))


def body_of(error: errors.MemorybaseError, request_id: str) -> dict[str, Any]:
    """The fields of an error, truncated and without message text."""
    body: dict[str, Any] = {"code": error.code, "message": _clean(error.message)}
    if error.field is not None:
        body["field"] = _clean(error.field)
    if (value := _shown(error.value)) is not None:
        body["value"] = value
    if (limit := _shown(error.limit)) is not None:
        body["limit"] = limit
    body |= {"retryable": error.retryable, "request_id": request_id}
    if error.details:
        body["details"] = jsonable_encoder(error.details)
    return body


def as_error(found: Exception) -> errors.MemorybaseError:
    """The error of ours for what a route or FastAPI raised; raises anything else again."""
    if isinstance(found, errors.MemorybaseError):
        return found
    if isinstance(found, RequestValidationError):
        return _from_validation(found.errors())
    if isinstance(found, HTTPException):
        return _from_status(found.status_code)
    raise found


def log_failure(request: Request, error: errors.MemorybaseError) -> None:
    """Log what is not the caller's mistake."""
    # While a stack starts, its readiness is polled many times a second.
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, errors.NotReady):
        # Of an outage: during which operation, and the type of the driver's error or the server's status.
        names = {"operation": "operation", "status": "status", "reason": "cause"}
        cause = {names[name]: value for name, value in error.details.items() if name in names}
        log.warning("request_failed", code=error.code, method=request.method, reason=str(error), **cause)


def title_of(kind: type[errors.MemorybaseError]) -> str:
    """The first sentence about the code, the same for every error that has it."""
    stated = next(each for each in kind.__mro__ if "code" in vars(each))
    return (stated.__doc__ or "").strip().splitlines()[0].split(". ")[0].rstrip(".")


def codes() -> list[str]:
    """The codes of all errors, for the document."""
    kinds: list[type[errors.MemorybaseError]] = [errors.MemorybaseError]
    for kind in kinds:
        kinds += [each for each in kind.__subclasses__() if each.__module__.startswith(("api.", "memorybase."))]
    return sorted({kind.code for kind in kinds})


def request_id_of(request: Request) -> str:
    return str(request.scope.get("request_id", ""))


async def _on_error(request: Request, found: Exception) -> JSONResponse:
    error = as_error(found)
    log_failure(request, error)
    return render(error, request_id_of(request))


async def _on_http_error(request: Request, found: Exception) -> JSONResponse:
    answer = render(as_error(found), request_id_of(request))
    if isinstance(found, HTTPException):
        answer.headers.update(found.headers or {})
    if answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        answer.headers["Allow"] = _allowed_methods(request)
    return answer


def _allowed_methods(request: Request) -> str:
    """Every method of the path: Starlette names those of the first route that matches it."""
    scope = {name: request.scope[name] for name in ("type", "path", "root_path", "headers")}
    allowed = (
        method
        for method in METHODS
        if any(route.matches(scope | {"method": method})[0] is Match.FULL for route in request.app.routes)
    )
    return ", ".join(allowed)


def _from_status(status: int) -> errors.MemorybaseError:
    if status == HTTPStatus.NOT_FOUND:
        return errors.NotFound("There is no such path. See GET /v1/openapi.json")
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return NoSuchMethod()
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.CallerError("The body could not be read")
    return errors.MemorybaseError()


def _from_validation(found: Sequence[Any]) -> errors.CallerError:
    first = found[0]
    if first["type"] == "json_invalid":
        return errors.CallerError("The body must be valid JSON", field="body")
    others = [{"field": _field(each["loc"]), "message": _message(each)} for each in found[1:DETAILED_ERRORS]]
    details: dict[str, Any] = {"others": others} if others else {}
    return errors.InvalidRequest(
        _message(first),
        field=_field(first["loc"]),
        value=_value(first),
        limit=_limit(first.get("ctx") or {}),
        **details,
    )


def _field(location: Sequence[Any]) -> str:
    """messages[3].role for ("body", "messages", 3, "role")."""
    indices = location[1:] if len(location) > 1 else location
    field = ""
    for index in indices:
        field += f"[{index}]" if isinstance(index, int) else f".{_clean(str(index))}" if field else _clean(str(index))
    return field


def _message(found: Mapping[str, Any]) -> str:
    if found["type"] == "model_attributes_type" and isinstance(found.get("input"), bytes):
        return "The body must be JSON: send Content-Type: application/json"
    message: str = _MESSAGES.get(found["type"]) or found["msg"]
    if found["type"] == "value_error":  # Pydantic prefixes the message of a ValueError that a validator raised
        return message.removeprefix("Value error, ")
    return _SUBJECT.sub(lambda _: f"{_field(found['loc'])} must", message)


def _value(found: Mapping[str, Any]) -> object:
    value = found.get("input")
    if isinstance(value, str | list | dict) and found["type"] in _LENGTHS:
        return len(value)
    if isinstance(value, bool | int | float):
        return value
    return value if isinstance(value, str) and found["type"] in _REPEATED else None


def _limit(context: Mapping[str, Any]) -> object:
    return next((context[name] for name in _LIMITS if name in context), None)


def _shown(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 10**VALUE_CHARS else None
    if isinstance(value, list):  # both bounds, or the allowed values
        return [_shown(each) for each in value]
    return _clean(str(value)) if isinstance(value, str | UUID) else None


def _clean(text: str) -> str:
    """Truncated, and encodable as UTF-8."""
    return text[: VALUE_CHARS * 5 if " " in text else VALUE_CHARS].encode(errors="replace").decode()


def headers_of(error: errors.MemorybaseError) -> dict[str, str]:
    if isinstance(error, errors.Unauthorized):
        return {"WWW-Authenticate": "Bearer"}
    seconds = _retry_after(error)
    if seconds is None:
        return {}
    is_of_calls = isinstance(error, errors.RateLimited) and not isinstance(error, errors.QuotaExceeded)
    none_left = {"RateLimit": f'"{POLICY}";r=0;t={seconds}'} if is_of_calls else {}
    return {"Retry-After": str(seconds), **none_left}


def _retry_after(error: errors.MemorybaseError) -> int | None:
    if isinstance(error, errors.QuotaFull):
        return None  # no time makes room
    wait = error.details.get("retry_after_seconds")
    if isinstance(wait, float):
        return math.ceil(wait)
    if isinstance(error, errors.RateLimited | Overloaded | errors.IngestionActive):
        return RETRY_AFTER_JOB
    if isinstance(error, errors.IdempotencyInProgress):
        return RETRY_SECONDS
    is_away = error.retryable or error.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    return RETRY_AFTER_OUTAGE if is_away else None
