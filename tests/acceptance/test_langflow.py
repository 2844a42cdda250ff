"""The template for Langflow as its command runs it, `lfx run`, against an embedded stack that is killed in between.

`make check-langflow` installs lfx and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from harness import running
from harness.langflow import CLIENT, MODEL, MODEL_CODE, PATIENT, ROOT, TEMPLATE, Request, node_of, prepared
from harness.process import run
from harness.stack import KEY, EmbeddedStack

pytestmark = [pytest.mark.slow, pytest.mark.tools]

Lfx = Callable[..., str]


@pytest.fixture(scope="module")
def python(request: pytest.FixtureRequest) -> Path:
    """The interpreter whose environment has lfx."""
    found = Path(request.config.getoption("--langflow-python") or ROOT / ".venv-langflow" / "bin" / "python")
    assert found.exists(), "run: make check-langflow"
    return found.absolute()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    with running(EmbeddedStack(tmp_path_factory.mktemp("stack"))) as stack:
        yield stack


@pytest.fixture
def say(python: Path, stack: EmbeddedStack, tmp_path: Path) -> Lfx:
    """Runs the template in a process of its own. In place of the model's answer it prints the model's prompt."""
    fields = {"url": stack.url, "api_key": KEY, "end_user": "me", "flow": "harbour"}
    flow = prepared(Request("", fields, fields, {}), PATIENT)
    node_of(flow, MODEL)["code"]["value"] = MODEL_CODE.replace(".splitlines()[-1]", "")
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(flow))

    def say(text: str, session: str) -> str:
        return run(python.parent / "lfx", "run", file, text, "--session-id", session, "-f", "text")

    return say


def test_what_one_session_said_another_recalls_also_after_the_stack_was_killed(say: Lfx, stack: EmbeddedStack) -> None:
    assert "Nothing was found in the memory." in say("My boat lies at berth 12.", "s1")
    assert "user: My boat lies at berth 12." in say("Where is my boat?", "s2")
    api = stack.child("api")
    stack.kill()
    os.kill(api, signal.SIGKILL)
    away = say("Where is my raft?", "s3")
    assert "You said: " in away
    assert "The memory could not be searched. Answer without it." in away
    stack.start()
    assert "user: My boat lies at berth 12." in say("Where does my boat lie?", "s4")
    with httpx.Client(base_url=f"{stack.url}/v1", headers={"X-API-Key": KEY}, trust_env=False, timeout=60) as client:
        found = client.get("/messages", params={"flow_id": "harbour", "role": "user"}).json()["items"]
    assert {each["session_id"] for each in found} == {"s1", "s2", "s4"}


def test_the_template_is_what_its_script_writes(python: Path, tmp_path: Path) -> None:
    written = tmp_path / TEMPLATE.name
    run(python, CLIENT / "template.py", written)
    assert json.loads(written.read_text()) == json.loads(TEMPLATE.read_text())
