"""`memorybase-mcp` and `memorybase mcp`: the same tools over standard input and output, in a child process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness.mcp import ERAS, McpClient
from harness.process import claim_port
from harness.served import Served
from harness.stack import environment, memorybase, run_memorybase
from mcp import StdioServerParameters

pytestmark = pytest.mark.slow  # each test starts a process, which imports the SDK

SLIM = [sys.executable, "-m", "memorybase_client.mcp"]


def slim_environment(key: str, **variables: str) -> dict[str, str]:
    return environment() | {"MEMORYBASE_API_KEY": key} | variables


def slim(url: str, key: str, *options: str, era: str = ERAS[0]) -> McpClient:
    command, *words = [*SLIM, "--url", url, *options]
    return McpClient(StdioServerParameters(command=command, args=words, env=slim_environment(key)), era=era)


def of_the_server(url: str, key: str, *options: str, era: str = ERAS[0]) -> McpClient:
    command, *words = memorybase("mcp", "--url", url, "--key", key, *options)
    return McpClient(StdioServerParameters(command=command, args=words, env=environment()), era=era)


@pytest.mark.parametrize(("started", "era"), [(slim, ERAS[0]), (slim, ERAS[1]), (of_the_server, ERAS[0])])
def test_a_child_process_serves_the_tools(served: Served, started: Any, era: str) -> None:
    client = started(served.url, served.api.secret, "--flow", "support", era=era)

    found = client.call("search_memory", query="green fence", top_k=1)["results"]
    stored = client.call("remember", content="The staging server is called heron.")

    assert [hit["content"] for hit in found] == ["The fence is green."]
    assert served.api.get(f"/messages/{stored['message_ids'][0]}")["session_id"] == "notes"


@pytest.mark.parametrize("started", [slim, of_the_server])
def test_the_options_limit_the_scope(served: Served, started: Any) -> None:
    anna = started(served.url, served.api.secret, "--flow", "support", "--end-user", "anna")

    found = anna.call("search_memory", query="fence", top_k=50)["results"]

    assert [hit["content"] for hit in found] == ["Anna's fence is white."]
    assert "no session" in anna.refused("forget_memory", session_id="house", confirm=True)


def test_the_environment_limits_the_scope(served: Served) -> None:
    served.api.flow("other")
    variables = {"MEMORYBASE_FLOW": "support", "MEMORYBASE_END_USER": "anna", "MEMORYBASE_URL": served.url}
    command, *words = SLIM
    server = StdioServerParameters(command=command, args=words, env=slim_environment(served.api.secret, **variables))

    found = McpClient(server).call("search_memory", query="fence", top_k=50)["results"]

    assert [hit["content"] for hit in found] == ["Anna's fence is white."]


def test_a_wrong_key_is_an_error_that_does_not_show_it(served: Served) -> None:
    error = slim(served.url, "mb_wrong_key", "--flow", "support").refused("search_memory", query="fence")

    assert "unauthorized" in error
    assert "mb_wrong_key" not in error


@pytest.mark.parametrize("started", [slim, of_the_server])
def test_an_api_that_does_not_answer_is_an_error(started: Any) -> None:
    port, claim = claim_port()
    with claim:
        error = started(f"http://127.0.0.1:{port}", "key", "--flow", "support").refused("search_memory", query="fence")

    assert "Memory is unavailable: No answer from http://127.0.0.1" in error


@pytest.mark.parametrize("command", [SLIM, memorybase("mcp")])
def test_an_unknown_flow_ends_the_start_with_the_flows_that_exist(served: Served, command: list[str]) -> None:
    environment_ = slim_environment(served.api.secret, MEMORYBASE_URL=served.url)
    done = subprocess.run(
        [*command, "--flow", "nosuch"], env=environment_, input="", text=True, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: There is no flow 'nosuch'. This key has 1 flow: support\n"


def test_without_a_stack_it_ends_with_an_error(tmp_path: Path) -> None:
    done = run_memorybase("mcp", "--data-dir", str(tmp_path))

    assert done.returncode == 1
    assert done.stderr.startswith("error: No stack is running in")
    assert done.stdout == ""


def test_it_ends_with_its_input_and_writes_nothing_but_the_protocol(served: Served, tmp_path: Path) -> None:
    key_file = tmp_path / "api_key"
    key_file.write_text(f"{served.api.secret}\n")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    calls: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "search_memory", "arguments": {"query": "fence"}}},
        {"id": 3, "method": "tools/call", "params": {"name": "correct_memory", "arguments": {}}},
    ]
    with subprocess.Popen(
        [*SLIM, "--url", served.url, "--key-file", str(key_file)],
        env=environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers = []
        for call in calls:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **call}) + "\n")
            server.stdin.flush()
            if "id" in call:
                answers.append(json.loads(server.stdout.readline()))
        rest, said = server.communicate(timeout=60)

    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[1]["result"]["structuredContent"]["results"]
    assert answers[2]["result"]["isError"]
    assert (server.returncode, rest) == (0, "")
    assert served.api.secret not in json.dumps(answers) + said
