"""A description of each property and parameter, from descriptions.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ANY, PARAMETERS, OPERATIONS = "any", "parameters", "operations"
METHODS = ("get", "put", "post", "patch", "delete")


class Entry(NamedTuple):
    """Where a description is written: the table, and the name in it."""

    table: str
    name: str


@cache
def table() -> dict[Entry, str]:
    """Every entry of descriptions.toml. A table of several schemas has an entry for each."""
    read = tomllib.loads(Path(__file__).with_name("descriptions.toml").read_text(encoding="utf-8"))
    return {
        Entry(each, name): text
        for tables, entries in read.items()
        for each in tables.split()
        for name, text in entries.items()
    }


def describe(document: dict[str, Any]) -> set[Entry]:
    """Add descriptions where there is an entry; returns the entries that were used."""
    used: set[Entry] = set()
    for schema, name, described in properties(document):
        generic = schema.partition("_")[0]  # Page_FlowView_ is a Page
        _describe(described, (Entry(generic, name), Entry(ANY, name)), used)
    for operation, described in parameters(document):
        name = described["name"]
        _describe(described, (Entry(OPERATIONS, f"{operation}.{name}"), Entry(PARAMETERS, name)), used)
    return used


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


def _describe(described: dict[str, Any], entries: tuple[Entry, Entry], used: set[Entry]) -> None:
    own, shared = entries
    stated = described.get("description")
    if own in table():
        described["description"] = f"{table()[own]} {stated}" if stated else table()[own]
        used.add(own)
    elif stated is None and shared in table():
        described["description"] = table()[shared]
        used.add(shared)
