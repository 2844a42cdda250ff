"""Checks that a limited key touches only its flows, or what belongs to its end user. Everything else does not exist
for it.

Each check raises the NotFound that another user's id gets, so a key learns nothing about what lies outside its
limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.ids import CallerId
from memorybase.core.models import ApiKey
from memorybase.core.queries import caller_ids, key_limits, memory_uses
from memorybase.core.queries.ownership import not_found

MAX_FLOWS = 50  # of one key
LIMITED_SCOPES = frozenset({"read", "write"})  # what a limited key may have


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """`flow_ids`: None for all flows; `end_user_id`: None for all end users. One of the two is set."""

    flow_ids: frozenset[UUID] | None = None
    end_user_id: str | None = None

    @property
    def only_flow(self) -> UUID | None:
        """The flow, if the key is limited to one."""
        return next(iter(self.flow_ids)) if self.flow_ids is not None and len(self.flow_ids) == 1 else None

    def check_flow(self, flow_id: UUID | None, sent: object, kind: str = "flow") -> None:
        """A flow, or something of it; None: there is no such thing. `kind` and `sent` name it."""
        if flow_id is None or (self.flow_ids is not None and flow_id not in self.flow_ids):
            raise not_found(kind, sent)

    def check_end_user(self, end_user_id: str | None, kind: str, sent: object) -> None:
        """Something of this end user, or of none: `kind` and `sent` name it."""
        if self.end_user_id is not None and end_user_id != self.end_user_id:
            raise not_found(kind, sent)

    def check_memory_base(self, db: OrmSession, user_id: UUID, base_id: UUID, field: str) -> None:
        flow_id = key_limits.flow_of_base(db, user_id, base_id)
        if flow_id is None or (self.flow_ids is not None and flow_id not in self.flow_ids):
            raise not_found("memory base", base_id, field=field)

    def check_job(self, db: OrmSession, user_id: UUID, job_id: UUID) -> None:
        """Its flow, and the end user of its session."""
        found = key_limits.job_of_user(db, user_id, job_id)
        if found is None or (self.flow_ids is not None and found.flow_id not in self.flow_ids):
            raise not_found("job", job_id)
        self.check_end_user(found.end_user_id, "job", job_id)

    def check_session(self, db: OrmSession, flow_id: UUID, session_id: str, *, uses: bool = False) -> None:
        """A session that does not exist is nobody's yet. With `uses`, the memory that models were given for it belongs
        to those for whom it was asked."""
        found = key_limits.end_user_of_session(db, flow_id, session_id)
        if found is not None:
            self.check_end_user(found.end_user_id, "session", session_id)
        elif uses:
            for end_user_id in memory_uses.end_users_of_session(db, flow_id, session_id):
                self.check_end_user(end_user_id, "session", session_id)

    def check_chat(self, db: OrmSession, flow_id: UUID, node_id: str, chat_id: str) -> None:
        """A chat that does not exist is nobody's yet."""
        found = key_limits.end_user_of_chat(db, flow_id, node_id, chat_id)
        if found is not None:
            self.check_end_user(found.end_user_id, "chat memory", node_id)

    def check_row(self, db: OrmSession, flow_id: UUID | None, given: CallerId) -> None:
        """A message, run or node execution by its id; raises NotFound and AmbiguousId as its route does."""
        self._check_row(db, given, caller_ids.locate(db, given, flow_id))

    def check_row_if_any(self, db: OrmSession, flow_id: UUID, given: CallerId) -> None:
        """Refuse a row of another flow or end user; a row that does not exist passes."""
        row_id = caller_ids.present(db, flow_id, [given]).get(given)
        if row_id is not None:
            self._check_row(db, given, row_id)

    def _check_row(self, db: OrmSession, given: CallerId, row_id: UUID) -> None:
        found = key_limits.end_user_of_row(db, given.kind, row_id)
        kind: str = "node execution" if given.kind == "node_execution" else given.kind
        self.check_end_user(None if found is None else found.end_user_id, kind, given.sent)


def limits_of(flow_ids: Sequence[str] | None, end_user_id: str | None) -> KeyLimits | None:
    """The limits that a key's row states; None if it states none."""
    if flow_ids is None and end_user_id is None:
        return None
    return KeyLimits(None if flow_ids is None else frozenset(map(UUID, flow_ids)), end_user_id)


def scopes_of(key: ApiKey) -> list[str]:
    """The scopes of a key's row, limited or not."""
    return key.limited_scopes if key.limited_scopes is not None else key.scopes


def stored(scopes: list[str], flow_ids: Sequence[UUID] | None, end_user_id: str | None) -> dict[str, Any]:
    """The columns of a key with these scopes and limits."""
    if flow_ids is None and end_user_id is None:
        return {"scopes": scopes}
    flows = None if flow_ids is None else sorted({str(each) for each in flow_ids})
    return {"scopes": [], "limited_scopes": scopes, "flow_ids": flows, "end_user_id": end_user_id}


def check_new(db: OrmSession, user_id: UUID, scopes: Sequence[str], flow_ids: Sequence[UUID] | None) -> None:
    """Raises InvalidRequest for limits that a key cannot have, and NotFound for an unknown flow."""
    if beyond := set(scopes) - LIMITED_SCOPES:
        raise errors.InvalidRequest(
            "scopes must be read or write for a key that is limited to flows or to an end user: admin creates keys "
            "without limits, and metrics cover the whole installation",
            field="scopes",
            value=", ".join(sorted(beyond)),
        )
    if flow_ids is None:
        return
    if not 1 <= len(flow_ids) <= MAX_FLOWS:
        raise errors.InvalidRequest(
            f"flow_ids must name 1 to {MAX_FLOWS} flows", field="flow_ids", value=len(flow_ids), limit=MAX_FLOWS
        )
    known = key_limits.known_flows(db, user_id, flow_ids)
    for flow_id in flow_ids:
        if flow_id not in known:
            raise not_found("flow", flow_id, field="flow_ids")
