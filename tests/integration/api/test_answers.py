"""What the API takes and answers conforms to the OpenAPI document: every operation, and its typical errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness.calls import CALLS, OPERATIONS, Made, conversation
from harness.contract import CONTRACT, resolved
from jsonschema import Draft202012Validator

LINES, EVENTS = "application/x-ndjson", "text/event-stream"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    with conversation(tmp_path_factory.mktemp("calls")) as opened:
        return opened.make()


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, by a schema of the document."""
    validator = Draft202012Validator({**schema, "components": CONTRACT["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def test_every_operation_is_called_once() -> None:
    called = [call.operation for call in CALLS if call.check]
    assert sorted(called) == sorted(OPERATIONS), "add a call to CALLS in tests/harness/calls.py"


def test_what_is_sent_and_answered_conforms(made: dict[str, Made]) -> None:
    wrong = {}
    for name, call in made.items():
        operation = OPERATIONS[name][2]
        found = [
            *of_parameters(operation, call.parameters),
            *of_body(operation, call.body),
            *of_answer(operation, call),
        ]
        if found:
            wrong[name] = found
    assert wrong == {}


def test_every_failure_is_in_the_document_and_says_its_status(made: dict[str, Made]) -> None:
    wrong = []
    for name, call in made.items():
        for failure in call.failures:
            wrong += [f"{name} {failure.status_code}: {each}" for each in of_error(OPERATIONS[name][2], failure)]
    assert wrong == []
    assert sum(len(call.failures) for call in made.values()) > 200


def of_parameters(operation: dict[str, Any], given: dict[str, Any]) -> list[str]:
    described = {each["name"]: each for each in operation.get("parameters", ())}
    required = {each for each, parameter in described.items() if parameter["required"]}
    found = [f"parameter {each}" for each in (given.keys() - described.keys()) | (required - given.keys())]
    return found + [
        text for each in given.keys() & described.keys() for text in violations(described[each]["schema"], given[each])
    ]


def of_body(operation: dict[str, Any], body: Any) -> list[str]:
    if body is None:
        return []
    media_type, described = next(iter(operation["requestBody"]["content"].items()))
    found = violations(described["schema"], body)
    if media_type == LINES:
        found += [text for line in body.splitlines() for text in violations(ref("ExportLine"), json.loads(line))]
    return found


def of_answer(operation: dict[str, Any], call: Made) -> list[str]:
    answer = call.answer
    response = operation["responses"][str(answer.status_code)]
    if not answer.content:
        return ["no content"] if "content" in response else []
    media_type, described = next(iter(response["content"].items()))
    value = answer.json() if media_type == "application/json" else answer.text
    found = violations(described["schema"], value)
    if media_type == LINES:
        item = described["schema"]["contentSchema"]["items"]
        found += [text for line in value.splitlines() for text in violations(item, json.loads(line))]
    if media_type == EVENTS:
        events = [dict(line.split(": ", 1) for line in each.splitlines()) for each in value.split("\n\n") if each]
        found += [] if [event["event"] for event in events] == ["job", "end"] else ["events"]
        found += [
            text for each in events for text in violations(ref("JobEvent"), {**each, "data": json.loads(each["data"])})
        ]
    return found


def of_error(operation: dict[str, Any], failure: httpx.Response) -> list[str]:
    described = operation["responses"].get(str(failure.status_code))
    if described is None:
        return ["not in the document"]
    answer = failure.json()
    found = violations(resolved(described)["content"]["application/json"]["schema"], answer)
    if "error" in answer and (answer["status"], answer["detail"]) != (failure.status_code, answer["error"]["message"]):
        found.append(f"it says {answer['status']}, {answer['detail']}")
    return found


@pytest.mark.slow
def test_every_line_of_an_export_has_a_schema(tmp_path: Path) -> None:
    """Of each kind that there is, not only of those that the calls export."""
    undoing = ("delete_", "discard_", "erase_", "reset_", "revoke_", "import_", "get_erasure")
    with conversation(tmp_path) as opened:
        opened.make([call for call in CALLS if not call.operation.startswith(undoing)])
        lines = [json.loads(line) for line in opened.api.call("GET", "/export").text.splitlines()]
    kinds = CONTRACT["components"]["schemas"]["ExportLine"]["discriminator"]["mapping"].keys()
    assert {line["type"] for line in lines} == kinds
    assert [found for line in lines for found in violations(ref("ExportLine"), line)] == []
