"""`memorybase top` against the served API: in a terminal, in a pipe, once, and while the API is away."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from harness.api import Api
from harness.served import Door, serve_app
from harness.stack import environment, memorybase
from harness.terminal import ENTER_SCREEN, LEAVE_SCREEN, SHOW_CURSOR, terminal
from typer.testing import CliRunner

from memorybase import cli

pytestmark = pytest.mark.slow

NAME = "the notes of support"


@dataclass
class Watched:
    """A memory base with two pending messages, behind a door."""

    api: Api
    door: Door
    url: str

    def words(self, *options: str) -> list[str]:
        return memorybase("top", "--url", self.url, "--key", self.api.secret, "--interval", "0.2", *options)


@pytest.fixture
def watched(api: Api) -> Iterator[Watched]:
    api.flow()
    api.memory(NAME, capture="all", threshold=100)
    api.capture("the harbour is open", "the harbour is closed")
    door = Door(api.client.app)
    with serve_app(door) as (port, _):
        yield Watched(api, door, f"http://127.0.0.1:{port}")


def test_once_prints_what_is_pending_and_exits(watched: Watched) -> None:
    result = CliRunner().invoke(cli.app, watched.words("--once")[3:])

    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    lines = result.output.splitlines()
    assert next(line for line in lines if line.startswith(NAME)).split()[5:6] == ["2"]
    assert "OUTAGE" not in result.output
    # The parts of the test's API: there is no worker and no sweeper.
    assert "NOT READY" in result.output
    assert "worker FAILING" in result.output


def test_once_during_an_outage_is_an_error(watched: Watched) -> None:
    watched.door.is_shut = True
    done = subprocess.run(
        watched.words("--once"), capture_output=True, text=True, timeout=60, env=environment(), check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: Too much work")


@pytest.mark.parametrize("how", ["q", "ctrl-c", "terminated"])
def test_an_outage_keeps_the_figures_with_their_age_and_the_terminal_is_left_clean(watched: Watched, how: str) -> None:
    with terminal(watched.words(), environment() | {"TERM": "xterm-256color"}) as opened:
        opened.read_until(NAME)
        watched.door.is_shut = True
        during = opened.read_until("OUTAGE: no answer for")
        during += opened.read_until(NAME)
        assert "The figures below are" in during
        watched.door.is_shut = False
        opened.read_until("NOT READY")
        if how == "terminated":
            opened.process.send_signal(signal.SIGTERM)
        else:
            opened.press(b"q" if how == "q" else b"\x03")

        assert opened.wait() == (128 + signal.SIGTERM if how == "terminated" else 0)
        assert opened.attributes_now() == opened.attributes
        assert opened.written.count(ENTER_SCREEN) == 1
        assert "Traceback" not in opened.written
        assert SHOW_CURSOR in opened.written.rpartition(ENTER_SCREEN)[2]
        assert opened.written.rindex(LEAVE_SCREEN) > opened.written.rindex(NAME)


def test_it_fits_a_small_terminal_without_colour(watched: Watched) -> None:
    surroundings = environment() | {"TERM": "xterm", "NO_COLOR": "1"}
    with terminal(watched.words(), surroundings, rows=12, columns=40) as opened:
        text = opened.read_until("the notes")
        opened.press(b"q")
        assert opened.wait() == 0
    assert [line for line in text.split("\n") if len(line) > 40] == []
    assert "[31m" not in opened.written


@pytest.mark.parametrize("term", ["dumb", None])
def test_without_a_usable_terminal_it_prints_a_block_for_each_look(watched: Watched, term: str | None) -> None:
    if term is None:
        words = ["env", "--default-signal=INT", *watched.words()]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment())
        assert process.stdout is not None
        seen = ""
        while seen.count(NAME) < 2:
            seen += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        process.stdout.close()
    else:
        with terminal(watched.words(), environment() | {"TERM": term}) as opened:
            seen = opened.read_until(NAME)
            opened.read_until(NAME)
            opened.press(b"\x03")
            assert opened.wait() == 0
            assert ENTER_SCREEN not in opened.written
    assert "\x1b" not in seen


def test_a_wrong_key_ends_it(watched: Watched) -> None:
    words = [*memorybase("top"), "--url", watched.url, "--key", "wrong"]
    with terminal(words, environment() | {"TERM": "xterm"}) as opened:
        assert opened.wait() == 1
    assert "error: " in opened.written
    assert opened.written.rindex(LEAVE_SCREEN) < opened.written.rindex("error: ")


def test_a_key_for_one_flow_sees_its_memory_bases_and_no_figures_of_others(watched: Watched) -> None:
    body = {"name": "limited", "scopes": ["read"], "flow_ids": ["support"]}
    secret = watched.api.post("/keys", body, expect=201)["secret"]
    result = CliRunner().invoke(cli.app, ["top", "--once", "--interval", "0.1", "--url", watched.url, "--key", secret])
    assert result.exit_code == 0, result.output
    assert NAME in result.output
    assert "pending    - messages due, the oldest -" in result.output


def test_the_api_names_the_process_that_counts_captures(api: Api) -> None:
    assert "\nmemorybase_messages_captured_created " in api.call("GET", "/metrics").text
