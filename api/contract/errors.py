"""The errors of operations: each status is described once, in components."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from api.contract.parts import operations
from api.schemas import PROBLEM_JSON

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
_WITHOUT_404 = {"put_flow", "act_on_messages"}  # creates it; has a result for each message


def add_errors(document: dict[str, Any]) -> None:
    """Refer to the typical errors of each operation, and to one description of all others."""
    described = document["components"].setdefault("responses", {})
    for operation in operations(document):
        answers = operation["responses"]
        is_ours = PROBLEM_JSON in answers["5XX"]["content"]  # not those of Dify's operation
        for status in _typical(document, operation, "401" if is_ours else "403"):
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


def _typical(document: dict[str, Any], operation: dict[str, Any], unauthorized: str) -> list[str]:
    if not operation.get("security"):
        return ["503"] if operation["operationId"] == "health_ready" else []
    found = {unauthorized, "422", "429", "503"} | {"409"} & operation["responses"].keys()
    parameters = operation.get("parameters", ())
    names = {each["name"] for each in parameters} | _fields(document, operation)
    if names & _NAMES or any(each["in"] == "path" for each in parameters):
        found |= {"404"} if operation["operationId"] not in _WITHOUT_404 else set()
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
