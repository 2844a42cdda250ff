"""The tools. Each is a few calls of the HTTP API, which checks key, scopes, ids and bounds, and admits the work."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import uuid4

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from memorybase_client import errors
from memorybase_client._async.agent_memory import MIN_SCORE
from memorybase_client.mcp import answers, transcripts
from memorybase_client.mcp.answers import (
    BuiltContext,
    ContextReport,
    Corrected,
    Found,
    MemoryBaseStatus,
    Receipt,
    Remembered,
    Sessions,
    Status,
    Transcript,
)
from memorybase_client.mcp.scope import Call, Scope, error_text, reporting, scope_of
from memorybase_client.mcp.transcripts import How

if TYPE_CHECKING:
    from memorybase_client import models

ID_LENGTH = 128  # the API's
NOTES = "notes"  # the session of what a model remembers without naming one
TOP_K = 10  # results of a search
MESSAGES = 20  # of a session
MAX_IDS = 100  # of stored messages in an answer
CANDIDATES = 50  # hits from which list_sessions takes its sessions
BASES = 10  # memory bases that memory_status shows
DELAY_WINDOW = timedelta(hours=24)

# An optional text is "" if it is left out: of any other type than `str` the SDK reads a text that is JSON, such as a
# note `{"theme": "dark"}`, as an object.
SessionId = Annotated[str, Field(min_length=1, max_length=ID_LENGTH, description="The id of a session.")]
MessageId = Annotated[str, Field(min_length=1, max_length=ID_LENGTH, description="The id of a message.")]
Reason = Annotated[str, Field(max_length=500, description="Why, for people who read the history.")]
Role = Literal["user", "assistant", "system", "tool"]

READ = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITE = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
REPLACE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def _time(name: str, text: str, *, end_of_day: bool = False) -> datetime | None:
    """The time that an argument says. A number is none: it would be read as seconds, and find all or nothing."""
    if not text:
        return None
    is_date = re.fullmatch(r"\d{4}-\d\d-\d\d", text)
    with suppress(ValueError):
        if not text.isdecimal():
            return datetime.fromisoformat(f"{text}T23:59:59.999999" if is_date and end_of_day else text)
    form = "a date or a time in ISO 8601, such as 2026-11-28 or 2026-11-28T09:30:00Z"
    raise errors.InvalidRequest(f"{name} must be {form} (got {text[:50]!r})")


def add_tools(server: MCPServer[Any]) -> None:
    hints: dict[Callable[..., Coroutine[Any, Any, Any]], ToolAnnotations] = {
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
        described = " ".join((tool.__doc__ or "").split())
        server.add_tool(
            reporting(tool, _tool_error), title=title, description=described, annotations=hint, structured_output=True
        )


async def search_memory(
    call: Call,
    query: Annotated[str, Field(min_length=1, description="A question or words, as a person would say them.")],
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum results.")] = TOP_K,
    session_id: Annotated[SessionId, Field(description="Search only this session.")] = "",
    after: Annotated[str, Field(description="Only messages from this time on, in ISO 8601.")] = "",
    before: Annotated[str, Field(description="Only messages up to this time; a date alone is the whole day.")] = "",
    as_of: Annotated[
        str, Field(description="What was known then: without later messages, edits and corrections. A date or a time.")
    ] = "",
    role: Annotated[Role | None, Field(description="Only messages of this role.")] = None,
    neighbors: Annotated[int, Field(ge=0, le=5, description="Messages to show on either side of a hit.")] = 0,
    min_score: Annotated[
        float, Field(ge=0, le=1, description="Minimum score of a hit; 0 shows weak ones.")
    ] = MIN_SCORE,
) -> Found:
    """Search the messages of earlier conversations, best first. Use it before you say that you do not know something
    that may have been said before. It shows a passage of each message; get_session(around=id) shows the message and
    what was said next to it."""
    found = await _search(
        scope_of(call),
        query,
        top_k=top_k,
        session_id=session_id or None,
        roles=None if role is None else [role],
        since=_time("after", after),
        until=_time("before", before, end_of_day=True),
        as_of=_time("as_of", as_of, end_of_day=True),
        neighbors=neighbors,
        min_score=min_score,
        fold_alike=True,
    )
    hits = answers.fitting(answers.hit(hit) for hit in found.results)
    weaker = len(found.results) - len(hits)
    left_out = f"{weaker} weaker results: narrow the search by words, session_id, after or before" if weaker else None
    return Found(results=hits, warnings=_messages(found.warnings), left_out=left_out)


async def get_context(
    call: Call,
    query: Annotated[str, Field(min_length=1, description="What the next answer is about.")],
    token_budget: Annotated[int, Field(ge=100, le=100_000, description="Maximum tokens of the text.")] = 2_000,
    session_id: Annotated[
        SessionId, Field(description="Also include this session's summary and latest messages.")
    ] = "",
    standing: Annotated[
        bool | None,
        Field(description="Include what the person asked for or prefers from then on; by default as the flow says."),
    ] = None,
) -> BuiltContext:
    """Get all that memory has on a subject as one text within a token budget: passages of earlier conversations, and
    of one session its summary and latest messages. It is cheaper than several searches."""
    view = await build_context(scope_of(call), session_id, token_budget, query, standing=standing)
    report = {**dict(view.report), "tokens": view.report.tokens_after, "warnings": _messages(view.report.warnings)}
    return BuiltContext(text=view.text, report=ContextReport.model_validate(report, from_attributes=True))


async def get_session(
    call: Call,
    session_id: Annotated[SessionId, Field(description="The session whose latest messages to read.")] = "",
    around: Annotated[MessageId, Field(description="Or a message: with those before and after it.")] = "",
    before: Annotated[MessageId, Field(description="Or a message: those before it.")] = "",
    after: Annotated[MessageId, Field(description="Or a message: those after it.")] = "",
    offset: Annotated[int, Field(ge=0, description="Read `around` alone, from this character on.")] = 0,
    limit: Annotated[int, Field(ge=1, le=200, description="Maximum messages.")] = MESSAGES,
) -> Transcript:
    """Read a conversation, oldest message first: around a message that search_memory found, which shows it whole, or
    the latest messages of a session. `left_out` says how to read on."""
    scope = scope_of(call)
    given: dict[How, str] = {"around": around, "before": before, "after": after}
    named = {how: id_ for how, id_ in given.items() if id_}
    if len(named) > 1:
        raise errors.InvalidRequest(f"Pass only one of {' and '.join(named)}")
    if offset and not around:
        raise errors.InvalidRequest(f"offset requires around (got {offset})")
    if not named:
        if not session_id:
            raise errors.InvalidRequest("Pass session_id, or around with the id of a message")
        return await transcripts.latest(scope, session_id, limit=limit)
    ((how, id_),) = named.items()
    message = await scope.require_message(id_)
    if session_id not in ("", message.session_id):
        of = f"(got {id_!r} of session {message.session_id!r})"
        raise errors.InvalidRequest(f"{how} must be a message of session {session_id!r} {of}")
    return await transcripts.beside(scope, message, how, limit=limit, offset=offset)


async def list_sessions(
    call: Call,
    query: Annotated[str, Field(min_length=1, description="Only sessions with messages about this.")] = "",
    limit: Annotated[int, Field(ge=1, le=100, description="Maximum sessions.")] = 20,
    cursor: Annotated[str, Field(description="`cursor` of the last answer: for the next ones.")] = "",
) -> Sessions:
    """List sessions, latest first; with a query those that have messages about it, best first."""
    scope = scope_of(call)
    if query:
        hits = (await _search(scope, query, top_k=CANDIDATES)).results
        best = {hit.session_id: hit for hit in reversed(hits)}
        ranked = sorted(best.values(), key=lambda hit: -hit.score)[:limit]
        items = answers.fitting(answers.found_session(hit) for hit in ranked)
        weaker = len(ranked) - len(items)
        return Sessions(sessions=items, cursor=None, left_out=f"{weaker} weaker sessions" if weaker else None)
    page = await recent_sessions(scope, size=limit, cursor=cursor or None)
    items = answers.fitting(answers.session(each) for each in page.items)
    if len(items) < len(page.items):  # the cursor must continue behind those that fit
        page = await recent_sessions(scope, size=len(items), cursor=cursor or None)
    left_out = "older sessions: pass `cursor`" if page.next_cursor else None
    return Sessions(sessions=items, cursor=page.next_cursor, left_out=left_out)


async def remember(
    call: Call,
    content: Annotated[
        str, Field(min_length=1, description="A fact, decision or preference, in a sentence that stands alone.")
    ] = "",
    messages: Annotated[
        list[dict[str, Any]] | None,
        Field(min_length=1, description="Or messages of a conversation: {role, content}, and id if they have one."),
    ] = None,
    session_id: Annotated[SessionId, Field(description=f"The session to append to. Default: {NOTES}.")] = "",
    run_id: Annotated[
        str, Field(min_length=1, max_length=ID_LENGTH, description="Default: derived from session and messages.")
    ] = "",
) -> Remembered:
    """Store what should be known in later conversations. Storing the same again changes nothing. Never store passwords
    or keys."""
    scope = scope_of(call)
    if bool(content) == (messages is not None):
        raise errors.InvalidRequest("Pass either content or messages")
    # A memory base ingests outputs by default, so a note is the assistant's.
    remembered = messages or [{"role": "assistant", "content": content}]
    session = session_id or (NOTES if scope.end_user is None else f"{NOTES}:{scope.end_user}"[:ID_LENGTH])
    run = run_id or _run_id(session, remembered)
    stored = await scope.client.capture_run(
        await scope.flow_id(), session_id=session, run_id=run, messages=remembered, end_user_id=scope.end_user
    )
    return Remembered(
        session_id=session,
        run_id=run,
        stored=sum(message.created for message in stored.messages),
        message_ids=[str(message.id) for message in stored.messages[:MAX_IDS]],
        searchable=bool(stored.ingestion),
        left_out=f"{unnamed} ids: get_session shows them" if (unnamed := len(stored.messages) - MAX_IDS) > 0 else None,
    )


async def correct_memory(
    call: Call,
    message_id: MessageId,
    content: Annotated[
        str, Field(min_length=1, description="Its new text; memory finds only this one from now on.")
    ] = "",
    muted: Annotated[bool | None, Field(description="True: never recall it; false: recall it again.")] = None,
    pinned: Annotated[
        bool | None, Field(description="True: recall it first where it is relevant; false: as usual.")
    ] = None,
    reason: Reason = "",
) -> Corrected:
    """Correct a message that is wrong or out of date: replace its text, or mute it, which keeps it in its conversation
    and out of memory. Pin one that matters. The former text stays in the message's history."""
    changes: dict[str, Any] = {"content": content or None, "muted": muted, "pinned": pinned}
    given = {name: value for name, value in changes.items() if value is not None}
    if not given:
        raise errors.InvalidRequest("Pass content, muted or pinned")
    scope = scope_of(call)
    message = await scope.require_message(message_id)
    repairs = await scope.client.edit_message(message.id, flow_id=message.flow_id, reason=reason or None, **given)
    return Corrected(message_id=str(message.id), jobs=len(repairs.job_ids))


async def forget_memory(
    call: Call,
    message_id: Annotated[MessageId, Field(description="The message to delete.")] = "",
    session_id: Annotated[SessionId, Field(description="Or the session to delete, with all messages.")] = "",
    confirm: Annotated[bool, Field(description="Must be true. Ask the user before you delete.")] = False,
    reason: Reason = "",
) -> Receipt:
    """Delete a message, or a session with all of its messages. A message can be restored for some time
    (`restorable_until`), a session cannot."""
    scope = scope_of(call)
    if bool(message_id) == bool(session_id):
        raise errors.InvalidRequest("Pass either message_id or session_id")
    what = f"session {session_id!r} with all of its messages" if session_id else f"message {message_id!r}"
    if not confirm:
        text = f"Nothing was deleted: confirm must be true. This deletes {what}: ask the user"
        raise errors.InvalidRequest(text)
    if session_id:
        await scope.require_session(session_id)
        erased = await scope.client.delete_session(flow_id=await scope.flow_id(), session_id=session_id)
        return Receipt.model_validate(erased, from_attributes=True)
    message = await scope.require_message(message_id)
    deleted = await scope.client.delete_message(message.id, flow_id=message.flow_id, reason=reason or None)
    return Receipt(
        messages=1,
        chunks=sum(each.chunks for each in deleted.removed),
        pending_repairs=len(deleted.job_ids),
        restorable_until=deleted.restorable_until,
    )


async def memory_status(call: Call) -> Status:
    """Say whether memory works: what is pending or failed, and when something was last captured."""
    scope = scope_of(call)
    flow_id = await scope.flow_id()
    latest = await recent_sessions(scope, size=1)
    captured_at = latest.items[0].last_captured_at if latest.items else None
    state, reason = await _readiness(scope)
    try:
        page = await scope.client.list_memory_bases(flow_id=flow_id, size=BASES).page()
    except errors.OutsideKeyLimits:  # a key of an end user does not see memory bases
        return Status(state=state, reason=reason, last_captured_at=captured_at)
    bases = [await _base_status(scope, base) for base in page.items]
    return Status(
        state=state,
        reason=reason or (None if bases else NO_BASE),
        last_captured_at=captured_at,
        pending_messages=sum(base.pending_messages for base in bases),
        dead_letters=sum(base.dead_letters for base in bases),
        memory_bases=bases,
        left_out=f"{page.total - len(bases)} memory bases and their counts" if page.total > len(bases) else None,
    )


async def build_context(
    scope: Scope, session_id: str | None, token_budget: int, query: str | None, *, standing: bool | None = None
) -> models.ContextAnswer:
    """The view of a context. Memories come from the whole flow, or from all sessions of the scope's end user."""
    return await scope.client.build_context(
        flow_id=await scope.flow_id(),
        session_id=session_id or uuid4().hex,  # a session that does not exist has no history
        end_user_id=scope.end_user,
        token_budget=token_budget,
        query=query,
        recall={"scope": "flow"},
        config={"format": "text", "align": "none"},  # a text may begin with an answer, such as a note
        standing=None if standing is None else {"include": standing},  # unknown to earlier servers
    )


async def recent_sessions(scope: Scope, *, size: int, cursor: str | None = None) -> models.Page[models.SessionView]:
    """A page of sessions, latest capture first."""
    return await scope.client.list_sessions(
        flow_id=await scope.flow_id(), end_user_id=scope.end_user, order="recent", size=size, cursor=cursor
    ).page()


async def _search(scope: Scope, query: str, **options: Any) -> models.SearchAnswer:
    """Hits, best first. Raises CallerError if there is none because nothing is ingested: memory is not empty then."""
    flow_id = await scope.flow_id()
    found = await scope.client.search_flow(
        query=query,
        flow_id=flow_id,
        end_user_id=scope.end_user,
        snippet_chars=answers.PASSAGE_CHARS,
        **options,
    )
    if not found.results:
        with suppress(errors.OutsideKeyLimits):  # a key of an end user does not see memory bases
            if not (await scope.client.list_memory_bases(flow_id=flow_id, size=1).page()).total:
                raise errors.CallerError(
                    f"{NO_BASE}. Messages are stored and cannot be searched; get_session reads them"
                )
    return found


def _messages(warnings: Iterable[models.Caveat]) -> list[str]:
    return [each.message for each in warnings]


NO_BASE = "No memory base ingests this flow: create one with POST /v1/memories"


async def _readiness(scope: Scope) -> tuple[str, str | None]:
    """The state of the server's parts, and what is wrong with them."""
    try:
        ready = await scope.client.health_ready()
    except errors.EnvironmentFailure as error:
        return "unavailable", error.message
    return ready.status, ready.reason


async def _base_status(scope: Scope, base: models.MemoryBaseView) -> MemoryBaseStatus:
    activity = await scope.client.get_activity(base.id, since=datetime.now(UTC) - DELAY_WINDOW, buckets=1)
    total = sum(bucket.ingested for bucket in activity.buckets)
    delays = sum(bucket.ingested * (bucket.delay_mean_seconds or 0.0) for bucket in activity.buckets)
    return MemoryBaseStatus(
        name=base.name,
        status=base.status,
        pending_messages=base.pending_messages,
        processed_messages=base.total_processed,
        dead_letters=base.dead_letters,
        last_sync_at=base.last_sync_at,
        delay_seconds=delays / total if total else None,
    )


def _run_id(session_id: str, messages: list[dict[str, Any]]) -> str:
    """An id made of the session and the messages, so that a repeated call stores nothing twice."""
    same = json.dumps([session_id, messages], sort_keys=True, ensure_ascii=False)
    return f"mcp-{hashlib.sha256(same.encode(errors='replace')).hexdigest()[:32]}"


def _tool_error(error: errors.MemorybaseError) -> ToolError:
    return ToolError(error_text(error))
