"""Facts as a model derives them, without a model."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

from memorybase.core.models import Message
from memorybase.core.services import Services
from memorybase.features.facts.models import Distillation, DistillationUsage, Fact, FactSource


def add_fact(services: Services, base: str, message_id: str, *, who: str = "user", what: str | None = None) -> str:
    """A fact of the memory base that rests on this message; it says what the message says, unless told otherwise."""
    with services.database.transaction() as db:
        source, now = db.get_one(Message, UUID(message_id)), datetime.now(UTC)
        fact = Fact(
            id=uuid4(),
            memory_base_id=UUID(base),
            flow_id=source.flow_id,
            session_uuid=source.session_uuid,
            who=who,
            what=what or str(source.content),
            key=b"k",
            source_count=1,
            last_seq=source.seq,
            said_at=now,
            model="m",
            created_at=now,
        )
        db.add(fact)
        db.flush()
        db.add(FactSource(fact_id=fact.id, message_id=source.id, version=source.version))
        return str(fact.id)


def add_usage(services: Services, base: str, message_id: str) -> None:
    """What one request about the session of this message leaves: how far it is read, and what was used."""
    with services.database.transaction() as db:
        source, now = db.get_one(Message, UUID(message_id)), datetime.now(UTC)
        of_session = {"memory_base_id": UUID(base), "flow_id": source.flow_id, "session_id": source.session_id}
        db.add(Distillation(id=uuid4(), **of_session, updated_at=now))
        db.add(DistillationUsage(memory_base_id=UUID(base), day=now.date(), refused={}))
