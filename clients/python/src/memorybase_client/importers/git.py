"""The commits of a git repository, as `git log` prints them: a message each, in a session for each month.

Those that HEAD leads to, parents first. A commit has the id `git:<hash>`, so that every clone and worktree makes the
same message. Its text is that of the commit, then the files that it touches, a renamed one with both names; no
diff. It is an assistant's message with the author as its sender: searches find that, and nobody takes it for
words of the user.

Parents are stored before their children, so a flow that has a commit has what leads to it, and a later import sends
only the rest. Commits of a shallow clone are the exception, so their metadata says that.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import IO

from memorybase_client import errors
from memorybase_client.importers.records import Found, Report, read_time

MAX_FILES = 200  # of a commit, that are listed
MAX_TEXT = 32_000  # characters of a commit's own text
PIECE_BYTES = 262_144
MOST_LOOKED_UP = 30  # commits

SHALLOW = "shallow"  # in the metadata: what leads to the commit was not read

_HEADER = "commit "
_FORMAT = f"--format={_HEADER}%H%x00%P%x00%an%x00%aI%x00%B"
# Renames are not searched for: that depends on settings, and reads every file's content.
_LOG = (
    *("log", "-z", "--reverse", "--topo-order", "--root", "--no-renames", "--name-status", "--no-show-signature"),
    *("--no-notes", "--no-color", "--encoding=UTF-8", _FORMAT),
)
_MERGE = re.compile(r"Merge (branch|branches|remote-tracking branch|tag|commit|pull request) .*")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. `files` are the first MAX_FILES of `touched`."""

    hash: str
    parents: list[str]
    author: str
    at: str
    text: str
    files: list[str]
    touched: int


def read(path: Path, report: Report, *, end_user_id: str | None = None, without: Sequence[str] = ()) -> Iterator[Found]:
    """The commits of the repository that the path is in, `without` these and what leads to them. Raises InvalidRequest
    if it is in none."""
    root = _git(path, "rev-parse", "--show-toplevel", fails=True) or _git(path, "rev-parse", "--absolute-git-dir")
    if not _git(path, "rev-parse", "--quiet", "--verify", "HEAD", fails=True):
        raise errors.InvalidRequest(f"The repository {root} has no commits yet.", field="FILE")
    shallow = Path(_git(path, "rev-parse", "--git-path", "shallow"))
    shallow = shallow if shallow.is_absolute() else path / shallow
    cut = set(shallow.read_text(encoding="ascii").split()) if shallow.exists() else set()
    return _found(path, root, cut, report, end_user_id, without)


def newest_held(path: Path, is_held: Callable[[str], bool]) -> list[str]:
    """Commits that a flow has, the newest ones that a few lookups find. `is_held` says whether it has a message with
    this id, and not from a shallow clone."""
    held: list[str] = []
    at, step = 0, 1
    newest = _hashes(path, held)
    for _ in range(MOST_LOOKED_UP):
        if at >= len(newest):
            break
        if is_held(message_id(newest[at])):
            held.append(newest[at])
            newest = _hashes(path, held)
        else:
            at, step = at + step, step * 2
    return held


def _hashes(path: Path, without: Sequence[str]) -> list[str]:
    """Of the commits that HEAD leads to, newest first. Not of merges, few of which are stored."""
    return _git(path, "rev-list", "--topo-order", "--no-merges", *_range(without), fails=True).split()


def _range(without: Sequence[str]) -> list[str]:
    return ["HEAD", *(f"^{commit}" for commit in without), "--"]


def message_id(commit: str) -> str:
    return f"git:{commit}"


def _found(
    path: Path, root: str, cut: set[str], report: Report, end_user_id: str | None, without: Sequence[str]
) -> Iterator[Found]:
    for commit in _commits(path, report, without):
        where = f"{root} {commit.hash[:12]}"
        if commit.hash in cut:
            report.skip(where, "first commits of a shallow clone, whose files are unknown: git fetch --unshallow")
        elif len(commit.parents) > 1 and _MERGE.fullmatch(commit.text):
            report.skip(where, "merges without a text of their own")
        else:
            yield _message(where, root, commit, end_user_id, is_shallow=bool(cut))


def _message(where: str, root: str, commit: Commit, end_user_id: str | None, *, is_shallow: bool) -> Found:
    more = commit.touched - len(commit.files)
    files = ", ".join(commit.files) + (f" and {more} more" if more else "")
    parts = [commit.text[:MAX_TEXT] or "(no message)", *([f"Files: {files}"] if files else [])]
    month = _time(commit.at)[:7]
    message = {
        "id": message_id(commit.hash),
        "role": "assistant",
        "content": "\n\n".join(parts),
        "sender_name": commit.author or "unknown",
        "timestamp": commit.at,
        "metadata": {
            "source": "git",
            "project": root,
            "commit": commit.hash,
            **({SHALLOW: True} if is_shallow else {}),
        },
    }
    if month == "":
        del message["timestamp"]
    session = f"git:{root}:{month or 'undated'}"
    return Found(where, session, message, end_user_id=end_user_id, run="commits")


def _time(at: str) -> str:
    """The time in UTC; empty for one that does not exist, which a damaged commit may have."""
    try:
        read_at = read_time(at)
    except errors.InvalidRequest:
        return ""
    return read_at.astimezone(UTC).isoformat() if read_at else ""


def _commits(path: Path, report: Report, without: Sequence[str]) -> Iterator[Commit]:
    """Raises no error for a history that ends early, as in a damaged repository: the report says so."""
    with tempfile.TemporaryFile() as problems:
        command = _command(path, *_LOG, *_range(without))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=problems, env=_environment()) as log:  # noqa: S603
            if log.stdout is not None:
                yield from _parsed(_fields(log.stdout))
        if log.returncode:
            problems.seek(0)
            said = _first_line(problems.read().decode(errors="replace"))
            report.end_early(f"git log of {path} ended early: {said}")


def _parsed(fields: Iterator[str]) -> Iterator[Commit]:
    """The commits of `git log`: five fields each, then the state and the name of each file."""
    field = next(fields, "")
    while field.startswith(_HEADER):
        parents, author, at, text = (next(fields, "") for _ in range(4))
        files: list[str] = []
        touched = 0
        name = field.removeprefix(_HEADER)
        while (field := next(fields, "").lstrip("\n")) and not field.startswith(_HEADER):
            file = next(fields, "")
            touched += 1
            if touched <= MAX_FILES:
                files.append(file)
        yield Commit(name, parents.split(), author.strip(), at, text.strip(), files, touched)


def _fields(output: IO[bytes]) -> Iterator[str]:
    """What is between NUL bytes. A text that is not UTF-8 has U+FFFD in it."""
    rest = b""
    while piece := output.read(PIECE_BYTES):
        *whole, rest = (rest + piece).split(b"\0")
        yield from (field.decode(errors="replace") for field in whole)
    if rest:
        yield rest.decode(errors="replace")


def _git(path: Path, *words: str, fails: bool = False) -> str:
    """What git says; with `fails` nothing if it fails. Raises InvalidRequest."""
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            _command(path, *words), capture_output=True, check=False, env=_environment()
        )
    except FileNotFoundError:
        raise errors.InvalidRequest("git must be installed to import commits.") from None
    if done.returncode and not fails:
        said = _first_line(done.stderr.decode(errors="replace"))
        raise errors.InvalidRequest(f"{path} must be in a git repository (git says: {said})", field="FILE")
    return "" if done.returncode else os.fsdecode(done.stdout).rstrip("\n")


def _command(path: Path, *words: str) -> list[str]:
    return ["git", "-C", str(path), *words]


def _environment() -> dict[str, str]:
    """Messages in English, nothing written, and the repository of the path: for its hooks git names another."""
    kept = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    return {**kept, "LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}


def _first_line(said: str) -> str:
    return said.strip().partition("\n")[0][:200] or "nothing"
