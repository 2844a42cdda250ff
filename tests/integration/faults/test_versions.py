"""Which older version an upgrade is tried from, and what is said where there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from upgrade import versions
from upgrade.versions import NoHistory, Version, commit_before, newer_version, older_version, this_version

from memorybase.core.database import migrate
from memorybase.core.settings import Settings

pytestmark = pytest.mark.slow  # It tests how `make check-upgrade` finds an older version, with git.


def git(tree: Path, *words: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose third revision got its number when it was merged; it was 0002 on its branch."""
    tree = tmp_path / "clone"
    folder = tree / versions.VERSIONS
    folder.mkdir(parents=True)
    git(tree, "init", "--quiet")
    for renamed, added in (("", "0001_first"), ("", "0002_late"), ("0003_late", "0002_early"), ("", "0004_last")):
        if renamed:
            (folder / "0002_late.py").rename(folder / f"{renamed}.py")
        (folder / f"{added}.py").write_text("")
        git(tree, "add", "--all")
        git(tree, "commit", "--quiet", "--message", added)
        git(tree, "commit", "--quiet", "--allow-empty", "--message", f"after {added}")
    monkeypatch.setattr(versions, "ROOT", tree)
    return tree


def subject(tree: Path, commit: str) -> str:
    return git(tree, "log", "-1", "--format=%s", commit)


def test_it_is_the_last_commit_with_the_migrations_before_a_revision(clone: Path) -> None:
    assert subject(clone, commit_before()) == "after 0002_early"
    assert subject(clone, commit_before("0004")) == "after 0002_early"
    assert subject(clone, commit_before("0003")) == "after 0001_first"  # 0002 was another revision then


def test_a_migration_that_is_not_committed_yet_is_the_newest(clone: Path) -> None:
    (clone / versions.VERSIONS / "0005_new.py").write_text("")
    assert subject(clone, commit_before()) == "after 0004_last"


def test_a_shallow_clone_says_what_to_do(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{clone}", str(shallow))
    monkeypatch.setattr(versions, "ROOT", shallow)
    with pytest.raises(NoHistory, match="git fetch --unshallow"):
        commit_before()
    with pytest.raises(NoHistory, match="git fetch --unshallow"):
        older_version(tmp_path, "v0.0.1")


def test_a_tree_without_git_says_to_name_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / versions.VERSIONS).mkdir(parents=True)
    (tmp_path / versions.VERSIONS / "0001_first.py").write_text("")
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(NoHistory, match="make check-upgrade OLD=/path"):
        commit_before()


@pytest.mark.usefixtures("clone")
def test_an_unknown_ref_and_a_branch_without_such_a_commit_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoHistory, match="v9 is neither a folder nor a commit"):
        older_version(tmp_path, "v9")
    with pytest.raises(NoHistory, match="no commit of this branch has the migrations before 0001"):
        commit_before("0001")


def test_with_one_revision_it_is_the_commit_that_last_changed_it(clone: Path) -> None:
    git(clone, "reset", "--quiet", "--hard", "HEAD~6")  # after the first
    (clone / versions.VERSIONS / "0001_first.py").write_text("# changed")
    git(clone, "commit", "--quiet", "--all", "--message", "change the first")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "later")
    assert subject(clone, commit_before()) == "change the first"


def test_without_a_migration_of_its_own_the_new_version_gets_samples(tmp_path: Path) -> None:
    own = this_version()
    new = newer_version(own, tmp_path / "new")
    assert new.revisions[:-2] == own.revisions
    environment = Settings(data_dir=tmp_path / "data").child_environment()
    for version in (own, new, own):  # the last one finds newer tables, and leaves them
        done = version.command("migrate", environment=environment)
        assert done.returncode == 0, done.stderr
    url = Settings(data_dir=tmp_path / "data").resolved_database_url
    assert migrate.current(url) == new.revision > own.revision


def test_with_one_of_its_own_it_is_this_version(tmp_path: Path) -> None:
    (tmp_path / versions.VERSIONS).mkdir(parents=True)
    old = Version("old", tmp_path, frozenset())
    assert newer_version(old, tmp_path / "new") == this_version()


def test_a_process_of_a_version_is_told_no_setting_that_it_lacks() -> None:
    old = Version("old", Path("/old"), frozenset({"data_dir"}))
    told = old.environment({"MEMORYBASE_DATA_DIR": "/data", "MEMORYBASE_AUDIT": "off", "PATH": "/bin"})
    assert told == {"MEMORYBASE_DATA_DIR": "/data", "PATH": "/bin", "PYTHONPATH": "/old:/old/clients/python/src"}
    assert "audit" in this_version().settings
