"""Whose memory a call may reach, and its calls of the HTTP API.

The scope comes from the key and the address, never from an argument: a model can be talked into any argument.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias, cast
from urllib.parse import quote

import httpx
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

Json = dict[str, Any]
Call: TypeAlias = Context[Any, Any]

LISTED = 10  # flows that an error names
SCOPE = "memorybase.mcp"  # the key of the ASGI scope under which the API passes on the scope of a request


class NotHere(ToolError):
    """What was asked for does not exist, or not in this scope."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A client of `/v1` that sends the caller's key, and the flow and the end user that every call is limited to.
    Without a flow: the key's only one."""

    http: httpx.AsyncClient
    flow: str | None = None
    end_user: str | None = None

    async def call(self, method: str, path: str, *, allow: Collection[int] = (), **options: Any) -> Any:
        """The answer's JSON. Raises ToolError with the API's error."""
        try:
            answer = await self.http.request(method, path, **options)
        except httpx.TransportError as error:
            reason = f"nothing answers at {self.http.base_url} ({type(error).__name__})"
            raise ToolError(f"Memory is unavailable: {reason}. Retry later") from error
        if answer.is_success or answer.status_code in allow:
            return answer.json() if answer.content else None
        raise (NotHere if answer.status_code == HTTPStatus.NOT_FOUND else ToolError)(_error_text(answer))

    async def get(self, path: str, **params: Any) -> Any:
        """The answer's JSON; parameters that are None are left out."""
        return await self.call("GET", path, params={k: v for k, v in params.items() if v is not None})

    async def flow_id(self) -> str:
        """The flow that every call is limited to. Raises ToolError if neither the address nor the key decides."""
        if self.flow is not None:
            return self.flow
        flows = await self.get("/flows", size=LISTED)
        if flows["total"] == 1:
            return str(flows["items"][0]["id"])
        names = ", ".join(flow["external_id"] or flow["id"] for flow in flows["items"])
        existing = f"This key has {flows['total']} flows: {names}" if names else "This key has no flow yet"
        raise ToolError(
            f"{existing}. The configuration of this server must name one: the address /mcp/flows/FLOW_ID, "
            "or `memorybase mcp --flow FLOW_ID`"
        )

    async def require_session(self, session_id: str) -> Json:
        """The newest message of a session. Raises ToolError if the session is empty or outside of the scope."""
        found = await self.messages(session_id, size=1)
        if not found["items"]:
            raise NotHere(f"There is no session {session_id!r} with messages here. list_sessions shows which exist")
        return cast("Json", found["items"][0])

    async def messages(self, session_id: str, *, size: int, cursor: str | None = None) -> Json:
        """A page of a session's messages, newest first."""
        page = await self.get(
            "/messages", flow_id=await self.flow_id(), session_id=session_id, end_user_id=self.end_user,
            order="desc", size=size, cursor=cursor,
        )  # fmt: skip
        return cast("Json", page)

    async def require_message(self, message_id: str) -> Json:
        """Raises ToolError if there is no such message, or if it is outside of the scope."""
        message: Json = await self.get(f"/messages/{quoted(message_id)}", flow_id=await self.flow_id())
        if self.end_user is not None and message["end_user_id"] != self.end_user:
            raise NotHere("There is no such message (not_found, message_id)")
        return message


def scope_of(call: Call) -> Scope:
    """The scope of a call: of its HTTP request, else of the process."""
    context = call.request_context
    return cast("Scope", context.lifespan_context if context.request is None else context.request.scope[SCOPE])


def quoted(value: str) -> str:
    return quote(value, safe="")


def _error_text(answer: httpx.Response) -> str:
    try:
        error: Json = answer.json()["error"]
        hint = "retry later" if error["retryable"] else "do not retry unchanged"
        where = f", {error['field']}" if error.get("field") else ""
        return f"{error['message']} ({error['code']}{where}; {hint}; request {error['request_id']})"
    except (ValueError, KeyError, TypeError):
        return f"The memory server answered {answer.status_code}"
