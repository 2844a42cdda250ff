"""Resources: sessions, summaries and messages as text, for a person who adds them to a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from pydantic import Field

from memorybase_client import errors
from memorybase_client.mcp.answers import content_text, text_of
from memorybase_client.mcp.scope import Call, error_text, reporting, scope_of

if TYPE_CHECKING:
    from memorybase_client import models

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
        server.resource(uri, name=name, title=name.capitalize(), mime_type="text/plain", security=ANY_ID)(
            reporting(read, _resource_error)
        )


async def read_session(call: Call, session_id: Annotated[str, Field(description="The id of a session.")]) -> str:
    """The transcript of a session: its newest 200 messages, oldest first."""
    scope = scope_of(call)
    await scope.require_session(session_id)
    page = await scope.messages(session_id, size=TRANSCRIPT_MESSAGES)
    lines = [f"{_who(message)}: {text_of(message)}" for message in reversed(page.items)]
    left_out = page.total - len(lines)
    return "\n\n".join([f"({left_out} earlier messages are left out)", *lines] if left_out else lines)


async def read_summary(call: Call, session_id: Annotated[str, Field(description="The id of a session.")]) -> str:
    """The stored summary of a session, without its latest messages."""
    scope = scope_of(call)
    await scope.require_session(session_id)
    try:
        summary = (await scope.client.get_summary(flow_id=await scope.flow_id(), session_id=session_id)).summary
    except errors.NotFound:  # the session exists
        summary = None
    if summary is None:
        raise errors.NotFound("This session has no summary. Short sessions need none: read the session itself")
    return summary


async def read_message(call: Call, message_id: Annotated[str, Field(description="The id of a message.")]) -> str:
    """The whole text of a message."""
    return content_text((await scope_of(call).require_message(message_id)).content)


def _resource_error(error: errors.MemorybaseError) -> ResourceError:
    kind = ResourceNotFoundError if isinstance(error, errors.NotFound) else ResourceError
    return kind(error_text(error))


def _who(message: models.MessageView) -> str:
    return f"{message.timestamp.isoformat()[:16]} {message.sender_name or message.role}"
