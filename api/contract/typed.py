"""Which schemas describe the properties that the code types as plain JSON."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from api import failures
from api.contract import lines, messages
from api.contract.messages import CONTENT, TEXT, TOOL_CALLS, Schema, array, closed, nullable, opened, ref, said

_UUID: Schema = {"type": "string", "format": "uuid"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NANOSECONDS: Schema = {"anyOf": [TEXT, {"type": "integer"}, messages.NULL]}

_SCHEMAS: dict[str, Schema] = {
    "Turn": opened(
        "A message before or after a result.",
        {
            "message_id": said("The message.", _UUID),
            "run_id": said("Its run.", _UUID),
            "seq": said("Its number in the session.", _COUNT),
            "role": said("Who speaks.", TEXT),
            "sender_name": said("The speaker's name.", nullable(TEXT)),
            "content": said("Text, content parts, or null beside tool calls.", CONTENT),
            "timestamp": said("When it was written.", _TIME),
        },
        "message_id",
        "run_id",
        "seq",
        "role",
        "sender_name",
        "content",
        "timestamp",
    ),
    "ScoreParts": opened(
        "How a score was computed. In mode `dense` it has only the cosine and the chunk.",
        {
            "signals": said("Each signal, by its name.", {"type": "object", "additionalProperties": ref("SignalPart")}),
            "bias": said("Added to the sum of the shares.", _NUMBER),
            "weights": said("`default`, or `tuned` for the memory base's own.", TEXT),
            "weight_set": said("The name of the set of weights.", TEXT),
            "recency": said("The factor for the age of the message.", nullable(_NUMBER)),
            "relevance": said("The factor for how much the store knows of what is asked.", nullable(_NUMBER)),
            "own_score": said("The score before the result changed places with another.", _NUMBER),
            "reranker": said("The score of the reranker, if one is set.", _NUMBER),
            "dense": said("In mode `dense`: the cosine before the correction for length.", nullable(_NUMBER)),
            "chunk": said("Number of the chunk that matched best.", nullable({"type": "integer"})),
            "source": said("Where the chunk was found.", nullable(TEXT)),
        },
    ),
    "SignalPart": opened(
        "A signal in a score.",
        {"value": said("The value of the signal.", _NUMBER), "share": said("Its weight times the value.", _NUMBER)},
        "value",
        "share",
    ),
    "MemoryUseSummary": opened(
        "What session memory showed.",
        {
            "summary": said("The text of the summary; empty without one.", TEXT),
            "chatMessages": said("The pairs of question and reply, newest first.", array(ref("ShownPair"))),
        },
    ),
    "ShownPair": opened(
        "A question and its reply.",
        {
            "messageId": said("The question's message.", TEXT),
            "userMessage": said("The text of the question.", TEXT),
            "agentMessage": said("The text of the reply.", nullable(TEXT)),
        },
    ),
    "FlowRef": opened(
        "A flow by both of its ids.",
        {
            "id": said("The UUID of the flow.", _UUID),
            "external_id": said("The id that the caller chose; null if that is a UUID.", nullable(TEXT)),
        },
        "id",
        "external_id",
    ),
    # What callers send is JSON of Protocol Buffers: null for any field, unknown fields, 64 bits as a number or as text.
    "TracesExport": opened(
        "Spans as OTLP's JSON has them: an ExportTraceServiceRequest. Without spans, nothing is captured.",
        {"resourceSpans": said("Spans, by the resource that they come from.", nullable(array(ref("ResourceSpans"))))},
    ),
    "ResourceSpans": opened(
        "Spans of one resource.",
        {"scopeSpans": said("Spans, by the instrumentation that made them.", nullable(array(ref("ScopeSpans"))))},
    ),
    "ScopeSpans": opened("Spans of one instrumentation.", {"spans": said("The spans.", nullable(array(ref("Span"))))}),
    "Span": opened(
        "A span. Its other fields are ignored.",
        {
            "traceId": said("The trace, in hexadecimal digits: the run.", nullable(TEXT)),
            "spanId": said("The span, in hexadecimal digits.", nullable(TEXT)),
            "startTimeUnixNano": said("When it began: nanoseconds since 1970.", _NANOSECONDS),
            "endTimeUnixNano": said("When it ended: nanoseconds since 1970.", _NANOSECONDS),
            "attributes": said("Messages, session, end user: by their names.", nullable(array(ref("SpanAttribute")))),
        },
    ),
    "SpanAttribute": opened(
        "An attribute.",
        {"key": said("Its name.", nullable(TEXT)), "value": said("Its value.", nullable(ref("SpanValue")))},
    ),
    "SpanValue": opened(
        "A value: a string, or a list or an object as OTLP has them.",
        {"stringValue": said("The string.", nullable(TEXT))},
    ),
    "TracesAnswer": opened(
        "OTLP's ExportTraceServiceResponse: empty if every message is stored.",
        {"partialSuccess": said("How many spans have messages that are not stored, and why.", ref("PartialSuccess"))},
    ),
    "PartialSuccess": opened(
        "Spans whose messages are not stored.",
        {
            "rejectedSpans": said("Their number, as text.", TEXT),
            "errorMessage": said("Why the first of them was refused.", TEXT),
        },
    ),
    "FixBody": closed(
        "The body of a call that ends a problem.",
        {
            "action": said("`retry`: the dead letters of the memory base.", TEXT),
            "memory_base_id": said("The memory base.", _UUID),
            "auto_capture": said("Captures trigger ingestion again.", {"type": "boolean"}),
        },
    ),
    "FormerFields": opened(
        "The fields of a message that an edit replaced, as they were.",
        {
            "content": said("The former content.", CONTENT),
            "files": said("The former files.", array({})),
            "metadata": said("The former metadata.", messages.FREE),
            "tool_calls": said("The former tool calls, replaced by a capture.", TOOL_CALLS),
            "tool_call_id": said("The former tool call that it answered.", nullable(TEXT)),
            "name": said("The former name.", nullable(TEXT)),
        },
    ),
    "ActionError": opened(
        "Why an action was not done with a message.",
        {"code": said("The error's code.", TEXT), "message": said("For people; may change.", TEXT)},
        "code",
        "message",
    ),
    "InvalidField": opened(
        "An invalid field of a request.",
        {"field": said("Where in the request.", TEXT), "message": said("For people; may change.", TEXT)},
        "field",
        "message",
    ),
    "ErrorDetails": opened(
        "More about an error, by its code.",
        {
            "existing_id": said("`name_taken`: what has the name. `secret_not_stored`: the created API key.", _UUID),
            "conflicts": said("`ingestion_active`: the active jobs.", array(ref("JobConflict"))),
            "failing": said("`not_ready`: the parts that do not respond.", array(TEXT)),
            "reason": said("`not_ready`: why `model` is among them.", TEXT),
            "flows": said("`ambiguous_id`: the flows that have the id.", array(ref("FlowRef"))),
            "message_id": said("`text_rejected`: the message.", _UUID),
            "line": said("Of an import: the line that failed.", {"type": "integer"}),
            "others": said("`invalid_request`: further invalid fields.", array(ref("InvalidField"))),
            "retry_after_seconds": said("Seconds until a retry can succeed.", _NUMBER),
            "quota": said("`quota_exceeded` and `quota_full`: the quota.", TEXT),
            "whose": said("Whose quota: `user` or `key`.", TEXT),
            "used": said("How much of the quota is in use.", {"type": "integer"}),
            "wanted": said("How much the request would use.", {"type": "integer"}),
            "resets_at": said("`quota_exceeded`: when its window ends.", {"type": "string", "format": "date-time"}),
            "freed_by": said("`quota_full`: what makes room.", TEXT),
            "scope": said("`forbidden`: the scope that the key lacks.", TEXT),
        },
    ),
}

SCHEMAS: dict[str, Schema] = {**messages.SCHEMAS, **lines.SCHEMAS, **_SCHEMAS}

_SENT, _STORED = array(ref("SentMessage")), array(ref("OpenAIViewMessage"))
PROPERTIES: dict[str, Schema] = {
    "CaptureBody.messages": _SENT,
    "ChatPostBody.messages": {**_SENT, "minItems": 1},
    "MemoryUseBody.messages": _SENT,
    "ExecutionOutputs.context": nullable(_SENT),
    "NodeExecutionBody.few_shots": nullable(_SENT),
    "ReportedExecutionBody.few_shots": nullable(_SENT),
    "MessageChanges.content": {"anyOf": [TEXT, array({"anyOf": [ref("ContentPart"), TEXT]})]},
    "LabelBody.settings": messages.FREE,
    "LabelView.settings": messages.FREE,
    "MessageView.content": CONTENT,
    "DeletedMessageView.content": CONTENT,
    "ChangeView.former": nullable(ref("FormerFields")),
    "ActionResult.error": nullable(ref("ActionError")),
    "MessageView.tool_calls": TOOL_CALLS,
    "ChatMessageView.content": CONTENT,
    "ChatMessageView.tool_calls": TOOL_CALLS,
    "NodeExecutionView.outputs": ref("ExecutionOutputs"),
    "NodeExecutionView.few_shots": _STORED,
    "ViewAnswer.messages": array(ref("ViewMessage")),
    "ContextAnswer.messages": array(ref("ViewMessage")),
    "HistoryAnswer.messages": array(ref("ViewMessage")),
    "NodeUse.messages": array(ref("ViewMessage")),
    "NodeUse.sources": array(ref("Source")),
    "NodeUse.memoryUseSummary": nullable(ref("MemoryUseSummary")),
    "Fix.body": nullable(ref("FixBody")),
    "Hit.content": CONTENT,
    "Hit.before": array(ref("Turn")),
    "Hit.after": array(ref("Turn")),
    "Hit.parts": nullable(ref("ScoreParts")),
    "ErrorBody.code": {"type": "string", "enum": failures.codes()},
    "ErrorBody.details": ref("ErrorDetails"),
}
_KEPT = ("title", "description", "default")


def add_types(document: dict[str, Any]) -> None:
    """Add the schemas, and replace those of the properties."""
    schemas = document["components"]["schemas"]
    schemas.update(deepcopy(SCHEMAS))
    schemas["ChatMemoryLine"]["properties"] |= schemas["ChatMemoryConfig"]["properties"]
    for place, schema in PROPERTIES.items():
        owner, _, name = place.partition(".")
        stated = schemas[owner]["properties"][name]
        schemas[owner]["properties"][name] = {key: stated[key] for key in _KEPT if key in stated} | deepcopy(schema)
