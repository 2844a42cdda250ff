"""A version is a tree of source: this one, or one from the history. Both run in the same virtual environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.constants import VARIABLE, with_constants
from harness.revisions import BUILD, COLUMN, write_revision
from harness.stack import ROOT

from memorybase.core.settings import ENVIRONMENT_PREFIX, Settings

VERSIONS = "migrations/versions"
PACKAGES = ("memorybase", "api", "worker", "migrations", "clients/python/src")
SETTINGS = "from {module} import Settings; print(*Settings.model_fields)"
COMMAND_SECONDS = 180

# Constants that a version before had as settings.
FORMER_SETTINGS = {
    "memorybase.core.settings.Settings.sweep_seconds": "sweep_seconds",
    "memorybase.core.settings.Settings.backoff_max_seconds": "backoff_max_seconds",
    "memorybase.core.settings.Settings.redis_timeout_seconds": "redis_timeout_seconds",
    "memorybase.core.deadlines.NOTIFY_AFTER_SECONDS": "notify_after_seconds",
    "memorybase.core.deadlines.NOTIFY_MAX_SECONDS": "notify_max_seconds",
    "memorybase.core.deadlines.BACKOFF_SECONDS": "backoff_seconds",
    "memorybase.core.deadlines.HEARTBEAT_SECONDS": "heartbeat_seconds",
    "memorybase.core.deadlines.HEARTBEAT_STALE_SECONDS": "heartbeat_stale_seconds",
    "memorybase.core.memory_bases.deletion.DRAIN_SECONDS": "drain_seconds",
    "memorybase.core.memory_bases.deletion.RETIRE_SECONDS": "retire_seconds",
    "memorybase.core.ingestion.scheduler.JOB_MAX_MESSAGES": "job_max_messages",
    "memorybase.features.retention.passes.INTERVAL": "retention_interval_seconds",
    "memorybase.features.webhooks.sender.TIMEOUT_SECONDS": "webhook_timeout_seconds",
    "memorybase.features.webhooks.sender.BACKOFF_SECONDS": "webhook_backoff_seconds",
    "memorybase.features.webhooks.sender.ATTEMPTS": "webhook_attempts",
    "memorybase.core.vectors.pgvector.INDEX_ABOVE": "pgvector_index_above",
    "memorybase.core.operations.vector_indexes.EVERY": "pgvector_index_seconds",
    "worker.queue.PAUSE_SECONDS": "enqueue_pause_seconds",
}
FOLLOW_THE_LEASE = ("lease_renew_seconds", "lock_seconds", "chroma_timeout_seconds")


class NoHistory(Exception):
    """There is no older version to run beside this one; the message says what to do."""


@dataclass(frozen=True)
class Version:
    """A tree, the names of its migrations, and the settings that it knows: it refuses others."""

    name: str
    tree: Path
    settings: frozenset[str]

    @property
    def revision(self) -> str:
        """The newest revision."""
        return self.revisions[-1].partition("_")[0]

    @property
    def revisions(self) -> list[str]:
        return sorted(path.name for path in (self.tree / VERSIONS).glob("[0-9]*.py"))

    def environment(self, environment: dict[str, str]) -> dict[str, str]:
        """This one for a process of the version: its tree is imported, and it gets no setting that it lacks, and no
        default of today, which may be none of its values."""
        known = {ENVIRONMENT_PREFIX + name.upper() for name in self.settings}
        defaults = Settings.model_construct().child_environment()
        kept = {
            name: value
            for name, value in environment.items()
            if not name.startswith(ENVIRONMENT_PREFIX) or (name in known and value != defaults.get(name))
        }
        constants: dict[str, float] = json.loads(environment.get(VARIABLE, "{}"))
        former = {FORMER_SETTINGS[path]: value for path, value in constants.items() if path in FORMER_SETTINGS}
        lease = Settings(lease_seconds=float(environment.get(f"{ENVIRONMENT_PREFIX}LEASE_SECONDS", "60")))
        former |= {name: getattr(lease, name) for name in FOLLOW_THE_LEASE if name not in former}
        known_here = former.keys() & self.settings
        kept |= {ENVIRONMENT_PREFIX + name.upper(): f"{former[name]:g}" for name in known_here}
        kept["PYTHONPATH"] = path_of(self.tree)
        paths = {module_in(self.tree, path): value for path, value in constants.items()}
        return with_constants(kept, {} if known_here else paths)

    def command(self, *words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """`memorybase ...` of this version, to its end."""
        return subprocess.run(
            [sys.executable, "-m", "memorybase", *words],
            cwd=self.tree,
            env=self.environment(environment),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )


def this_version() -> Version:
    return version_in(ROOT, "this version")


def newer_version(old: Version, folder: Path) -> Version:
    """This version. If it has no migration that the old one lacks: a copy of it in `folder`, with two samples."""
    new = this_version()
    if set(new.revisions) - set(old.revisions):
        return new
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    revision = new.revision
    for body in (COLUMN, BUILD):
        revision = write_revision(folder / VERSIONS, f"{int(revision) + 1:04}", revision, body).name
    return version_in(folder, "this version with sample migrations")


def version_in(tree: Path, name: str) -> Version:
    """The version whose source is in this folder. Raises NoHistory if there is none."""
    environment = os.environ | {"PYTHONPATH": path_of(tree)}
    try:
        program = SETTINGS.format(module=module_in(tree, Settings.__module__))
        names = _output(sys.executable, "-c", program, cwd=tree, env=environment).split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoHistory(f"{tree} has no version of memorybase that starts: {error}") from error
    return Version(name, tree.resolve(), frozenset(names))


# Versions before it refuse new memory bases on SQLite by chance: they bind ids in a type that its driver does not know.
SOUND = "5eca343c97678583a2624d857fe9fe3776d30a6a"


def older_version(folder: Path, ref: str = "", *, before: str = "") -> Version:
    """The version of a git ref or of a folder, its tree copied into `folder`; without one, that before a revision.

    `before`: the revision that it must not have; by default the newest. Raises NoHistory.
    """
    if ref and Path(ref).is_dir():
        return version_in(Path(ref), ref)
    commit = _commit(ref) if ref else commit_before(before)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return version_in(folder, ref or commit[:10])


def commit_before(revision: str = "") -> str:
    """The newest commit of this branch whose migrations are the first ones of this tree's, up to before `revision`.
    While there is no other than the first, an older commit with its tables."""
    _require_history()
    own = sorted(path.name for path in (ROOT / VERSIONS).glob("[0-9]*.py"))
    revision = revision or own[-1].partition("_")[0]
    wanted = [name for name in own if name < revision]
    touching = _git("log", "--first-parent", "--format=%H", "--", VERSIONS).split()
    if len(own) == 1 and touching:
        return touching[0] if _is_after(touching[0], SOUND) else SOUND
    # Between two commits that touch the migrations the newest has the same ones: the one before the later of both.
    for commit in ("HEAD", *(f"{each}^" for each in touching)):
        names = _revisions(commit)
        # Revisions may get other numbers when branches are merged: another name is another revision.
        if names and names == wanted[: len(names)]:
            return _commit(commit)
    raise NoHistory(
        f"no commit of this branch has the migrations before {revision}; name one: make check-upgrade OLD=ref"
    )


def _is_after(commit: str, other: str) -> bool:
    """Whether `other` is an ancestor of the commit, or no commit of this repository."""
    try:
        return _git("merge-base", commit, other).strip() == other
    except subprocess.CalledProcessError:
        return True


def module_in(tree: Path, path: str) -> str:
    """The dotted path in the version of the tree: in older ones the core is no package of its own."""
    return path if (tree / "memorybase" / "core").is_dir() else path.replace("memorybase.core.", "memorybase.")


def path_of(tree: Path) -> str:
    return os.pathsep.join((str(tree), str(tree / "clients" / "python" / "src")))


def _require_history() -> None:
    try:
        is_shallow = _git("rev-parse", "--is-shallow-repository").strip() == "true"
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoHistory(
            f"{ROOT} is no git clone, so there is no version before this one. Name a folder that has it: "
            "make check-upgrade OLD=/path/to/the/old/version"
        ) from error
    if is_shallow:
        raise NoHistory(f"{ROOT} is a shallow clone without the version before this one. Run: git fetch --unshallow")


def _commit(ref: str) -> str:
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").strip()
    except subprocess.CalledProcessError as error:
        _require_history()
        raise NoHistory(f"{ref} is neither a folder nor a commit of {ROOT}") from error


def _revisions(commit: str) -> list[str]:
    """The names of its migrations; none if there is no such commit, as before the first one."""
    try:
        listed = _git("ls-tree", "--name-only", commit, f"{VERSIONS}/").split()
    except subprocess.CalledProcessError:
        return []
    return sorted(name for path in listed if (name := Path(path).name)[:1].isdigit())


def _git(*words: str) -> str:
    return _output("git", *words, cwd=ROOT)


def _output(*words: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout
