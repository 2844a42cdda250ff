"""The examples of the OpenAPI document are what a live API answers, and conform to the document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness.contract import CONTRACT, resolved
from harness.examples import CALLS, FILE, OPERATIONS, as_text, recorder
from jsonschema import Draft202012Validator

COMMITTED: dict[str, dict[str, dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
EXAMPLES, ERRORS = COMMITTED["operations"], COMMITTED["errors"]
RECORD = "run: PYTHONPATH=tests python -m harness.examples > examples.json && mv examples.json api/contract/"
LINES, EVENTS = "application/x-ndjson", "text/event-stream"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with recorder(tmp_path_factory.mktemp("examples")) as opened:
        return opened.record()


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, by a schema of the document."""
    validator = Draft202012Validator({**schema, "components": CONTRACT["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def test_every_operation_has_an_example() -> None:
    assert OPERATIONS.keys() - EXAMPLES.keys() == set(), (
        f"add a call to CALLS in tests/harness/examples.py, then {RECORD}"
    )
    assert len({call.operation for call in CALLS if call.record}) == len([call for call in CALLS if call.record])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_what_the_api_answers(recorded: dict[str, Any], name: str) -> None:
    assert recorded["operations"][name] == EXAMPLES[name], RECORD


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_is_what_the_api_answers(recorded: dict[str, Any], name: str) -> None:
    assert recorded["errors"][name] == ERRORS[name], RECORD


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_errors_of_an_operation_are_in_the_document(name: str) -> None:
    answers = OPERATIONS[name][2]["responses"]
    for each in EXAMPLES[name]["errors"]:
        shown = resolved(answers[ERRORS[each]["status"]])["content"]["application/json"]["example"]
        assert shown == ERRORS[each]["answer"]
    statuses = [ERRORS[each]["status"] for each in EXAMPLES[name]["errors"]]
    assert len(set(statuses)) == len(statuses)


@pytest.mark.parametrize("name", [name for name in ERRORS if "error" in ERRORS[name]["answer"]])
def test_an_error_says_its_status_and_its_code(name: str) -> None:
    status, answer = ERRORS[name]["status"], ERRORS[name]["answer"]
    assert (str(answer["status"]), answer["detail"]) == (status, answer["error"]["message"])


def test_recording_gives_the_file(recorded: dict[str, Any]) -> None:
    assert as_text(recorded) == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_parameters_conform(name: str) -> None:
    _, _, operation = OPERATIONS[name]
    described = {each["name"]: each for each in operation.get("parameters", ())}
    given = EXAMPLES[name].get("parameters", {})
    assert given.keys() <= described.keys()
    assert {each for each, parameter in described.items() if parameter["required"]} <= given.keys()
    assert [violations(described[each]["schema"], value) for each, value in given.items()] == [[]] * len(given)
    assert {each: described[each]["example"] for each in given} == given


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if "body" in example])
def test_the_body_conforms(name: str) -> None:
    content = OPERATIONS[name][2]["requestBody"]["content"]
    (media_type, described), body = next(iter(content.items())), EXAMPLES[name]["body"]
    assert described["example"] == body
    assert violations(described["schema"], body) == []
    if media_type == LINES:
        assert [violations(ref("ExportLine"), json.loads(line)) for line in body.splitlines()].count([]) > 3


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if "answer" in example])
def test_the_answer_conforms(name: str) -> None:
    answer = EXAMPLES[name]["answer"]
    content = OPERATIONS[name][2]["responses"][EXAMPLES[name]["status"]]["content"]
    media_type, described = next(iter(content.items()))
    assert described["example"] == answer
    assert violations(described["schema"], answer) == []
    if media_type == LINES:
        item = described["schema"]["contentSchema"]["items"]
        found = [violations(item, json.loads(line)) for line in answer.splitlines()]
        assert found == [[] for _ in found]
    if media_type == EVENTS:
        events = [dict(line.split(": ", 1) for line in each.splitlines()) for each in answer.split("\n\n") if each]
        assert [event["event"] for event in events] == ["job", "end"]
        assert [violations(ref("JobEvent"), {**each, "data": json.loads(each["data"])}) for each in events] == [[], []]


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if "answer" not in example])
def test_an_example_without_an_answer_is_of_a_call_without_one(name: str) -> None:
    assert "content" not in OPERATIONS[name][2]["responses"][EXAMPLES[name]["status"]]


def test_every_line_of_an_export_has_a_schema(tmp_path: Path) -> None:
    """Of each kind that there is, not only of those in the example."""
    undoing = ("delete_", "discard_", "erase_", "reset_", "revoke_", "import_")
    with recorder(tmp_path) as opened:
        opened.record([call for call in CALLS if not call.operation.startswith(undoing)])
        lines = [json.loads(line) for line in opened.api.call("GET", "/export").text.splitlines()]
    kinds = CONTRACT["components"]["schemas"]["ExportLine"]["discriminator"]["mapping"].keys()
    assert {line["type"] for line in lines} == kinds
    assert [found for line in lines for found in violations(ref("ExportLine"), line)] == []
