"""The job that distils a session's messages, in a worker.

A worker claims the session that has waited longest, asks the model about one batch while no transaction is open, and
stores the facts that pass the checks. Facts and cursor change in one transaction, which compares the claim's version:
an edit or deletion of a message, another worker, and turning distillation off change it. Then nothing is stored, so
facts are stored once, whatever process is killed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase import deadlines, errors
from memorybase.conversation.summarizers import chat_completions
from memorybase.conversation.summarizers.chat_completions import (
    ChatEndpoint,
    Completion,
    EndpointUnavailable,
    PromptTooLong,
)
from memorybase.conversation.view.token_estimate import estimated_tokens
from memorybase.database import clock
from memorybase.facts import batch as batches
from memorybase.facts import usage
from memorybase.facts.batch import Batch
from memorybase.facts.checks import Accepted, AnswerRefused, Checked, Refusal, check_answer
from memorybase.facts.duplicates import is_duplicate, key_of, may_correct
from memorybase.facts.prompt import MAX_ANSWER_TOKENS, SCHEMA, Known, messages_for
from memorybase.keyword_index.analyzer import Analyzer, analyzer
from memorybase.models import Distillation, Fact, FactSource
from memorybase.queries import distillations, memory_bases, sessions
from memorybase.queries import facts as fact_rows
from memorybase.services import Services
from memorybase.settings import Settings
from memorybase.telemetry import get_logger

log = get_logger(__name__)

MAX_ATTEMPTS = 4  # at a batch whose answers are useless; each has half as many messages
LONGEST_BACKOFF = timedelta(minutes=10)
DAY_SPENT = "daily_tokens_spent"
ENDPOINT_AWAY = "distiller_unavailable"
LOST = "worker_lost"

Vector = NDArray[np.float32]


class Outcome(Enum):
    """Result of one call of `distil_next`."""

    NOTHING_PENDING = auto()
    STORED = auto()
    OUTDATED = auto()  # the messages changed meanwhile; they are pending again
    REFUSED = auto()  # the answer was useless
    UNAVAILABLE = auto()  # the endpoint was
    WAITS = auto()  # for the next day


@dataclass(frozen=True, slots=True)
class _Claim:
    row: Distillation  # as it was before the claim

    @property
    def version(self) -> int:
        return self.row.version + 1

    @property
    def attempts(self) -> int:
        return self.row.attempts + 1


def endpoint_of(settings: Settings) -> ChatEndpoint:
    """The endpoint of summaries, with the model for distillation."""
    return ChatEndpoint(
        url=settings.summarizer_url,
        key=settings.summarizer_key,
        model=settings.distiller_model or settings.summarizer_model,
        timeout_seconds=chat_completions.TIMEOUT_SECONDS,
    )


def lease(services: Services) -> timedelta:
    """Time that a worker may take for a batch: two requests, if the endpoint refuses the schema, and the embedding."""
    return timedelta(seconds=services.settings.lease_seconds + 2 * chat_completions.TIMEOUT_SECONDS)


def enqueue_due(services: Services) -> int:
    """Notify workers if a session is pending: a notification or a worker was lost, or a pause is over."""
    if services.settings.distiller == "none":
        return 0
    with services.database.reading() as db:
        is_due = distillations.due(db, clock.now(db))
    return services.queue.notify(distillations.DISTILL) if is_due else 0


def distil_next(services: Services, endpoint: ChatEndpoint) -> Outcome:
    """Distil one batch of the session that has waited longest."""
    claim = _claim(services)
    if claim is None:
        return Outcome.NOTHING_PENDING
    words = analyzer(services.settings.keyword_language)
    with services.database.reading() as db:
        batch = batches.gated(batches.read(db, claim.row, attempts=min(claim.row.attempts, MAX_ATTEMPTS)), words)
    if not batch.is_worth_asking:
        return _store(services, claim, batch, Checked(), {})
    known = batches.known_facts(batch, words)
    batch = batches.fitted(batch, known, chat_completions.INPUT_TOKENS)
    try:
        checked = _ask(services, claim, endpoint, batch, known)
    except EndpointUnavailable as error:
        return _put_off(services, claim, error)
    except AnswerRefused as refused:
        return _refuse(services, claim, batch, refused.reason)
    if checked is None:
        return _wait(services, claim)
    vectors = _embed(services, claim.row.memory_base_id, checked.accepted)
    return _store(services, claim, batch, checked, vectors, endpoint.model)


def _claim(services: Services) -> _Claim | None:
    with services.database.transaction() as db:
        now = clock.now(db)
        row = distillations.claim_next(db, now)
        if row is None:
            return None
        claim = _Claim(row)
        values = {
            "version": claim.version,
            "attempts": claim.attempts,
            "lease_until": now + lease(services),
            "updated_at": now,
            **({"error_code": LOST} if row.lease_until is not None else {}),
        }
        is_claimed = distillations.write(db, row.id, version=row.version, session_id=row.session_id, values=values)
        db.expunge(row)
        return claim if is_claimed else None


def _ask(
    services: Services, claim: _Claim, endpoint: ChatEndpoint, batch: Batch, known: Sequence[Known]
) -> Checked | None:
    """The checked answer; None if the day's tokens are spent. Raises EndpointUnavailable, AnswerRefused."""
    request = messages_for(batch.quoted, known)
    prompt = sum(estimated_tokens(message["content"]) for message in request)
    charge = usage.charge(services, claim.row.memory_base_id, prompt, MAX_ANSWER_TOKENS)
    if charge is None:
        return None
    try:
        answer = endpoint.complete(request, max_tokens=MAX_ANSWER_TOKENS, schema=SCHEMA)
    except PromptTooLong:
        usage.settle(services, charge, 0, 0)
        raise AnswerRefused(Refusal.CUT_OFF) from None
    except EndpointUnavailable as error:
        # Without an answer the endpoint may have worked, and charge for it.
        if error.status is not None:
            usage.settle(services, charge, 0, 0)
        raise
    used = _used(answer, prompt)
    words = analyzer(services.settings.keyword_language)
    try:
        checked = check_answer(answer.text, batch.quoted, known, words, is_complete=answer.is_complete)
    except AnswerRefused as refused:
        usage.settle(services, charge, *used, refused={refused.reason.value: 1})
        raise
    usage.settle(services, charge, *used, refused=checked.refused)
    if checked.refused:
        log.warning("facts_refused", distillation_id=str(claim.row.id), **checked.refused)
    return checked


def _used(answer: Completion, prompt: int) -> tuple[int, int]:
    """The endpoint's own counts, else estimates."""
    completion = estimated_tokens(answer.text) if answer.completion_tokens is None else answer.completion_tokens
    return prompt if answer.prompt_tokens is None else answer.prompt_tokens, completion


def _embed(services: Services, base_id: UUID, accepted: Sequence[Accepted]) -> Mapping[int, tuple[Vector, str]]:
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


def _store(
    services: Services,
    claim: _Claim,
    batch: Batch,
    checked: Checked,
    vectors: Mapping[int, tuple[Vector, str]],
    model: str = "",
) -> Outcome:
    """Store the facts and move on, unless the messages have changed since the claim."""
    row = claim.row
    counts: Counter[str] = Counter()
    with services.database.transaction() as db:
        # In the common order: whoever deletes messages has locked these too.
        memory_bases.share_base(db, row.memory_base_id)
        session_uuid = sessions.share_session(db, row.flow_id, row.session_id)
        now = clock.now(db)
        if session_uuid is None or not distillations.write(
            db, row.id, version=claim.version, session_id=row.session_id, values=_moved(claim, batch, now)
        ):
            log.info("distillation_outdated", distillation_id=str(row.id))
            return Outcome.OUTDATED
        if checked.accepted:
            made = _Made(session_uuid, model, now)
            counts = _add(db, claim, batch, checked.accepted, vectors, made, services.settings)
            fact_rows.add_usage(db, row.memory_base_id, now.date(), {"facts": counts.total()}, {})
    log.info("session_distilled", distillation_id=str(row.id), to_seq=batch.to_seq, facts=counts.total(), **counts)
    return Outcome.STORED


def _moved(claim: _Claim, batch: Batch, now: datetime) -> dict[str, Any]:
    """The row after the batch."""
    row = claim.row
    redo = [seq for seq in row.redo or () if seq not in batch.redone]
    cursor = row.cursor_seq if batch.redone else batch.to_seq
    is_more = bool(redo) or row.target_seq > cursor
    return {
        "version": claim.version + 1,
        "lease_until": None,
        "attempts": 0,
        "error_code": None,
        "updated_at": now,
        "cursor_seq": cursor,
        "redo": redo or None,
        "notify_at": now if is_more else None,
    }


def _add(
    db: OrmSession,
    claim: _Claim,
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


def _refuse(services: Services, claim: _Claim, batch: Batch, reason: Refusal) -> Outcome:
    """Try again with fewer messages; after the last attempt go on behind them."""
    log.warning("distillation_refused", distillation_id=str(claim.row.id), reason=reason, attempts=claim.attempts)
    with services.database.transaction() as db:
        now = clock.now(db)
        if claim.attempts < MAX_ATTEMPTS:
            pause = timedelta(seconds=deadlines.BACKOFF_SECONDS * 2**claim.attempts)
            values = {
                "version": claim.version + 1,
                "lease_until": None,
                "error_code": reason.value,
                "updated_at": now,
                "notify_at": now + min(pause, LONGEST_BACKOFF),
            }
        else:
            given_up = sum(each.is_new for each in batch.quoted)
            skipped = {"skipped": claim.row.skipped + given_up, "error_code": reason.value}
            values = _moved(claim, batch, now) | skipped
        _write(db, claim, values)
    return Outcome.REFUSED


def _put_off(services: Services, claim: _Claim, error: EndpointUnavailable) -> Outcome:
    """The endpoint is unavailable: the attempt does not count, and the session waits, at least as long as it asks."""
    log.warning("distiller_unavailable", distillation_id=str(claim.row.id), status=error.status)
    with services.database.transaction() as db:
        now = clock.now(db)
        pause = timedelta(seconds=max(deadlines.NOTIFY_AFTER_SECONDS, error.retry_after_seconds))
        _write(db, claim, _pending(claim, ENDPOINT_AWAY, now, now + pause))
    return Outcome.UNAVAILABLE


def _wait(services: Services, claim: _Claim) -> Outcome:
    with services.database.transaction() as db:
        now = clock.now(db)
        _write(db, claim, _pending(claim, DAY_SPENT, now, usage.next_day(now)))
    log.warning("distillation_waits", distillation_id=str(claim.row.id), reason=DAY_SPENT)
    return Outcome.WAITS


def _pending(claim: _Claim, code: str, now: datetime, until: datetime) -> dict[str, Any]:
    return {
        "version": claim.version + 1,
        "lease_until": None,
        "attempts": claim.row.attempts,
        "error_code": code,
        "notify_at": until,
        "updated_at": now,
    }


def _write(db: OrmSession, claim: _Claim, values: Mapping[str, Any]) -> None:
    distillations.write(db, claim.row.id, version=claim.version, session_id=claim.row.session_id, values=values)
