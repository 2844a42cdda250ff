"""The errors of operations: each is described once, in components, with its recorded example."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from api.contract import examples
from api.contract.descriptions import operations
from api.schemas import PROBLEM_JSON

_RANGES = {"4XX": "Rejected", "5XX": "Failed"}
_JSON = "application/json"
_WITHOUT_KEY = ("401", "403")  # the limit is that of a valid key
_RETRYABLE = ("429", "503")


def add_errors(document: dict[str, Any]) -> None:
    """Refer to the typical errors of each operation, and to one description of all others."""
    described = document["components"].setdefault("responses", {})
    for operation in operations(document):
        answers = operation["responses"]
        named = examples.examples().get(operation["operationId"], {}).get("errors", ())
        for name in named:
            error = examples.errors()[name]
            described[name] = _described(answers[f"{error['status'][0]}XX"], error)
            answers[error["status"]] = _ref(name)
        for status, name in _RANGES.items():
            # Health checks have no rate limit, and Dify's operation has errors of its own.
            if operation.get("security") and PROBLEM_JSON in answers[status]["content"]:
                described[name] = answers[status]
                answers[status] = _ref(name)
        operation["responses"] = dict(sorted(answers.items()))
    document["components"]["responses"] = dict(sorted(described.items()))


def _described(any_error: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """One error: like any of its range, with an example, and without the headers that it does not have."""
    answer, status = error["answer"], error["status"]
    described = deepcopy(any_error)
    described["description"] = f"{answer.get('title') or answer['error_msg']}."
    described["content"][_JSON]["example"] = answer
    absent = {"RateLimit", "RateLimit-Policy"} if status in _WITHOUT_KEY else set()
    if not (answer.get("error", {}).get("retryable") or status in _RETRYABLE):
        absent.add("Retry-After")
    described["headers"] = {name: ref for name, ref in any_error["headers"].items() if name not in absent}
    return described


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{name}"}
