"""The Python client as it is installed: its wheel beside httpx and pydantic, and nothing of the server."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3] / "clients" / "python"
MAX_BYTES = 2_000_000
# The client with SQLite and the models; httpx and pydantic alone load 450 modules.
MAX_MODULES = 700
MAX_MODULES_BEFORE_USE = 100

USE = """
import sys
import memorybase_client
before = len(sys.modules)
assert before < {before}, f"{{before}} modules at import"
from memorybase_client import AsyncClient, Client, Outbox, errors, models
with Client("http://127.0.0.1:9", "k", outbox=sys.argv[1]) as client:
    assert client.outbox.waiting == 0
models.Page[models.MessageView].model_validate({{"items": [], "total": 0, "page": 1, "size": 50}})
assert len(sys.modules) < {modules}, f"{{len(sys.modules)}} modules"
foreign = {{"memorybase", "fastapi", "sqlalchemy", "numpy", "torch", "celery"}} & sys.modules.keys()
assert not foreign, foreign
"""


def requirements(name: str, found: set[str]) -> set[str]:
    """The distribution and all that it needs here, extras aside."""
    if name in found:
        return found
    found.add(name)
    for requirement in distribution(name).requires or []:
        needed, _, marker = requirement.partition(";")
        if "extra ==" not in marker and not re.search(r"python_version\s*<", marker):
            requirements(re.split(r"[^\w.-]", needed.strip(), maxsplit=1)[0].lower(), found)
    return found


@pytest.mark.slow
def test_the_wheel_is_small_and_works_with_its_requirements_alone(tmp_path: Path) -> None:
    project = shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(project)], check=True)
    (wheel,) = tmp_path.glob("memorybase_client-*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
        assert sum(entry.file_size for entry in archive.infolist()) < MAX_BYTES
        names = set(archive.namelist())
    assert {"memorybase_client/py.typed", "memorybase_client/models.py", "memorybase_client/_sync/client.py"} <= names
    assert not [name for name in names if not name.startswith("memorybase_client")]

    (info,) = installed.glob("*.dist-info")
    needed = re.findall(r"^Requires-Dist: ([\w-]+)", (info / "METADATA").read_text(), flags=re.MULTILINE)
    assert sorted(needed) == ["anyio", "httpx", "pydantic"]
    for name in set().union(*(requirements(name, set()) for name in needed)):
        link_files(name, installed)
    code = USE.format(before=MAX_MODULES_BEFORE_USE, modules=MAX_MODULES)
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(installed)!r})\n{code}"]
    subprocess.run([*command, str(tmp_path / "outbox")], check=True)


def link_files(name: str, folder: Path) -> None:
    """The distribution's packages and modules, in another folder."""
    found = distribution(name)
    for top in {path.parts[0] for path in found.files or []} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(found.locate_file(top))))
