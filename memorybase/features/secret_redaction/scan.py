"""Secrets in what is stored already: a dry run counts them, and a redaction replaces them for good.

Messages are redacted as an edit is made, so knowledge bases and the keyword index follow, but no former version is
kept. Each row is one transaction. What a legal hold keeps stays.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from memorybase.core import deletions, errors
from memorybase.core.database.paging import key_part
from memorybase.core.deletions import OfFlow
from memorybase.core.described import DryRun
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.queries.ownership import require_flow
from memorybase.core.services import Services
from memorybase.core.sessions import edits, receipts
from memorybase.core.sessions.erasure import Erasure
from memorybase.core.telemetry import get_logger
from memorybase.features.secret_redaction import finder, queries
from memorybase.features.secret_redaction.placeholders import key_of, placeholder
from memorybase.features.secret_redaction.queries import PLACES, Place

log = get_logger(__name__)

PAGE = 500  # rows of one call
SHOWN = 100  # found secrets of one answer
REASON = "Secrets redacted"


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A stored secret, without its text."""

    place: Annotated[str, Field(description="Where it is: `messages`, `node_executions` or another kind of rows.")]
    id: Annotated[UUID, Field(description="The UUID of the row, of a chat's message that of the chat.")]
    flow_id: Annotated[UUID, Field(description="The flow.")]
    field: Annotated[str, Field(description="The field with it.")]
    kind: Annotated[str, Field(description="What kind of secret it is.")]
    at: Annotated[int, Field(description="The number of its first character in the text of the field, from 1.")]


@dataclass(slots=True)
class SecretScan:
    """What a part of a scan found. Send `next_cursor` until it is null."""

    dry_run: DryRun
    scanned: Annotated[int, Field(description="Number of rows that were looked through.")] = 0
    kinds: Annotated[dict[str, int], Field(description="Number of secrets, by kind.")] = field(default_factory=Counter)
    places: Annotated[dict[str, int], Field(description="Number of rows with secrets, by place.")] = field(
        default_factory=Counter
    )
    found: Annotated[list[FoundSecret], Field(description=f"The first {SHOWN} of them.")] = field(default_factory=list)
    redacted: Annotated[int, Field(description="Number of rows that were redacted.")] = 0
    held: Annotated[int, Field(description="Number of rows with secrets that a legal hold keeps as they are.")] = 0
    job_ids: Annotated[list[UUID], Field(description="The repairs that update the knowledge bases.")] = field(
        default_factory=list
    )
    receipt_id: Annotated[UUID | None, Field(description="The receipt of what was redacted; null if nothing was.")] = (
        None
    )
    next_cursor: Annotated[str | None, Field(description="Where to continue; null at the end.")] = None


def scan(
    services: Services, user_id: UUID, *, flow_id: UUID | None, redact: bool, cursor: str | None, by: str | None = None
) -> SecretScan:
    """Look through the next rows of the user's flows, or of one of them. Raises NotFound, InvalidRequest."""
    name, after = _read_cursor(cursor)
    place, done = PLACES[name], SecretScan(dry_run=not redact)
    with services.database.reading() as db:
        if flow_id is not None:
            require_flow(db, user_id, flow_id)
        rows = queries.page(db, place, user_id, flow_id, after, PAGE)
        keys = [tuple(getattr(row, column.key) for column in place.key) for row in rows]
        done.scanned = len(rows)
        marked = [(key, row.flow_id) for key, row in zip(keys, rows, strict=True) if _look(place, name, row, key, done)]
    if redact and marked:
        _redact(services, user_id, name, marked, done, Attribution(by, REASON))
        counts = Erasure(**{place.counted: done.redacted}, job_ids=done.job_ids)
        subject = "all" if flow_id is None else str(flow_id)
        if done.redacted:
            kept = receipts.keep(services, user_id, "redact_secrets", subject, counts, flow_id=flow_id)
            done.receipt_id = kept.id
    following = dict(pairwise(PLACES)).get(name)
    if len(rows) == PAGE:
        done.next_cursor = _cursor(name, keys[-1])
    elif following is not None:
        done.next_cursor = _cursor(following, ())
    return done


def _look(place: Place, name: str, row: Any, key: Sequence[Any], done: SecretScan) -> bool:
    """Whether the row has secrets, which are noted."""
    before = sum(done.kinds.values())

    def found(kind: str, _: str, where: str, at: int) -> str:
        done.kinds[kind] = done.kinds.get(kind, 0) + 1
        if len(done.found) < SHOWN:
            row_id = next(value for value in reversed(key) if isinstance(value, UUID))
            done.found.append(FoundSecret(name, row_id, row.flow_id, where, kind, at + 1))
        return ""

    for column in place.columns:
        finder.replace(getattr(row, column), "metadata" if column == "meta" else column, found)
    has_secrets = sum(done.kinds.values()) > before
    if has_secrets:
        done.places[name] = done.places.get(name, 0) + 1
    return has_secrets


def _redact(
    services: Services,
    user_id: UUID,
    name: str,
    marked: Sequence[tuple[tuple[Any, ...], UUID]],
    done: SecretScan,
    attribution: Attribution,
) -> None:
    key_of(services)  # created outside of the transactions below
    for key, flow_id in marked:
        try:
            if name == "messages":
                done.job_ids += edits.redact_message(
                    services, user_id, key[0], lambda fields: _redacted(services, fields), attribution
                )
            else:
                _redact_row(services, user_id, PLACES[name], key, flow_id)
            done.redacted += 1
        except errors.Held:
            done.held += 1
        except errors.NotFound:
            continue  # deleted meanwhile
    log.info("secrets_redacted", place=name, rows=done.redacted, held=done.held)


def _redact_row(services: Services, user_id: UUID, place: Place, key: Sequence[Any], flow_id: UUID) -> None:
    with services.database.transaction() as db:
        deletions.check(db, services, user_id, OfFlow(flow_id))
        row = queries.lock(db, place, key)
        if row is None:
            raise errors.NotFound
        for column in place.columns:
            before = getattr(row, column)
            after = _redacted(services, before)
            if after is not before:
                setattr(row, column, after)


def _redacted(services: Services, value: Any) -> Any:
    key = key_of(services)
    return finder.replace(value, "", lambda kind, secret, *_: placeholder(key, kind, secret))


def _cursor(name: str, after: Sequence[Any]) -> str:
    return json.dumps([name, *(str(each) if isinstance(each, UUID) else each for each in after)])


def _read_cursor(cursor: str | None) -> tuple[str, list[Any]]:
    """The place, and the key of the last row."""
    if cursor is None:
        return next(iter(PLACES)), []
    try:
        name, *after = json.loads(cursor)
        columns = PLACES[name].key
        parts = zip(after, columns, strict=True) if after else ()
        return name, [key_part(value, column.type) for value, column in parts]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise errors.InvalidRequest("cursor must be a next_cursor of a scan", field="cursor") from None
