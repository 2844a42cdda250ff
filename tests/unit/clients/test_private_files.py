"""One writer for files that hold keys: the client's, the stack's and the hooks'."""

from __future__ import annotations

import os
import sys
import time
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


def test_line_ends_are_written_as_they_are(tmp_path: Path) -> None:
    write_private(tmp_path / "settings", "a\r\nb\n")

    assert (tmp_path / "settings").read_bytes() == b"a\r\nb\n"


def test_on_windows_it_waits_until_a_reader_has_closed_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, refused = os.replace, iter([True, True, False])

    def replace_later(source: str, target: str) -> None:
        if next(refused):
            raise PermissionError(13, "Access is denied")
        replace(source, target)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(os, "replace", replace_later)
    write_private(tmp_path / "key", "new")

    assert (tmp_path / "key").read_text() == "new"
