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


def test_the_examples_are_what_the_api_answers(recorded: dict[str, Any]) -> None:
    for kind in ("operations", "errors"):
        now, committed = recorded[kind], COMMITTED[kind]
        changed = sorted(name for name in now.keys() | committed.keys() if now.get(name) != committed.get(name))
        shown = [f"{name}:\n  now       {now.get(name)}\n  committed {committed.get(name)}" for name in changed]
        assert not changed, f"these {kind} differ: {changed}; {RECORD}\n" + "\n".join(shown)
    assert as_text(recorded) == FILE.read_text(encoding="utf-8"), RECORD


def test_the_errors_of_each_operation_are_in_the_document(subtests: pytest.Subtests) -> None:
    assert EXAMPLES
    for name, example in EXAMPLES.items():
        with subtests.test(name):
            answers = OPERATIONS[name][2]["responses"]
            for each in example["errors"]:
                shown = resolved(answers[ERRORS[each]["status"]])["content"]["application/json"]["example"]
                assert shown == ERRORS[each]["answer"], each
            statuses = [ERRORS[each]["status"] for each in example["errors"]]
            assert len(set(statuses)) == len(statuses)


def test_each_error_says_its_status_and_its_code(subtests: pytest.Subtests) -> None:
    ours = {name: error for name, error in ERRORS.items() if "error" in error["answer"]}
    assert ours
    for name, error in ours.items():
        with subtests.test(name):
            answer = error["answer"]
            assert (str(answer["status"]), answer["detail"]) == (error["status"], answer["error"]["message"])


def test_the_parameters_bodies_and_answers_conform(subtests: pytest.Subtests) -> None:
    assert EXAMPLES
    for name, example in EXAMPLES.items():
        operation = OPERATIONS[name][2]
        with subtests.test(f"{name} parameters"):
            parameters_conform(operation, example.get("parameters", {}))
        if "body" in example:
            with subtests.test(f"{name} body"):
                body_conforms(operation["requestBody"]["content"], example["body"])
        with subtests.test(f"{name} answer"):
            response = operation["responses"][example["status"]]
            if "answer" in example:
                answer_conforms(response["content"], example["answer"])
            else:
                assert "content" not in response


def parameters_conform(operation: dict[str, Any], given: dict[str, Any]) -> None:
    described = {each["name"]: each for each in operation.get("parameters", ())}
    assert given.keys() <= described.keys()
    assert {each for each, parameter in described.items() if parameter["required"]} <= given.keys()
    assert [violations(described[each]["schema"], value) for each, value in given.items()] == [[]] * len(given)
    assert {each: described[each]["example"] for each in given} == given


def body_conforms(content: dict[str, Any], body: Any) -> None:
    media_type, described = next(iter(content.items()))
    assert described["example"] == body
    assert violations(described["schema"], body) == []
    if media_type == LINES:
        assert [violations(ref("ExportLine"), json.loads(line)) for line in body.splitlines()].count([]) > 3


def answer_conforms(content: dict[str, Any], answer: Any) -> None:
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


@pytest.mark.slow
def test_every_line_of_an_export_has_a_schema(tmp_path: Path) -> None:
    """Of each kind that there is, not only of those in the example."""
    undoing = ("delete_", "discard_", "erase_", "reset_", "revoke_", "import_")
    with recorder(tmp_path) as opened:
        opened.record([call for call in CALLS if not call.operation.startswith(undoing)])
        lines = [json.loads(line) for line in opened.api.call("GET", "/export").text.splitlines()]
    kinds = CONTRACT["components"]["schemas"]["ExportLine"]["discriminator"]["mapping"].keys()
    assert {line["type"] for line in lines} == kinds
    assert [found for line in lines for found in violations(ref("ExportLine"), line)] == []
