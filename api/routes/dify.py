"""Dify's External Knowledge API: Dify appends /retrieval to the endpoint that its user enters, which is /v1/dify."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Security

from api.deps import BEARER, HEADER, Reader, ServicesDep
from api.dify_errors import DifyRoute
from api.dify_schemas import (
    DEFAULT_TOP_K,
    RETRIEVAL_ERRORS,
    MetadataCondition,
    Retrieval,
    RetrievalAnswer,
    RetrievalRecord,
    RetrievalSetting,
)
from memorybase.messages import message_text
from memorybase.search import search
from memorybase.search.corrections import marking
from memorybase.search.hits import Hit
from memorybase.search.request import Conditions, Knowledge, SearchRequest, checked_condition, find_knowledge
from memorybase.vectors.search import MAX_TOP_K, check_bound

CONTENT_CHARS = 2_000  # of a message that is answered as a whole: about as much as a chunk of Dify's

router = APIRouter(
    tags=["dify"], route_class=DifyRoute, dependencies=[Security(BEARER), Security(HEADER)], responses=RETRIEVAL_ERRORS
)


@router.post("/dify/retrieval")
def retrieve_knowledge(body: Retrieval, services: ServicesDep, caller: Reader) -> RetrievalAnswer:
    """Search for Dify's External Knowledge API. The endpoint to enter in Dify ends in /v1/dify."""
    setting = body.retrieval_setting or RetrievalSetting()
    conditions = _conditions(body.metadata_condition)
    top_k = _top_k(setting)
    knowledge = find_knowledge(services, caller.user_id, body.knowledge_id)
    request = SearchRequest(
        query=body.query,
        memory_base_id=knowledge.memory_base_id,
        flow_id=None if knowledge.memory_base_id else knowledge.flow_id,
        top_k=top_k,
        end_user_id=knowledge.end_user_id,
        min_score=setting.score_threshold or None,
        conditions=conditions,
    )
    hits = search.search(services, caller.user_id, request).results
    return RetrievalAnswer(records=[_record(hit, knowledge) for hit in hits])


def _top_k(setting: RetrievalSetting) -> int:
    top_k = DEFAULT_TOP_K if setting.top_k is None else setting.top_k
    check_bound("retrieval_setting.top_k", top_k, 1, MAX_TOP_K)
    return top_k


def _conditions(sent: MetadataCondition | None) -> Conditions | None:
    if sent is None or not sent.conditions:
        return None
    checked = tuple(
        checked_condition(
            each.name, each.comparison_operator, each.value, where=f"metadata_condition.conditions[{index}]"
        )
        for index, each in enumerate(sent.conditions)
    )
    return Conditions(checked, sent.logical_operator or "and")


def _record(hit: Hit, knowledge: Knowledge) -> RetrievalRecord:
    text = message_text(hit.content)
    is_excerpt = len(text) > CONTENT_CHARS
    note = marking.text_for_model(hit.corrected_by)
    return RetrievalRecord(
        content=(hit.snippet if is_excerpt else text) + (f" ({note})" if note else ""),
        score=hit.score,
        title=f"{hit.sender_name or hit.role}, {hit.timestamp:%Y-%m-%d %H:%M} UTC, {hit.session_id}",
        metadata=hit.metadata | _known(hit, knowledge) | ({"excerpt": True} if is_excerpt else {}),
    )


def _known(hit: Hit, knowledge: Knowledge) -> dict[str, Any]:
    """What memorybase knows about the message, under the names that conditions use."""
    return {
        "flow_id": knowledge.flow,
        "memory_base_id": str(hit.memory_base_id),
        "session_id": hit.session_id,
        "run_id": str(hit.run_id),
        "message_id": str(hit.message_id),
        "role": hit.role,
        "sender_name": hit.sender_name,
        "timestamp": hit.timestamp.isoformat(),
        "seq": hit.seq,
    }
