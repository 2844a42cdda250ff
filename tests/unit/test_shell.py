from __future__ import annotations

import sys
from pathlib import Path, PureWindowsPath

import pytest
from harness.rows import each_row

from memorybase.core import shell


@each_row(
    ("platform", "word", "written"),
    [
        ("linux", "/data/it's here", "'/data/it'\"'\"'s here'"),
        ("linux", "/data", "/data"),
        ("win32", r"C:\Users\Ann Lee\data", r'"C:\Users\Ann Lee\data"'),
        ("win32", r"C:\data", r"C:\data"),
    ],
)
def test_a_word_is_quoted_for_the_shell_of_the_system(
    platform: str, word: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    assert shell.quoted(word) == written


def test_variables_are_set_as_the_shell_of_the_system_does(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("/opt/my venv")
    assert shell.export_path(folder) == "export PATH='/opt/my venv':$PATH"
    assert shell.export("KEY", folder / "key") == "export KEY=$(cat '/opt/my venv/key')"

    monkeypatch.setattr(sys, "platform", "win32")
    windows = PureWindowsPath(r"C:\my venv")
    assert shell.export_path(windows) == r'$env:PATH = "C:\my venv;$env:PATH"'
    assert shell.export("KEY", windows / "key") == r'$env:KEY = Get-Content "C:\my venv\key"'
