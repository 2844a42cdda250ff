"""What a view answers with."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from api.web import rendering

# What differs in each page, or with each second: the token of forms, and ages.
_TOKEN = re.compile(r'name="csrf" value="[^"]*"|(?<=">)[^<]*(?=</time>)')
NOTICE_COOKIE = "memorybase_notice"  # read and deleted by the script of the page that follows


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(rendering.render(request, template, **values), status_code=status)


def live(request: Request, template: str, **values: Any) -> Response:
    """204 if the query's `seen` is the version of what would be sent."""
    plain = rendering.render(request, template, version="", **values)
    version = hashlib.sha256(_TOKEN.sub("", plain).encode()).hexdigest()[:16]
    if request.query_params.get("seen") == version:
        return Response(status_code=204)
    return HTMLResponse(rendering.render(request, template, version=version, **values))


def done(request: Request, path: str, notice: str, *, undo: str = "") -> Response:
    """Load the page at `path`. A cookie carries the notice, so that it is shown once and is in no address."""
    address = f"{request.scope.get('root_path', '')}{path}"
    response: Response
    if "hx-request" in request.headers:
        response = Response(headers={"HX-Redirect": address})
    else:
        response = RedirectResponse(address, 303)
    if notice:
        value = quote(json.dumps({"text": notice, "undo": undo}))
        response.set_cookie(
            NOTICE_COOKIE,
            value,
            max_age=60,
            path=request.scope.get("root_path") or "/",
            samesite="lax",
            secure=request.url.scheme == "https",
        )
    return response
