"""The Python client follows the API: its generated files, its methods, its errors and its version."""

from __future__ import annotations

import gzip
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import memorybase_client
import pytest
from harness.contract import CONTRACT
from memorybase_client import AsyncClient, Client, models
from memorybase_client import errors as client_errors
from packaging.version import Version

import memorybase
from api import failures
from memorybase import features
from memorybase.core import errors
from memorybase.core.search.bands import MIN_SCORE

ROOT = Path(__file__).parents[3]
PROJECT = ROOT / "clients" / "python"
LANGFLOW = ROOT / "clients" / "langflow"
RELEASED = Path(__file__).parents[1] / "api" / "released"
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = {
    item[method]["operationId"]: item[method]
    for item in CONTRACT["paths"].values()
    for method in METHODS
    if method in item
}


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", PROJECT / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_generated_files_are_up_to_date(generate: ModuleType) -> None:
    stale = [name for name, source in generate.generated().items() if (generate.PACKAGE / name).read_text() != source]
    assert stale == [], "run: python clients/python/generate.py"


def test_the_template_of_langflow_has_the_components_as_they_are() -> None:
    template = json.loads((LANGFLOW / "memory-chat.json").read_text(encoding="utf-8"))
    held = [node["data"]["node"]["template"].get("code", {}).get("value") for node in template["data"]["nodes"]]
    stale = [
        name for name in ("recall", "remember") if (LANGFLOW / f"{name}.py").read_text(encoding="utf-8") not in held
    ]
    assert stale == [], "run clients/langflow/template.py; see its docstring"


def test_every_operation_has_a_method_with_its_arguments(generate: ModuleType, subtests: pytest.Subtests) -> None:
    contract = generate.Contract(CONTRACT)
    assert len(OPERATIONS) > 70
    for name, operation in OPERATIONS.items():
        for client in (Client, AsyncClient):
            with subtests.test(f"{client.__name__}.{name}"):
                method = getattr(client, name, None)
                assert method is not None, "run python clients/python/generate.py"
                wanted = {generate.argument_name(each) for each in operation.get("parameters", [])}
                wanted |= set((contract.body_of(operation) or {}).get("properties", {}))
                assert wanted <= set(inspect.signature(method).parameters)
                assert inspect.getdoc(method)


def test_calls_whose_ids_the_client_chooses_exist(generate: ModuleType) -> None:
    assert generate.IDS_CHOSEN.keys() <= OPERATIONS.keys()


def test_an_answer_of_an_older_server_may_lack_every_property_that_may_be_null(generate: ModuleType) -> None:
    contract = generate.Contract(CONTRACT)
    contract.collect()
    answered = {
        name: getattr(models, name)
        for name in contract.answered
        if contract.is_object(name) and not contract.is_page(name)
    }
    nullable = [
        (name, member)
        for name, model in answered.items()
        for member in contract.schemas[name]["properties"]
        if "None" in generate.members_of(str(model.__annotations__[member]))
    ]
    assert len(nullable) > 100
    assert [each for each in nullable if answered[each[0]].model_fields[each[1]].is_required()] == []

    flow = {"id": UUID(int=1), "name": "desk", "created_at": "2026-01-01T00:00:00Z"}
    read = models.FlowView.model_validate(flow | {"of_a_newer_server": 1})
    assert (read.external_id, read.retain_days) == (None, None)


def test_a_property_that_was_added_to_an_answer_may_be_absent(generate: ModuleType) -> None:
    contract = generate.Contract(CONTRACT)
    contract.collect()
    released = json.loads(gzip.decompress(max(RELEASED.glob("openapi-*.json.gz"), key=_version).read_bytes()))
    before = released["components"]["schemas"]
    added = [
        (name, member)
        for name in contract.answered & before.keys()
        if contract.is_object(name) and not contract.is_page(name)
        for member in contract.schemas[name]["properties"].keys() - before[name].get("properties", {}).keys()
    ]
    required = [each for each in added if getattr(models, each[0]).model_fields[each[1]].is_required()]
    assert added
    assert required == [], "a client fails at a server of the last release, whose answers lack them"


def _version(path: Path) -> Version:
    return Version(path.name.removeprefix("openapi-").removesuffix(".json.gz"))


def server_errors(kind: type[errors.MemorybaseError] = errors.MemorybaseError) -> Iterator[type[Any]]:
    assert failures.Overloaded  # its module defines errors too
    for below in kind.__subclasses__():
        if below.__module__.startswith((errors.__name__, failures.__name__, features.__name__)):
            yield below
            yield from server_errors(below)


def test_every_error_of_the_server_has_its_class(subtests: pytest.Subtests) -> None:
    kinds = list(server_errors())
    assert kinds
    for kind in kinds:
        with subtests.test(kind.code):
            ours = client_errors.BY_CODE.get(kind.code)
            assert ours is not None, f"add {kind.__name__} to memorybase_client/errors.py"
            assert ours.__name__ == kind.__name__
            assert ours.__bases__[0].__name__ == kind.__bases__[0].__name__


def test_the_version_is_the_servers() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["version"] == memorybase_client.__version__ == memorybase.__version__


COPIES_OF_MIN_SCORE = {
    "clients/python/src/memorybase_client/_async/agent_memory.py": r"^MIN_SCORE = (\S+)",
    "clients/typescript/src/ai/index.ts": r"^export const MIN_SCORE = (\S+);",
    "clients/n8n/nodes/shared/recall.ts": r"^export const MIN_SCORE = (\S+);",
    "clients/langflow/recall.py": r"^MIN_SCORE = (\S+)",
    "clients/dify/tools/recall.py": r"^MIN_SCORE = (\S+)",
    "clients/dify/tools/recall.yaml": r"- name: min_score\n(?:    .*\n)*?    default: (\S+)",
    "clients/python/src/memorybase_client/coding_agents/recall.py": r"^MIN_SCORE = (\S+)",
}


def test_what_recalls_for_a_model_has_the_servers_minimum_score() -> None:
    found = {}
    for file, pattern in COPIES_OF_MIN_SCORE.items():
        copies = re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        found[file] = [float(copy) for copy in copies]
    assert found == {file: [MIN_SCORE] for file in COPIES_OF_MIN_SCORE}


def test_the_server_which_contains_the_client_has_its_requirements() -> None:
    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[^\w-]", each, maxsplit=1)[0] for each in requirements}

    client, server = (
        names(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"])
        for folder in (PROJECT, PROJECT.parents[1])
    )
    assert client <= server | names(requires("httpx") or [])
    assert "httpx" in client


def test_the_import_loads_neither_httpx_nor_pydantic_and_a_client_no_pydantic() -> None:
    code = (
        "import sys, memorybase_client\n"
        "heavy = {'httpx', 'pydantic', 'anyio', 'asyncio', 'sqlite3'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
        "memorybase_client.Client(key='k').close()\n"
        "assert 'pydantic' not in sys.modules\n"
        "assert len(sys.modules) < 600, len(sys.modules)\n"
    )
    environment = {"PYTHONPATH": str(PROJECT / "src")}
    subprocess.run([sys.executable, "-S", "-c", _site() + code], check=True, env=environment)


def _site() -> str:
    """Where packages are, without what an editable install's files import."""
    paths = [path for path in sys.path if "site-packages" in path]
    return f"import sys; sys.path += {paths!r}\n"
