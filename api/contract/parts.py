"""The parts of the OpenAPI document: properties, parameters, operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

METHODS = ("get", "put", "post", "patch", "delete")


def properties(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Schema, name and schema of each property."""
    for schema, definition in document["components"]["schemas"].items():
        for name, described in definition.get("properties", {}).items():
            yield schema, name, described


def parameters(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The operation's id and each of its parameters."""
    for operation in operations(document):
        for described in operation.get("parameters", ()):
            yield operation["operationId"], described


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in document["paths"].values():
        yield from (item[method] for method in METHODS if method in item)
