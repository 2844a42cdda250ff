"""What is about to be deleted, for features that may refuse it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class OfFlow:
    """A flow with everything in it."""

    flow_id: UUID


@dataclass(frozen=True, slots=True)
class OfSession:
    """A session, or something of it. The caller has locked it."""

    session: SessionRow


@dataclass(frozen=True, slots=True)
class OfEndUser:
    """Every session, chat and memory use of an end user."""

    end_user_id: str


@dataclass(frozen=True, slots=True)
class OfNode:
    """Every chat of a chat memory."""

    flow_id: UUID
    chat_memory_id: UUID


@dataclass(frozen=True, slots=True)
class OfChat:
    """A chat of that end user, or of none. The caller has locked it."""

    flow_id: UUID
    end_user_id: str | None


@dataclass(frozen=True, slots=True)
class OfUse:
    """What a model was given."""

    use_id: UUID


Deletion = OfFlow | OfSession | OfEndUser | OfNode | OfChat | OfUse


def check(db: OrmSession, services: Services, user_id: UUID, deletion: Deletion) -> None:
    """Ask the features, in the transaction that deletes. Raises Held if one of them keeps it."""
    for hooks in services.hooks:
        hooks.before_deletion(db, user_id, deletion)
