"""Views of a chat: the newest records that a model is given, and the threshold that moves the start of views.

A log is read from its end until the limits are full, never as a whole, because the cut of a threshold is stored.
Messages left out of views stay in the log; only a deletion removes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.memory_use.provenance import ViewOrigin
from memorybase.core.conversation.memory_use.record import NewUse, record_use
from memorybase.core.conversation.view.budget import LIMIT, SUMMARISED, Summary
from memorybase.core.conversation.view.build import View, ViewOptions, build_view
from memorybase.core.conversation.view.files import read_files
from memorybase.core.conversation.view.limits import Cut, Limits, trim
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.rendering import Align, Format
from memorybase.core.conversation.view.token_counters import counter_for
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.conversation.view.turns import groups_of
from memorybase.core.ids import CallerId
from memorybase.core.messages import NewMessage
from memorybase.core.models import Chat, ChatMemory, ChatRecord
from memorybase.core.queries import chats, leased_work
from memorybase.core.services import Services
from memorybase.features.splox import queries
from memorybase.features.splox.config import ChatMemoryConfig
from memorybase.features.splox.memories import (
    ChatSelector,
    MemoryKey,
    checked_chat_id,
    config_of,
    require_memory,
)

PAGE = 64  # records read beyond a limit of messages, to keep tool calls and their results together
FIRST_READ = 1_000  # records at most; each further read doubles


class TrimState(NamedTuple):
    """The threshold's cut, and how many predefined messages it kept; None: it has cut nothing."""

    cut: Cut | None
    predefined_left: int | None = None


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Messages that trimming left out of views. A summary is a remaining message."""

    deleted_count: Annotated[
        int, Field(description="Number of messages that views no longer show; the log keeps them.")
    ]
    remaining_count: Annotated[
        int, Field(description="Number of messages that views may still show; a summary is one of them.")
    ]
    summary: Annotated[str | None, Field(description="The text of the summary; null if there is none.")] = None


def view_chat(
    services: Services,
    key: MemoryKey,
    ref: ChatSelector,
    *,
    run_id: CallerId | None = None,
    align: Align = "none",
    shape: Format = "openai",
    model: str | None = None,
) -> View:
    """The view of a chat, empty for an unknown one. With a run, its own messages are left out and the use is recorded.
    Settings choose the token counter of the model. Raises NotFound, InvalidRequest."""
    counter = counter_for(services.settings, model)
    own_run = None if run_id is None else str(run_id.own)  # as the chat's records name it
    asked = ViewOptions(exclude_run_id=own_run, align=align, format=shape, model=model)
    with services.database.reading() as db:
        memory = require_memory(db, key)
        config = config_of(memory)
        chat = queries.fetch_chat(db, memory.id, ref.resolve(config.chat_id))
        view = read_view(db, memory, config, chat, counter, asked)
    if run_id is not None:
        recorded = view if chat is None else _with_summary_id(view, chat.id)
        origin = ViewOrigin() if chat is None else ViewOrigin(end_user_id=chat.end_user_id, chat_row_id=chat.id)
        use = NewUse(run_id=run_id, node_id=key.node_id, view=recorded, origin=origin)
        record_use(services, key.user_id, key.flow_id, use)
    return view


def read_view(
    db: OrmSession,
    memory: ChatMemory,
    config: ChatMemoryConfig,
    chat: Chat | None,
    counter: TokenCounter,
    asked: ViewOptions | None = None,
    *,
    verbatim: bool = True,
) -> View:
    """The view, read from the chat's end page by page until the limits leave something out. `asked`: what the reader
    chooses; the memory's configuration decides the rest. Without `verbatim`, no message is shown beyond the limits,
    even if no summary covers it."""
    trim_state = TrimState(None) if chat is None else trim_state_of(db, memory, config, chat)
    cuts = () if chat is None else _cuts(chat, trim_state)
    options = config.options(cuts, asked or ViewOptions())
    if not verbatim:
        options = replace(options, uncovered_tokens=None)
    predefined = config.predefined[: trim_state.predefined_left]
    if chat is None:
        return build_view([], options, predefined=predefined, counter=counter)
    return _paged(db, config, chat, options, predefined, counter)


def _paged(
    db: OrmSession,
    config: ChatMemoryConfig,
    chat: Chat,
    options: ViewOptions,
    predefined: Sequence[Record],
    counter: TokenCounter,
) -> View:
    summary = summary_of(chat)
    front = _front(db, config, chat, summary)
    front_seqs = {record.seq for record in front}
    tail: list[Record] = []
    size, before = _first_read(config, chat), None
    while True:
        page = queries.newest(db, chat, limit=size, after=chat.trimmed_seq, before=before)
        tail += [record_of(row) for row in page if row.seq not in front_seqs]
        view = build_view([*front, *tail], options, summary=summary, predefined=predefined, counter=counter)
        if len(page) < size or _is_enough(view, tail):
            return view
        before, size = page[-1].seq, size * 2


def _front(db: OrmSession, config: ChatMemoryConfig, chat: Chat, summary: Summary | None) -> list[Record]:
    """The records that a view needs besides the newest: those that drop_middle may keep, and the last trimmed message
    that the summary covers, without which the view would drop the summary."""
    front = _head(db, config, chat)
    if summary is not None and chat.trimmed_seq:
        covered = queries.newest(db, chat, limit=1, before=min(summary.to_seq, chat.trimmed_seq) + 1)
        front += map(record_of, covered)
    return front


def _first_read(config: ChatMemoryConfig, chat: Chat) -> int:
    if config.limit_type == "tokens":
        return PAGE
    if config.trim_mode == "continuous":
        return min(config.max_messages + 8, FIRST_READ)
    return min(chat.last_seq - max(chat.cut_seq, chat.trimmed_seq) + 8, FIRST_READ)


def _is_enough(view: View, tail: Sequence[Record]) -> bool:
    """Whether nothing older could be shown. Units are kept from the newest backwards without gaps; only the question
    being answered is kept wherever it is, so it must have been read."""
    ids = {record.id for record in tail}
    is_full = any(removed.id in ids and removed.reason in {LIMIT, SUMMARISED} for removed in view.report.removed)
    return is_full and any(record.role == "user" or _is_answer(record) for record in tail)


def _is_answer(record: Record) -> bool:
    return record.role == "assistant" and not record.tool_calls


def _with_summary_id(view: View, chat_row_id: UUID) -> View:
    """The view with the chat's id as its summary's source: a deletion in the chat finds recorded uses by it."""
    ids = (str(chat_row_id),)
    sources = (replace(source, message_ids=ids) if source.kind == "summary" else source for source in view.sources)
    return replace(view, sources=tuple(sources))


def message_fields(message: ChatRecord | NewMessage) -> dict[str, Any]:
    """The fields of a Record that stored and new messages share."""
    return {
        "role": message.role,
        "content": message.content,
        "tool_calls": message.tool_calls or (),
        "tool_call_id": message.tool_call_id,
        "name": message.name,
        "files": read_files(message.files),
    }


def record_of(row: ChatRecord) -> Record:
    return Record(
        id=str(row.message_id),
        seq=row.seq,
        **message_fields(row),
        run_id=None if row.run_id is None else str(row.run_id),
        status=row.status,  # type: ignore[arg-type]  # checked when it was written
        created_at=row.created_at,
        metadata=row.meta,
    )


def summary_of(chat: Chat) -> Summary | None:
    if chat.summary is None:
        return None
    return Summary(text=chat.summary, from_seq=chat.summary_from_seq, to_seq=chat.summary_to_seq)


# The start of views.


def trim_state_of(db: OrmSession, memory: ChatMemory, config: ChatMemoryConfig, chat: Chat) -> TrimState:
    """The present cut of a threshold. It is evaluated on the messages that its last cut kept, never on the whole
    log."""
    stored = _stored_cut(memory, chat)
    threshold = config.threshold
    if threshold is None:
        return TrimState(None)
    since = chat.trimmed_seq if stored.cut is None else stored.cut.to_seq
    predefined = [] if config.pin_predefined else config.predefined[: stored.predefined_left]
    if chat.last_seq - since + config.head + len(predefined) < threshold.trigger:
        return stored
    limit = threshold.trigger + FIRST_READ
    tail = [record_of(row) for row in queries.newest(db, chat, limit=limit, after=since)][::-1]
    first = tail[0].seq if tail else since
    head_to = first - 1 if stored.cut is None else stored.cut.after_seq
    front = _head(db, config, chat, to=head_to)
    if stored.cut is None and len(tail) == limit:  # only after a change of configuration
        stored = TrimState(Cut(front[-1].seq if front else chat.trimmed_seq, first - 1))
    limits = replace(config.limits(), threshold=threshold)
    return _new_cut([*front, *tail], predefined, limits, chat.trimmed_seq) or stored


def _new_cut(
    history: Sequence[Record], predefined: Sequence[Record], limits: Limits, trimmed_seq: int
) -> TrimState | None:
    """The threshold's cut of these records; None if it cuts nothing."""
    leading = len(predefined)
    records = [*predefined, *history]
    kept = set(trim(records, [0] * len(records), limits, leading=leading).kept)
    removed = [record.seq for index, record in enumerate(records) if index not in kept and index >= leading]
    if not removed:
        return None
    seqs = [records[index].seq for index in sorted(kept) if index >= leading]
    head = max((seq for seq in seqs if seq < removed[0]), default=trimmed_seq)
    to = min((seq for seq in seqs if seq > removed[0]), default=history[-1].seq + 1) - 1
    return TrimState(Cut(head, to), sum(index < leading for index in kept))


def _stored_cut(memory: ChatMemory, chat: Chat) -> TrimState:
    if chat.cut_seq > chat.trimmed_seq and chat.cut_revision == memory.revision:
        return TrimState(Cut(chat.head_seq, chat.cut_seq), chat.predefined_left)
    return TrimState(None)


def _cuts(chat: Chat, trim_state: TrimState) -> tuple[Cut, ...]:
    """The cuts that apply before limits."""
    trimmed = (Cut(0, chat.trimmed_seq),) if chat.trimmed_seq else ()
    return trimmed if trim_state.cut is None else (*trimmed, trim_state.cut)


def _head(db: OrmSession, config: ChatMemoryConfig, chat: Chat, to: int | None = None) -> list[Record]:
    """The first records, which drop_middle may keep."""
    if not config.head:
        return []
    rows = queries.oldest(db, chat, limit=config.head + PAGE, after=chat.trimmed_seq, to=to)
    return [record_of(row) for row in rows]


def store_cut(db: OrmSession, memory: ChatMemory, config: ChatMemoryConfig, chat: Chat) -> None:
    """After a write, store where the threshold has cut, if it has."""
    if config.threshold is None:
        return
    cut, predefined_left = trim_state_of(db, memory, config, chat)
    if cut is not None:
        chat.head_seq, chat.cut_seq = cut.after_seq, cut.to_seq
        chat.cut_revision = memory.revision
        chat.predefined_left = None if config.pin_predefined else predefined_left


def messages_left(db: OrmSession, chat: Chat, trim_state: TrimState) -> int:
    """Number of messages that are not cut."""
    removed = sum(queries.count_after(db, chat, cut.after_seq, cut.to_seq) for cut in _cuts(chat, trim_state))
    return chat.messages - removed


def seq_before(db: OrmSession, chat: Chat, trim_state: TrimState, newest: int) -> int:
    """The seq after which at most `newest` messages follow: whole groups, and none that are left out."""
    records = [record_of(row) for row in queries.newest(db, chat, limit=newest + PAGE)][::-1]
    seq, count = chat.last_seq, 0
    for group in reversed(groups_of(records)):
        count += len(group)
        if count > newest:
            break
        seq = records[group[0]].seq - 1
    return max([seq, *(cut.to_seq for cut in _cuts(chat, trim_state))])


def move_trimmed(chat: Chat, seq: int) -> None:
    """Let views begin after this seq; earlier cuts of a threshold are dropped."""
    chat.trimmed_seq = seq
    chat.head_seq = chat.cut_seq = 0
    chat.predefined_left = None
    leased_work.outdate(chat)


def trim_chat(services: Services, key: MemoryKey, chat_id: str, max_messages: int = 10) -> Trimmed:
    """Leave all but the newest messages out of future views. Raises NotFound."""
    checked_chat_id(chat_id)
    with services.database.transaction() as db:
        memory = require_memory(db, key)
        chat = chats.lock_chat(db, memory.id, chat_id)
        if chat is None:
            return Trimmed(0, 0)
        trim_state = trim_state_of(db, memory, config_of(memory), chat)
        left = messages_left(db, chat, trim_state)
        if left <= max_messages:
            return Trimmed(0, left)
        move_trimmed(chat, seq_before(db, chat, trim_state, max_messages))
        remaining = queries.count_after(db, chat, chat.trimmed_seq)
        return Trimmed(left - remaining, remaining)
