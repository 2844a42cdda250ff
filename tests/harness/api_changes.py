"""What changed between two OpenAPI documents that breaks a client of the older one.

A client sends what the old document allows, so the new one must accept it. It reads what the old document describes,
and it ignores properties and accepts enumerated values that it does not know: docs/reference/compatibility.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Document = Mapping[str, Any]
Schema = Mapping[str, Any]
Side = Literal["request", "answer"]

METHODS = {"get", "put", "post", "delete", "patch"}
# A request breaks if one of these falls or appears, or one of those rises or appears.
UPPER_BOUNDS = ("maxLength", "maximum", "exclusiveMaximum", "maxItems")
LOWER_BOUNDS = ("minLength", "minimum", "exclusiveMinimum", "minItems")


@dataclass(frozen=True, order=True)
class Change:
    """One breaking change. The changelog names it by its subject: `GET /flows`, `Memory.threshold`."""

    subject: str
    what: str

    def __str__(self) -> str:
        return f"`{self.subject}`: {self.what}"


def breaking_changes(old: Document, new: Document) -> list[Change]:
    return sorted(set(Comparison(old, new).operations()))


def unnamed(changes: Sequence[Change], changelog: str) -> list[Change]:
    """Those whose subject is in no section "### Breaking" of the changelog's first version."""
    newest = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    sections = re.split(r"^### ", newest, flags=re.MULTILINE)[1:]
    named = "".join(section for section in sections if section.startswith("Breaking\n"))
    return [change for change in changes if f"`{change.subject}`" not in named]


class Comparison:
    """Yields the breaking changes of every part of two documents."""

    def __init__(self, old: Document, new: Document) -> None:
        self.old, self.new = old, new
        self.compared: set[tuple[str, str, Side]] = set()  # pairs of named schemas, which may contain themselves

    def operations(self) -> Iterator[Change]:
        current = {
            (without_names(path), method): operation
            for path, item in self.new["paths"].items()
            for method, operation in item.items()
        }
        for path, item in self.old["paths"].items():
            for method in sorted(item.keys() & METHODS):
                subject = f"{method.upper()} {path.removeprefix('/v1')}"
                operation = current.get((without_names(path), method))
                if operation is None:
                    yield Change(subject, "removed")
                else:
                    yield from self.operation(subject, item[method], operation)

    def operation(self, subject: str, old: Schema, new: Schema) -> Iterator[Change]:
        if old["operationId"] != new["operationId"]:
            yield Change(subject, f"operation id {old['operationId']} is now {new['operationId']}")
        if new.get("security") and not old.get("security"):
            yield Change(subject, "now requires a key")
        yield from self.parameters(subject, old.get("parameters", []), new.get("parameters", []))
        yield from self.body(subject, old.get("requestBody"), new.get("requestBody"))
        for status, answer in old["responses"].items():
            if status.startswith("2"):
                yield from self.answer(subject, status, answer, new["responses"].get(status))

    def parameters(self, subject: str, old: Sequence[Schema], new: Sequence[Schema]) -> Iterator[Change]:
        before, after = by_name(old), by_name(new)
        for key, parameter in before.items():
            name = f"{key[0]} parameter {key[1]}"
            if key not in after:
                yield Change(subject, f"{name} removed")
                continue
            if after[key].get("required") and not parameter.get("required"):
                yield Change(subject, f"{name} is now required")
            yield from self.schema(subject, name, parameter["schema"], after[key]["schema"], "request")
        for key in after.keys() - before.keys():
            if after[key].get("required"):
                yield Change(subject, f"new required {key[0]} parameter {key[1]}")

    def body(self, subject: str, old: Schema | None, new: Schema | None) -> Iterator[Change]:
        if new is None or old is None:
            if old is not None:
                yield Change(subject, "the request body removed")
            elif new is not None and new.get("required"):
                yield Change(subject, "a request body is now required")
            return
        if new.get("required") and not old.get("required"):
            yield Change(subject, "the request body is now required")
        yield from self.contents(subject, "request", old.get("content", {}), new.get("content", {}), "request")

    def answer(self, subject: str, status: str, old: Schema, new: Schema | None) -> Iterator[Change]:
        if new is None:
            yield Change(subject, f"answer {status} removed")
            return
        for header in old.get("headers", {}).keys() - new.get("headers", {}).keys():
            yield Change(subject, f"header {header} of answer {status} removed")
        yield from self.contents(subject, f"answer {status}", old.get("content", {}), new.get("content", {}), "answer")

    def contents(self, subject: str, where: str, old: Schema, new: Schema, side: Side) -> Iterator[Change]:
        for media, content in old.items():
            if media not in new:
                yield Change(subject, f"{where}: {media} removed")
            else:
                before, after = content.get("schema", {}), new[media].get("schema", {})
                yield from self.schema(subject, where, before, after, side)

    def schema(self, subject: str, where: str, old: Schema, new: Schema, side: Side) -> Iterator[Change]:
        """Compares two schemas. A named one becomes the subject, because many operations share it."""
        name = str(old.get("$ref", ""))
        if name:
            pair = (name, str(new.get("$ref", "")), side)
            if pair in self.compared:
                return
            self.compared.add(pair)
            subject, where = name.rsplit("/", 1)[1], side
        before, after = self.variants(self.old, old), self.variants(self.new, new)
        if len(before) == len(after) == 1:
            yield from self.variant(subject, where, before[0], after[0], side)
            return
        before, after = self.named(self.old, old), self.named(self.new, new)
        # Each variant that a client may send must stay; each that it may be sent must be known to it.
        known, needed = (after, before) if side == "request" else (before, after)
        for one in needed:
            alike = [each for each in known if kind_of(each) == kind_of(one)]
            other = one if one in alike else next(iter(alike), None)
            if other is None and not (kind_of(one) == "integer" and "number" in map(kind_of, known)):
                verb = "must no longer be" if side == "request" else "may now be"
                yield Change(subject, f"{where} {verb} {kind_of(one)}")
            elif other is not None:
                pair_of = (one, other) if side == "request" else (other, one)
                yield from self.schema(subject, where, *pair_of, side)

    def variants(self, document: Document, schema: Schema) -> list[Schema]:
        """The alternatives of a schema: itself, or the members of anyOf or oneOf, without references at the top."""
        if "$ref" in schema:
            return self.variants(document, resolved(document, schema))
        if len(schema.get("allOf", [])) == 1:
            return self.variants(document, schema["allOf"][0])
        members = schema.get("anyOf") or schema.get("oneOf")
        return [each for member in members for each in self.named(document, member)] if members else [schema]

    def named(self, document: Document, member: Schema) -> list[Schema]:
        """A named member stays a reference, so that its changes have its name, unless it is a choice itself."""
        found = self.variants(document, member)
        return [member | {"type": found[0].get("type")}] if "$ref" in member and len(found) == 1 else found

    def variant(self, subject: str, where: str, old: Schema, new: Schema, side: Side) -> Iterator[Change]:
        """Compares two schemas without alternatives."""
        if kind_of(old) != kind_of(new):
            if not compatible_kinds(kind_of(old), kind_of(new), side):
                yield Change(subject, f"{where}: {kind_of(old)} is now {kind_of(new)}")
            return
        yield from self.values(subject, where, old, new, side)
        if side == "request":
            yield from self.bounds(subject, where, old, new)
        yield from self.properties(subject, where, old, new, side)
        for inner, mark in (("items", "[]"), ("contentSchema", "")):  # the latter of JSON lines and events
            if inner in old and inner in new:
                yield from self.schema(subject, f"{where}{mark}", old[inner], new[inner], side)
        before, after = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from self.schema(subject, f"{where}{{}}", before, after, side)
        elif side == "request" and before is not False and after is False:
            yield Change(subject, f"{where}: unknown properties are now refused")

    def values(self, subject: str, where: str, old: Schema, new: Schema, side: Side) -> Iterator[Change]:
        before, after = enumerated(old), enumerated(new)
        if before is None and after is not None and side == "request":
            yield Change(subject, f"{where} must now be one of {', '.join(sorted(after))}")
        elif before is not None and after is not None:
            for value in sorted(before - after):
                yield Change(subject, f"{where}: value {value} removed")
        stated = new.get("format") if side == "request" else old.get("format")
        if stated and old.get("format") != new.get("format"):
            yield Change(subject, f"{where}: format {old.get('format')} is now {new.get('format')}")
        if side == "request" and "default" in old and old["default"] != new.get("default"):
            yield Change(subject, f"{where}: default {old['default']} is now {new.get('default')}")

    def bounds(self, subject: str, where: str, old: Schema, new: Schema) -> Iterator[Change]:
        for name in (*UPPER_BOUNDS, *LOWER_BOUNDS):
            before, after = old.get(name), new.get(name)
            if after is None or after == before:
                continue
            narrower = before is None or (after < before if name in UPPER_BOUNDS else after > before)
            if narrower:
                yield Change(subject, f"{where}: {name} {before} is now {after}")
        if new.get("pattern") not in {None, old.get("pattern")}:
            yield Change(subject, f"{where}: pattern {old.get('pattern')} is now {new['pattern']}")

    def properties(self, subject: str, where: str, old: Schema, new: Schema, side: Side) -> Iterator[Change]:
        before, after = old.get("properties", {}), new.get("properties", {})
        needed, now_needed = set(old.get("required", [])), set(new.get("required", []))
        for name, schema in before.items():
            # Within a named schema the property is the subject: Memory.threshold.
            inner = f"{subject}.{name}" if " " not in subject else subject
            place = f"{where} {name}" if " " in subject else where
            if name not in after:
                yield Change(inner, f"{place} removed")
                continue
            if side == "request" and name in now_needed - needed:
                yield Change(inner, f"{place} is now required")
            if side == "answer" and name in needed - now_needed:
                yield Change(inner, f"{place} may now be absent")
            yield from self.schema(inner, place, schema, after[name], side)
        if side == "request":
            for name in sorted(now_needed - before.keys()):
                inner = f"{subject}.{name}" if " " not in subject else subject
                yield Change(inner, f"{where}: new required property {name}")


def by_name(parameters: Sequence[Schema]) -> dict[tuple[str, str], Schema]:
    """Parameters by where they are and their name; those of a path by their order."""
    found = {}
    for position, each in enumerate(parameters):
        name = f"{position}" if each["in"] == "path" else each["name"]
        found[each["in"], name] = each
    return found


def without_names(path: str) -> str:
    """The path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def resolved(document: Document, schema: Schema) -> Schema:
    target: Any = document
    for step in str(schema["$ref"]).removeprefix("#/").split("/"):
        target = target[step]
    found: Schema = target
    return found


def kind_of(schema: Schema) -> str:
    """The schema's type; of a named object its name, because objects of one choice differ by it."""
    if "$ref" in schema and schema.get("type") == "object":
        return str(schema["$ref"]).rsplit("/", 1)[1]
    if "type" in schema:
        return str(schema["type"])
    values = enumerated(schema)
    return "string" if values is not None else "anything"


def compatible_kinds(old: str, new: str, side: Side) -> bool:
    wide, narrow = (new, old) if side == "request" else (old, new)
    return wide == "anything" or (wide, narrow) == ("number", "integer")


def enumerated(schema: Schema) -> set[str] | None:
    """The values that the schema lists; None if it lists none."""
    if "const" in schema:
        return {str(schema["const"])}
    return {str(value) for value in schema["enum"]} if "enum" in schema else None
