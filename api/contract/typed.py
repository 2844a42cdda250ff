"""Schemas of what the code types as plain JSON and the domain validates, other than messages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from api.contract.messages import Content, Open, Partial, ToolCalls
from memorybase.core.ingestion.flush import JobConflict

Nanoseconds = str | int | None
Count = Annotated[int, Field(ge=0)]


class PartialInCamelCase(Partial):
    model_config = ConfigDict(alias_generator=to_camel)


class Turn(Open):
    """A message before or after a result."""

    message_id: UUID = Field(description="The message.")
    run_id: UUID = Field(description="Its run.")
    seq: Count = Field(description="Its number in the session.")
    role: str = Field(description="Who speaks.")
    sender_name: str | None = Field(description="The speaker's name.")
    content: Content = Field(description="Text, content parts, or null next to tool calls.")
    timestamp: datetime = Field(description="When it was written.")


class ScoreParts(Partial):
    """The parts of a score. Mode `dense` has only the cosine and the chunk."""

    signals: dict[str, SignalPart] = Field(description="Each signal, by its name.")
    bias: float = Field(description="Added to the sum of the shares.")
    weights: str = Field(description="`default`, or `tuned` for the memory base's own.")
    weight_set: str = Field(description="The name of the set of weights.")
    recency: float | None = Field(description="The factor for the age of the message.")
    evidence: float | None = Field(
        description="The chance that the memory base answers the question at all, the same for all of its results: of "
        "a text with several questions, the question that found this message. Null in mode `keyword`. From 0.5 on the "
        "best results have a score of 0.05 or more, which recalls them."
    )
    own_score: float = Field(description="The score before the result moved to that of another, or was lowered.")
    place_of: UUID = Field(description="The earlier message whose place and score this later one took.")
    echo_of: UUID = Field(description="The earlier message that this one repeats: it ranks below that.")
    non_answer: bool = Field(description="True for a message that says only that something is not known.")
    lacks_name: bool = Field(
        description="True if the memory base answers the question by a rare name alone, which this message lacks."
    )
    reranker: float = Field(description="The score of the reranker, if one is set.")
    dense: float | None = Field(description="In mode `dense`: the cosine before the correction for length.")
    chunk: int | None = Field(description="Number of the chunk that matched best.")
    source: str | None = Field(description="Where the chunk was found.")


class SignalPart(Open):
    """A signal in a score."""

    value: float = Field(description="The value of the signal.")
    share: float = Field(description="Its weight times the value.")


class MemoryUseSummary(PartialInCamelCase):
    """The session memory that was shown."""

    summary: str = Field(description="The text of the summary; empty without one.")
    chat_messages: list[ShownPair] = Field(description="The pairs of question and reply, newest first.")


class ShownPair(PartialInCamelCase):
    """A question and its reply."""

    message_id: str = Field(description="The question's message.")
    user_message: str = Field(description="The text of the question.")
    agent_message: str | None = Field(description="The text of the reply.")


class FlowRef(Open):
    """A flow by both of its ids."""

    id: UUID = Field(description="The UUID of the flow.")
    external_id: str | None = Field(description="The id that the caller chose; null if that is a UUID.")


# What callers send is JSON of Protocol Buffers: null for any field, unknown fields, 64 bits as a number or as text.
class TracesExport(PartialInCamelCase):
    """Spans as OTLP's JSON has them: an ExportTraceServiceRequest. Without spans, nothing is captured."""

    resource_spans: list[ResourceSpans] | None = Field(description="Spans, by the resource that they come from.")


class ResourceSpans(PartialInCamelCase):
    """Spans of one resource."""

    scope_spans: list[ScopeSpans] | None = Field(description="Spans, by the instrumentation that made them.")


class ScopeSpans(PartialInCamelCase):
    """Spans of one instrumentation."""

    spans: list[Span] | None = Field(description="The spans.")


class Span(PartialInCamelCase):
    """A span. Its other fields are ignored."""

    trace_id: str | None = Field(description="The trace, in hexadecimal digits: the run.")
    span_id: str | None = Field(description="The span, in hexadecimal digits.")
    start_time_unix_nano: Nanoseconds = Field(description="When it began: nanoseconds since 1970.")
    end_time_unix_nano: Nanoseconds = Field(description="When it ended: nanoseconds since 1970.")
    attributes: list[SpanAttribute] | None = Field(description="Messages, session, end user: by their names.")


class SpanAttribute(PartialInCamelCase):
    """An attribute."""

    key: str | None = Field(description="Its name.")
    value: SpanValue | None = Field(description="Its value.")


class SpanValue(PartialInCamelCase):
    """A value: a string, or a list or an object as OTLP has them."""

    string_value: str | None = Field(description="The string.")


class TracesAnswer(PartialInCamelCase):
    """OTLP's ExportTraceServiceResponse: empty if every message is stored."""

    partial_success: PartialSuccess = Field(description="How many spans have messages that are not stored, and why.")


class PartialSuccess(PartialInCamelCase):
    """Spans whose messages are not stored."""

    rejected_spans: str = Field(description="Their number, as text.")
    error_message: str = Field(description="Why the first of them was refused.")


class FixBody(Partial):
    """The body of a call that ends a problem."""

    model_config = ConfigDict(extra="forbid")

    action: str = Field(description="`retry`: the dead letters of the memory base.")
    memory_base_id: UUID = Field(description="The memory base.")
    auto_capture: bool = Field(description="Captures trigger ingestion again.")


class FormerFields(Partial):
    """The fields of a message that an edit replaced, as they were."""

    content: Content = Field(description="The former content.")
    files: list[Any] = Field(description="The former files.")
    metadata: dict[str, Any] = Field(description="The former metadata.")
    tool_calls: ToolCalls = Field(description="The former tool calls, replaced by a capture.")
    tool_call_id: str | None = Field(description="The former tool call that it answered.")
    name: str | None = Field(description="The former name.")
    status: str = Field(description="The former status, replaced by a capture.")


class ActionError(Open):
    """Why an action was not done with a message."""

    code: str = Field(description="The error's code.")
    message: str = Field(description="For people; may change.")


class InvalidField(Open):
    """An invalid field of a request."""

    field: str = Field(description="Where in the request.")
    message: str = Field(description="For people; may change.")


class ErrorDetails(Partial):
    """More about an error, by its code."""

    existing_id: UUID = Field(description="`name_taken`: what has the name. `secret_not_stored`: the created API key.")
    conflicts: list[JobConflict] = Field(description="`ingestion_active`: the active jobs.")
    failing: list[str] = Field(description="`not_ready`: the parts that do not respond.")
    reason: str = Field(description="`not_ready`: why `model` is among them.")
    flows: list[FlowRef] = Field(description="`ambiguous_id`: the flows that have the id.")
    message_id: UUID = Field(description="`text_rejected`: the message.")
    line: int = Field(description="Of an import: the line that failed.")
    others: list[InvalidField] = Field(description="`invalid_request`: further invalid fields.")
    retry_after_seconds: float = Field(description="Seconds until a retry can succeed.")
    quota: str = Field(description="`quota_exceeded` and `quota_full`: the quota.")
    whose: str = Field(description="Whose quota: `user` or `key`.")
    used: int = Field(description="How much of the quota is in use.")
    wanted: int = Field(description="How much the request would use.")
    resets_at: datetime = Field(description="`quota_exceeded`: when its window ends.")
    freed_by: str = Field(description="`quota_full`: what makes room.")
    scope: str = Field(description="`forbidden`: the scope that the key lacks.")
