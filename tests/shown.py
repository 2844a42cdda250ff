"""What a page shows: its blocks of code, and what it says that they print. Of the standard library alone, since the
tests of adapters run in other environments than the server's."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^( *)```(sh|python)\n(.*?)^ *```\n(?:\n *```text\n(.*?)^ *```)?", flags=re.MULTILINE | re.DOTALL)
_VARIES = re.compile(r"…|\d{4}-\d\d-\d\d|0\.\d{3}")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page, without the indentation of a list. `printed`: the text that the page shows right below."""

    language: str
    code: str
    printed: str | None = None

    def run(self, names: dict[str, Any]) -> str:
        """Run Python, and return what it prints, which must be what the page says."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(self.code, "a block of Python", "exec"), names)
        if self.printed is not None:
            assert matches(self.printed, printed.getvalue()), f"{self.code}\nprinted:\n{printed.getvalue()}"
        return printed.getvalue()


def blocks_of(page: Path) -> list[Block]:
    return [
        Block(language, re.sub(f"^{indent}", "", code, flags=re.MULTILINE), printed or None)
        for indent, language, code, printed in _BLOCK.findall(page.read_text(encoding="utf-8"))
    ]


def without(block: Block, names: Iterable[str]) -> Block:
    """The block without the lines that import or assign one of these names, which the test has for itself."""
    code = block.code
    for name in names:
        code = re.sub(rf"^(from \S+ import {name}|{name} = .*)\n", "", code, flags=re.MULTILINE)
    return replace(block, code=code)


def matches(said: str, printed: str) -> bool:
    """Whether this is what the page says; dates and scores vary, and … stands for anything."""
    pattern = ".*".join(re.escape(part) for part in _VARIES.split(said.strip()))
    return re.fullmatch(pattern, printed.strip(), flags=re.DOTALL) is not None


def reply(read: str) -> str:
    """What a scripted model answers that has read this: it knows the berth if it was told."""
    if "?" not in read:
        return "Noted."
    return "Your boat lies at berth 12." if "My boat lies at berth 12." in read else "I do not know."
