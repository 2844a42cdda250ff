"""The Python client as it is installed: its wheel beside what it requires, and nothing of the server; and as part of
the server's wheel."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from harness.api import settings_in
from harness.mcp import McpClient
from harness.served import serve_api
from mcp import StdioServerParameters
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PROJECT = ROOT / "clients" / "python"
# What the Dockerfile copies.
OF_THE_SERVER = ("pyproject.toml", "README.md", "LICENSE", "memorybase", "worker", "api", "migrations")
OF_THE_SERVER += ("clients/python/src",)
MAX_BYTES = 2_000_000
# The client with SQLite and the models; httpx and pydantic alone load 450 modules.
MAX_MODULES = 700
MAX_MODULES_BEFORE_USE = 100
MODULES_OF_THE_SERVER = {"memorybase", "fastapi", "sqlalchemy", "numpy", "torch", "celery"}

USE = """
import memorybase_client
before = len(sys.modules)
assert before < {before}, f"{{before}} modules at import"
from memorybase_client import AsyncClient, Client, Outbox, errors, models
import memorybase_client.coding_agents.install, memorybase_client.importers.recognise
with Client("http://127.0.0.1:9", "k", outbox=sys.argv[1]) as client:
    assert client.outbox.waiting == 0
models.Page[models.MessageView].model_validate({{"items": [], "total": 0, "page": 1, "size": 50}})
assert len(sys.modules) < {modules}, f"{{len(sys.modules)}} modules"
foreign = {foreign} & sys.modules.keys()
assert not foreign, foreign
"""

SERVE = """
import json, runpy
loaded = sys.argv.pop(1)
try:
    runpy.run_module("memorybase_client.mcp", run_name="__main__", alter_sys=True)
finally:
    with open(loaded, "w") as file:
        json.dump(sorted(name for name in sys.modules if "." not in name), file)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's."""
    return built(PROJECT, tmp_path_factory.mktemp("client") / "project")


def test_the_wheel_is_small_and_works_with_its_requirements_alone(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert sum(entry.file_size for entry in archive.infolist()) < MAX_BYTES
        names = set(archive.namelist())
    assert {"memorybase_client/py.typed", "memorybase_client/models.py", "memorybase_client/_sync/client.py"} <= names
    assert not [name for name in names if not name.startswith("memorybase_client")]

    installed = install(wheel, tmp_path / "installed")
    assert sorted(wanted(installed)) == ["anyio", "httpx", "pydantic"]
    code = USE.format(before=MAX_MODULES_BEFORE_USE, modules=MAX_MODULES, foreign=MODULES_OF_THE_SERVER)
    subprocess.run([*isolated(installed, code), str(tmp_path / "outbox")], check=True)


def test_the_hook_runs_from_the_wheel_by_its_path(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    config = tmp_path / "hooks.json"
    config.write_text(json.dumps({"state_dir": str(tmp_path / "state")}))
    hook = tmp_path / "memorybase_client" / "coding_agents" / "hook.py"
    command = [sys.executable, "-I", "-S", str(hook), "--config", str(config), "cursor"]
    event = json.dumps({"hook_event_name": "beforeSubmitPrompt", "prompt": "Hello"})
    done = subprocess.run(command, input=event, capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ('{"continue": true}', "")
    assert len(list((tmp_path / "state" / "spool").iterdir())) == 1


def test_the_mcp_server_needs_the_wheel_and_its_extra_alone(wheel: Path, tmp_path: Path) -> None:
    installed = install(wheel, tmp_path / "installed", "mcp")
    loaded = tmp_path / "loaded"
    with serve_api(settings_in(tmp_path), mcp=True) as served:
        served.api.flow()
        served.api.memory()
        command, *words = [*isolated(installed, SERVE), str(loaded), "--url", served.url]
        variables = {"MEMORYBASE_API_KEY": served.api.secret}
        client = McpClient(StdioServerParameters(command=command, args=words, env=variables))
        stored = client.call("remember", content="The fence is green.")
        assert client.call("search_memory", query="fence")["results"][0]["id"] == stored["message_ids"][0]

    modules = set(json.loads(loaded.read_text()))
    assert "memorybase_client" in modules
    assert not MODULES_OF_THE_SERVER & modules


def test_the_servers_wheel_has_the_same_files_of_the_client(wheel: Path, tmp_path: Path) -> None:
    """So installing both in one environment, in any order, leaves one whole client."""
    server = built(ROOT, tmp_path / "server", *OF_THE_SERVER)
    assert files_of(server) == files_of(wheel)
    assert len(files_of(server)) > 20


def files_of(wheel: Path) -> dict[str, int]:
    """The client's files in a wheel, with their checksums."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    return {each.filename: each.CRC for each in entries if each.filename.startswith("memorybase_client/")}


def built(project: Path, folder: Path, *names: str) -> Path:
    """The wheel of a copy of the project, or of these files of it."""
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    if not names:
        shutil.copytree(project, folder, ignore=ignore)
    for name in names:
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (project / name).is_dir():
            shutil.copytree(project / name, copy, ignore=ignore)
        else:
            shutil.copy(project / name, copy)
    wheels = folder.with_name(f"{folder.name}-wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(wheels), str(folder)], check=True)
    (wheel,) = wheels.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path, *extras: str) -> Path:
    """The wheel, and links to the installed files of all that it requires with these extras."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    found: set[tuple[str, str]] = set()
    for name in wanted(folder, *extras):
        require(Requirement(name), found)
    for name, _ in found:
        link_files(name, folder)
    return folder


def wanted(installed: Path, *extras: str) -> list[str]:
    """The requirements of the wheel that need no extra or one of these, without versions."""
    (info,) = installed.glob("memorybase_client-*.dist-info")
    requirements = [Requirement(text) for text in Distribution.at(info).requires or []]
    return [each.name for each in requirements if applies(each, ["", *extras])]


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


def require(requirement: Requirement, found: set[tuple[str, str]]) -> None:
    """Adds the distribution and all that it needs here, each with its extra."""
    for extra in ("", *requirement.extras):
        if (requirement.name, extra) not in found:
            found.add((requirement.name, extra))
            for text in distribution(requirement.name).requires or []:
                if applies(Requirement(text), [extra]):
                    require(Requirement(text), found)


def link_files(name: str, folder: Path) -> None:
    """The distribution's packages and modules, in another folder."""
    found = distribution(name)
    for top in {path.parts[0] for path in found.files or []} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(found.locate_file(top))))


def isolated(installed: Path, code: str) -> list[str]:
    """A command that runs the code with these packages and the standard library alone."""
    return [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(installed)!r})\n{code}"]
