"""The steps from FastAPI's document to ours."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Annotated, Any

from pydantic import TypeAdapter, WithJsonSchema

from api import failures, idempotency
from api.contract.lines import ExportLine, JobEvent
from api.contract.messages import Content, OpenAIViewMessage, SentMessage, StoredOutputs, ToolCalls, ViewMessage
from api.contract.parts import operations, parameters
from api.contract.typed import (
    ActionError,
    ErrorDetails,
    FixBody,
    FormerFields,
    MemoryUseSummary,
    ScoreParts,
    TracesAnswer,
    TracesExport,
    Turn,
)
from api.operations import Policy
from api.schemas import PROBLEM_JSON
from memorybase.core.conversation import Source
from memorybase.core.idempotency import KEY_LENGTH

# Those to which api.schemas and the routes refer; what is in them is found.
SCHEMAS: dict[str, Any] = {
    each.__name__: each
    for each in (SentMessage, ViewMessage, ErrorDetails, ExportLine, JobEvent, TracesExport, TracesAnswer)
}
# Of answers that the domain types as plain JSON.
PROPERTIES: dict[str, Any] = {
    "MessageView.content": Content,
    "DeletedMessageView.content": Content,
    "ChangeView.former": FormerFields | None,
    "ActionResult.error": ActionError | None,
    "MessageView.tool_calls": ToolCalls,
    "ChatMessageView.content": Content,
    "ChatMessageView.tool_calls": ToolCalls,
    "NodeExecutionView.outputs": StoredOutputs,
    "NodeExecutionView.few_shots": list[OpenAIViewMessage],
    "NodeUse.messages": list[ViewMessage],
    "NodeUse.sources": list[Source],
    "NodeUse.memoryUseSummary": MemoryUseSummary | None,
    "Fix.body": FixBody | None,
    "Hit.content": Content,
    "Hit.before": list[Turn],
    "Hit.after": list[Turn],
    "Hit.parts": ScoreParts | None,
}
_KEPT = ("title", "description", "default")
_REF = "#/components/schemas/{model}"

_INTEGER, _TEXT = {"type": "integer", "minimum": 0}, {"type": "string"}
HEADERS: dict[str, dict[str, Any]] = {
    idempotency.REPLAYED: {
        "description": "`true` if this answer is that of an earlier request with the same `Idempotency-Key`.",
        "schema": {"type": "string", "const": "true"},
    },
    "Location": {
        "description": "The path of what was created.",
        "required": True,
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "RateLimit": {
        "description": "Calls that this key may still make at once (`r`), and seconds until it may make all of them "
        'again (`t`), in this process: a structured field such as `"calls";r=998;t=1`. Absent without a limit.',
        "schema": _TEXT,
    },
    "RateLimit-Policy": {
        "description": "The limit: `q` calls in `w` seconds.",
        "schema": _TEXT,
    },
    "Retry-After": {
        "description": "Seconds until a retry can succeed. Present if the error is retryable.",
        "schema": _INTEGER,
    },
    "X-Request-Id": {
        "description": "The request's id, as in the log: the caller's, or a new one.",
        "required": True,
        "schema": _TEXT,
    },
}
KEY: dict[str, Any] = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "A random string, new for each request and the same in its repetitions, which get the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH},
}

_RANGES = {"4XX": "Rejected", "5XX": "Failed"}
_ERRORS = {
    "401": ("Unauthorized", "A valid API key is required."),
    "403": ("Forbidden", "A valid API key is required."),
    "404": ("NotFound", "What the request names does not exist."),
    "409": ("Conflict", "The request conflicts with the stored state."),
    "422": ("Invalid", "A field of the request is invalid."),
    "429": ("RateLimited", "Too many calls. Retry after the time in Retry-After."),
    "503": ("Unavailable", "A part that the call needs is unavailable. Retry after the time in Retry-After."),
}
_RETRYABLE = {"409", "429", "503"}
# An operation that names one of these, or anything in its path, is 404 if it does not exist.
_NAMES = {"flow_id", "memory_base_id", "knowledge_id"}

SERVERS: list[dict[str, Any]] = [
    {"url": "/", "description": "The server that this document was read from."},
    {"url": "http://127.0.0.1:8000", "description": "A stack on this machine, started with `memorybase up`."},
]

# In the order of a reader who starts with a flow.
TAGS: list[dict[str, Any]] = [
    {"name": "flows", "description": "Flows, and the capture of their runs."},
    {"name": "messages", "description": "Stored messages: list, read, edit, delete."},
    {"name": "sessions", "description": "Sessions: list, rename, delete, and erase an end user."},
    {"name": "history", "description": "The history that a model reads, node executions, and what each run received."},
    {"name": "context", "description": "History, summary, standing statements and recalled memories in one budget."},
    {"name": "summaries", "description": "Summaries of sessions."},
    {"name": "chat memories", "description": "Memory of a flow's Chat Memory nodes, with a log for each chat."},
    {"name": "memories", "description": "Memory bases: their settings, progress, dead letters and search weights."},
    {"name": "search", "description": "Search in one memory base, in several, in all of a flow, or in all."},
    {"name": "overview", "description": "Everything in one look, and what needs a person."},
    {"name": "jobs", "description": "Jobs that ingest, repair and regenerate: list, wait, watch, cancel."},
    {"name": "dead letters", "description": "Messages that could not be embedded: list, group, retry, discard."},
    {"name": "portability", "description": "Export and import of everything captured, as JSON lines."},
    {"name": "workers", "description": "What the workers of the installation hold."},
    {"name": "keys", "description": "API keys, their scopes and limits."},
    {"name": "sign-in", "description": "Links that sign a browser in to the web page."},
    {"name": "health", "description": "Liveness and readiness, without a key."},
    {"name": "metrics", "description": "Metrics for Prometheus."},
]


def add_types(document: dict[str, Any]) -> None:
    """Add the schemas, and replace those of the properties."""
    properties = PROPERTIES | {
        # Once the routes are there: those of a feature bring its errors.
        "ErrorBody.code": Annotated[str, WithJsonSchema({"type": "string", "enum": failures.codes()})]
    }
    types = SCHEMAS | properties
    described, definitions = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(each)) for name, each in types.items()], ref_template=_REF
    )
    schemas = document["components"]["schemas"]
    for name, schema in definitions["$defs"].items():
        if name not in schemas:  # those of FastAPI are of what is answered
            schemas[name] = schema
            for each in schema.get("properties", {}).values():
                each.pop("title", None)
    schemas["ChatMemoryLine"]["properties"] |= schemas["ChatMemoryConfig"]["properties"]
    for place in properties:
        owner, _, name = place.partition(".")
        stated = schemas[owner]["properties"][name]
        kept = {key: stated[key] for key in _KEPT if key in stated}
        schemas[owner]["properties"][name] = kept | described[place, "validation"]
    _refer(document)


def _refer(part: Any) -> None:
    """Replace what api.schemas.described left by a reference."""
    if isinstance(part, dict):
        if (name := part.pop("x-schema", None)) is not None:
            part["$ref"] = _REF.format(model=name)
        for each in part.values():
            _refer(each)
    elif isinstance(part, list):
        for each in part:
            _refer(each)


def add_headers(document: dict[str, Any], policies: Mapping[str, Policy]) -> None:
    """Say which headers each answer has, and which operations take a key."""
    document["components"]["headers"] = HEADERS
    for operation in operations(document):
        policy = policies[operation["operationId"]]
        if policy.once:
            operation.setdefault("parameters", []).append(dict(KEY))
        for status, answer in operation["responses"].items():
            names = list(_names(operation, policy, status))
            answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(names)}


def _names(operation: dict[str, Any], policy: Policy, status: str) -> list[str]:
    names = ["X-Request-Id"]
    if operation.get("security"):
        names += ["RateLimit", "RateLimit-Policy"]
    if status[0] in "45":
        names.append("Retry-After")
    elif policy.once:
        names.append(idempotency.REPLAYED)
    if status == "201" and policy.location:
        names.append("Location")
    return names


def add_errors(document: dict[str, Any], policies: Mapping[str, Policy]) -> None:
    """Refer to the typical errors of each operation, and to one description of all others."""
    described = document["components"].setdefault("responses", {})
    for operation in operations(document):
        answers, policy = operation["responses"], policies[operation["operationId"]]
        is_ours = PROBLEM_JSON in answers["5XX"]["content"]  # not those of an operation whose errors have another form
        for status in _typical(document, operation, policy, "401" if is_ours else "403"):
            name, text = _ERRORS[status]
            name = name if is_ours else f"Retrieval{name}"
            described[name] = _described(answers[f"{status[0]}XX"], status, text)
            answers[status] = _ref(name)
        if operation.get("security") and is_ours:  # health checks have no rate limit
            for status, name in _RANGES.items():
                described[name] = answers[status]
                answers[status] = _ref(name)
        operation["responses"] = dict(sorted(answers.items()))
    document["components"]["responses"] = dict(sorted(described.items()))


def _typical(document: dict[str, Any], operation: dict[str, Any], policy: Policy, unauthorized: str) -> list[str]:
    if not operation.get("security"):
        return sorted({"503"} & operation["responses"].keys())
    found = {unauthorized, "422", "429", "503"} | {"409"} & operation["responses"].keys()
    parameters = operation.get("parameters", ())
    names = {each["name"] for each in parameters} | _fields(document, operation)
    if policy.not_found and (names & _NAMES or any(each["in"] == "path" for each in parameters)):
        found.add("404")
    return sorted(found)


def _fields(document: dict[str, Any], operation: dict[str, Any]) -> set[str]:
    """The names of the fields of the body."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    refs = [each["$ref"] for each in (schema, *schema.get("anyOf", ())) if "$ref" in each]
    schemas = document["components"]["schemas"]
    return {name for ref in refs for name in schemas[ref.rpartition("/")[2]].get("properties", {})}


def _described(any_error: dict[str, Any], status: str, text: str) -> dict[str, Any]:
    """One error: like any of its range, without the headers that it does not have."""
    described = deepcopy(any_error)
    described["description"] = text
    # The limit is that of a valid key.
    absent = {"RateLimit", "RateLimit-Policy"} if status in ("401", "403") else set()
    if status not in _RETRYABLE:
        absent.add("Retry-After")
    described["headers"] = {name: ref for name, ref in any_error["headers"].items() if name not in absent}
    return described


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{name}"}


def completed(document: dict[str, Any], policies: Mapping[str, Policy]) -> dict[str, Any]:
    """The document with all that FastAPI cannot generate. It is changed in place. `policies`: by operation id."""
    add_types(document)
    _title(document)
    add_headers(document, policies)
    _say_once(document)
    add_errors(document, policies)
    return document


def _say_once(document: dict[str, Any]) -> None:
    """Leave the description of a parameter out of its schema, where FastAPI repeats it."""
    for _, parameter in parameters(document):
        parameter["schema"].pop("description", None)


def _title(document: dict[str, Any]) -> None:
    """Give each schema its own title: FastAPI gives all schemas of a generic type the same."""
    for name, schema in document["components"]["schemas"].items():
        schema["title"] = name.rstrip("_").replace("_", " of ")
