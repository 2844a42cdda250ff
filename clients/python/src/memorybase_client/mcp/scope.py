"""Decides whose memory a call may reach, and words the errors that a model reads.

The scope comes from the key and the address, never from an argument: a model can be talked into any argument.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, cast

from mcp.server.mcpserver import Context

from memorybase_client import AsyncClient, errors
from memorybase_client.errors import MemorybaseError

if TYPE_CHECKING:
    from memorybase_client import models

Call: TypeAlias = Context[Any, Any]
Given = ParamSpec("Given")
Answer = TypeVar("Answer")

TRIES = 1  # the model reads whether to retry, and a user waits for its answer
LISTED = 10  # flows that an error names
SCOPE = "memorybase.mcp"  # the key of the ASGI scope under which the API passes on the scope of a request


@dataclass(frozen=True, slots=True)
class Scope:
    """A client with the caller's key, and the flow and the end user that every call is limited to. Without a flow: the
    key's only one."""

    client: AsyncClient
    flow: str | None = None
    end_user: str | None = None

    async def flow_id(self) -> str:
        """The flow that every call is limited to. Raises CallerError if neither the address nor the key decides."""
        if self.flow is not None:
            return self.flow
        flows = await self.client.list_flows(size=LISTED).page()
        if flows.total == 1:
            return str(flows.items[0].id)
        raise errors.CallerError(
            f"{_existing(flows)}. The configuration of this server must name one: the address /mcp/flows/FLOW_ID, "
            "or `memorybase-mcp --flow FLOW_ID`"
        )

    async def unknown_flow(self) -> str | None:
        """What is wrong if the API says that the stated flow does not exist. None if it does, and while the API is away
        or the key may not ask: the calls say that."""
        try:
            if self.flow is not None:
                await self.client.get_flow(self.flow)
        except errors.NotFound:
            with suppress(MemorybaseError):
                return f"There is no flow {self.flow!r}. {_existing(await self.client.list_flows(size=LISTED).page())}"
        except MemorybaseError:
            pass
        return None

    async def require_session(self, session_id: str) -> models.MessageView:
        """The newest message of a session. Raises NotFound if the session is empty or outside of the scope."""
        page = await self.messages(session_id, size=1)
        if not page.items:
            text = f"There is no session {session_id!r} with messages here. list_sessions shows which exist"
            raise errors.NotFound(text)
        return page.items[0]

    async def messages(
        self, session_id: str, *, size: int, before: str | None = None, after: str | None = None
    ) -> models.Page[models.MessageView]:
        """A page of a session's messages, newest first; of those after a message, oldest first."""
        return await self.client.list_messages(
            flow_id=await self.flow_id(),
            session_id=session_id,
            end_user_id=self.end_user,
            before_message_id=before,
            after_message_id=after,
            order="desc" if after is None else "asc",
            size=size,
        ).page()

    async def require_message(self, message_id: str) -> models.MessageView:
        """Raises NotFound if there is no such message, or if it is outside of the scope."""
        missing = f"There is no message {message_id!r} here"
        try:
            message = await self.client.get_message(message_id, flow_id=await self.flow_id())
        except errors.NotFound as error:
            if error.field == "message_id":  # else the flow does not exist
                raise errors.NotFound(missing, field=error.field, request_id=error.request_id) from error
            raise
        if self.end_user is not None and message.end_user_id != self.end_user:
            raise errors.NotFound(f"{missing} (not_found, message_id)")
        return message


def _existing(flows: models.Page[models.FlowView]) -> str:
    names = ", ".join(flow.external_id or str(flow.id) for flow in flows.items)
    return (
        f"This key has {flows.total} {'flow' if flows.total == 1 else 'flows'}: {names}"
        if names
        else "This key has no flow yet"
    )


def scope_of(call: Call) -> Scope:
    """The scope of a call: of its HTTP request, else of the process."""
    context = call.request_context
    return cast("Scope", context.lifespan_context if context.request is None else context.request.scope[SCOPE])


def reporting(
    function: Callable[Given, Awaitable[Answer]], make: Callable[[MemorybaseError], Exception]
) -> Callable[Given, Awaitable[Answer]]:
    """The function, raising what `make` makes of an error: the SDK hides the text of errors that are not its own."""

    @wraps(function)
    async def run(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        try:
            return await function(*args, **kwargs)
        except MemorybaseError as error:
            raise make(error) from error

    return run


def error_text(error: MemorybaseError) -> str:
    """The error as the model reads it: what is wrong, and whether to retry."""
    if isinstance(error, errors.ConnectionFailed):
        return f"Memory is unavailable: {error.message}. Retry later"
    if error.request_id is None:  # not of the API
        return error.message
    where = f", {error.field}" if error.field else ""
    hint = "retry later" if error.retryable else "do not retry unchanged"
    return f"{error.message} ({error.code}{where}; {hint}; request {error.request_id})"
