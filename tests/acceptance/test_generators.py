"""Generators make clients from the OpenAPI document without a warning, and programs that use those work.

`make check-generators` installs the generators and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.contract import COMMITTED
from harness.process import run
from harness.served import Served, serve_api

from memorybase.core.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "generators"
TOOLS = ROOT / ".generators"
PAGE = ROOT / "docs" / "howto" / "generate-a-client.md"


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    assert (TOOLS / ".installed").exists(), "run: make check-generators"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    settings = Settings(data_dir=tmp_path, embedding_model="fake", api_key="the-key-from-the-settings")
    with serve_api(settings) as opened:
        yield opened


def blocks(language: str) -> list[str]:
    """The blocks of code of the page, in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_document_is_valid_openapi() -> None:
    printed = run(TOOLS / "python" / "bin" / "openapi-spec-validator", COMMITTED, cwd=ROOT, env={"PYTHONPATH": ""})
    assert printed.strip().endswith("OK")


def test_openapi_typescript_and_a_program_that_uses_its_types(served: Served, tmp_path: Path) -> None:
    for name in ("check.ts", "globals.d.ts", "tsconfig.json", "package.json"):
        shutil.copy(PROGRAMS / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    tools = tmp_path / "node_modules" / ".bin"
    printed = run(
        tools / "openapi-typescript", COMMITTED, "--default-non-nullable=false", "-o", "schema.d.ts", cwd=tmp_path
    )
    assert "warn" not in printed.lower(), printed
    run(tools / "tsc", cwd=tmp_path)
    answer: dict[str, Any] = json.loads(run("node", "built/check.js", served.url, served.api.secret, cwd=tmp_path))
    assert answer == {"captured": 6, "view": 6, "last": "end", "code": "not_found"}


def test_openapi_python_client_and_a_program_that_uses_it(served: Served, tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(blocks("yaml")[0] + "\npost_hooks: []\n")
    python = TOOLS / "python" / "bin"
    options = ["--config", "config.yml", "--meta", "none", "--output-path", "memorybase_client", "--fail-on-warning"]
    command = [python / "openapi-python-client", "generate", "--path", COMMITTED, *options]
    printed = run(*command, cwd=tmp_path, env={"PYTHONPATH": ""})
    assert "warning" not in printed.lower(), printed
    shutil.copy(PROGRAMS / "check.py", tmp_path)
    program = (python / "python", "check.py", served.url, served.api.secret)
    answer: dict[str, Any] = json.loads(run(*program, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}))
    assert answer == {"captured": 2, "view": 2, "last": "end", "imported": 7, "code": "not_found"}
