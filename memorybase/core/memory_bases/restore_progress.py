"""Progress of the vector store of an embedded stack after a restore of the database."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.queries import problems
from memorybase.core.settings import RESTORED_ABOUT, Settings


@dataclass(frozen=True, slots=True)
class RestoreProgress:
    """Number of memory bases that are rebuilt or needed nothing, and of all."""

    rebuilt: int
    total: int
    since: datetime

    @property
    def title(self) -> str:
        return f"{self.rebuilt:,} of {self.total:,} rebuilt after a restore"

    text = "Searches by words work meanwhile; those by meaning miss messages until their memory base is rebuilt."


def restore_progress(db: OrmSession, settings: Settings, user_id: UUID | None = None) -> RestoreProgress | None:
    """Progress for the memory bases of the user, or of all; None if no restore is in progress."""
    try:
        about = json.loads((settings.restored_dir / RESTORED_ABOUT).read_text(encoding="utf-8"))
        since = datetime.fromisoformat(about["restored_at"]).astimezone(UTC)
    except (OSError, ValueError, LookupError):
        return None
    return RestoreProgress(*problems.rebuilt(db, since, user_id), since)
