"""Request and answer of Dify's External Knowledge API, in Dify's names.

Unlike other bodies these ignore unknown fields: Dify defines the request and adds fields to it, and nobody could fix a
request that its new version sends. What a field of today means is checked as strictly as elsewhere.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from api.schemas import QUERY_BOUND, Stored, example
from memorybase.search.request import MAX_CONDITIONS, OPERATORS
from memorybase.validation import Sent
from memorybase.vectors.search import MAX_TOP_K

DEFAULT_TOP_K = 4
MAX_KNOWLEDGE_ID = 1_000

_TEXT_OR_NUMBER = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
_NAME = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_VALUE = {
    "anyOf": [*_TEXT_OR_NUMBER["anyOf"], {"type": "array", "items": _TEXT_OR_NUMBER}, {"type": "null"}],
}


class FromDify(Sent):
    model_config = ConfigDict(extra="ignore")


class RetrievalSetting(FromDify):
    """How much to answer."""

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
