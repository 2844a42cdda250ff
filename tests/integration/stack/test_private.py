"""What a stack keeps is not readable by other users of the machine."""

from __future__ import annotations

import stat
from pathlib import Path

from memorybase.stack.private import KEPT, OTHERS, tighten


def modes(directory: Path) -> dict[str, int]:
    found = [directory, *directory.rglob("*")]
    return {str(path.relative_to(directory)): stat.S_IMODE(path.lstat().st_mode) for path in found}


def filled(directory: Path) -> None:
    for name in (each.replace("*", "") for each in KEPT):
        (directory / name).mkdir(parents=True)
        (directory / name / "file").write_text("a message")
        (directory / name / "file").chmod(0o644)
        (directory / name).chmod(0o755)
    (directory / "logs" / "run.sh").write_text("")
    (directory / "logs" / "run.sh").chmod(0o775)
    directory.chmod(0o755)


def test_a_data_directory_with_wide_permissions_is_tightened_and_named(tmp_path: Path) -> None:
    filled(directory := tmp_path / "data")
    reported: list[str] = []

    tighten(directory, reported.append)

    assert not {name for name, mode in modes(directory).items() if mode & OTHERS}
    assert modes(directory)["logs/run.sh"] == 0o700
    assert len(reported) == 1
    assert str(directory) in reported[0]
    tighten(directory, reported.append)
    assert len(reported) == 1, "it says so once"


def test_other_files_in_the_data_directory_are_left_alone(tmp_path: Path) -> None:
    filled(directory := tmp_path / "project")
    (directory / "mine.txt").write_text("x")
    (directory / "mine.txt").chmod(0o644)
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    (directory / "logs" / "link").symlink_to(outside)
    reported: list[str] = []

    tighten(directory, reported.append)

    wide = {name for name, mode in modes(directory).items() if mode & OTHERS}
    assert wide == {".", "mine.txt", "logs/link"}
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
    assert "its own mode is kept" in reported[-1]
