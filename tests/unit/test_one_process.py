"""What one process needs is on every system. What Python lacks on Windows, `make types` finds."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.rows import each_row

from memorybase import one_process
from memorybase.cli import stack
from memorybase.core import errors

ROOT = Path(__file__).parents[2]
SOURCES = ("api", "clients/python/src/memorybase_client", "memorybase", "migrations", "worker")
POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
# Who may: what hides it from others, or runs where the stack of several processes runs.
ALLOWED = {
    "api/file_limit.py": {"resource"},
    "clients/python/src/memorybase_client/coding_agents/spool.py": {"start_new_session"},
    "clients/python/src/memorybase_client/file_lock.py": {"fcntl"},
    "memorybase/core/file_lock.py": {"fcntl"},
    "memorybase/stack/child.py": {"start_new_session"},
    "memorybase/stack/processes.py": {"start_new_session"},
    "memorybase/stack/run.py": {"add_reader", "add_signal_handler", "start_new_session"},
    "worker/process.py": {"os.kill", "/proc"},
}
# os.kill(pid, 0) ends the process on Windows; the loop of Windows has neither signal handlers nor readers.
REFUSED_CALLS = {"os.kill", "os.rename", "add_reader", "add_signal_handler", "add_writer"}
TEXT_MODE = re.compile(r"[rwax]\+?t?")
ENCODING = "text without encoding="
PROGRAM = """
import sys
import memorybase.__main__, memorybase.cli, memorybase.one_process, memorybase.cli.sweep, memorybase.wiring
import api.app, api.server, api.web.site, worker.thread, memorybase.core.vectors.chroma_in_process
import memorybase.core.database.migrate, memorybase.core.embedding.export, memorybase.core.auth.api_keys
from memorybase import features
features.hooks()
for found in ("celery", "kombu", "redis"):
    if found in sys.modules:
        sys.exit(f"{found} is loaded")
print("all loaded")
"""


def test_it_loads_no_redis() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.endswith("all loaded\n"), done.stderr


def found_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What behaves differently on Windows or is missing there, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            names = [module or ""] if module else [each.name for each in node.names]
            yield from ((node.lineno, name) for name in names if name in POSIX)
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in found_in_call(node))
        elif isinstance(node, ast.FormattedValue) and node.format_spec and "%-" in ast.unparse(node.format_spec):
            yield node.lineno, "%-"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/proc/"):
            yield node.lineno, "/proc"


def found_in_call(call: ast.Call) -> Iterator[str]:
    options = {each.arg: each.value for each in call.keywords}
    text = ast.unparse(call.func)
    name = text.rpartition(".")[2]
    yield from ({text, name} & REFUSED_CALLS) | (options.keys() & {"preexec_fn", "start_new_session"})
    if name == "strftime" and any("%-" in ast.unparse(each) for each in call.args):
        yield "%-"
    mode = next((each.value for each in call.args[text == "open" :][:1] if isinstance(each, ast.Constant)), None)
    is_text = bool(TEXT_MODE.fullmatch(str(mode))) if mode is not None else text == "open" and len(call.args) < 2
    reads = len(call.args) <= {"read_text": 0, "write_text": 1}.get(name, -1)
    opens = name in {"open", "fdopen", "NamedTemporaryFile"} and is_text and not text.startswith("os.open")
    decodes = isinstance(decoding := options.get("text"), ast.Constant) and decoding.value is True
    if "encoding" not in options and (reads or opens or decodes):
        yield ENCODING


@each_row(
    ("source", "found"),
    [
        ("import fcntl", ["fcntl"]),
        ("def f():\n    from resource import getrlimit", ["resource"]),
        ("os.kill(pid, 0)", ["os.kill"]),
        ("asyncio.get_running_loop().add_reader(0, read)", ["add_reader"]),
        ("Popen(command, start_new_session=True)", ["start_new_session"]),
        ("open(path)", [ENCODING]),
        ("path.open('w')", [ENCODING]),
        ("path.read_text()", [ENCODING]),
        ("path.write_text(text)", [ENCODING]),
        ("subprocess.run(command, text=True)", [ENCODING]),
        ("f'{day:%-d %b}'", ["%-"]),
        ("Path('/proc/self')", ["/proc"]),
        ("path.open('rb'), open(path, 'wb'), path.read_text(encoding='utf-8'), archive.open(info), os.open(a, b)", []),
    ],
)
def test_what_is_refused(source: str, found: list[str]) -> None:
    assert [what for _, what in found_in(ast.parse(source))] == found


def test_the_source_needs_nothing_that_windows_lacks() -> None:
    files = [file for folder in SOURCES for file in sorted((ROOT / folder).rglob("*.py"))]
    found = [
        f"{name}:{line}: {what}"
        for file in files
        for line, what in found_in(ast.parse(file.read_text(encoding="utf-8")))
        if what not in ALLOWED.get(name := file.relative_to(ROOT).as_posix(), ())
    ]
    assert len(files) > 500
    assert not found, "\n".join(found)


class TestWindows:
    """Redis and forks of processes are missing there."""

    def test_up_is_one_process(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[Path] = []
        monkeypatch.setattr(sys, "platform", "win32")
        monkeypatch.setattr(one_process, "run_one_process", lambda data_dir, *_, **__: started.append(data_dir))
        stack.up(data_dir=tmp_path)

        assert started == [tmp_path]

    def test_the_demo_says_what_to_do_instead(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "platform", "win32")
        with pytest.raises(errors.NotReady, match="memorybase sample"):
            stack.demo()

    def test_output_that_is_no_console_is_utf_8(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", PRINTED], env={"PYTHONIOENCODING": "cp1252"}, capture_output=True, check=True
        )
        assert done.stdout.decode().strip() == "日本"


PRINTED = f"""
import sys
sys.path[:0] = {sys.path!r}
from memorybase import cli
sys.platform = "win32"
cli.app = lambda: print("\\u65e5\\u672c")
cli.main()
"""
