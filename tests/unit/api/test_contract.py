"""The rules of the OpenAPI document: everything is described, typed and named so that generators understand it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from harness.contract import CONTRACT, resolved
from jsonschema import Draft202012Validator

from api.contract import TAGS
from api.contract.document import PROPERTIES
from api.contract.parts import operations, parameters, properties
from api.routes import OF_FEATURES

COMPONENTS: dict[str, dict[str, Any]] = CONTRACT["components"]["schemas"]
OPERATIONS = list(operations(CONTRACT))
# What callers may fill with any JSON object: their own metadata, values for templates, and arguments of tools.
FREE = {"metadata", "variables", "report", "external_ids", "args", "settings"}
FREE_SCHEMAS = {"OtherCall", "NoData"}
# Any JSON value: files, and fields of messages that are only kept or dropped.
ANY_VALUE = {
    "files",
    "refusal",
    "annotations",
    "audio",
    "function_call",
    "example",
    "additional_kwargs",
    "artifact",
    "response_metadata",
    "usage_metadata",
    "invalid_tool_calls",
    "LangChainData.type",
}


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema, and every schema in it."""
    if isinstance(schema, dict):
        yield schema
        below = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
        below += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
        for each in below:
            yield from parts(each)


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def test_everything_is_described() -> None:
    lacking = [f"{owner}.{name}" for owner, name, each in properties(CONTRACT) if not each.get("description")]
    lacking += [f"{owner}.{each['name']}" for owner, each in parameters(CONTRACT) if not each.get("description")]
    assert lacking == [], "describe them in the Field, Query or Path that declares them"
    lacking = [name for name, schema in COMPONENTS.items() if not schema.get("description")]
    lacking += [operation["operationId"] for operation in OPERATIONS if not operation.get("description")]
    assert lacking == [], "write a docstring, of the class or of the route"


def test_every_tag_is_described_and_used() -> None:
    named = [tag["name"] for tag in CONTRACT["tags"]]
    assert named == [*(tag["name"] for tag in TAGS), *(each.tag for each in OF_FEATURES if each.tag)]
    assert {tag for operation in OPERATIONS for tag in operation["tags"]} == set(named), "change TAGS in api/contract"
    assert all(tag["description"] for tag in CONTRACT["tags"])


def test_a_client_finds_a_server() -> None:
    assert [server["url"] for server in CONTRACT["servers"]] == ["/", "http://127.0.0.1:8000"]


def test_every_reference_has_its_target() -> None:
    found = set(references(CONTRACT))
    assert len(found) > 100
    for pointer in found:
        target: Any = CONTRACT
        for step in pointer.removeprefix("#/").split("/"):
            assert step in target, pointer
            target = target[step]


def test_every_schema_is_valid(subtests: pytest.Subtests) -> None:
    assert COMPONENTS
    for name, schema in COMPONENTS.items():
        with subtests.test(name):
            Draft202012Validator.check_schema(schema)


def test_every_object_says_what_is_in_it() -> None:
    bare = [
        f"{owner}.{name}"
        for owner, name, each in properties(CONTRACT)
        for part in parts(each)
        if part.get("type") == "object"
        and "properties" not in part
        and not isinstance(part.get("additionalProperties"), dict)
        and (name not in FREE or part.get("additionalProperties") is not True)
    ]
    bare += [name for name, each in COMPONENTS.items() if each.get("type") == "object" and not each.get("properties")]
    assert set(bare) - FREE_SCHEMAS == set(), "type them, or name their schema in api/contract/properties.py"


def test_every_value_has_a_type() -> None:
    typed = {"type", "$ref", "anyOf", "oneOf", "const", "enum"}
    untyped = [
        f"{owner}.{name}"
        for owner, name, each in properties(CONTRACT)
        for part in parts(each)
        if not part.keys() & typed and name not in ANY_VALUE and f"{owner}.{name}" not in ANY_VALUE
    ]
    assert untyped == [], "type them, or name their schema in api/contract/properties.py"


def test_every_list_says_what_is_in_it() -> None:
    lists = [
        (name, part)
        for _, name, each in properties(CONTRACT)
        for part in parts(each)
        if part.get("type") == "array" and not part.get("items")
    ]
    assert {name for name, _ in lists} <= ANY_VALUE


def test_typed_properties_exist() -> None:
    assert [
        place
        for place in PROPERTIES
        if place.partition(".")[2] not in COMPONENTS[place.partition(".")[0]]["properties"]
    ] == []


def test_every_created_answer_has_its_location() -> None:
    created = {
        operation["operationId"]: operation["responses"]["201"]["headers"]
        for operation in OPERATIONS
        if "201" in operation["responses"]
    }
    assert len(created) > 8
    assert {name for name, headers in created.items() if "Location" not in headers} == {"create_sign_in_link"}


def test_every_answer_has_the_request_id() -> None:
    answers = [resolved(answer) for each in OPERATIONS for answer in each["responses"].values()]
    assert all("X-Request-Id" in answer["headers"] for answer in answers)


def test_every_error_is_described_once() -> None:
    """Else the document would be twice as large."""
    inline = {
        operation["operationId"]
        for operation in OPERATIONS
        for status, answer in operation["responses"].items()
        if status[0] in "45" and "$ref" not in answer
    }
    assert inline == {"health_live", "health_ready", "retrieve_knowledge"}
    referred = {target.rpartition("/")[2] for target in references(CONTRACT) if "/responses/" in target}
    assert referred == CONTRACT["components"]["responses"].keys()


def test_every_operation_has_its_typical_errors() -> None:
    for operation in OPERATIONS:
        if operation.get("security"):
            refused = "403" if operation["operationId"] == "retrieve_knowledge" else "401"
            lacking = {refused, "422", "429", "503"} - operation["responses"].keys()
            assert lacking == set(), operation["operationId"]
    without = {
        operation["operationId"]
        for operation in OPERATIONS
        if "404" not in operation["responses"] and any(each["in"] == "path" for each in operation.get("parameters", ()))
    }
    assert without == {"put_flow"}


def test_every_example_is_one_of_its_schema() -> None:
    examples = [(name, each) for name, schema in COMPONENTS.items() for each in schema.get("examples", ())]
    assert len(examples) > 5
    wrong = [
        (name, error.message)
        for name, example in examples
        for error in Draft202012Validator({**COMPONENTS[name], "components": CONTRACT["components"]}).iter_errors(
            example
        )
    ]
    assert wrong == []


def test_streams_name_the_schema_of_their_items() -> None:
    for operation, media_type, item in (
        ("export_lines", "application/x-ndjson", "ExportLine"),
        ("export_chats", "application/x-ndjson", "ExportLine"),
        ("watch_job", "text/event-stream", "JobEvent"),
    ):
        found = next(each for each in OPERATIONS if each["operationId"] == operation)
        schema = found["responses"]["200"]["content"][media_type]["schema"]
        assert (schema["type"], schema["contentMediaType"]) == ("string", media_type), operation
        items = {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}}
        assert schema["contentSchema"] == items, operation


def test_names_have_no_characters_that_generators_replace() -> None:
    assert [name for name in COMPONENTS if not re.fullmatch(r"[A-Za-z_]+", name)] == []
