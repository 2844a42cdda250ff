"""`python deploy/build.py FOLDER`: sdists of the server and of the Python client, and the wheel built from each, the
same bytes for the same commit.

setuptools takes times, modes and owners of the sdist's files from the file system, so the archive is written again
without them. SOURCE_DATE_EPOCH is the time of every file; unset: the time of the commit.
"""

from __future__ import annotations

import gzip
import io
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python deploy/build.py FOLDER")
    target = Path(sys.argv[1]).resolve()
    os.umask(0o022)  # modes of generated files
    epoch = source_date_epoch()
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": "0"}
    target.mkdir(parents=True, exist_ok=True)
    for project, sources in PROJECTS.items():
        with tempfile.TemporaryDirectory() as scratch:
            sdist = build_sdist(project, sources, Path(scratch), environment)
            normalize(sdist, target / sdist.name, epoch)
            wheel = build_wheel(target / sdist.name, Path(scratch), environment)
            shutil.copy(wheel, target / wheel.name)
        sys.stdout.write(f"{target / sdist.name}\n{target / wheel.name}\n")


def source_date_epoch() -> int:
    if stated := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(stated)
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def build_sdist(project: Path, sources: tuple[str, ...], scratch: Path, environment: dict[str, str]) -> Path:
    """Built in a copy of what an sdist may contain, because setuptools writes beside the sources."""
    copy = scratch / "source"
    for name in sources:
        path = project / name
        if path.is_dir():
            shutil.copytree(path, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy(path, copy / name)
    if PUBLICATION["published"]:
        readme = copy / "README.md"
        folder = project.relative_to(ROOT).as_posix()
        readme.write_text(with_absolute_links(readme.read_text(encoding="utf-8"), folder, PUBLICATION["owner"]))
    run_backend("build_sdist", copy, scratch / "sdist", environment)
    (sdist,) = (scratch / "sdist").glob("*.tar.gz")
    return sdist


def with_absolute_links(readme: str, folder: str, owner: str) -> str:
    """A README of this folder as an index shows it, which does not know the repository's files."""
    version = re.findall(r'^__version__ = "(.*)"$', (ROOT / "memorybase" / "__init__.py").read_text(), re.MULTILINE)[0]

    def absolute(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        if path.endswith(".png"):
            return f"](https://raw.githubusercontent.com/{owner}/memorybase/{version}/{path})"
        return f"](https://github.com/{owner}/memorybase/blob/{version}/{path})"

    return re.sub(r"\]\((?!https?:|#)([^)\s]+)\)", absolute, readme)


def build_wheel(sdist: Path, scratch: Path, environment: dict[str, str]) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch / "unpacked", filter="data")
    (source,) = (scratch / "unpacked").iterdir()
    run_backend("build_wheel", source, scratch / "wheel", environment)
    (wheel,) = (scratch / "wheel").glob("*.whl")
    return wheel


def run_backend(hook: str, source: Path, target: Path, environment: dict[str, str]) -> None:
    """One hook of setuptools as installed here, at the version of constraints.txt: nothing is downloaded."""
    target.mkdir()
    code = f"import setuptools.build_meta as backend, sys; backend.{hook}(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(target)],
        cwd=source,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        sys.exit(done.stdout)


def normalize(sdist: Path, target: Path, epoch: int) -> None:
    """The same files in alphabetical order, without what depends on the machine."""
    plain = io.BytesIO()
    with tarfile.open(sdist) as source, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as written:
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            written.addfile(member, source.extractfile(member) if member.isfile() else None)
    with target.open("wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=epoch) as packed:
        packed.write(plain.getvalue())


PUBLICATION = tomllib.loads((ROOT / "deploy" / "publication.toml").read_text(encoding="utf-8"))
# Of each project, what its MANIFEST.in and pyproject.toml name.
PROJECTS = {
    ROOT: (
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "SECURITY.md",
        "constraints.txt",
        "overrides.txt",
        "requirements-slim.txt",
        "Dockerfile",
        ".dockerignore",
        "docker-compose.yml",
        "docker-compose.pgvector.yml",
        "deploy",
        "memorybase",
        "worker",
        "api",
        "migrations",
        "clients/python/src",
    ),
    ROOT / "clients" / "python": ("pyproject.toml", "README.md", "LICENSE", "src"),
}

if __name__ == "__main__":
    main()
