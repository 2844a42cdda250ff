"""`memorybase mcp`: the same tools over standard input and output, in a child process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness.mcp import ERAS, McpClient, Served
from harness.process import claim_port
from harness.stack import environment, memorybase, run_memorybase
from mcp import StdioServerParameters

pytestmark = pytest.mark.slow  # each test starts a process, which imports the SDK


def started(url: str, key: str, *options: str, era: str = ERAS[0]) -> McpClient:
    command, *words = memorybase("mcp", "--url", url, "--key", key, *options)
    return McpClient(StdioServerParameters(command=command, args=words, env=environment()), era=era)


@pytest.mark.parametrize("era", ERAS)
def test_a_child_process_serves_the_tools(served: Served, era: str) -> None:
    client = started(served.url, served.api.secret, "--flow", "support", era=era)

    found = client.call("search_memory", query="green fence", top_k=1)["results"]
    stored = client.call("remember", content="The staging server is called heron.")

    assert [hit["content"] for hit in found] == ["The fence is green."]
    assert served.api.get(f"/messages/{stored['message_ids'][0]}")["session_id"] == "notes"


def test_the_options_limit_the_scope(served: Served) -> None:
    anna = started(served.url, served.api.secret, "--flow", "support", "--end-user", "anna")

    found = anna.call("search_memory", query="fence", top_k=50)["results"]

    assert [hit["content"] for hit in found] == ["Anna's fence is white."]
    assert "no session" in anna.refused("forget_memory", session_id="house", confirm=True)


def test_a_wrong_key_is_an_error(served: Served) -> None:
    assert "unauthorized" in started(served.url, "wrong", "--flow", "support").refused("search_memory", query="fence")


def test_an_api_that_does_not_answer_is_an_error() -> None:
    port, claim = claim_port()
    with claim:
        client = started(f"http://127.0.0.1:{port}", "key", "--flow", "support")
        error = client.refused("search_memory", query="fence")

    assert "Memory is unavailable: nothing answers" in error


def test_without_a_stack_it_ends_with_an_error(tmp_path: Path) -> None:
    done = run_memorybase("mcp", "--data-dir", str(tmp_path))

    assert done.returncode == 1
    assert done.stderr.startswith("error: No stack is running in")
    assert done.stdout == ""


def test_it_ends_with_its_input_and_writes_nothing_else_to_its_output(served: Served) -> None:
    done = subprocess.run(
        memorybase("mcp", "--url", served.url, "--key", served.api.secret),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(), timeout=60, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "")


def test_without_the_extra_it_says_what_to_install() -> None:
    script = 'import sys; sys.modules["mcp"] = None; from memorybase.cli import main; main()'
    done = subprocess.run(
        [sys.executable, "-c", script, "mcp"],
        capture_output=True, text=True, env=environment(), timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "pip install 'memorybase[mcp]'" in done.stderr
