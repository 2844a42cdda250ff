"""Writes the plugin's package: `python clients/dify/package.py [FOLDER]`. It is a zip file without a signature."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUFFIXES = {".md", ".py", ".svg", ".txt", ".yaml"}


def write(folder: Path) -> Path:
    """The package in this folder, the same bytes for the same files."""
    version = re.search(r"^version: (\S+)", (HERE / "manifest.yaml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    if version is None:
        raise ValueError("manifest.yaml must have a version")
    package = folder / f"memorybase-{version[1]}.difypkg"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(HERE.rglob("*")):
            name = path.relative_to(HERE).as_posix()
            if path.suffix in SUFFIXES and "__pycache__" not in name and name != Path(__file__).name:
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes())
    return package


if __name__ == "__main__":
    made = write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    sys.stdout.write(f"{made}\n")
