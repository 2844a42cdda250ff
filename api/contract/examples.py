"""Examples of each operation and of errors, recorded from a live API by tests/harness/examples.py."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from api.contract.descriptions import operations

FILE = Path(__file__).with_name("examples.json")


@cache
def _recorded() -> dict[str, dict[str, dict[str, Any]]]:
    read: dict[str, dict[str, dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return read


def examples() -> dict[str, dict[str, Any]]:
    """By operation id: parameters, body, status and answer, each if there is one, and the names of its errors."""
    return _recorded()["operations"]


def errors() -> dict[str, dict[str, Any]]:
    """By name: status and answer."""
    return _recorded()["errors"]


def add_examples(document: dict[str, Any]) -> None:
    """Add the example of each operation that has one."""
    for operation in operations(document):
        example = examples().get(operation["operationId"])
        if example is not None:
            _add(operation, example)


def _add(operation: dict[str, Any], example: dict[str, Any]) -> None:
    given = example.get("parameters", {})
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in given:
            parameter["example"] = given[parameter["name"]]
    if "body" in example:
        _show(operation["requestBody"], example["body"])
    if "answer" in example:
        _show(operation["responses"][example["status"]], example["answer"])


def _show(described: dict[str, Any], value: Any) -> None:
    for content in described["content"].values():
        content["example"] = value
