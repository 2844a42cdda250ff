"""What get_session shows of a session: messages in a row, as many as an answer may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Literal

from memorybase_client import errors
from memorybase_client.mcp.answers import ITEMS_CHARS, StoredMessage, Transcript, fitting, stored_message, text_of
from memorybase_client.mcp.scope import Scope

if TYPE_CHECKING:
    from memorybase_client import models

How = Literal["around", "before", "after"]

OTHER_CHARS = 2_000  # of JSON: a message that was not asked for
ASKED_CHARS = 5_000  # one that was, beside others
ALONE_CHARS = ITEMS_CHARS - 400  # and alone; the rest is its id, role, name and time


async def latest(scope: Scope, session_id: str, *, limit: int) -> Transcript:
    """The end of a session. Raises NotFound."""
    page = await scope.messages(session_id, size=limit)
    if not page.items:
        await scope.require_session(session_id)
    shown = fitting(stored_message(each, OTHER_CHARS) for each in page.items)
    return _transcript(session_id, list(reversed(shown)), start=page.total - len(shown), total=page.total)


async def beside(scope: Scope, asked: models.MessageView, how: How, *, limit: int, offset: int = 0) -> Transcript:
    """A message with those around it, or those before or after it; with an offset its text from there on, alone."""
    size = len(text_of(asked))
    if offset and offset >= size:
        raise errors.InvalidRequest(f"offset must be less than {size}, the characters of {asked.id} (got {offset})")
    earlier = await scope.messages(asked.session_id, size=limit, before=str(asked.id))
    later = await scope.messages(asked.session_id, size=limit, after=str(asked.id))
    nearest = {
        "around": [asked] if offset else [asked, *_in_turns(later.items, earlier.items)],
        "before": earlier.items,
        "after": later.items,
    }[how][:limit]
    shown = fitting(_shown(each, asked, offset) for each in nearest)
    in_order = [message for _, message in sorted(zip((each.seq for each in nearest), shown, strict=False))]
    is_before = sum(each.seq < asked.seq for each in nearest[: len(shown)])
    start = earlier.total + 1 if how == "after" else earlier.total - is_before
    return _transcript(asked.session_id, in_order, start=start, total=earlier.total + 1 + later.total)


def _in_turns(*sides: Sequence[models.MessageView]) -> Iterator[models.MessageView]:
    return (each for each in chain.from_iterable(zip_longest(*sides)) if each is not None)


def _shown(message: models.MessageView, asked: models.MessageView, offset: int) -> StoredMessage:
    if message is not asked:
        return stored_message(message, OTHER_CHARS)
    return stored_message(message, ALONE_CHARS if offset else ASKED_CHARS, offset=offset)


def _transcript(session_id: str, shown: Sequence[StoredMessage], *, start: int, total: int) -> Transcript:
    """`start`: how many messages of the session are before these."""
    behind = total - start - len(shown)
    return Transcript(
        session_id=session_id,
        total=total,
        messages=list(shown),
        before=shown[0].id if shown and start else None,
        after=shown[-1].id if shown and behind else None,
        left_out="; ".join(_left_out(shown, start, behind)) or None,
    )


def _left_out(shown: Iterable[StoredMessage], start: int, behind: int) -> Iterator[str]:
    if start:
        yield f"{start} earlier messages: pass `before`"
    if behind:
        yield f"{behind} later messages: pass `after`"
    if any(each.next_offset for each in shown):
        yield "the rest of messages with next_offset: pass it as `offset`, and their id as `around`"
