"""Errors in Dify's form, `{error_code, error_msg}`, for the route that Dify calls.

A wrong key is 403 here: when a user saves the connection, Dify sends an empty POST and refuses only 403, 404 and 502.
After a 401 it would save a key that never works.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from enum import IntEnum
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from api import failures
from api.deps import KeyedRoute
from memorybase import errors


class Code(IntEnum):
    HEADER = 1001
    KEY = 1002
    KNOWLEDGE = 2001


class HeaderForm(errors.Unauthorized):
    """The header must be 'Authorization: Bearer KEY'."""


class DifyRoute(KeyedRoute):
    """A keyed route whose errors have Dify's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                _check_header(request)
                return await handler(request)
            except (errors.MemorybaseError, RequestValidationError, HTTPException) as found:
                error = failures.as_error(found)
                failures.log_failure(request, error)
                return _render(error)

        return answered


def _check_header(request: Request) -> None:
    """Raises HeaderForm: Dify tells a missing key from a wrong one."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if not (scheme.lower() == "bearer" and credentials.strip()) and not request.headers.get("x-api-key"):
        raise HeaderForm


def _render(error: errors.MemorybaseError) -> JSONResponse:
    status, code = _status_and_code(error)
    headers = failures.headers_of(error) if status != HTTPStatus.FORBIDDEN else {}
    return JSONResponse({"error_code": code, "error_msg": _text(error)}, status_code=status, headers=headers)


def _status_and_code(error: errors.MemorybaseError) -> tuple[int, int]:
    if isinstance(error, HeaderForm):
        return HTTPStatus.FORBIDDEN, Code.HEADER
    if isinstance(error, errors.Unauthorized | errors.Forbidden):
        return HTTPStatus.FORBIDDEN, Code.KEY
    if isinstance(error, errors.NotFound):
        return error.status_code, Code.KNOWLEDGE
    return error.status_code, error.status_code


def _text(error: errors.MemorybaseError) -> str:
    """One line with the field, the value and the bound: Dify shows nothing else of an error."""
    body = failures.body_of(error, "")
    text: str = body["message"]
    field, value, limit = (body.get(name) for name in ("field", "value", "limit"))
    if field is not None and field not in text:
        text = f"{field}: {text}"
    more = [
        f"{name} {each}"
        for name, each in (("got", value), ("limit", limit))
        if each is not None and str(each) not in text
    ]
    return f"{text} ({', '.join(more)})" if more else text
