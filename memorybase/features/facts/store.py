"""Embed accepted facts and store them with their sources: linked to those that say the same or that they correct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.keyword_index.analyzer import Analyzer, analyzer
from memorybase.core.queries import leased_work, memory_bases, sessions
from memorybase.core.queries.leased_work import Claim
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.telemetry import get_logger
from memorybase.features.facts import claim as claims
from memorybase.features.facts.batch import Batch
from memorybase.features.facts.checks import Accepted, Checked
from memorybase.features.facts.duplicates import is_duplicate, key_of, may_correct
from memorybase.features.facts.models import Distillation, Fact, FactSource
from memorybase.features.facts.prompt import Known
from memorybase.features.facts.queries import facts as fact_rows

log = get_logger(__name__)

Vector = NDArray[np.float32]


def embed(services: Services, base_id: UUID, accepted: Sequence[Accepted]) -> Mapping[int, tuple[Vector, str]]:
    """Vectors by index. None without the model: the answer is paid for, and words find a fact too."""
    if not accepted:
        return {}
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None:
            return {}
        model = memory_bases.fetch_generation(db, base_id, base.serving).embedding_model
    try:
        embedder = services.embedders.get(model)
        vectors = embedder.embed([each.what for each in accepted])
    except (errors.EnvironmentFailure, errors.MessageFailure) as error:
        log.warning("facts_not_embedded", error_code=error.code)
        return {}
    return {index: (vector.astype(np.float32), embedder.identity) for index, vector in enumerate(vectors)}


class _Made(NamedTuple):
    """Origin of facts: the session, the model and the time."""

    session_uuid: UUID
    model: str
    at: datetime


def store(
    services: Services,
    claim: Claim[Distillation],
    batch: Batch,
    checked: Checked,
    vectors: Mapping[int, tuple[Vector, str]],
    model: str = "",
) -> bool:
    """Store the facts and move on; False if the messages have changed since the claim."""
    row = claim.row
    counts: Counter[str] = Counter()
    with services.database.transaction() as db:
        # In the common order: whoever deletes messages has locked these too.
        memory_bases.share_base(db, row.memory_base_id)
        session_uuid = sessions.share_session(db, row.flow_id, row.session_id)
        now = clock.now(db)
        if session_uuid is None or not leased_work.finish(db, claim, **claims.moved(claim, batch, now)):
            log.info("distillation_outdated", distillation_id=str(row.id))
            return False
        if checked.accepted:
            made = _Made(session_uuid, model, now)
            counts = _add(db, claim, batch, checked.accepted, vectors, made, services.settings)
            fact_rows.add_usage(db, row.memory_base_id, now.date(), {"facts": counts.total()}, {})
    log.info("session_distilled", distillation_id=str(row.id), to_seq=batch.to_seq, facts=counts.total(), **counts)
    return True


def _add(
    db: OrmSession,
    claim: Claim[Distillation],
    batch: Batch,
    accepted: Sequence[Accepted],
    vectors: Mapping[int, tuple[Vector, str]],
    made: _Made,
    settings: Settings,
) -> Counter[str]:
    """Insert the facts with their sources. A duplicate is linked to the first of its kind, and so is a corrected
    fact."""
    row, words = claim.row, analyzer(settings.keyword_language)
    there = fact_rows.existing(db, [fact.id for fact in batch.scope])
    firsts = [fact for fact in batch.scope if fact.id in there]  # the others were deleted meanwhile
    facts: list[Fact] = []
    sources: list[FactSource] = []
    corrected: list[tuple[UUID, UUID]] = []
    for index, each in enumerate(accepted):
        fact = _fact(row, each, vectors.get(index), made)
        first = next((other for other in firsts if _says_the_same(fact, other, words)), None)
        old = each.corrects if _corrects(fact, each.corrects, words) else None
        if first is not None and old is not None and first.said_at < old.said_at:
            # What it says had changed meanwhile, and holds again: it corrects both.
            corrected.append((first.id, fact.id))
            firsts.remove(first)
            first = None
        if first is None:
            firsts.append(fact)
        else:
            fact.duplicate_of_id = first.id
        if old is not None:
            corrected.append((old.fact_id, fact.duplicate_of_id or fact.id))
        facts.append(fact)
        sources += [FactSource(fact_id=fact.id, message_id=s.message_id, version=s.version) for s in each.sources]
    fact_rows.add(db, facts, sources)
    for old_id, new_id in corrected:
        fact_rows.supersede(db, old_id, new_id)
    kinds = {fact.id: "new" if fact.duplicate_of_id is None else "duplicates" for fact in facts}
    kinds |= {id_: "corrections" for _, id_ in corrected if kinds.get(id_) == "new"}
    return Counter(kinds.values())


def _fact(row: Distillation, accepted: Accepted, embedded: tuple[Vector, str] | None, made: _Made) -> Fact:
    newest = max(accepted.sources, key=lambda source: source.seq)
    vector, embedder = embedded or (None, None)
    return Fact(
        id=uuid4(),
        memory_base_id=row.memory_base_id,
        flow_id=row.flow_id,
        session_uuid=made.session_uuid,
        who=accepted.who,
        what=accepted.what,
        when_text=accepted.when,
        key=key_of(accepted.who, accepted.what),
        source_count=len(accepted.sources),
        last_seq=newest.seq,
        said_at=newest.said_at,
        model=made.model,
        vector=None if vector is None else vector.tobytes(),
        embedder=embedder,
        created_at=made.at,
    )


def _corrects(fact: Fact, old: Known | None, words: Analyzer) -> bool:
    return (
        old is not None and old.said_at <= fact.said_at and may_correct(fact.who, fact.what, old.who, old.what, words)
    )


def _says_the_same(fact: Fact, other: Fact, words: Analyzer) -> bool:
    if fact.key == other.key:
        return True
    if fact.embedder is None or fact.embedder != other.embedder:
        return False
    vector, other_vector = (np.frombuffer(each.vector or b"", dtype=np.float32) for each in (fact, other))
    return is_duplicate(fact.what, vector, other.what, other_vector, words)
