"""Ask the model about a batch, within the tokens of the day, and check its answer."""

from __future__ import annotations

from collections.abc import Sequence

from memorybase.core.conversation.summarizers import chat_completions
from memorybase.core.conversation.summarizers.chat_completions import (
    ChatEndpoint,
    Completion,
    EndpointUnavailable,
    PromptTooLong,
)
from memorybase.core.conversation.view.token_estimate import estimated_tokens
from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.queries.leased_work import Claim
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.telemetry import get_logger
from memorybase.features.facts import usage
from memorybase.features.facts.batch import Batch
from memorybase.features.facts.checks import AnswerRefused, Checked, Refusal, check_answer
from memorybase.features.facts.models import Distillation
from memorybase.features.facts.prompt import MAX_ANSWER_TOKENS, SCHEMA, Known, messages_for

log = get_logger(__name__)


def endpoint_of(settings: Settings) -> ChatEndpoint:
    """The endpoint of summaries, with the model for distillation."""
    return ChatEndpoint(
        url=settings.summarizer_url,
        key=settings.summarizer_key,
        model=settings.distiller_model or settings.summarizer_model,
        timeout_seconds=chat_completions.TIMEOUT_SECONDS,
    )


def ask(
    services: Services, claim: Claim[Distillation], endpoint: ChatEndpoint, batch: Batch, known: Sequence[Known]
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
