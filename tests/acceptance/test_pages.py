"""What the README, the tutorial and the how-to guides tell a reader to run: each page alone, on an empty stack."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.distiller import plain, serving
from harness.pages import PAGES, Reader
from harness.stack import KEY, ROOT, EmbeddedStack, run_memorybase
from shown import Block, blocks_of

from memorybase.stack.state import DataDir

# Lines or whole blocks that contain one of these do not run here, each with the reason.
NOT_RUN = {
    "make up": "the stack of the test runs already",
    "docker compose": "needs Docker",
    "pip install": "changes the environment of the tests",
    "claude mcp add": "needs Claude Code",
    "memorybase up": "the stack of the test runs already",
    "clients/dify/package.py": "a file of the repository; tests/integration/clients runs it",
    "iptables": "changes the machine",
    "MEMORYBASE_DATABASE_URL=postgresql": "settings of services elsewhere",
    "memorybase doctor --data-dir /srv/memory": "a directory of the reader's",
    "MEMORYBASE_ALLOWED_EMBEDDING_MODELS": "a setting for the start of the stack",
    "MEMORYBASE_EMBEDDING": "a setting for the start of the stack",
    "MEMORYBASE_SUMMARIZER": "a setting for the start of the stack",
    "MEMORYBASE_DISTILLER": "a setting for the start of the stack",
    '"embedding_model": "BAAI': "downloads a model",
    "DEAD_LETTER": "a healthy stack has no dead letter; tests/integration/ingestion covers these calls",
    "--labels": "needs marked results; tests/integration/features/lab covers it",
    "questions.jsonl": "needs judged questions; tests/integration/cli covers these commands",
    "export.zip": "needs an export of another system; tests/integration/clients/importers covers these commands",
    "langflow.db": "needs another system; tests/integration/clients/importers covers it",
    "uv tool": "installs a tool",
    "pipx ": "installs a tool",
    "--from": "needs an export of another system; tests/integration/clients/importers covers these commands",
    "npm ": "installs tools; `make check-n8n` and `make check-typescript` run their pages",
    "npx ": "downloads a generator; tests/acceptance/test_generators.py runs it",
    "--undo": "needs weights that were tuned; tests/integration/cli covers it",
    "memorybase hooks": "changes the settings of the reader's agents; tests/integration/integrations covers it",
    "memorybase_client.integrations": "needs a framework; `make check-frameworks` runs it",
    "OTEL_": "settings of another application; tests/integration/api/test_traces.py sends what it would",
    "promtool": "needs Prometheus; tests/integration/operations/test_dashboards.py runs it",
    "session_memory": "needs records, a node and services; tests/integration/conversation covers these calls",
}
# Their Python runs in tests/integration/conversation/test_readers_pages.py, over services of its own.
READERS_PAGES = {"dify.md", "splox.md", "flowx.md"}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A reader with one stack for all pages, which is emptied before each."""
    stack = EmbeddedStack(tmp_path_factory.mktemp("stack"))
    with serving(plain) as model:  # of the page on facts
        stack.changes = {"MEMORYBASE_DISTILLER": "openai", "MEMORYBASE_SUMMARIZER_URL": model.url}
        try:
            stack.start()
            (stack.data / "api_key").write_text(f"{KEY}\n")
            # A worker that has loaded its model, so that `?wait=30` of a page suffices.
            run_memorybase("sample", "--data-dir", str(stack.data)).check_returncode()
            running = DataDir(stack.data).running()
            assert running is not None
            known = {
                "MEMORYBASE_DATA_DIR": str(stack.data),
                "MEMORYBASE_REDIS_URL": running.redis_url,
                "MEMORYBASE_CHROMA_URL": running.chroma_url,
                "MEMORYBASE_URL": stack.url,
            }
            yield Reader(stack, tmp_path_factory.mktemp("reader"), known)
        finally:
            stack.close()


def runnable(page: Path) -> list[Block]:
    """The page's blocks without what is marked above."""
    found = []
    for block in blocks_of(page):
        if block.language == "python":
            if page.name not in READERS_PAGES and not any(mark in block.code for mark in NOT_RUN):
                found.append(block)
        else:
            whole = "\\\n" in block.code or "{" in block.code
            units = [block.code] if whole else block.code.splitlines()
            kept = "\n".join(unit for unit in units if not any(mark in unit for mark in NOT_RUN))
            found += [Block("sh", kept)] if kept.strip() else []
    return found


def read(reader: Reader, page: Path) -> list[str]:
    """Run the page as in a new terminal; returns what each block printed."""
    reader.new_terminal()
    try:
        return [reader.run(block) for block in runnable(page)]
    finally:
        reader.close_clients()


def answers_in(printed: str) -> list[Any]:
    """The JSON answers of one or several calls."""
    found, at = [], 0
    while printed.startswith("{", at):
        answer, at = json.JSONDecoder().raw_decode(printed, at)
        found.append(answer)
    return found


@pytest.mark.slow
class TestOnePageAtATime:
    """Each page runs alone: with an empty stack, and nothing of a page before."""

    def test_the_tutorial_prints_what_it_says(self, reader: Reader) -> None:
        reader.new_page()
        printed = read(reader, ROOT / "docs/tutorial.md")
        answers = [answer for text in printed for answer in answers_in(text)]
        captured = next(answer for answer in answers if "ingestion" in answer)
        first, later = (answer["results"][0] for answer in answers if "results" in answer)
        (flushed,) = (answer for answer in answers if "jobs" in answer)
        (sessions,) = (answer["items"] for answer in answers if "items" in answer)
        (compared,) = (answer for answer in answers if "expected" in answer)
        step_4 = {"pending_messages": 2, "pending_capped": False, "job_id": None}
        assert step_4.items() <= captured["ingestion"][0].items()
        assert (first["content"], first["pending"]) == ("I am allergic to peanuts.", True)
        assert [(job["session_id"], job["state"]) for job in flushed["jobs"]] == [("anna-1", "done")]
        assert ([session["state"] for session in sessions], compared["mismatch"]) == (["synced"], False)
        assert (later["content"], later["pending"]) == ("I am allergic to peanuts.", False)
        assert any("I am allergic to peanuts." in text for text in printed if text.startswith("score"))

    @pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in PAGES])
    def test_the_page_runs_and_prints_what_it_says_twice_if_it_has_python(self, reader: Reader, page: str) -> None:
        reader.new_page()
        for _ in range(2 if any(block.language == "python" for block in runnable(ROOT / page)) else 1):
            read(reader, ROOT / page)


# What a page names


def undefined_variables(page: Path) -> Iterator[str]:
    defined: set[str] = set()
    for block in blocks_of(page):
        if block.language == "sh":
            for line in block.code.splitlines():
                for name in re.findall(r"\$\{?([A-Z_]+)", re.sub(r"'[^']*'", "", line)):  # of the shell, not of awk
                    if name not in defined and f"{name}=" not in line:
                        yield f"{page.name} uses ${name} before it defines it: {line}"
                defined.update(re.findall(r"\b([A-Z_]+)=", line))


def test_each_variable_is_defined_before_its_page_uses_it() -> None:
    problems = [problem for page in PAGES for problem in undefined_variables(page)]
    assert not problems, "\n".join(problems)


def test_a_variable_has_one_meaning_on_all_pages(subtests: pytest.Subtests) -> None:
    code = [(page.name, block.code) for page in PAGES for block in blocks_of(page) if block.language == "sh"]
    for name in ("API", "KEY", "AUTH", "JSON"):
        with subtests.test(name):
            meaning = re.compile(rf'\b{name}=("[^"]*"|\$\([^)]*\)|\S+)')
            meanings = {found: page for page, block in code for found in meaning.findall(block)}
            assert len(meanings) == 1, meanings


def test_each_reason_not_to_run_something_is_still_needed() -> None:
    code = "\n".join(block.code for page in PAGES for block in blocks_of(page))
    assert [mark for mark in NOT_RUN if mark not in code] == []
