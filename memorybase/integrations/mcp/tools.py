"""The tools. Each is a few calls of the HTTP API, which checks key, scopes, ids and bounds, and admits the work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import uuid4

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from memorybase.integrations.mcp import answers
from memorybase.integrations.mcp.answers import (
    BuiltContext,
    ContextReport,
    Corrected,
    Found,
    MemoryBaseStatus,
    Receipt,
    Remembered,
    SessionItem,
    Sessions,
    Status,
    StoredMessage,
    Transcript,
)
from memorybase.integrations.mcp.scope import Call, Json, Scope, quoted, scope_of
from memorybase.models import ID_LENGTH

NOTES = "notes"  # the session of what a model remembers without naming one
CANDIDATES = 50  # hits from which list_sessions takes its sessions
BASES = 10  # memory bases that memory_status shows
DELAY_WINDOW = timedelta(hours=24)

SessionId = Annotated[str, Field(min_length=1, max_length=ID_LENGTH, description="The id of a session.")]
Role = Literal["user", "assistant", "system", "tool"]

READ = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITE = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
REPLACE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def add_tools(server: MCPServer[Any]) -> None:
    hints: dict[Callable[..., Any], ToolAnnotations] = {
        search_memory: READ,
        get_context: READ,
        get_session: READ,
        list_sessions: READ,
        memory_status: READ,
        remember: WRITE,
        correct_memory: REPLACE,
        forget_memory: REPLACE,
    }
    for tool, hint in hints.items():
        title = tool.__name__.replace("_", " ").capitalize()
        server.add_tool(tool, title=title, annotations=hint, structured_output=True)


async def search_memory(
    call: Call,
    query: Annotated[str, Field(min_length=1, description="A question or words, as a person would say them.")],
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum results.")] = 5,
    session_id: Annotated[SessionId | None, Field(description="Search only this session.")] = None,
    after: Annotated[datetime | None, Field(description="Only messages from this time on.")] = None,
    before: Annotated[datetime | None, Field(description="Only messages up to this time.")] = None,
    role: Annotated[Role | None, Field(description="Only messages of this role.")] = None,
    neighbors: Annotated[int, Field(ge=0, le=5, description="Messages to show on either side of a hit.")] = 1,
) -> Found:
    """Search the messages of earlier conversations, best first. Use it before you say that you do not know something
    that may have been said before."""
    scope = scope_of(call)
    given = {
        "query": query, "top_k": top_k, "session_id": session_id, "roles": None if role is None else [role],
        "since": _time(after), "until": _time(before), "neighbors": neighbors,
    }  # fmt: skip
    return Found(results=[answers.hit(found) for found in await _search(scope, given)])


async def get_context(
    call: Call,
    query: Annotated[str, Field(min_length=1, description="What the next answer is about.")],
    token_budget: Annotated[int, Field(ge=100, le=100_000, description="Maximum tokens of the text.")] = 2_000,
    session_id: Annotated[
        SessionId | None, Field(description="Also include this session's summary and latest messages.")
    ] = None,
) -> BuiltContext:
    """Get all that memory has on a subject as one text within a token budget: passages of earlier conversations, and
    of one session its summary and latest messages. It is cheaper than several searches."""
    view = await build_context(scope_of(call), session_id, token_budget, query)
    report: Json = view["report"]
    return BuiltContext(
        text=view["text"],
        report=ContextReport(
            tokens=report["tokens_after"],
            **{name: report[name] for name in ("budget", "over_budget", "counter", "degraded", "spent", "further")},
        ),
    )


async def get_session(
    call: Call,
    session_id: SessionId,
    before: Annotated[str | None, Field(description="`before` of the last answer: for earlier messages.")] = None,
    limit: Annotated[int, Field(ge=1, le=200, description="Maximum messages.")] = 50,
) -> Transcript:
    """Read the latest messages of a session, oldest first: what was said around a hit."""
    scope = scope_of(call)
    page = await scope.messages(session_id, size=limit, cursor=before)
    if not page["items"] and before is None:
        await scope.require_session(session_id)
    messages: list[StoredMessage] = [answers.stored_message(message) for message in reversed(page["items"])]
    return Transcript(session_id=session_id, total=page["total"], messages=messages, before=page.get("next_cursor"))


async def list_sessions(
    call: Call,
    query: Annotated[str | None, Field(min_length=1, description="Only sessions with messages about this.")] = None,
    limit: Annotated[int, Field(ge=1, le=100, description="Maximum sessions.")] = 20,
    cursor: Annotated[str | None, Field(description="`cursor` of the last answer: for the next ones.")] = None,
) -> Sessions:
    """List sessions, latest first; with a query those that have messages about it, best first."""
    scope = scope_of(call)
    if query is not None:
        hits = await _search(scope, {"query": query, "top_k": CANDIDATES})
        best = {hit["session_id"]: hit for hit in reversed(hits)}
        ranked = sorted(best.values(), key=lambda hit: -float(hit["score"]))[:limit]
        items = [
            SessionItem(session_id=hit["session_id"], score=hit["score"], passage=answers.shortened(hit["snippet"])[0])
            for hit in ranked
        ]
        return Sessions(sessions=items, cursor=None)
    page = await recent_sessions(scope, size=limit, cursor=cursor)
    named = ("session_id", "messages", "last_captured_at")
    items = [SessionItem(**{name: session[name] for name in named}) for session in page["items"]]
    return Sessions(sessions=items, cursor=page.get("next_cursor"))


async def remember(
    call: Call,
    content: Annotated[
        str | None, Field(min_length=1, description="A fact, decision or preference, in a sentence that stands alone.")
    ] = None,
    messages: Annotated[
        list[Json] | None,
        Field(min_length=1, description="Or messages of a conversation: {role, content}, and id if they have one."),
    ] = None,
    session_id: Annotated[SessionId | None, Field(description=f"The session to append to. Default: {NOTES}.")] = None,
    run_id: Annotated[
        str | None,
        Field(min_length=1, max_length=ID_LENGTH, description="Default: derived from session and messages."),
    ] = None,
) -> Remembered:
    """Store what should be known in later conversations. Storing the same again changes nothing. Never store passwords
    or keys."""
    scope = scope_of(call)
    if (content is None) == (messages is None):
        raise ToolError("Pass either content or messages")
    # A memory base ingests outputs by default, so a note is the assistant's.
    remembered: list[Json] = messages or [{"role": "assistant", "content": content}]
    session = session_id or (NOTES if scope.end_user is None else f"{NOTES}:{scope.end_user}"[:ID_LENGTH])
    run = run_id or _run_id(session, remembered)
    body = {"session_id": session, "run_id": run, "messages": remembered, "end_user_id": scope.end_user}
    stored = await scope.call("POST", f"/flows/{quoted(await scope.flow_id())}/runs", json=body)
    return Remembered(
        session_id=session,
        run_id=run,
        stored=sum(message["created"] for message in stored["messages"]),
        message_ids=[message["id"] for message in stored["messages"]],
        searchable=bool(stored["ingestion"]),
    )


async def correct_memory(
    call: Call,
    message_id: Annotated[str, Field(min_length=1, max_length=ID_LENGTH, description="The id of a message.")],
    content: Annotated[str, Field(min_length=1, description="Its new text, which replaces the old one.")],
) -> Corrected:
    """Replace the text of a message that is wrong or out of date. The old text is gone."""
    scope = scope_of(call)
    message = await scope.require_message(message_id)
    path = f"/messages/{message['id']}"
    repairs = await scope.call("PATCH", path, params={"flow_id": await scope.flow_id()}, json={"content": content})
    return Corrected(message_id=message["id"], jobs=len(repairs["job_ids"]))


async def forget_memory(
    call: Call,
    message_id: Annotated[
        str | None, Field(min_length=1, max_length=ID_LENGTH, description="The message to delete.")
    ] = None,
    session_id: Annotated[SessionId | None, Field(description="Or the session to delete, with all messages.")] = None,
    confirm: Annotated[bool, Field(description="Must be true. Ask the user before you delete.")] = False,
) -> Receipt:
    """Delete a message, or a session with all of its messages, permanently."""
    scope = scope_of(call)
    if (message_id is None) == (session_id is None):
        raise ToolError("Pass either message_id or session_id")
    what = f"session {session_id!r} with all of its messages" if message_id is None else f"message {message_id!r}"
    if not confirm:
        raise ToolError(f"Nothing was deleted: confirm must be true. This deletes {what} permanently: ask the user")
    flow_id = await scope.flow_id()
    if session_id is not None:
        await scope.require_session(session_id)
        erased = await scope.call("DELETE", "/sessions", params={"flow_id": flow_id, "session_id": session_id})
        return Receipt(**{name: erased[name] for name in Receipt.model_fields})
    message = await scope.require_message(str(message_id))
    repairs = await scope.call("DELETE", f"/messages/{message['id']}", params={"flow_id": flow_id})
    return Receipt(messages=1, pending_repairs=len(repairs["job_ids"]))


async def memory_status(call: Call) -> Status:
    """Say whether memory works: what is pending or failed, and when something was last captured."""
    scope = scope_of(call)
    flow_id = await scope.flow_id()
    latest = await recent_sessions(scope, size=1)
    page = await scope.get("/memories", flow_id=flow_id, size=BASES)
    bases = [await _base_status(scope, base) for base in page["items"]]
    ready: Json = await scope.call("GET", "/health/ready", allow=(503,))
    error: Json = ready.get("error", {})
    return Status(
        state="unavailable" if error else ready["status"],
        reason=error.get("message") or ready.get("reason") or _no_base(bases),
        last_captured_at=latest["items"][0]["last_captured_at"] if latest["items"] else None,
        pending_messages=sum(base.pending_messages for base in bases),
        dead_letters=sum(base.dead_letters for base in bases),
        memory_bases=bases,
    )


async def build_context(scope: Scope, session_id: str | None, token_budget: int, query: str | None) -> Json:
    """The view of a context. Memories come from the whole flow, or from all sessions of the scope's end user."""
    body = {
        "flow_id": await scope.flow_id(),
        "session_id": session_id or uuid4().hex,  # a session that does not exist has no history
        "end_user_id": scope.end_user,
        "token_budget": token_budget,
        "query": query,
        "recall": {"scope": "flow"},
        "config": {"format": "text", "align": "none"},  # a text may begin with an answer, such as a note
    }
    view: Json = await scope.call("POST", "/context", json=body)
    return view


async def recent_sessions(scope: Scope, *, size: int, cursor: str | None = None) -> Json:
    """A page of sessions, latest capture first."""
    page: Json = await scope.get(
        "/sessions", flow_id=await scope.flow_id(), end_user_id=scope.end_user, order="recent", size=size, cursor=cursor
    )
    return page


async def _search(scope: Scope, request: Json) -> list[Json]:
    """Hits, best first. Raises ToolError if there is none because nothing is ingested: that is not an empty memory."""
    flow_id = await scope.flow_id()
    body = {"flow_id": flow_id, "end_user_id": scope.end_user, **request}
    results: list[Json] = (await scope.call("POST", "/search", json=body))["results"]
    if not results and not (await scope.get("/memories", flow_id=flow_id, size=1))["total"]:
        raise ToolError(f"{NO_BASE}. Messages are stored and cannot be searched; get_session reads them")
    return results


NO_BASE = "No memory base ingests this flow: create one with POST /v1/memories"


def _no_base(bases: list[MemoryBaseStatus]) -> str | None:
    return None if bases else NO_BASE


async def _base_status(scope: Scope, base: Json) -> MemoryBaseStatus:
    since = datetime.now(UTC) - DELAY_WINDOW
    activity = await scope.get(f"/memories/{base['id']}/activity", since=since.isoformat(), buckets=1)
    ingested = [each for each in activity["buckets"] if each["ingested"]]
    total = sum(each["ingested"] for each in ingested)
    delay = sum(each["ingested"] * each["delay_mean_seconds"] for each in ingested) / total if total else None
    named = ("name", "status", "pending_messages", "dead_letters", "last_sync_at")
    return MemoryBaseStatus(
        processed_messages=base["total_processed"], delay_seconds=delay, **{name: base[name] for name in named}
    )


def _run_id(session_id: str, messages: list[Json]) -> str:
    """The same for the same messages in the same session, so that a repeated call stores nothing twice."""
    same = json.dumps([session_id, messages], sort_keys=True, ensure_ascii=False)
    return f"mcp-{hashlib.sha256(same.encode(errors='replace')).hexdigest()[:32]}"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
