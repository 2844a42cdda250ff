"""The first question of each session of a page, as one line."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memorybase.messages import message_text
from memorybase.queries.ownership import require_flow
from memorybase.read_models import base_session_queries
from memorybase.services import Services

LENGTH = 160


def previews(services: Services, user_id: UUID, flow_id: UUID, session_ids: Sequence[str]) -> dict[str, str]:
    """By session: the text of its first message from a user, or of its first message; raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        first = base_session_queries.first_messages(db, flow_id, session_ids)
    return {session_id: " ".join(message_text(content).split())[:LENGTH] for session_id, content in first}
