"""Git repositories, made by git without the settings of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

WHO = {"GIT_AUTHOR_NAME": "Ada Lovelace", "GIT_AUTHOR_EMAIL": "ada@example.com"}
COMMITTER = {"GIT_COMMITTER_NAME": "Bob", "GIT_COMMITTER_EMAIL": "bob@example.com"}


class Repository:
    """A repository; creates it unless it exists."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        self.environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": "/nowhere", **WHO, **COMMITTER}
        if not path.exists():
            path.mkdir()
            self.run("init", "--quiet", "--initial-branch=main", *options)

    def run(self, *words: str, text: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *words], input=text, capture_output=True, check=True, env=self.environment
        )
        return done.stdout.decode(errors="replace").strip()

    def commit(self, text: str | bytes, *files: str, at: str = "2026-03-02T10:00:00+01:00") -> str:
        for name in files:
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text!r} {at}")
        self.run("add", "--all")
        self.environment |= {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        raw = text if isinstance(text, bytes) else text.encode()
        self.run("commit", "--quiet", "--allow-empty", "--allow-empty-message", "--file=-", text=raw)
        return self.run("rev-parse", "HEAD")

    def commit_raw(self, text: bytes) -> None:
        """A commit as another program may write it: git itself would write UTF-8."""
        head = self.run("cat-file", "commit", "HEAD").encode().partition(b"\n\n")[0]
        head = b"\n".join(line for line in head.splitlines() if not line.startswith((b"parent", b"encoding")))
        tree, _, rest = head.partition(b"\n")
        parent = b"parent " + self.run("rev-parse", "HEAD").encode()
        raw = b"\n".join([tree, parent, rest, b"", text])
        self.run("update-ref", "HEAD", self.run("hash-object", "-t", "commit", "-w", "--stdin", text=raw))
