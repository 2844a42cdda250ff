"""Titles of sessions, and the times of their messages and of runs, for lists that name them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memorybase.models import Session
from memorybase.queries import runs, session_lists
from memorybase.read_models.views import excerpt
from memorybase.services import Services

SessionKey = tuple[UUID, str]  # its flow, its id


@dataclass(frozen=True, slots=True)
class Titled:
    """`title`: of the session's metadata, else its first question; None without any. `written_at`: of its newest
    message, by the clock of whoever sent it."""

    title: str | None
    written_at: datetime | None


def session_titles(services: Services, user_id: UUID, keys: Collection[SessionKey]) -> dict[SessionKey, Titled]:
    """Titles of the user's sessions that exist, among one page of keys."""
    if not keys:
        return {}
    with services.database.reading(on_replica=True) as db:
        rows = session_lists.titles(db, user_id, keys)
    return {
        (row.Session.flow_id, row.Session.session_id): Titled(session_title(row.Session, row.question), row.written_at)
        for row in rows
    }


def title_of(titles: Mapping[SessionKey, Titled], flow_id: UUID, session_id: str) -> str:
    """A session's title, else its id."""
    found = titles.get((flow_id, session_id))
    return (found.title if found else None) or session_id


def session_title(session: Session, question: object) -> str | None:
    """The title of its metadata, else its first question."""
    title = session.meta.get("title")
    return excerpt(title if isinstance(title, str) and title.strip() else question)


def runs_written_at(services: Services, user_id: UUID, run_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """When the newest message of each run was written; at most a page of runs."""
    if not run_ids:
        return {}
    with services.database.reading(on_replica=True) as db:
        return runs.runs_written_at(db, user_id, run_ids)
