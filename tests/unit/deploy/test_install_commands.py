"""No text tells a reader to install memorybase from a package index, where its name is another project's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = ("tests/", "clients/python/tests/", "clients/typescript/tests/")

# An installer and its arguments: in a shell, a sentence, a list of Python or an "args" of JSON.
COMMAND = re.compile(
    r"(?:pip[3x]?(?: +-\S+)* +(?:install|inject|run|download|wheel)|uvx|uv +(?:add|tool +(?:install|run))"
    r"|uv +run +--with|npm +(?:i|install|add|exec)|npx|bunx|(?:pnpm|yarn|bun)(?: +global)? +(?:add|install|dlx))"
    r"\s+([^\n`;|&()<\\]*)"
)
# A line that goes on, in a shell and as the next literal of Python: spaces instead, as many.
CONTINUED = re.compile(r"\\\n|[\"'] *\n *f?[\"']")
# A file's name would have a suffix, a path a slash.
REQUIREMENT = re.compile(r"(?:n8n-nodes-)?memorybase(?:-[a-z]+)*(?:\[[^]]*])?(?:[=<>~!@;]\S*)?[.:]?")
# After one of these stands the package, and the program's own name is no requirement.
NAMES_THE_PACKAGE = re.compile(r"--(?:from|spec)[ =]+(\S+)")
WITH_EXTRA = re.compile(r"(?<![\w./-])memorybase(?:-[a-z]+)?\[[a-z][a-z, -]*]")


def found_in(text: str) -> dict[int, str]:
    """What would install memorybase from an index, and its name with an extra, by the line."""
    found = {match.start(): match[0] for match in WITH_EXTRA.finditer(text)}
    joined = CONTINUED.sub(lambda gap: " " * len(gap[0]), text)
    joined = joined.replace('"', " ").replace("'", " ").replace(",", " ")
    for command in COMMAND.finditer(joined):
        words = NAMES_THE_PACKAGE.findall(command[1]) or command[1].split()
        if any(REQUIREMENT.fullmatch(word) for word in words):
            found[command.start()] = " ".join(command[0].split())
    return {text.count("\n", 0, start) + 1: found[start] for start in sorted(found, reverse=True)}


def texts() -> Iterator[tuple[str, str]]:
    """Every text that git tracks or would, except those of tests."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout.splitlines():
        content = b"" if name.startswith(TESTS) or not (ROOT / name).is_file() else (ROOT / name).read_bytes()
        if b"memorybase" in content and b"\0" not in content:
            yield name, content.decode()


def test_no_text_tells_to_install_memorybase_from_an_index() -> None:
    found = [f"{name}:{line}: {what}" for name, text in texts() for line, what in found_in(text).items()]
    assert not found, "until a release exists, install a folder or a file instead:\n" + "\n".join(found)
