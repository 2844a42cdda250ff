"""Commands that a person copies: into a shell such as bash, on Windows into PowerShell."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import PurePath

_PLAIN = re.compile(r"[\w:\\./+=-]+")


def quoted(word: str) -> str:
    """The word of a command; on Windows as cmd reads it too."""
    if sys.platform == "win32":
        return word if _PLAIN.fullmatch(word) else f'"{word}"'
    return shlex.quote(word)


def export_path(folder: PurePath) -> str:
    """Put the folder before what is on the PATH."""
    if sys.platform == "win32":
        return f'$env:PATH = "{folder};$env:PATH"'
    return f"export PATH={shlex.quote(str(folder))}:$PATH"


def export(name: str, file: PurePath) -> str:
    """Set the variable to what a file holds."""
    if sys.platform == "win32":
        return f"$env:{name} = Get-Content {quoted(str(file))}"
    return f"export {name}=$(cat {shlex.quote(str(file))})"
