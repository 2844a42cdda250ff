"""The sdists and the wheels: what they contain, and that the same commit gives the same bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path

import pytest

from memorybase import __version__

pytestmark = pytest.mark.slow  # It builds what a release ships.

ROOT = Path(__file__).parents[3]
PACKAGES = {
    "api": ROOT,
    "memorybase": ROOT,
    "migrations": ROOT,
    "worker": ROOT,
    "memorybase_client": ROOT / "clients" / "python" / "src",
}
EPOCH = "1700000000"


def build(source: Path, target: Path, umask: int = 0o022) -> dict[str, Path]:
    """The distributions of a source tree by their kind: of the server, then of the client."""
    done = subprocess.run(
        [sys.executable, source / "deploy" / "build.py", target],
        check=False,
        text=True,
        capture_output=True,
        env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH},
        umask=umask,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = ("sdist", "wheel", "client's sdist", "client's wheel")
    return dict(zip(kinds, map(Path, done.stdout.split()), strict=True))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def in_sdist(path: Path) -> dict[str, tarfile.TarInfo]:
    """Its files, without the folder that contains them all."""
    with tarfile.open(path) as archive:
        return {each.name.partition("/")[2]: each for each in archive.getmembers() if each.isfile()}


def in_repository() -> set[str]:
    """What the wheel must have: every file of the packages that git tracks or would."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *map(str, PACKAGES.values())]
    listed = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout.splitlines()
    found = set()
    for name, folder in PACKAGES.items():
        prefix = (folder / name).relative_to(ROOT).as_posix() + "/"
        found |= {f"{name}/{each.removeprefix(prefix)}" for each in listed if each.startswith(prefix)}
    return {each for each in found if (ROOT / each).exists() or each.startswith("memorybase_client/")}


def test_the_wheel_has_every_file_of_the_packages_and_no_other(built: dict[str, Path]) -> None:
    """Templates, static files, samples and the weights of the projection among them; no tests."""
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    missing = in_repository() - names
    assert not missing, f"add these to [tool.setuptools.package-data] in pyproject.toml: {sorted(missing)}"
    assert names == in_repository()
    assert {"api/web/templates/home.html", "api/web/static/page.js", "migrations/script.py.mako"} <= names
    assert any(name.startswith("migrations/versions/") for name in names)


def test_the_wheel_has_the_version_and_the_commands(built: dict[str, Path]) -> None:
    assert built["wheel"].name == f"memorybase_server-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(built["wheel"]) as archive:
        info = f"memorybase_server-{__version__}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        commands = archive.read(f"{info}/entry_points.txt").decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ",".join(reversed(project["requires-python"].split(",")))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "memorybase = memorybase.__main__:main" in commands


def test_the_sdist_has_what_an_operator_needs_and_no_tests(built: dict[str, Path]) -> None:
    names = set(in_sdist(built["sdist"]))
    wanted = {
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "constraints.txt",
        "overrides.txt",
        "requirements-slim.txt",
        "Dockerfile",
        "docker-compose.yml",
        "deploy/helm/memorybase/Chart.yaml",
        "deploy/systemd/memorybase-api.service",
        "deploy/systemd/memorybase-.service.d/common.conf",
    }
    assert wanted <= names
    foreign = {name for name in names if name.startswith(("tests/", "bench/", "docs/", "clients/python/tests/"))}
    assert not foreign
    assert not [name for name in names if "__pycache__" in name]


def test_the_clients_distributions_have_the_package_and_no_tests(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["client's wheel"]) as archive:
        packages = {name.partition("/")[0] for name in archive.namelist()}
    assert packages == {"memorybase_client", f"memorybase_client-{__version__}.dist-info"}
    assert {name.partition("/")[0] for name in in_sdist(built["client's sdist"])} == {
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
        "setup.cfg",
        "src",
    }


def test_every_file_has_the_same_time_owner_and_one_of_two_modes(built: dict[str, Path]) -> None:
    for member in (in_sdist(built["sdist"]) | in_sdist(built["client's sdist"])).values():
        assert (member.mtime, member.uid, member.gid, member.uname) == (int(EPOCH), 0, 0, "")
        assert member.mode in {0o644, 0o755}


@pytest.mark.slow
def test_another_checkout_on_another_day_gives_the_same_bytes(built: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(
        ROOT,
        copy,
        ignore=shutil.ignore_patterns(".git", ".venv*", ".[fgmn]*", "node_modules", "tests", "bench", "docs"),
    )
    for path in copy.rglob("*"):
        os.utime(path, (0, 1_600_000_000))
        if path.is_file():
            path.chmod(0o600)
    assert digests(build(copy, tmp_path / "dist", umask=0o077).values()) == digests(built.values())


def digests(paths: Iterable[Path]) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
