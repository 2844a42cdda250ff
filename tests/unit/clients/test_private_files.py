"""One writer for files that hold keys: the client's, the stack's and the hooks'."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from memorybase_client.private_files import write_private


def test_a_file_is_replaced_whole_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("old")
    file.chmod(0o644)
    with file.open() as reader:
        write_private(file, "new")
        assert reader.read() == "old"

    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_a_stated_mode_is_kept_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_private(tmp_path / "settings", "x", mode=0o644)
    finally:
        os.umask(before)

    assert (tmp_path / "settings").stat().st_mode & 0o777 == 0o644


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "link"
    (tmp_path / "real").mkdir()
    link.symlink_to(tmp_path / "real" / "file")
    write_private(link, "text")

    assert link.is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "text"


def test_a_failure_leaves_the_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    (tmp_path / "key").write_text("old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_private(tmp_path / "key", "new")

    assert [each.name for each in tmp_path.iterdir()] == ["key"]
    assert (tmp_path / "key").read_text() == "old"
