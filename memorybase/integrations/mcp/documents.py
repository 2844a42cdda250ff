"""Resources: sessions, summaries and messages as text, for a person who adds them to a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from pydantic import Field

from memorybase.integrations.mcp.answers import text_of
from memorybase.integrations.mcp.scope import Call, NotHere, scope_of
from memorybase.messages import message_text

TRANSCRIPT_MESSAGES = 200  # the newest; get_session reads earlier ones
ANY_ID = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)  # an id is no path of a file


def add_resources(server: MCPServer[Any]) -> None:
    templates = {
        "memorybase://sessions/{session_id}": read_session,
        "memorybase://sessions/{session_id}/summary": read_summary,
        "memorybase://messages/{message_id}": read_message,
    }
    for uri, read in templates.items():
        name = read.__name__.removeprefix("read_")
        server.resource(uri, name=name, title=name.capitalize(), mime_type="text/plain", security=ANY_ID)(read)


async def read_session(call: Call, session_id: Annotated[str, Field(description="The id of a session.")]) -> str:
    """The transcript of a session: its newest 200 messages, oldest first."""
    with _reported():
        scope = scope_of(call)
        await scope.require_session(session_id)
        page = await scope.messages(session_id, size=TRANSCRIPT_MESSAGES)
    lines = [f"{_who(message)}: {text_of(message)}" for message in reversed(page["items"])]
    left_out = page["total"] - len(lines)
    return "\n\n".join([f"({left_out} earlier messages are left out)", *lines] if left_out else lines)


async def read_summary(call: Call, session_id: Annotated[str, Field(description="The id of a session.")]) -> str:
    """The stored summary of a session, without its latest messages."""
    with _reported():
        scope = scope_of(call)
        await scope.require_session(session_id)
        params = {"flow_id": await scope.flow_id(), "session_id": session_id}
        found = await scope.call("GET", "/summary", allow=(404,), params=params)
    if found.get("summary") is None:
        raise ResourceNotFoundError("This session has no summary. Short sessions need none: read the session itself")
    return str(found["summary"])


async def read_message(call: Call, message_id: Annotated[str, Field(description="The id of a message.")]) -> str:
    """The whole text of a message."""
    with _reported():
        return message_text((await scope_of(call).require_message(message_id))["content"])


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except NotHere as error:
        raise ResourceNotFoundError(str(error)) from error
    except ToolError as error:
        raise ResourceError(str(error)) from error


def _who(message: dict[str, Any]) -> str:
    return f"{message['timestamp'][:16]} {message['sender_name'] or message['role']}"
