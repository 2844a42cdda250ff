"""Dify's External Knowledge API: Dify appends /retrieval to the endpoint that its user enters, which is /v1/dify."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from enum import IntEnum
from http import HTTPStatus
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from starlette.exceptions import HTTPException

from api import failures
from api.admission import Work
from api.deps import BEARER, HEADER, KeyedRoute, Reader, ServicesDep
from api.extension import Routes
from api.key_limits import Asked, Rule
from api.operations import operation
from api.schemas import QUERY_BOUND, Stored, example
from memorybase.core import errors
from memorybase.core.messages import message_text
from memorybase.core.queries.ownership import not_found
from memorybase.core.search import corrections, search
from memorybase.core.search.conditions import MAX_CONDITIONS, OPERATORS, Conditions, checked_condition
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.validation import Sent
from memorybase.core.vectors.search import MAX_TOP_K, check_bound
from memorybase.features.dify.knowledge import Knowledge, find_knowledge

DEFAULT_TOP_K = 4
MAX_KNOWLEDGE_ID = 1_000

_TEXT_OR_NUMBER = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
_NAME = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_VALUE = {
    "anyOf": [*_TEXT_OR_NUMBER["anyOf"], {"type": "array", "items": _TEXT_OR_NUMBER}, {"type": "null"}],
}

CONTENT_CHARS = 2_000  # of a message that is answered as a whole: about as much as a chunk of Dify's


# Unlike other bodies these ignore unknown fields: Dify defines the request and adds fields to it, and nobody could fix
# a request that its new version sends. What a field of today means is checked as strictly as elsewhere.
class FromDify(Sent):
    model_config = ConfigDict(extra="ignore")


class RetrievalSetting(FromDify):
    """Limits of the answer."""

    top_k: int | None = Field(
        default=None, ge=1, description=f"At most {MAX_TOP_K}. Default: {DEFAULT_TOP_K}, as in Dify."
    )
    score_threshold: float | None = Field(
        default=None, ge=0, le=1, allow_inf_nan=False, description="Lowest score; 0 is off."
    )


class MetadataComparison(FromDify):
    """A comparison with the metadata of a message. Earlier versions of Dify send several names."""

    # The domain validates both: unions here would put their branches into errors.
    name: Annotated[Any, WithJsonSchema(_NAME)] = Field(
        description="A key of the message's metadata, or a field that every message has, such as `role`."
    )
    comparison_operator: str = Field(description=f"One of {', '.join(OPERATORS)}.")
    value: Annotated[Any, WithJsonSchema(_VALUE)] = Field(
        default=None, description="What to compare with; not for `empty` and `not empty`."
    )


class MetadataCondition(FromDify):
    """Comparisons with the metadata of messages."""

    logical_operator: Literal["and", "or"] | None = Field(
        default="and", description="Whether all comparisons must hold, or any."
    )
    conditions: list[MetadataComparison] | None = Field(
        default=None, max_length=MAX_CONDITIONS, description="The comparisons; without any, all messages are searched."
    )


class Retrieval(FromDify):
    """A search by Dify. `knowledge_id` is the id or the name of a memory base, or the id of a flow; with `/` and an end
    user's id after it, only that end user's sessions are searched."""

    model_config = example(
        knowledge_id="support/anna",
        query="Which food must Anna avoid?",
        retrieval_setting={"top_k": 4, "score_threshold": 0.0},
        metadata_condition={
            "logical_operator": "and",
            "conditions": [{"name": "role", "comparison_operator": "is", "value": "user"}],
        },
    )

    knowledge_id: Stored = Field(min_length=1, max_length=MAX_KNOWLEDGE_ID, description="What to search.")
    query: Stored = Field(min_length=1, description=f"The question. {QUERY_BOUND}")
    retrieval_setting: RetrievalSetting | None = Field(default=None, description="How much to answer.")
    metadata_condition: MetadataCondition | None = Field(default=None, description="Which messages to search.")


class RetrievalRecord(BaseModel):
    """A found message. `content` is its text, or the passage that matched if the text is long."""

    content: str = Field(description="The text, or the passage.")
    score: float = Field(description="From 0 to 1, higher is better.")
    title: str = Field(description="Who said it, when, and in which session.")
    metadata: dict[str, Any] = Field(description="The message's own metadata, and fields that every message has.")


class RetrievalAnswer(BaseModel):
    """The found messages, best first."""

    records: list[RetrievalRecord] = Field(description="The messages; empty if none is found.")


class RetrievalError(BaseModel):
    """An error in Dify's form. `error_code`: 1001 and 1002 for the API key, 2001 for an unknown knowledge id, else the
    HTTP status."""

    error_code: int = Field(description="A code of Dify's, or the HTTP status.")
    error_msg: str = Field(description="What is wrong, with the field, the value and the bound.")


RETRIEVAL_ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": RetrievalError, "description": "The request is invalid."},
    "5XX": {
        "model": RetrievalError,
        "description": "A dependency is unavailable. Retry after the time in Retry-After.",
    },
}


# A wrong key is 403 here: when a user saves the connection, Dify sends an empty POST and refuses only 403, 404 and 502.
# After a 401 it would save a key that never works.


class Code(IntEnum):
    HEADER = 1001
    KEY = 1002
    KNOWLEDGE = 2001


class DifyRoute(KeyedRoute):
    """A keyed route whose errors have Dify's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def answered(request: Request) -> Response:
            if not _has_key(request):
                error = errors.Unauthorized("The header must be 'Authorization: Bearer KEY'.")
                return _failed(request, error, Code.HEADER)
            try:
                return await handler(request)
            except (errors.MemorybaseError, RequestValidationError, HTTPException) as found:
                return _failed(request, failures.as_error(found), Code.KEY)

        return answered


def _has_key(request: Request) -> bool:
    """Dify tells a missing key from a wrong one."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    return bool((scheme.lower() == "bearer" and credentials.strip()) or request.headers.get("x-api-key"))


def _failed(request: Request, error: errors.MemorybaseError, of_key: Code) -> JSONResponse:
    """The answer; `of_key` is the code of an error about the key."""
    failures.log_failure(request, error)
    status: int = error.status_code
    code = status
    if isinstance(error, errors.Unauthorized | errors.Forbidden):
        status, code = HTTPStatus.FORBIDDEN, of_key
    elif isinstance(error, errors.NotFound):
        code = Code.KNOWLEDGE
    headers = failures.headers_of(error) if status != HTTPStatus.FORBIDDEN else {}
    return JSONResponse({"error_code": code, "error_msg": _text(error)}, status_code=status, headers=headers)


def _text(error: errors.MemorybaseError) -> str:
    """One line with the field, the value and the bound: Dify shows nothing else of an error."""
    body = failures.body_of(error, "")
    text: str = body["message"]
    field, value, limit = (body.get(name) for name in ("field", "value", "limit"))
    if field is not None and field not in text:
        text = f"{field}: {text}"
    more = [
        f"{name} {each}"
        for name, each in (("got", value), ("limit", limit))
        if each is not None and str(each) not in text
    ]
    return f"{text} ({', '.join(more)})" if more else text


router = APIRouter(
    tags=["dify"], route_class=DifyRoute, dependencies=[Security(BEARER), Security(HEADER)], responses=RETRIEVAL_ERRORS
)


ROUTES = Routes(router=router, tag="dify", description="Dify's External Knowledge API.")


def _knowledge_in_body(asked: Asked) -> None:
    """Check what a call names. If it names no end user, add the key's."""
    sent = asked.text("body", "knowledge_id")
    if sent is None:
        return  # the route says what is missing
    found = find_knowledge(asked.services, asked.user_id, sent)
    if asked.limits.flow_ids is not None and found.flow_id not in asked.limits.flow_ids:
        raise not_found("knowledge", sent)
    if found.end_user_id is not None:
        asked.limits.check_end_user(found.end_user_id, "knowledge", sent)
    elif asked.limits.end_user_id is not None:
        asked.fill("body", "knowledge_id", f"{sent}/{quote(asked.limits.end_user_id, safe='')}")


@router.post("/dify/retrieval")
@operation(limits=Rule([_knowledge_in_body], []), work=Work.SEARCH)
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
        min_score=setting.score_threshold or 0.0,
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
    note = corrections.text_for_model(hit.corrected_by)
    return RetrievalRecord(
        content=(hit.snippet if is_excerpt else text) + (f" ({note})" if note else ""),
        score=hit.score,
        title=f"{hit.sender_name or hit.role}, {hit.timestamp:%Y-%m-%d %H:%M} UTC, {hit.session_id}",
        metadata=hit.metadata | _known(hit, knowledge) | ({"excerpt": True} if is_excerpt else {}),
    )


def _known(hit: Hit, knowledge: Knowledge) -> dict[str, Any]:
    """The message's fields, under the names that conditions use."""
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
