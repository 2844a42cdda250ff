"""Every operation requires the scope that the reference documents.

tests/integration/api/test_isolation.py tries them with keys that are not valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from harness.api import Api, open_api
from harness.contract import CONTRACT

from memorybase.core.auth import api_keys
from memorybase.core.settings import Settings

ROOT = Path(__file__).parents[3]
# Its errors have Dify's form, in which a wrong key is 403; tests/integration/api/test_dify.py covers them.
DIFY = "retrieve_knowledge"
METHODS = {"get", "post", "put", "patch", "delete"}
_ROW = re.compile(r"^\| `([A-Z]+) (/[^`?]*)`[^|]*\| ([\w ]+)(?:, or none)? \|")  # or none: a setting opens it


class Operation(NamedTuple):
    id: str
    method: str
    path: str


def operations() -> list[Operation]:
    return [
        Operation(item[method]["operationId"], method.upper(), path.removeprefix("/v1"))
        for path, item in CONTRACT["paths"].items()
        for method in sorted(METHODS & item.keys())
    ]


def documented_scopes() -> dict[tuple[str, str], list[str]]:
    """The scopes in docs/reference/api.md, one of them is enough, by method and path."""
    lines = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8").splitlines()
    found = (_ROW.match(line) for line in lines)
    return {(match[1], match[2]): match[3].split(" or ") for match in found if match}


OPERATIONS = operations()
SCOPES = documented_scopes()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("scopes"),
        embedding_model="fake",
        api_key="the-key-from-the-settings",
        rate_limit_per_second=0,
    )
    with open_api(settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def of_scope(api: Api) -> dict[str, Api]:
    return {scope: api.of_user("local", scope) for scope in api_keys.SCOPES}


def answer_of(api: Api, operation: Operation) -> tuple[int, Any]:
    """Status and error of a call with unknown ids; the scope is checked before the body."""
    path = re.sub(r"{\w+}", str(uuid4()), operation.path)
    body = None if operation.method in {"GET", "DELETE"} else {}
    answer = api.client.request(
        operation.method, f"/v1{path}", headers={"Authorization": f"Bearer {api.secret}"}, json=body
    )
    if operation.id == DIFY:
        return _in_our_form(answer.status_code, answer.json())
    return answer.status_code, answer.json()["error"] if answer.status_code >= 400 else None


def _in_our_form(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    scope = re.search("the scope '(.*)'", body["error_msg"])
    return status, {"code": "forbidden", "details": {"scope": scope[1]}} if scope else body


def test_each_operation_requires_exactly_the_documented_scope(
    of_scope: dict[str, Api], subtests: pytest.Subtests
) -> None:
    assert OPERATIONS
    assert of_scope
    for operation in OPERATIONS:
        wanted = SCOPES.get((operation.method, operation.path), [""])
        with subtests.test(operation.id):
            assert set(wanted) <= {*api_keys.SCOPES, "any", "none"}, (
                f"docs/reference/api.md has no row for {operation.method} {operation.path}, or its second cell is "
                "no scope"
            )
        for scope, key in of_scope.items():
            with subtests.test(f"{operation.id} with the scope {scope}"):
                status, error = answer_of(key, operation)
                if {scope, "any", "none"}.intersection(wanted):
                    assert status not in {401, 403}, "it is refused, though the reference says this is enough"
                else:
                    assert status == 403, f"the answer is {status}, though the reference asks for {wanted}"
                    assert (error["code"], error["details"]) == ("forbidden", {"scope": wanted[0]})


def test_the_reference_names_only_existing_operations() -> None:
    assert SCOPES.keys() <= {(each.method, each.path) for each in OPERATIONS}
