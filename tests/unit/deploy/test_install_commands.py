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


def test_each_way_to_name_the_index_is_found_and_no_folder_or_file() -> None:
    wrong = """\
pip install memorybase
.venv/bin/python -m pip --quiet install -U 'memorybase[mcp]>=0.1'
Run `pip install memorybase-server`.
raise Error("The extra is missing: pip install "
    f"'memorybase[docs]'")
["pip", "install", "memorybase-client"]
{"command": "uvx", "args": ["memorybase-mcp"]}
uv tool install --python 3.12 memorybase-server
uvx --from memorybase-client[mcp] memorybase-mcp
pipx run --spec=memorybase memorybase up
npm install --save memorybase-client@0.1.0
npx -y memorybase-client
| LangGraph | `memorybase[langgraph]` | 11 lines |
"""
    lines = {*range(1, len(wrong.splitlines()) + 1)} - {5}  # the fifth is found where its command begins
    assert lines <= found_in(wrong).keys()
    right = """\
pip install '.[mcp]' && memorybase up
pip install './clients/python[mcp]'
pip uninstall memorybase
pip install --no-deps -r requirements-slim.txt memorybase_server-0.1.0-py3-none-any.whl
uvx --from . memorybase up
{"command": "uvx", "args": ["--from", "/path/to/clients/python[mcp]", "memorybase-mcp"]}
npm install ../memorybase/clients/typescript/memorybase-client-0.1.0.tgz
npm --prefix clients/n8n ci
"""
    assert found_in(right) == {}
