"""Ids of flows, runs, messages and node executions as callers send them. Pure; `queries.caller_ids` finds their rows.

An id is a hyphenated UUID or any other string of up to 128 characters. A flow's id is unique for its user, the others
within their flow. A row's own id is unique in the whole database: chunk ids and the ledger contain it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID, uuid5

from memorybase.core import errors
from memorybase.core.models import ID_LENGTH
from memorybase.core.validation import check_text

IdKind = Literal["flow", "run", "message", "node_execution"]

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def check_id(value: str, field: str) -> None:
    """Raises InvalidRequest for what no route could name: an id that is blank, too long, or no text of a database."""
    if len(value) > ID_LENGTH:
        text = f"{field} must have at most {ID_LENGTH} characters"
        raise errors.InvalidRequest(text, field=field, value=len(value), limit=ID_LENGTH)
    if not value.strip():
        raise errors.InvalidRequest(f"{field} must not be blank", field=field)
    check_text(value, field)


@dataclass(frozen=True, slots=True)
class CallerId:
    """An id that a caller sent. `uuid` is None if it is not a UUID; `text` is then the string, else the canonical
    UUID."""

    user_id: UUID
    kind: IdKind
    text: str
    uuid: UUID | None
    sent: str = field(compare=False)

    @classmethod
    def of(cls, user_id: UUID, kind: IdKind, value: str | UUID, *, name: str | None = None) -> CallerId:
        """Raises InvalidRequest that names the field, by default `<kind>_id`."""
        if isinstance(value, UUID):
            return cls(user_id, kind, str(value), value, sent=str(value))
        check_id(value, name or f"{kind}_id")
        uuid = UUID(value) if _UUID.fullmatch(value) else None
        return cls(user_id, kind, value if uuid is None else str(uuid), uuid, sent=value)

    @property
    def own(self) -> UUID:
        """The UUID that the id stands for without a flow: of a flow, and of a message within its chat."""
        return self.row(self.uuid or uuid5(self.user_id, f"{self.kind}:{self.text}"))

    @property
    def external_id(self) -> str | None:
        """The caller's id, stored next to `own`."""
        return None if self.uuid is not None else self.text

    def in_flow(self, flow_id: UUID) -> tuple[UUID, UUID]:
        """The ids that its row may have in this flow: a new row gets the first that no other flow's row has.

        A UUID stands for itself, and in a second flow for one derived from the flow. A string stands for one derived
        from the flow; the second, derived from the user alone, is that of rows from before this rule.
        """
        of_flow = uuid5(self.user_id, f"{self.kind}:{flow_id}:{self.text}")
        return (of_flow, self.own) if self.uuid is None else (self.uuid, of_flow)

    def external_id_of(self, row_id: UUID) -> str | None:
        """The external id to store for a row with this id: none if that is its own id."""
        return None if row_id == self.uuid else self.text

    def row(self, row_id: UUID) -> errors.SentId:
        """The id of its row; errors name the id as it was sent."""
        return errors.SentId(row_id, self.sent)


def flow_id(user_id: UUID, value: str) -> UUID:
    """The id of a flow's row. Raises InvalidRequest."""
    return CallerId.of(user_id, "flow", value).own
