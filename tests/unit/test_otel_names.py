"""The names of memory operations in spans are OpenTelemetry's, in one table that both clients and the server share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from harness.contract import CONTRACT
from harness.dashboards import trace_queries
from harness.rows import each_row
from memorybase_client import otel_names

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "clients" / "python" / "src" / "memorybase_client" / "otel_names.py"
OF_TYPESCRIPT = ROOT / "clients" / "typescript" / "src" / "otel-names.ts"

# The span `gen_ai.memory.client` of open-telemetry/semantic-conventions-genai, model/gen-ai/spans.yaml, at 1.42.0-dev.
SPECIFIED_ATTRIBUTES = {
    "error.type",
    "gen_ai.memory.query.text",
    "gen_ai.memory.record.count",
    "gen_ai.memory.record.id",
    "gen_ai.memory.records",
    "gen_ai.memory.store.id",
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "server.address",
    "server.port",
}
SPECIFIED_OPERATIONS = {
    "create_memory",
    "create_memory_store",
    "delete_memory",
    "delete_memory_store",
    "search_memory",
    "update_memory",
    "upsert_memory",
}
_ATTRIBUTE = re.compile(r'"((?:gen_ai|server|error)\.[a-z_.]+)"')
_CONSTANT = re.compile(r'^export const ([A-Z_]+) = "?([\w.:/-]+)"?;$', re.MULTILINE)
_CALL = re.compile(r'"((?:GET|POST|PUT|PATCH|DELETE) /\S+)"[:,] "(\w+)"')


def test_the_names_are_those_of_the_specification() -> None:
    assert set(_ATTRIBUTE.findall(TABLE.read_text())) == SPECIFIED_ATTRIBUTES
    assert set(get_args(otel_names.Operation)) == SPECIFIED_OPERATIONS
    assert set(otel_names.OF_CALLS.values()) <= SPECIFIED_OPERATIONS


def test_the_typescript_client_has_the_same_table() -> None:
    typescript = OF_TYPESCRIPT.read_text()
    assert dict(_CALL.findall(typescript)) == dict(otel_names.OF_CALLS)
    constants = dict(_CONSTANT.findall(typescript))
    assert len(constants) == len(SPECIFIED_ATTRIBUTES) + 5
    assert constants == {name: str(getattr(otel_names, name)) for name in constants}
    wanted = [name for name, has_texts in otel_names.TEXTS_IN.items() if has_texts]
    assert f"export const WITH_TEXTS = {json.dumps(wanted)};" in typescript


def test_every_call_of_the_table_exists() -> None:
    calls = {
        f"{method.upper()} {path.removeprefix('/v1')}" for path, item in CONTRACT["paths"].items() for method in item
    }
    assert otel_names.OF_CALLS.keys() <= calls


def test_dashboards_ask_traces_for_names_of_the_table() -> None:
    queries = trace_queries()
    assert len(queries) > 5
    for query in queries:
        assert set(re.findall(r"span\.([\w.]+)", query.text)) <= SPECIFIED_ATTRIBUTES, query.where
        assert set(re.findall(r'operation\.name = "(\w+)"', query.text)) <= SPECIFIED_OPERATIONS, query.where


def test_nothing_else_spells_the_names() -> None:
    folders = ["memorybase", "api", "worker", "clients/python/src", "clients/typescript/src"]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.[pt][ys]")]
    assert len(files) > 500
    spelling = [
        str(path.relative_to(ROOT))
        for path in files
        if path not in (TABLE, OF_TYPESCRIPT) and "gen_ai.memory." in path.read_text()
    ]
    assert spelling == []


@each_row(
    ("value", "wanted"),
    [
        ("", False),
        ("NO_CONTENT", False),
        ("false", False),
        ("EVENT_ONLY", False),
        ("SPAN_ONLY", True),
        ("span_and_event", True),
        ("true", True),
        ("yes", None),
    ],
)
def test_the_variable_for_texts_is_read_as_opentelemetry_defines_it(
    value: str, wanted: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(otel_names.TEXTS_VARIABLE, value)
    assert otel_names.are_texts_wanted() is wanted
