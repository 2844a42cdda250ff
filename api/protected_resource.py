"""MCP as a protected resource of OAuth 2.1: its metadata (RFC 9728), and what a refused client is told (RFC 6750)."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.routing import Route

from api.middleware import path_text
from memorybase.core import errors
from memorybase.core.auth import access_tokens
from memorybase.core.settings import Settings

WELL_KNOWN = "/.well-known/oauth-protected-resource"
CHALLENGE = "WWW-Authenticate"
MAX_DESCRIPTION = 300


def mount(app: FastAPI, paths: list[str]) -> None:
    """Serve the metadata of the resources at these paths, and of all at the root."""
    for path in ("", *paths):
        app.router.routes.append(Route(WELL_KNOWN + path, _metadata, methods=["GET"], include_in_schema=False))


async def _metadata(request: Request) -> Response:
    """A client without a token reads it, so it says nothing of whether a flow exists."""
    settings: Settings = request.app.state.settings
    return JSONResponse(
        {
            "resource": access_tokens.resource(settings, _flow_of(request)),
            "resource_name": "memorybase",
            "authorization_servers": [settings.oauth_issuer],
            "scopes_supported": access_tokens.scope_names(settings, "read", "write"),
            "bearer_methods_supported": ["header"],
        }
    )


def challenge(request: Request, error: errors.MemorybaseError | None, *scopes: str) -> None:
    """Have the answer say where tokens for this resource come from, and which scopes to ask for."""
    settings: Settings = request.app.state.settings
    if not settings.oauth_issuer:
        return
    path = access_tokens.resource(settings, _flow_of(request)).removeprefix(settings.public_url)
    said = {
        "resource_metadata": settings.public_url + WELL_KNOWN + path,
        "scope": " ".join(access_tokens.scope_names(settings, *scopes)),
    }
    if error is not None:
        code = "insufficient_scope" if isinstance(error, errors.Forbidden) else "invalid_token"
        said = {"error": code, "error_description": error.message[:MAX_DESCRIPTION], **said}
    text = ", ".join(f'{name}="{_quoted(value)}"' for name, value in said.items())
    request.scope["answer_headers"][CHALLENGE] = f"Bearer {text}"


def _quoted(value: str) -> str:
    """The characters that RFC 6750 allows in a value."""
    allowed = (each for each in value if " " <= each <= "~" and each not in '"\\')
    return "".join(allowed)


def _flow_of(request: Request) -> str | None:
    flow = request.path_params.get("flow_id")
    return None if flow is None else path_text(flow)
