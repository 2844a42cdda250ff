"""Titles of sessions, and the times of their messages and of runs, for lists that name them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memorybase.core.models import Session
from memorybase.core.queries import runs, session_lists
from memorybase.core.read_models.views import excerpt
from memorybase.core.services import Services

SessionKey = tuple[UUID, str]  # its flow, its id
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


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
    """What a session is called: its title, else its id, unless that tells a person nothing."""
    found = titles.get((flow_id, session_id))
    if found and found.title:
        return found.title
    if not is_generated(session_id):
        return session_id
    at = found.written_at if found else None
    return f"Untitled, of {at.day} {at:%b %Y}" if at else "Untitled session"


def known_as(titles: Mapping[SessionKey, Titled], flow_id: UUID, session_id: str) -> str:
    """The id, which is unique in its flow, unless it tells a person nothing: then what the session is called."""
    return title_of(titles, flow_id, session_id) if is_generated(session_id) else session_id


def is_generated(id_: str) -> bool:
    """Whether the id contains a UUID: a program chose it, and nobody knows a session or a run by it."""
    return _UUID.search(id_) is not None


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
