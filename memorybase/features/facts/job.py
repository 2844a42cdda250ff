"""The job that distils a session's messages, in a worker.

A worker claims the session that has waited longest, asks the model about one batch while no transaction is open, and
stores the facts that pass the checks. Facts and cursor change in one transaction, which compares the claim's version:
an edit or deletion of a message, another worker, and turning distillation off change it. Then nothing is stored, so
facts are stored once, whatever process is killed.
"""

from __future__ import annotations

from enum import Enum, auto

from memorybase.core.conversation.summarizers import chat_completions
from memorybase.core.conversation.summarizers.chat_completions import ChatEndpoint, EndpointUnavailable
from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.queries import leased_work
from memorybase.core.services import Services
from memorybase.features.facts import batch as batches
from memorybase.features.facts import claim as claims
from memorybase.features.facts.ask import ask
from memorybase.features.facts.checks import AnswerRefused, Checked
from memorybase.features.facts.claim import MAX_ATTEMPTS
from memorybase.features.facts.store import embed, store


class Outcome(Enum):
    """Result of one call of `distil_next`."""

    NOTHING_PENDING = auto()
    STORED = auto()
    OUTDATED = auto()  # the messages changed meanwhile; they are pending again
    REFUSED = auto()  # the answer was useless
    UNAVAILABLE = auto()  # the endpoint was
    WAITS = auto()  # for the next day


def enqueue_due(services: Services) -> int:
    """The sweeper's step; without a model no worker is notified."""
    return 0 if services.settings.distiller == "none" else leased_work.enqueue_due(claims.WORK, services)


def distil_next(services: Services, endpoint: ChatEndpoint) -> Outcome:
    """Distil one batch of the session that has waited longest."""
    claim = claims.take(services)
    if claim is None:
        return Outcome.NOTHING_PENDING
    words = analyzer(services.settings.keyword_language)
    with services.database.reading() as db:
        batch = batches.gated(batches.read(db, claim.row, attempts=min(claim.row.attempts, MAX_ATTEMPTS)), words)
    if not batch.is_worth_asking:
        return _outcome(is_stored=store(services, claim, batch, Checked(), {}))
    known = batches.known_facts(batch, words)
    batch = batches.fitted(batch, known, chat_completions.INPUT_TOKENS)
    try:
        checked = ask(services, claim, endpoint, batch, known)
    except EndpointUnavailable as error:
        claims.put_off(services, claim, error)
        return Outcome.UNAVAILABLE
    except AnswerRefused as refused:
        claims.refuse(services, claim, batch, refused.reason)
        return Outcome.REFUSED
    if checked is None:
        claims.wait(services, claim)
        return Outcome.WAITS
    vectors = embed(services, claim.row.memory_base_id, checked.accepted)
    return _outcome(is_stored=store(services, claim, batch, checked, vectors, endpoint.model))


def _outcome(*, is_stored: bool) -> Outcome:
    return Outcome.STORED if is_stored else Outcome.OUTDATED
