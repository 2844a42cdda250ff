"""The TypeScript client follows the API, as far as its text says so without npm. `make check-typescript` runs it."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from harness.contract import CONTRACT
from memorybase_client import errors

import memorybase

CLIENTS = Path(__file__).parents[3] / "clients"
PROJECT = CLIENTS / "typescript"
OPERATIONS = [
    operation["operationId"]
    for item in CONTRACT["paths"].values()
    for operation in item.values()
    if "operationId" in operation
]
_METHOD = re.compile(r"^  (\w+)\((.*?)^  }$", re.DOTALL | re.MULTILINE)
METHODS = dict(_METHOD.findall((PROJECT / "src" / "operations.ts").read_text()))
_ERROR = re.compile(
    r'^export class (\w+) extends (\w+) \{\n  static override readonly code: string = "(\w+)";', re.MULTILINE
)


def camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


@pytest.fixture(scope="module")
def python_client() -> ModuleType:
    """The generator of the Python client."""
    spec = importlib.util.spec_from_file_location("generate_python_client", CLIENTS / "python" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_version_is_the_servers() -> None:
    versions = [json.loads((PROJECT / name).read_text())["version"] for name in ("package.json", "package-lock.json")]
    assert versions == [memorybase.__version__] * 2


def test_every_operation_has_a_method() -> None:
    assert len(OPERATIONS) > 70
    hint = "run: cd clients/typescript && npm ci && npm run generate"
    assert sorted(METHODS) == sorted(camel_case(name) for name in OPERATIONS), hint


def test_both_clients_send_keys_with_the_same_calls(python_client: ModuleType) -> None:
    keyed = {name for name, source in METHODS.items() if "idempotencyKey: idempotencyKeyOf(options)" in source}
    wanted = {
        operation["operationId"]
        for item in CONTRACT["paths"].values()
        for operation in item.values()
        for each in operation.get("parameters", [])
        if each["name"] == "Idempotency-Key"
    }
    assert keyed == {camel_case(name) for name in wanted - python_client.IDS_CHOSEN.keys()}


def test_every_code_has_a_class_of_the_python_clients_name() -> None:
    found = _ERROR.findall((PROJECT / "src" / "errors.ts").read_text())
    kinds = [kind for kind in errors.BY_CODE.values() if kind is not errors.MemorybaseError]
    assert sorted(found) == sorted((kind.__name__, kind.__bases__[0].__name__, kind.code) for kind in kinds)


def test_nothing_but_openapi_fetch_is_required() -> None:
    package = json.loads((PROJECT / "package.json").read_text())
    assert list(package["dependencies"]) == ["openapi-fetch"]
    assert package["peerDependenciesMeta"] == {name: {"optional": True} for name in package["peerDependencies"]}
