"""`python deploy/publication.py`: lets every text name indexes and registries instead of a clone, if publication.toml
says `published`. There is no way back but git's."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLICATION = tomllib.loads((ROOT / "deploy" / "publication.toml").read_text(encoding="utf-8"))
# What was decided and done before, and what names both forms on purpose.
KEPT = ("CHANGELOG.md", "bench/", "deploy/publication.", "docs/decisions/", "tests/unit/deploy/test_publication.py")


def main() -> None:
    owner = PUBLICATION["owner"]
    if not PUBLICATION["published"] or owner == "OWNER":
        sys.exit("error: deploy/publication.toml must have `published = true`, and `owner` be the name of an account")
    for path, text in texts():
        if (after := as_published(text, owner)) != text:
            path.write_text(after, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


def texts() -> Iterator[tuple[Path, str]]:
    """Every text that git tracks or would, without those that stay as they are."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout.splitlines():
        path = ROOT / name
        content = b"" if name.startswith(KEPT) or not path.is_file() else path.read_bytes()
        if b"memorybase" in content and b"\0" not in content:
            yield path, content.decode()


def as_published(text: str, owner: str) -> str:
    for each in PUBLICATION["texts"]:
        text = text.replace(each["before"], each["after"])
    return text.replace("OWNER/", f"{owner}/")


if __name__ == "__main__":
    main()
