"""Images of other projects are pinned by digest, in every file at once."""

from __future__ import annotations

import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PIN = runpy.run_path(str(ROOT / "deploy" / "pin_images.py"))
# Answers as `docker buildx imagetools inspect` does.
DOCKER = """#!/bin/sh
test "$1 $2" != "buildx version" || exit "$BUILDX"
test "$1 $2 $3 $4 $5" = "buildx imagetools inspect --format {{.Manifest.Digest}}" || exit 2
test "$6" != "$REFUSED" || { echo "ERROR: $6: not found" >&2; exit 1; }
printf 'sha256:'; printf %s "$6" | sha256sum | cut -d ' ' -f 1
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What the script reads and writes, and a program `docker`."""
    for name in (*PIN["FILES"], "deploy/pin_images.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text(DOCKER)
    (tmp_path / "bin" / "docker").chmod(0o755)
    return tmp_path


def pin(folder: Path, *options: str, refused: str = "", buildx: int = 0) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "REFUSED": refused, "BUILDX": str(buildx)}
    command = [sys.executable, folder / "deploy" / "pin_images.py", *options]
    return subprocess.run(command, env=variables, check=False, text=True, capture_output=True)


def images(folder: Path) -> list[tuple[str, str | None]]:
    texts = [(folder / name).read_text(encoding="utf-8") for name in PIN["FILES"]]
    return [(match["image"], match["digest"]) for text in texts for match in PIN["IMAGE"].finditer(text)]


def test_each_image_gets_the_digest_of_its_tag(copy: Path) -> None:
    assert {"postgres:18", "redis:8-alpine", "pgvector/pgvector:pg18"} <= {image for image, _ in images(copy)}
    for _ in range(2):  # the second time it replaces digests
        assert pin(copy).returncode == 0
        found = images(copy)
        assert len(found) == len(images(ROOT))
        assert all(digest == f"sha256:{hashlib.sha256(image.encode()).hexdigest()}" for image, digest in found)
    left = [line for name in PIN["FILES"] for line in (copy / name).read_text().splitlines() if "@sha256" not in line]
    assert not [line for line in left if re.match(r"FROM (?!base|complete)|\s+image: (?!\S*memorybase)", line)]


def test_nothing_is_written_unless_every_digest_is_known(copy: Path) -> None:
    before = images(copy)
    done = pin(copy, refused="redis:8-alpine")
    assert done.returncode == 1
    assert "no digest of redis:8-alpine: ERROR" in done.stderr
    assert images(copy) == before


def test_without_buildx_and_for_help_nothing_is_asked_or_written(copy: Path) -> None:
    before = images(copy)
    without, shown = pin(copy, buildx=1), pin(copy, "--help")
    assert (without.returncode, without.stderr) == (1, "error: Docker with buildx is required\n")
    assert shown.returncode == 0
    assert "the digest that each tag" in shown.stdout
    assert images(copy) == before


def test_all_images_are_pinned_or_none() -> None:
    found = images(ROOT)
    assert {digest is None for _, digest in found} in ({True}, {False}), f"run: python deploy/pin_images.py ({found})"
    assert len({digest for image, digest in found if image == "postgres:18"}) == 1
