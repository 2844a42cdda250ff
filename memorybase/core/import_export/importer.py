"""Import the lines of an export, through capture like all messages. Repeating an import changes nothing.

Objects with an external id keep it under any user; others keep their UUID. seq, version and capture times are
new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from memorybase.core import errors, messages
from memorybase.core.caveats import Redacted, redacted
from memorybase.core.extension import OfMessages, of_messages
from memorybase.core.ids import CallerId
from memorybase.core.import_export import node_memory
from memorybase.core.import_export.exporter import FORMAT
from memorybase.core.import_export.lines import Item, Line, MessageTally, SessionRef
from memorybase.core.import_export.node_memory import Execution, Use
from memorybase.core.ingestion import capture, idempotency
from memorybase.core.ingestion.capture import CapturedMessage, CaptureRequest
from memorybase.core.messages import NewMessage
from memorybase.core.models import NAME_LENGTH
from memorybase.core.queries import sessions as session_queries
from memorybase.core.queries.ownership import check_flow
from memorybase.core.screening import counting, screen
from memorybase.core.services import Services
from memorybase.core.sessions import flows as session_flows

OnConflict = Literal["error", "keep", "update"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Rows of one kind in an import."""

    created: Annotated[int, Field(description="How many were new.")] = 0
    known: Annotated[int, Field(description="How many were stored already.")] = 0

    def plus(self, *, created: bool) -> Tally:
        return Tally(self.created + created, self.known + (not created))


@dataclass(frozen=True, slots=True)
class ImportAnswer:
    """Result of an import: lines of each type, and the number of new messages."""

    lines: Annotated[int, Field(description="Number of lines that were read.")] = 0
    flows: Annotated[int, Field(description="Number of lines of flows.")] = 0
    sessions: Annotated[int, Field(description="Number of lines of sessions.")] = 0
    runs: Annotated[int, Field(description="Number of lines of runs.")] = 0
    messages: Annotated[MessageTally, Field(description="Messages that were new, known or deleted earlier.")] = field(
        default_factory=MessageTally
    )
    chat_memories: Annotated[int, Field(description="Number of chat memories.")] = 0
    chat_messages: Annotated[
        MessageTally, Field(description="Messages of chats that were new, known or deleted earlier.")
    ] = field(default_factory=MessageTally)
    node_executions: Annotated[Tally, Field(description="Node executions that were new or known.")] = field(
        default_factory=Tally
    )
    memory_uses: Annotated[Tally, Field(description="Records of memory use that were new or known.")] = field(
        default_factory=Tally
    )
    warnings: Redacted = ()


@dataclass(frozen=True, slots=True)
class _Flow:
    line: int
    id: UUID
    external_id: str | None
    name: str


@dataclass(frozen=True, slots=True)
class _Session:
    line: int
    ref: SessionRef
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Capture:
    """A run, or messages of one."""

    line: int
    ref: SessionRef
    run_id: CallerId
    messages: list[NewMessage]
    is_run: bool


_Item = _Flow | _Session | _Capture | Execution | Use | Item
_Readers = dict[str, Callable[[Line], _Item | None]]  # by the type of a line
# A transaction of this many messages is still short: on SQLite it keeps all other writers waiting.
CAPTURED_AT_ONCE = 50


def import_lines(services: Services, user_id: UUID, body: bytes, *, on_conflict: OnConflict = "error") -> ImportAnswer:
    """Validate every line, then store item by item. After an error, importing again continues.

    Raises InvalidRequest with `details.line` before anything is stored; later the errors of captures, with also
    `details.messages`, what was stored before that line.
    """
    lines = list(_lines(body))
    readers: _Readers = {"message": partial(_read_message, of_messages(services))}
    readers |= {kind: read for hooks in services.hooks for each in hooks.lines for kind, read in each.read.items()}
    items = [item for number, line in lines if (item := _read_line(readers, user_id, number, line)) is not None]
    try:
        with counting() as replaced:
            answer = _store_all(services, user_id, items, ImportAnswer(lines=len(lines)), on_conflict)
    finally:
        # Captures above do not wait for the disk, which for small runs takes longer than everything else.
        services.database.wait_for_disk()
    return replace(answer, warnings=redacted(replaced))


def _read_line(readers: _Readers, user_id: UUID, number: int, line: dict[str, Any]) -> _Item | None:
    try:
        return _read(readers, user_id, number, line)
    except errors.InvalidRequest as error:
        error.details["line"] = number
        raise


def _lines(body: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, raw in enumerate(body.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            raise errors.InvalidRequest("the line must be valid JSON", field=f"line {number}", line=number) from None
        if not isinstance(value, dict):
            raise errors.InvalidRequest("the line must be a JSON object", field=f"line {number}", line=number)
        yield number, value


def _read(readers: _Readers, user_id: UUID, number: int, line: dict[str, Any]) -> _Item | None:
    kind, reader = line.get("type"), Line(user_id, number, line)
    if kind == "export":
        if line.get("format") != FORMAT:
            raise errors.InvalidRequest(f"format must be {FORMAT}", field=f"line {number}.format", limit=FORMAT)
        return None
    if kind in ("end", "summary"):  # summaries are rebuilt; a tuple, since `kind` may be anything
        return None
    if kind == "node_execution":
        return node_memory.read_execution(reader)
    if kind == "memory_use":
        return node_memory.read_use(reader)
    read = readers.get(kind) if isinstance(kind, str) else None
    return _read_captured(reader) if read is None else read(reader)


def _read_captured(reader: Line) -> _Flow | _Session | _Capture:
    kind, number = reader.values.get("type"), reader.number
    if kind == "flow":
        flow = reader.identity("flow", "id", "external_id")
        return _Flow(number, flow.own, flow.external_id, reader.text("name", NAME_LENGTH))
    if kind == "session":
        return _Session(number, reader.session_ref(), reader.metadata())
    if kind == "run":
        return _Capture(number, reader.session_ref(), reader.identity("run", "id", "external_id"), [], is_run=True)
    raise errors.InvalidRequest("type must be a line type of an export", field=f"line {number}.type")


def _read_message(of_features: Sequence[OfMessages], line: Line) -> _Capture:
    message = line.message(of_features)
    run = line.identity("run", "run_id", "run_external_id")
    return _Capture(line.number, line.session_ref(), run, [message], is_run=False)


def _joined(items: Sequence[_Item], limit: int) -> Iterator[_Item]:
    """Items, with a run and its consecutive messages joined into one capture of at most `limit` messages."""
    waiting: _Capture | Item | None = None
    for item in items:
        if waiting is not None and _takes(waiting, item, limit):
            continue
        if waiting is not None:
            yield waiting
        waiting = item if isinstance(item, _Capture | Item) else None
        if waiting is None:
            yield item
    if waiting is not None:
        yield waiting


def _takes(first: _Capture | Item, item: _Item, limit: int) -> bool:
    if isinstance(first, Item):
        return first.takes(item, limit)
    if not isinstance(item, _Capture) or item.is_run or len(first.messages) >= limit:
        return False
    if (first.ref, first.run_id) != (item.ref, item.run_id):
        return False
    first.messages.extend(item.messages)
    return True


def _grouped(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Consecutive captures in one session together, every other item alone."""
    group: list[_Item] = []
    size = 0
    for item in items:
        last = group[-1] if group else None
        if isinstance(item, _Capture) and isinstance(last, _Capture) and item.ref == last.ref and item.messages:
            size += len(item.messages)
            if size <= CAPTURED_AT_ONCE:
                group.append(item)
                continue
        if group:
            yield group
        group, size = [item], len(item.messages) if isinstance(item, _Capture) else 0
    if group:
        yield group


def _store_all(
    services: Services, user_id: UUID, items: Sequence[_Item], answer: ImportAnswer, on_conflict: OnConflict
) -> ImportAnswer:
    for group in _grouped(_joined(items, messages.MAX_MESSAGES)):
        if (stored := _store_together(services, user_id, group, answer, on_conflict)) is not None:
            answer = stored
            continue
        for item in group:
            try:
                answer = _store(services, user_id, item, answer, on_conflict)
            except errors.MemorybaseError as error:
                error.details |= {"line": item.line, "messages": asdict(answer.messages)}
                raise
    return answer


def _store(
    services: Services, user_id: UUID, item: _Item, answer: ImportAnswer, on_conflict: OnConflict
) -> ImportAnswer:
    if isinstance(item, _Flow):
        session_flows.put_flow(
            services, user_id, name=item.name, flow_id=item.id, external_id=item.external_id, rename=False
        )
        return replace(answer, flows=answer.flows + 1)
    if isinstance(item, _Session):
        _open_session(services, user_id, item)
        return replace(answer, sessions=answer.sessions + 1)
    if isinstance(item, Item):
        stored = item.store(services)
        return replace(answer, **{name: getattr(answer, name) + more for name, more in stored.items()})
    if isinstance(item, Execution | Use):
        return _store_node_line(services, user_id, item, answer)
    return _store_capture(services, user_id, item, answer, on_conflict)


def _store_node_line(services: Services, user_id: UUID, item: Execution | Use, answer: ImportAnswer) -> ImportAnswer:
    if isinstance(item, Use):
        return replace(answer, memory_uses=answer.memory_uses.plus(created=node_memory.store_use(services, item)))
    _open_session(services, user_id, _Session(item.line, item.ref, {}))
    created = node_memory.store_execution(services, user_id, item)
    return replace(answer, node_executions=answer.node_executions.plus(created=created))


def _store_together(
    services: Services, user_id: UUID, group: Sequence[_Item], answer: ImportAnswer, on_conflict: OnConflict
) -> ImportAnswer | None:
    """Store several runs of one session in one transaction; None if it is one item, or if any was refused."""
    captures = [item for item in group if isinstance(item, _Capture) and item.messages]
    if len(captures) < 2 or len(captures) < len(group):
        return None
    ref = captures[0].ref
    request = CaptureRequest(
        session_id=ref.session_id,
        messages=[message for each in captures for message in each.messages],
        runs=[each.run_id for each in captures for _ in each.messages],
        end_user_id=ref.end_user_id,
        on_conflict=on_conflict,
        durable=False,
    )
    try:
        with counting():  # of nothing if it is refused
            result = capture.capture(services, user_id, ref.flow_id, request)
    except errors.CallerError:
        return None
    runs = answer.runs + sum(each.is_run for each in captures)
    return replace(answer, runs=runs, messages=_counted(answer.messages, result.messages))


def _store_capture(
    services: Services, user_id: UUID, item: _Capture, answer: ImportAnswer, on_conflict: OnConflict
) -> ImportAnswer:
    request = CaptureRequest(
        session_id=item.ref.session_id,
        messages=item.messages,
        run_id=item.run_id,
        end_user_id=item.ref.end_user_id,
        on_conflict=on_conflict,
        durable=False,
    )
    result = capture.capture(services, user_id, item.ref.flow_id, request)
    tally = _counted(answer.messages, result.messages)
    return replace(answer, runs=answer.runs + item.is_run, messages=tally)


def _counted(tally: MessageTally, captured: Sequence[CapturedMessage]) -> MessageTally:
    created = sum(message.created for message in captured)
    deleted = sum(message.deleted for message in captured)
    return tally + MessageTally(created, len(captured) - created - deleted, deleted)


def _open_session(services: Services, user_id: UUID, item: _Session) -> None:
    """Create the session if it is new. Existing metadata is kept."""
    ref = item.ref
    metadata = screen(services, user_id, ref.flow_id, item.metadata, f"line {item.line}.metadata")
    with services.database.transaction() as db:
        check_flow(db, user_id, ref.flow_id)
        session = session_queries.open_session(
            db, flow_id=ref.flow_id, session_id=ref.session_id, end_user_id=ref.end_user_id
        )
        idempotency.bind_end_user(session, ref.end_user_id)
        session_queries.save(db, session)
        if not session_queries.metadata_of(db, session):
            session_queries.update(db, session, metadata=metadata)
