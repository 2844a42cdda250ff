"""Writes the client's generated files: `python clients/python/generate.py`; with --check it only compares.

    models.py, _async/operations.py   from docs/reference/openapi.json, and what the last release answered
    _sync/                            from _async/, by replacing words

tests/unit/clients/test_generated.py fails if they are not up to date.
"""

from __future__ import annotations

import gzip
import json
import keyword
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CONTRACT = HERE.parents[1] / "docs" / "reference" / "openapi.json"
RELEASES = HERE.parents[1] / "tests" / "unit" / "api" / "released"
PACKAGE = HERE / "src" / "memorybase_client"
METHODS = ("get", "post", "put", "patch", "delete")
WRITTEN = '"""%s\n\nWritten by clients/python/generate.py: do not edit.\n"""\n\nfrom __future__ import annotations\n\n'

KEY = "idempotency_key"
# Calls that need no Idempotency-Key, because the client chooses the ids that the caller left out.
IDS_CHOSEN = {"capture_run": "with_run_id", "post_chat_messages": "with_message_ids"}

# In answers these stay plain JSON: they go to a model, or back to the server, unchanged.
PLAIN = frozenset(
    {
        "CalledFunction",
        "ExecutionOutputs",
        "FunctionCall",
        "LangChainCall",
        "LangChainData",
        "LangChainDump",
        "LangChainMessage",
        "LangChainViewMessage",
        "LangflowMessage",
        "OpenAIMessage",
        "OpenAIViewMessage",
        "OtherPart",
        "TextPart",
    }
)

PAGE_FIELDS = {"items", "total", "page", "size", "next_cursor", "total_capped"}
SCALARS = {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}

Json = dict[str, Any]


@dataclass
class Contract:
    """The OpenAPI document, and the schemas that its calls send and answer."""

    document: Json
    released: Json = field(default_factory=dict)  # the schemas of the last release
    answered: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)

    @property
    def schemas(self) -> dict[str, Json]:
        found: dict[str, Json] = self.document["components"]["schemas"]
        return found

    def is_new(self, name: str, member: str) -> bool:
        """Whether the last release had this schema without this property."""
        return name in self.released and member not in self.released[name].get("properties", {})

    def operations(self) -> list[tuple[str, str, Json]]:
        return [
            (path.removeprefix("/v1"), method, item[method])
            for path, item in self.document["paths"].items()
            for method in METHODS
            if method in item
        ]

    def collect(self) -> None:
        for _, _, operation in self.operations():
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    self._reach(answer.get("content", {}).get("application/json", {}), self.answered, PLAIN)
            # The body itself becomes arguments.
            body = self.body_of(operation)
            if body is not None:
                self._reach(body.get("properties", {}), self.sent)

    def _reach(self, node: Any, seen: set[str], without: frozenset[str] = frozenset()) -> None:
        for name in re.findall(r"#/components/schemas/(\w+)", json.dumps(node)):
            if name not in seen | without:
                seen.add(name)
                self._reach(self.schemas[name], seen, without)

    def body_of(self, operation: Json) -> Json | None:
        """The object schema of a JSON body."""
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema is None:
            return None
        options = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
        return self.resolved(options[0])

    def resolved(self, schema: Json) -> Json:
        while "$ref" in schema:
            schema = self.schemas[ref_of(schema)]
        return schema

    def is_enum(self, name: str) -> bool:
        return "enum" in self.schemas[name]

    def is_object(self, name: str) -> bool:
        return self.schemas[name].get("type") == "object" and "properties" in self.schemas[name]

    def is_page(self, name: str) -> bool:
        return set(self.schemas[name].get("properties", {})) == PAGE_FIELDS

    def item_of(self, page: str) -> str:
        return ref_of(self.schemas[page]["properties"]["items"]["items"])


def ref_of(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def union(parts: list[str]) -> str:
    """`None` last, nothing twice."""
    members = [member for part in parts for member in members_of(part)]
    unique = sorted(dict.fromkeys(members), key=lambda member: member == "None")
    return "Any" if "Any" in unique else " | ".join(unique)


def members_of(annotation: str) -> list[str]:
    """Of a union, without splitting what is in brackets."""
    found, depth = [""], 0
    for part in re.split(r"( \| |[\[\]])", annotation):
        depth += (part == "[") - (part == "]")
        if part == " | " and depth == 0:
            found.append("")
        else:
            found[-1] += part
    return found


@dataclass
class Types:
    """Types as annotations: of answers, tolerant of a newer server's values; or of what is sent."""

    contract: Contract
    is_sent: bool
    prefix: str = ""

    def of(self, schema: Json, name: str = "") -> str:  # noqa: PLR0911 - a case of JSON Schema each
        if "$ref" in schema:
            return self._of_ref(ref_of(schema), name)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return union([self.of(each, name) for each in schema[several]])
        if "enum" in schema or "const" in schema:
            return self._literal(schema.get("enum", [schema.get("const")]))
        kind = schema.get("type")
        if isinstance(kind, list):
            return union([self.of({**schema, "type": each}, name) for each in kind])
        if kind == "string":
            return self._string(schema, name)
        if kind == "array":
            items = self.of(schema.get("items", {}), re.sub("s$", "", name))
            return f"Sequence[{items}]" if self.is_sent else f"list[{items}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            inner = self.of(values) if isinstance(values, dict) else "Any"
            return f"Mapping[str, {inner}]" if self.is_sent else f"dict[str, {inner}]"
        return SCALARS.get(str(kind), "Any")

    def _of_ref(self, target: str, name: str) -> str:
        if self.contract.is_enum(target):
            return f"{self.prefix}{target}" if self.is_sent else f"{self.prefix}{target} | str"
        if not self.contract.is_object(target):
            return self.of(self.contract.schemas[target], name)
        if not self.is_sent:
            return "dict[str, Any]" if target in PLAIN else f"{self.prefix}{target}"
        # Whoever has the object as plain JSON need not copy it.
        return f"{self.prefix}{sent_name(self.contract, target)} | Mapping[str, Any]"

    def _literal(self, values: list[Any]) -> str:
        literal = f"Literal[{', '.join(json.dumps(value) for value in values)}]"
        return literal if self.is_sent else f"{literal} | str"

    def _string(self, schema: Json, name: str) -> str:
        if schema.get("format") == "date-time":
            return "datetime | str" if self.is_sent else "datetime"
        if not self.is_sent:
            return "UUID" if schema.get("format") == "uuid" else "str"
        is_id = schema.get("format") == "uuid" or name == "id" or name.endswith("_id")
        return "str | UUID" if is_id else "str"


def sent_name(contract: Contract, name: str) -> str:
    return f"{name}Input" if name in contract.answered else name


def documented(text: str, indent: str) -> str:
    """A docstring, or nothing."""
    text = text.strip()
    if not text:
        return ""
    lines = [line for paragraph in text.split("\n\n") for line in [*wrapped(paragraph, 112 - len(indent)), ""]][:-1]
    body = f"\n{indent}".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    end = f"\n{indent}" if len(lines) > 1 else ""
    body += " " if body.endswith('"') and not end else ""
    return re.sub(r"[ \t]+\n", "\n", f'{indent}"""{body}{end}"""\n')


def wrapped(paragraph: str, width: int) -> list[str]:
    """One paragraph, or a list of which each item begins with a tab."""
    items = paragraph.split("\n\t")
    return [
        line
        for item in items
        for line in textwrap.wrap(" ".join(item.split()), width, break_long_words=False, break_on_hyphens=False)
    ]


def models_source(contract: Contract) -> str:
    """Answers as pydantic models, what is sent as typed dictionaries."""
    parts = [
        WRITTEN % "What the server answers and takes. Answers keep fields that this version does not know.",
        MODELS_HEAD,
    ]
    names = sorted(contract.answered | contract.sent)
    parts += [
        f"{name} = Literal[{', '.join(json.dumps(value) for value in contract.schemas[name]['enum'])}]\n"
        for name in names
        if contract.is_enum(name)
    ]
    for name in names:
        if contract.is_object(name) and not contract.is_page(name):
            if name in contract.answered:
                parts.append(answer_class(contract, name))
            if name in contract.sent:
                parts.append(sent_class(contract, name))
    return "".join(parts)


MODELS_HEAD = '''
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Answer(BaseModel):
    """Of every answer."""

    model_config = ConfigDict(extra="allow", defer_build=True, protected_namespaces=())


class Page(Answer, Generic[Item]):
    """A page of a list. `total_capped`: `total` is a lower bound."""

    items: list[Item]
    total: int
    page: int
    size: int
    next_cursor: str | None = None
    total_capped: bool = False


'''


def answer_class(contract: Contract, name: str) -> str:
    schema, types = contract.schemas[name], Types(contract, is_sent=False)
    required = schema.get("required", [])
    lines = [f"\n\nclass {name}(Answer):\n", documented(schema.get("description", f"{name}."), "    ") + "\n"]
    for member, of in schema["properties"].items():
        check_name(name, member)
        annotation = types.of(of, member)
        # An older server leaves out what was added later; then it reads as null.
        may_lack = "None" in members_of(annotation) or contract.is_new(name, member)
        default = "" if member in required and not may_lack else default_of(contract, of)
        if default == " = None":
            annotation = union([annotation, "None"])
        lines += [f"    {member}: {annotation}{default}\n", documented(of.get("description", ""), "    ")]
    return "".join(lines)


def default_of(contract: Contract, schema: Json) -> str:
    default = schema.get("default")
    if isinstance(default, str | bool | int | float):
        return f" = {default!r}"
    resolved = contract.resolved(schema)
    if resolved.get("type") == "array":
        return " = Field(default_factory=list)"
    return " = None"


def sent_class(contract: Contract, name: str) -> str:
    schema, types = contract.schemas[name], Types(contract, is_sent=True)
    required = schema.get("required", [])
    shown = sent_name(contract, name)
    lines = [f"\n\nclass {shown}(TypedDict):\n", documented(schema.get("description", f"{shown}."), "    ") + "\n"]
    for member, of in schema["properties"].items():
        annotation = types.of(of, member)
        annotation = annotation if member in required else f"NotRequired[{annotation}]"
        lines += [f"    {member}: {annotation}\n", documented(of.get("description", ""), "    ")]
    return "".join(lines)


def check_name(where: str, name: str) -> None:
    taken = {"copy", "json", "dict", "schema", "validate", "construct", "model_dump", "model_validate"}
    if keyword.iskeyword(name) or not name.isidentifier() or name in taken:
        raise SystemExit(f"{where}.{name} cannot be an attribute: give it another name in generate.py")


@dataclass
class Argument:
    name: str
    annotation: str
    is_required: bool
    description: str
    place: str  # path, query, header or body


def argument_name(parameter: Json) -> str:
    """idempotency_key for Idempotency-Key."""
    name = str(parameter["name"])
    return name.lower().replace("-", "_") if parameter["in"] == "header" else name


@dataclass
class Operation:
    """One call as a method."""

    contract: Contract
    path: str
    method: str
    source: Json

    @property
    def name(self) -> str:
        return str(self.source["operationId"])

    def arguments(self) -> list[Argument]:
        types = Types(self.contract, is_sent=True, prefix="models.")
        found = []
        for each in self.source.get("parameters", []):
            name = argument_name(each)
            annotation = "str | UUID" if each["in"] == "path" else types.of(each["schema"], name)
            description = each.get("description", "")
            if name == KEY and self.name not in IDS_CHOSEN:
                description += " Default: a new one for each call."
            found.append(Argument(name, annotation, each.get("required", False), description, each["in"]))
        body = self.contract.body_of(self.source)
        for name, schema in (body or {}).get("properties", {}).items():
            is_required = name in (body or {}).get("required", [])
            description = schema.get("description", "")
            found.append(Argument(name, types.of(schema, name), is_required, description, "body"))
        names = [each.name for each in found]
        if len(set(names)) < len(names):
            raise SystemExit(f"{self.name}: two arguments of one name: {names}")
        return sorted(found, key=lambda each: (each.place != "path", not each.is_required))

    def answers(self) -> dict[str, Json]:
        """By status, the contents."""
        responses = self.source["responses"]
        return {status: each.get("content", {}) for status, each in responses.items() if status.startswith("2")}

    def content_types(self) -> set[str]:
        return {kind for content in self.answers().values() for kind in content}

    def answer_name(self) -> str | None:
        names = {
            ref_of(content["application/json"]["schema"])
            for content in self.answers().values()
            if "application/json" in content
        }
        if len(names) > 1:
            raise SystemExit(f"{self.name}: several answers: {names}")
        return next(iter(names), None)

    def write(self) -> str:
        takes_lines = "application/x-ndjson" in self.source.get("requestBody", {}).get("content", {})
        arguments = self.arguments()
        if takes_lines:
            arguments.insert(0, Argument("lines", "Iterable[Line]", True, "objects, or lines of JSON", "path"))
        kind, returns, call = self._kind(takes_lines)
        prefix = "async def" if kind == "awaited" else "def"
        signature = ["self", *(f"{each.name}: {each.annotation}" for each in arguments if each.place == "path")]
        named = [each for each in arguments if each.place != "path"]
        signature += ["*"] * bool(named) + [self._keyword(each) for each in named]
        lines = [f"    {prefix} {self.name}({', '.join(signature)}) -> {returns}:\n", self._docstring(arguments)]
        lines += self._body(arguments, call)
        return "".join(lines)

    def _keyword(self, argument: Argument) -> str:
        if argument.is_required:
            return f"{argument.name}: {argument.annotation}"
        return f"{argument.name}: {union([argument.annotation, 'None'])} = None"

    def _docstring(self, arguments: list[Argument]) -> str:
        text = self.source.get("description") or f"{self.name.replace('_', ' ').capitalize()}."
        described = [f"{each.name}: {' '.join(each.description.split())}" for each in arguments if each.description]
        return documented(text + ("\n\n" + "\n\t".join(described) if described else ""), "        ")

    def _kind(self, takes_lines: bool) -> tuple[str, str, str]:  # noqa: PLR0911 - a kind of answer each
        """Whether it is awaited, what it returns, and the transport's method."""
        types = self.content_types()
        if takes_lines:
            return "awaited", "models.ImportAnswer", "return await self._import(call, lines)"
        if "text/event-stream" in types:
            return "plain", "AsyncStream[models.JobView]", "return self._job_events(call)"
        if "application/x-ndjson" in types:
            return "plain", "AsyncStream[dict[str, Any]]", "return self._lines(call)"
        if "text/plain" in types:
            return "awaited", "str", "return await self._call_text(call)"
        answer = self.answer_name()
        if answer is None:
            return "awaited", "None", "await self._call_empty(call)"
        names = {each["name"] for each in self.source.get("parameters", [])}
        if "cursor" in names:
            return "plain", *self._listed(answer, "size" if "size" in names else "limit")
        if "204" in self.answers():
            return "awaited", f"models.{answer} | None", f"return await self._call_maybe(call, models.{answer})"
        return "awaited", f"models.{answer}", f"return await self._call(call, models.{answer})"

    def _listed(self, answer: str, size_name: str) -> tuple[str, str]:
        item = self.contract.item_of(answer)
        page = f"models.Page[models.{item}]" if self.contract.is_page(answer) else f"models.{answer}"
        size = "" if size_name == "size" else f', size_name="{size_name}"'
        return f"AsyncListing[models.{item}, {page}]", f"return self._listing(call, {page}{size})"

    def _body(self, arguments: list[Argument], call: str) -> list[str]:
        path = re.sub(r"\{(\w+)\}", lambda found: f'{{segment({found[1]}, "{found[1]}")}}', self.path)
        given = [f'"{self.method.upper()}"', f"f'{path}'" if "{" in path else f"'{path}'"]
        if query := [each.name for each in arguments if each.place == "query"]:
            given.append(f"params={{{', '.join(f'{name!r}: {name}' for name in query)}}}")
        if "wait" in query:
            given.append("wait_seconds=wait or 0")
        lines = []
        if body := [each.name for each in arguments if each.place == "body"]:
            fields = f"{{{', '.join(f'{name!r}: {name}' for name in body)}}}"
            if self.name in IDS_CHOSEN:
                fields = f"{IDS_CHOSEN[self.name]}({fields})"
            optional = "" if self.source["requestBody"].get("required") else ", is_optional=True"
            given.append(f"content=json_of({fields}{optional})")
        if any(each.name == KEY for each in arguments):
            given.append(f"{KEY}={KEY}" + ("" if self.name in IDS_CHOSEN else " or new_key()"))
        lines += [f"        call = Call({', '.join(given)})\n", f"        {call}\n\n"]
        return lines


OPERATIONS_HEAD = '''
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from memorybase_client._async.listing import AsyncListing
from memorybase_client._async.streams import AsyncStream
from memorybase_client._async.transport import AsyncTransport
from memorybase_client._calls import Call, json_of, segment
from memorybase_client._ids import new_key, with_message_ids, with_run_id
from memorybase_client._lines import Line

if TYPE_CHECKING:
    from memorybase_client import models
else:
    from memorybase_client._lazy import models


class AsyncOperations(AsyncTransport):
    """Arguments left out are not sent, so the server's defaults apply."""

'''


def operations_source(contract: Contract) -> str:
    """A method for every call."""
    parts = [
        WRITTEN % "A method for every call of the HTTP API, named as its operation in docs/reference/openapi.json.",
        OPERATIONS_HEAD,
    ]
    parts += [Operation(contract, *each).write() for each in contract.operations()]
    return "".join(parts)


# From async to sync, whole words.
WORDS = {
    "async def": "def",
    "async with": "with",
    "async for": "for",
    "await ": "",
    "AsyncIterator": "Iterator",
    "AsyncGenerator": "Generator",
    "asynccontextmanager": "contextmanager",
    "Awaitable": "Awaitable",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "aclose": "close",
    "aread": "read",
    "aiter_bytes": "iter_bytes",
    "AsyncListing": "Listing",
    "AsyncStream": "Stream",
    "AsyncTransport": "Transport",
    "AsyncOperations": "Operations",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncClient": "Client",
    "AsyncAgentMemory": "AgentMemory",
    "_async": "_sync",
    "async client": "sync client",
}


def sync_source(source: str) -> str:
    """The same module for callers without an event loop."""
    source = re.sub(r"Awaitable\[(\w+)\]", r"\1", source).replace(", Awaitable, ", ", ")
    # A generator that takes and returns nothing has two types more than an async one has.
    source = re.sub(r"AsyncGenerator\[(.+), None\]", r"AsyncGenerator[\1, None, None]", source)
    for word, other in WORDS.items():
        ahead, behind = (r"\b" if word[0].isalpha() else ""), (r"\b" if word[-1].isalpha() else "")
        source = re.sub(f"{ahead}{re.escape(word)}{behind}", other, source)
    return source


def formatted(source: str, name: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for arguments in (["check", "--select", "I,F401", "--fix-only", "--quiet"], ["format", "--quiet"]):
        command = [*ruff, *arguments, "--stdin-filename", str(PACKAGE / name), "-"]
        source = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return source


def generated() -> dict[str, str]:
    """Every generated file, by its path below the package."""
    contract = Contract(json.loads(CONTRACT.read_text(encoding="utf-8")), last_release())
    contract.collect()
    files = {
        "models.py": formatted(models_source(contract), "models.py"),
        "_async/operations.py": formatted(operations_source(contract), "_async/operations.py"),
    }
    for path in sorted((PACKAGE / "_async").glob("*.py")):
        if path.name not in {"__init__.py", "waiting.py"}:
            source = files.get(f"_async/{path.name}") or path.read_text(encoding="utf-8")
            files[f"_sync/{path.name}"] = formatted(sync_source(source), f"_sync/{path.name}")
    operations = files["_async/operations.py"]
    files["_sync/operations.py"] = formatted(sync_source(operations), "_sync/operations.py")
    return files


def last_release() -> Json:
    """The schemas of the last released document."""

    def version(path: Path) -> list[int]:
        return [int(part) for part in path.name.removeprefix("openapi-").removesuffix(".json.gz").split(".")]

    document: Json = json.loads(gzip.decompress(max(RELEASES.glob("openapi-*.json.gz"), key=version).read_bytes()))
    found: Json = document["components"]["schemas"]
    return found


def main() -> None:
    stale = []
    for name, source in generated().items():
        path = PACKAGE / name
        if not path.exists() or path.read_text(encoding="utf-8") != source:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(source, encoding="utf-8")
    if stale and "--check" in sys.argv:
        raise SystemExit(f"run python clients/python/generate.py: {', '.join(stale)} are not up to date")
    sys.stdout.write("".join(f"wrote {name}\n" for name in stale))


if __name__ == "__main__":
    main()
