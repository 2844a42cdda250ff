"""How far the vector store of an embedded stack follows a database that was restored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.queries import problems
from memorybase.settings import RESTORED_ABOUT, Settings


@dataclass(frozen=True, slots=True)
class RestoreProgress:
    """Of the memory bases, how many are rebuilt or needed nothing."""

    rebuilt: int
    total: int
    since: datetime

    @property
    def title(self) -> str:
        return f"{self.rebuilt:,} of {self.total:,} rebuilt after a restore"

    text = "Searches by words work meanwhile; those by meaning miss messages until their memory base is rebuilt."


def restore_progress(db: OrmSession, settings: Settings, user_id: UUID | None = None) -> RestoreProgress | None:
    """Of the memory bases of the user, or of all; None if no restore goes on."""
    try:
        about = json.loads((settings.restored_dir / RESTORED_ABOUT).read_text())
        since = datetime.fromisoformat(about["restored_at"]).astimezone(UTC)
    except (OSError, ValueError, LookupError):
        return None
    return RestoreProgress(*problems.rebuilt(db, since, user_id), since)
