"""Commits as messages, of repositories that git made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness.repositories import Repository
from memorybase_client import errors
from memorybase_client.importers import git
from memorybase_client.importers.records import Found, Report


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "shop")


def read(path: Path, report: Report | None = None) -> list[Found]:
    return list(git.read(path, Report() if report is None else report))


def texts(path: Path, report: Report | None = None) -> list[str]:
    return [found.message["content"] for found in read(path, report)]


def test_a_commit_is_a_message_of_its_author_in_the_session_of_its_month(repository: Repository) -> None:
    first = repository.commit(
        "Ring the worker late\n\nIt was rung twice.\n\nCo-authored-by: Cy <cy@example.com>",
        "worker/queue.py",
        "tests/test_queue.py",
    )
    repository.commit("Next month", "worker/queue.py", at="2026-04-01T00:30:00+02:00")  # in UTC it is still March
    repository.commit("In April", "worker/queue.py", at="2026-04-02T00:30:00Z")
    found = read(repository.path / "worker")  # of any folder in it

    assert found[0].message == {
        "id": f"git:{first}",
        "role": "assistant",
        "content": "Ring the worker late\n\nIt was rung twice.\n\nCo-authored-by: Cy <cy@example.com>\n\n"
        "Files: tests/test_queue.py, worker/queue.py",
        "sender_name": "Ada Lovelace",
        "timestamp": "2026-03-02T10:00:00+01:00",
        "metadata": {"source": "git", "project": str(repository.path), "commit": first},
    }
    months = [found.session_id.removeprefix(f"git:{repository.path}:") for found in found]
    assert months == ["2026-03", "2026-03", "2026-04"]


def test_texts_and_names_of_every_kind_are_read(repository: Repository) -> None:
    repository.commit("Ünïcode", "a b.py", "ü\n,.py")
    repository.commit("")
    repository.commit("", "c.py")
    repository.run("config", "i18n.commitEncoding", "latin1")
    repository.commit("Café".encode("latin1"))
    repository.run("config", "--unset", "i18n.commitEncoding")
    repository.commit_raw(b"caf\xe9 \x1e\x01 commit 123")  # no UTF-8, and nothing that says so
    repository.run("mv", "a b.py", "renamed.py")
    repository.commit("Rename it")
    repository.run("rm", "--quiet", "c.py")
    repository.commit("commit it\n\nM\n\ncommit abc")

    assert texts(repository.path) == [
        "Ünïcode\n\nFiles: a b.py, ü\n,.py",
        "(no message)",
        "(no message)\n\nFiles: c.py",
        "Café",
        "caf\ufffd \x1e\x01 commit 123",
        "Rename it\n\nFiles: a b.py, renamed.py",
        "commit it\n\nM\n\ncommit abc\n\nFiles: c.py",
    ]


def test_merges_are_read_if_somebody_wrote_a_text(repository: Repository) -> None:
    repository.commit("One", "a.py")
    for name, text in (("x", "Merge branch 'x'"), ("y", "Merge pull request #7 from bob/y\n\nQueue jobs by flow")):
        repository.run("checkout", "--quiet", "-b", name)
        repository.commit(f"On {name}", f"{name}.py")
        repository.run("checkout", "--quiet", "main")
        repository.run("merge", "--quiet", "--no-ff", "-m", text, name)
    report = Report()

    assert texts(repository.path, report) == [
        "One\n\nFiles: a.py",
        "On x\n\nFiles: x.py",
        "On y\n\nFiles: y.py",
        "Merge pull request #7 from bob/y\n\nQueue jobs by flow",
    ]
    assert report.counts == {("skipped", "merges without a text of their own"): 1}


def test_a_list_of_files_has_a_bound(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "MAX_FILES", 2)
    monkeypatch.setattr(git, "PIECE_BYTES", 7)
    repository.commit("Vendor it", *(f"{name}.py" for name in "abcde"))

    assert texts(repository.path) == ["Vendor it\n\nFiles: a.py, b.py and 3 more"]


def test_settings_of_the_user_change_nothing(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit("One", "a.py")
    (repository.path / ".mailmap").write_text("Countess <ada@example.com>\n")
    repository.run("mv", "a.py", "b.py")
    repository.commit("Two")
    once = read(repository.path)
    for name, value in (
        ("log.showRoot", "false"),
        ("diff.renames", "copies"),
        ("log.date", "relative"),
        ("color.ui", "always"),
        ("log.mailmap", "true"),
        ("diff.noprefix", "true"),
        ("log.decorate", "full"),
        ("core.quotePath", "true"),
    ):
        repository.run("config", name, value)
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    assert read(repository.path) == once
    assert [found.message["content"].splitlines()[-1] for found in once] == [
        "Files: a.py",
        "Files: .mailmap, a.py, b.py",
    ]


def test_a_shallow_clone_lacks_only_what_is_not_there(repository: Repository, tmp_path: Path) -> None:
    for number in range(4):
        repository.commit(f"Commit {number}", f"{number}.py")
    clone = Repository(tmp_path)
    clone.run("clone", "--quiet", "--depth=2", repository.path.as_uri(), "clone")
    report = Report()

    assert texts(tmp_path / "clone", report) == ["Commit 3\n\nFiles: 3.py"]
    assert [kind for kind, _ in report.counts] == ["skipped"]
    assert "git fetch --unshallow" in next(iter(report.counts))[1]
    Repository(tmp_path / "clone").run("fetch", "--quiet", "--unshallow")
    assert len(texts(tmp_path / "clone")) == 4


class TestNewOnes:
    """What a later import sends to a flow that has some commits."""

    @pytest.fixture
    def flow(self, repository: Repository) -> dict[str, Any]:
        """What it has, after an import of two branches."""
        for number in range(20):
            repository.commit(f"Commit {number}", f"{number}.py")
        repository.run("checkout", "--quiet", "-b", "side", "HEAD~5")
        repository.commit("On the side", "side.py")
        repository.run("checkout", "--quiet", "main")
        repository.run("merge", "--quiet", "--no-ff", "-m", "Merge branch 'side'", "side")
        return {found.message["id"]: found.message for found in read(repository.path)}

    def sent(self, path: Path, flow: dict[str, Any]) -> tuple[list[str], int]:
        """The first lines of what is sent, and how many lookups that took; then the flow has it."""
        asked: list[str] = []

        def is_held(message_id: str) -> bool:
            asked.append(message_id)
            return message_id in flow and git.SHALLOW not in flow[message_id]["metadata"]

        messages = [found.message for found in git.read(path, Report(), without=git.newest_held(path, is_held))]
        for message in messages:
            flow.setdefault(message["id"], message)
        return [message["content"].partition("\n")[0] for message in messages], len(asked)

    def test_only_they_are_sent_also_from_another_clone(
        self, repository: Repository, flow: dict[str, Any], tmp_path: Path
    ) -> None:
        assert self.sent(repository.path, flow) == ([], 2)
        repository.commit("Another", "another.py")
        Repository(tmp_path).run("clone", "--quiet", repository.path.as_uri(), "clone")
        assert self.sent(tmp_path / "clone", flow)[0] == ["Another"]
        assert self.sent(repository.path, flow) == ([], 1)

    def test_a_rewritten_branch_sends_what_is_new_in_it(self, repository: Repository, flow: dict[str, Any]) -> None:
        repository.run("reset", "--quiet", "--hard", "HEAD~2")
        repository.commit("Rewritten", "18.py")
        repository.commit("After it", "19.py")
        assert self.sent(repository.path, flow)[0] == [
            "Commit 18",
            "Rewritten",
            "After it",
        ]  # every second is looked up

    def test_a_branch_of_which_the_flow_has_nothing_is_sent_whole(
        self, repository: Repository, flow: dict[str, Any]
    ) -> None:
        repository.run("checkout", "--quiet", "--orphan", "other")
        repository.commit("Begin again", "first.py")
        repository.commit("Go on", "second.py")
        assert self.sent(repository.path, flow)[0] == ["Begin again", "Go on"]

    def test_what_a_shallow_clone_lacked_is_sent_from_a_whole_one(self, repository: Repository, tmp_path: Path) -> None:
        for number in range(6):
            repository.commit(f"Commit {number}", f"{number}.py")
        Repository(tmp_path).run("clone", "--quiet", "--depth=3", repository.path.as_uri(), "clone")
        flow: dict[str, Any] = {}
        assert self.sent(tmp_path / "clone", flow)[0] == ["Commit 4", "Commit 5"]
        assert self.sent(repository.path, flow)[0] == [f"Commit {number}" for number in range(6)]
        repository.commit("Commit 6", "6.py")
        assert "Commit 0" not in self.sent(repository.path, flow)[0]

    def test_an_import_that_was_interrupted_is_continued(self, repository: Repository, flow: dict[str, Any]) -> None:
        half = dict(list(flow.items())[:9])
        sent, lookups = self.sent(repository.path, half)
        assert half.keys() == flow.keys()
        assert len(sent) < len(flow)
        assert lookups < 10


def test_a_repository_without_files_is_read(repository: Repository, tmp_path: Path) -> None:
    repository.commit("One", "a.py")
    Repository(tmp_path).run("clone", "--quiet", "--bare", str(repository.path), "bare.git")

    assert texts(tmp_path / "bare.git") == ["One\n\nFiles: a.py"]


def test_what_is_no_repository_or_has_no_commits_is_an_error(repository: Repository, tmp_path: Path) -> None:
    for path, text in (
        (tmp_path, f"{tmp_path} must be in a git repository"),
        (tmp_path / "none", "No such file or directory"),
        (repository.path, f"The repository {repository.path} has no commits yet"),
    ):
        with pytest.raises(errors.InvalidRequest, match=text):
            git.read(path, Report())


def test_a_machine_without_git_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.InvalidRequest, match="git must be installed"):
        git.read(tmp_path, Report())


def test_a_damaged_history_is_read_as_far_as_it_goes(repository: Repository) -> None:
    hashes = [repository.commit(f"Commit {number}", f"{number}.py") for number in range(3)]
    (repository.path / ".git/objects" / hashes[0][:2] / hashes[0][2:]).unlink()
    report = Report()
    read(repository.path, report)

    assert report.broken is not None
    assert report.broken.startswith(f"git log of {repository.path} ended early: ")
