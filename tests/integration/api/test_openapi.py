"""The committed OpenAPI document is current and complete for clients."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness.api import Api
from harness.contract import CONTRACT, resolved

from api.openapi import document

ROOT = Path(__file__).parents[3]
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def contract() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(document())
    return read


def operations(contract: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, item[method]) for path, item in contract["paths"].items() for method in METHODS & item.keys()
    ]


def test_the_committed_document_is_current(contract: dict[str, Any]) -> None:
    assert contract == CONTRACT, "run: python -m api.openapi > docs/reference/openapi.json"


def test_every_path_is_versioned(contract: dict[str, Any]) -> None:
    assert all(path.startswith("/v1/") for path in contract["paths"])


def test_operation_ids_are_unique_snake_case(contract: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(contract)]
    assert len(set(ids)) == len(ids) > 40
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)+", each) for each in ids)


def test_schema_names_and_titles_are_unique_and_without_modules(contract: dict[str, Any]) -> None:
    schemas = contract["components"]["schemas"]
    titles = [schema["title"] for schema in schemas.values()]
    assert len(set(titles)) == len(titles)
    assert [name for name in schemas if "__" in name] == [], "two classes of one name: FastAPI adds their modules"


def test_every_error_has_the_schema_error_answer(contract: dict[str, Any]) -> None:
    for path, method, operation in operations(contract):
        wanted = "RetrievalError" if operation["tags"] == ["dify"] else "ErrorAnswer"
        for status, answer in operation["responses"].items():
            if status[0] in "45":
                schema = resolved(answer)["content"]["application/json"]["schema"]
                assert schema == {"$ref": f"#/components/schemas/{wanted}"}, (path, method, status)
    assert "HTTPValidationError" not in contract["components"]["schemas"]


def test_everything_but_health_needs_a_key(contract: dict[str, Any]) -> None:
    for path, method, operation in operations(contract):
        wanted = [] if "/health/" in path else [{"Bearer": []}, {"ApiKey": []}]
        assert operation.get("security", []) == wanted, (path, method)


def test_the_example_of_a_retrieval_is_one(api: Api, contract: dict[str, Any]) -> None:
    (example,) = contract["components"]["schemas"]["Retrieval"]["examples"]
    api.memory(flow=api.flow())
    assert api.post("/dify/retrieval", example) == {"records": []}


BOUNDS_OF_SETTINGS = [
    ("SearchBody", "query", "Of a longer one the last 8000 characters count."),
    ("SearchBody", "top_k", "At most 100."),
    ("MemoryBaseBody", "threshold", "At most 10000."),
    ("DocumentsBody", "documents", "At most 200."),
    ("CaptureBody", "messages", "At most 1000."),
]


def test_bounds_of_the_settings_are_described(contract: dict[str, Any], subtests: pytest.Subtests) -> None:
    for schema, field, said in BOUNDS_OF_SETTINGS:
        with subtests.test(f"{schema} {field}"):
            assert said in contract["components"]["schemas"][schema]["properties"][field]["description"]


@pytest.mark.slow
def test_the_bare_paths_answer_as_the_versioned_ones(api: Api, contract: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {api.secret}"}
    for path, method, _ in operations(contract):
        bare = path.removeprefix("/v1").replace("{", "").replace("}", "")
        sent = None if method in {"get", "delete"} else {}
        answers = [
            api.client.request(method, where, headers=headers, json=sent).status_code for where in (bare, f"/v1{bare}")
        ]
        assert answers[0] == answers[1] != 405, (method, bare)


@pytest.mark.slow
def test_importing_the_api_loads_neither_models_nor_clients() -> None:
    heavy = {"celery", "onnx", "onnxruntime", "sentence_transformers", "tokenizers", "torch", "transformers"}
    code = f"import sys, api.app; api.app.create_app(); sys.exit(' '.join({heavy} & sys.modules.keys()) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
