"""The API against that of the last release, and the comparison itself."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.api_changes import Change, Comparison, breaking_changes, unnamed
from harness.contract import CONTRACT
from packaging.version import Version

ROOT = Path(__file__).parents[3]
RELEASED = Path(__file__).parent / "released"

Edit = Callable[[dict[str, Any]], None]

MEMORY = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "status": {"type": "string", "enum": ["ready", "pending"]},
        "parent": {"anyOf": [{"$ref": "#/components/schemas/Memory"}, {"type": "null"}]},
        "size": {"type": "number"},
    },
}
BODY = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 128},
        "threshold": {"type": "integer", "minimum": 1, "default": 50},
        "capture": {"type": "string", "enum": ["outputs", "all"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "content": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
}
DOCUMENT: dict[str, Any] = {
    "paths": {
        "/v1/memories/{memory_id}": {
            "post": {
                "operationId": "change_memory",
                "parameters": [
                    {"in": "path", "name": "memory_id", "required": True, "schema": {"type": "string"}},
                    {"in": "query", "name": "page", "schema": {"type": "integer", "maximum": 200}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}},
                },
                "responses": {
                    "200": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Memory"}}},
                        "headers": {"X-Request-Id": {}},
                    },
                    "4XX": {},
                },
            }
        }
    },
    "components": {"schemas": {"Memory": MEMORY, "Body": BODY}},
}
# Schemas that no call sends and no successful one answers.
OF_ERRORS = {"ErrorAnswer", "ErrorBody", "ErrorDetails", "FlowRef", "InvalidField", "RetrievalError"}
CALL = "POST /memories/{memory_id}"


def operation(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["paths"]["/v1/memories/{memory_id}"]["post"]
    return found


def body(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["components"]["schemas"]["Body"]
    return found


def memory(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["components"]["schemas"]["Memory"]
    return found


def renamed_path(document: dict[str, Any]) -> None:
    document["paths"]["/v1/memories/{id}"] = document["paths"].pop("/v1/memories/{memory_id}")
    operation_of = document["paths"]["/v1/memories/{id}"]["post"]
    operation_of["parameters"][0]["name"] = "id"


def required_parameter(document: dict[str, Any]) -> None:
    operation(document)["parameters"].append({"in": "query", "name": "q", "required": True, "schema": {}})


def optional_parameter(document: dict[str, Any]) -> None:
    operation(document)["parameters"].append({"in": "query", "name": "q", "schema": {}})


def new_operation(document: dict[str, Any]) -> None:
    document["paths"]["/v1/flows"] = {"get": operation(document) | {"operationId": "list_flows"}}


BREAKING: dict[str, tuple[Edit, Change]] = {
    "path": (lambda d: d["paths"].clear(), Change(CALL, "removed")),
    "operation": (lambda d: d["paths"]["/v1/memories/{memory_id}"].clear(), Change(CALL, "removed")),
    "operation id": (
        lambda d: operation(d).update(operationId="edit"),
        Change(CALL, "operation id change_memory is now edit"),
    ),
    "key": (lambda d: operation(d).update(security=[{"bearer": []}]), Change(CALL, "now requires a key")),
    "parameter": (lambda d: operation(d)["parameters"].pop(), Change(CALL, "query parameter page removed")),
    "required parameter": (required_parameter, Change(CALL, "new required query parameter q")),
    "parameter's bound": (
        lambda d: operation(d)["parameters"][1]["schema"].update(maximum=100),
        Change(CALL, "query parameter page: maximum 200 is now 100"),
    ),
    "body": (lambda d: operation(d).pop("requestBody"), Change(CALL, "the request body removed")),
    "answer": (lambda d: operation(d)["responses"].pop("200"), Change(CALL, "answer 200 removed")),
    "media type": (
        lambda d: operation(d)["responses"]["200"]["content"].clear(),
        Change(CALL, "answer 200: application/json removed"),
    ),
    "header": (
        lambda d: operation(d)["responses"]["200"]["headers"].clear(),
        Change(CALL, "header X-Request-Id of answer 200 removed"),
    ),
    "property of an answer": (lambda d: memory(d)["properties"].pop("size"), Change("Memory.size", "answer removed")),
    "property may be absent": (
        lambda d: memory(d)["required"].remove("id"),
        Change("Memory.id", "answer may now be absent"),
    ),
    "property may be null": (
        lambda d: memory(d)["properties"].update(size={"anyOf": [{"type": "number"}, {"type": "null"}]}),
        Change("Memory.size", "answer may now be null"),
    ),
    "property's type": (
        lambda d: memory(d)["properties"]["size"].update(type="string"),
        Change("Memory.size", "answer: number is now string"),
    ),
    "property's format": (
        lambda d: memory(d)["properties"]["id"].pop("format"),
        Change("Memory.id", "answer: format uuid is now None"),
    ),
    "value of an answer": (
        lambda d: memory(d)["properties"]["status"]["enum"].remove("ready"),
        Change("Memory.status", "answer: value ready removed"),
    ),
    "value of a request": (
        lambda d: body(d)["properties"]["capture"]["enum"].remove("all"),
        Change("Body.capture", "request: value all removed"),
    ),
    "values of a request": (
        lambda d: body(d)["properties"]["name"].update(enum=["a", "b"]),
        Change("Body.name", "request must now be one of a, b"),
    ),
    "property of a request": (
        lambda d: body(d)["properties"].pop("capture"),
        Change("Body.capture", "request removed"),
    ),
    "required property": (
        lambda d: body(d)["required"].append("capture"),
        Change("Body.capture", "request is now required"),
    ),
    "new required property": (
        lambda d: body(d)["required"].append("kind"),
        Change("Body.kind", "request: new required property kind"),
    ),
    "upper bound": (
        lambda d: body(d)["properties"]["name"].update(maxLength=64),
        Change("Body.name", "request: maxLength 128 is now 64"),
    ),
    "lower bound": (
        lambda d: body(d)["properties"]["threshold"].update(minimum=2),
        Change("Body.threshold", "request: minimum 1 is now 2"),
    ),
    "new bound": (
        lambda d: body(d)["properties"]["tags"].update(maxItems=8),
        Change("Body.tags", "request: maxItems None is now 8"),
    ),
    "pattern": (
        lambda d: body(d)["properties"]["name"].update(pattern="^a"),
        Change("Body.name", "request: pattern None is now ^a"),
    ),
    "default": (
        lambda d: body(d)["properties"]["threshold"].update(default=20),
        Change("Body.threshold", "request: default 50 is now 20"),
    ),
    "null": (
        lambda d: body(d)["properties"].update(content={"type": "string"}),
        Change("Body.content", "request must no longer be null"),
    ),
    "items": (
        lambda d: body(d)["properties"]["tags"]["items"].update(type="integer"),
        Change("Body.tags", "request[]: string is now integer"),
    ),
    "number": (
        lambda d: body(d)["properties"]["threshold"].update(type="string"),
        Change("Body.threshold", "request: integer is now string"),
    ),
}
COMPATIBLE: dict[str, Edit] = {
    "nothing": lambda d: d.update(),
    "the name of a path's parameter": renamed_path,
    "a new operation": new_operation,
    "a new optional parameter": optional_parameter,
    "an optional property of a request": lambda d: body(d)["properties"].update(kind={"type": "string"}),
    "a property of an answer": lambda d: memory(d)["properties"].update(kind={"type": "string"}),
    "a value in an answer": lambda d: memory(d)["properties"]["status"]["enum"].append("lost"),
    "a value of a request": lambda d: body(d)["properties"]["capture"]["enum"].append("none"),
    "a wider bound": lambda d: body(d)["properties"]["name"].update(maxLength=256),
    "no bound": lambda d: body(d)["properties"]["name"].pop("maxLength"),
    "a wider type of a request": lambda d: body(d)["properties"]["threshold"].update(type="number"),
    "a narrower type of an answer": lambda d: memory(d)["properties"]["size"].update(type="integer"),
    "null in a request": lambda d: body(d)["properties"].update(
        name={"anyOf": [{"type": "string", "maxLength": 128}, {"type": "null"}]}
    ),
    "no null in an answer": lambda d: memory(d)["properties"].update(parent={"$ref": "#/components/schemas/Memory"}),
    "a property that an answer always has": lambda d: memory(d)["required"].append("size"),
    "a description": lambda d: memory(d).update(description="A memory base."),
}


def test_each_breaking_change_is_found_and_a_compatible_one_is_none(subtests: pytest.Subtests) -> None:
    compatible = {name: (edit, None) for name, edit in COMPATIBLE.items()}
    for name, (edit, change) in (BREAKING | compatible).items():
        with subtests.test(name):
            edited = copy.deepcopy(DOCUMENT)
            edit(edited)
            assert breaking_changes(DOCUMENT, edited) == ([] if change is None else [change])


def test_the_changelog_must_name_the_subject_in_its_first_version() -> None:
    changes = [Change("GET /flows", "removed"), Change("Memory.size", "answer removed")]
    older = "## 0.1.0\n\n### Breaking\n\n- `Memory.size` is gone.\n"
    changelog = f"# Changelog\n\n## Unreleased\n\n### Breaking\n\n- `GET /flows`: use /v1/x.\n\n### Added\n\n{older}"
    assert unnamed(changes, changelog) == [changes[1]]
    assert unnamed(changes, older) == [changes[0]]
    elsewhere = "## Unreleased\n\n### Added\n\n- `GET /flows` and `Memory.size`.\n"
    assert unnamed(changes, elsewhere) == changes


def last_release() -> dict[str, Any]:
    newest = max(RELEASED.glob("openapi-*.json.gz"), key=lambda path: Version(path.name.split("-")[1][:-8]))
    document: dict[str, Any] = json.loads(gzip.decompress(newest.read_bytes()))
    return document


def test_the_api_breaks_no_client_of_the_last_release_unless_the_changelog_says_so() -> None:
    changes = breaking_changes(last_release(), CONTRACT)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    missing = "\n".join(f"- {change}" for change in unnamed(changes, changelog))
    assert not missing, f"keep the API compatible, or name these below '### Breaking' in CHANGELOG.md:\n{missing}"


def test_the_whole_document_is_compared() -> None:
    emptied = copy.deepcopy(CONTRACT)
    emptied["paths"].clear()
    operations = sum(len(item) for item in CONTRACT["paths"].values())
    assert len(breaking_changes(CONTRACT, emptied)) == operations

    comparison = Comparison(CONTRACT, CONTRACT)
    assert list(comparison.operations()) == []
    compared = {old.rsplit("/", 1)[1] for old, _, _ in comparison.compared}
    assert set(CONTRACT["components"]["schemas"]) - compared == OF_ERRORS
