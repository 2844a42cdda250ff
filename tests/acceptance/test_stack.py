"""The embedded stack as users see it: one command, five processes, one data directory."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from harness import running
from harness.stack import KEY, NAMES, ROOT, EmbeddedStack, environment, memorybase, processes_of, run_memorybase
from harness.waiting import wait_until
from memorybase_client import AgentMemory, local_stack
from memorybase_client.local_stack import LocalStack

from memorybase.core.auth import api_keys

pytestmark = pytest.mark.slow  # processes are started and stopped

RESTART_SECONDS = 120.0


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """A stack for tests that do not stop it."""
    with running(EmbeddedStack(tmp_path_factory.mktemp("stack"))) as stack:
        yield stack


@pytest.fixture
def worn(warm: EmbeddedStack) -> EmbeddedStack:
    """The same running stack, for tests that stop or kill it; tests of `warm` run first."""
    if not warm.running:
        warm.start()
    return warm


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedStack]:
    """A stack for one test, not started yet."""
    stack = EmbeddedStack(tmp_path)
    stack.data.mkdir(mode=0o700)  # else the stack notes first that it takes rights from others
    with closing(stack):
        yield stack


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def killed_at_the_end(process: subprocess.Popen[str]) -> Iterator[None]:
    """Else a failed assertion would wait for ever for a process that nobody has stopped."""
    try:
        yield
    finally:
        process.kill()


class TestRunning:
    def test_when_it_says_ready_every_part_answers(self, warm: EmbeddedStack) -> None:
        answer = httpx.get(f"{warm.url}/health/ready", trust_env=False, timeout=60)
        assert answer.status_code == 200, answer.text
        assert all(alive(warm.child(name)) for name in NAMES)

    def test_the_api_accepts_only_the_key_of_the_stack(self, warm: EmbeddedStack) -> None:
        def status(key: str) -> int:
            headers = {"Authorization": f"Bearer {key}"}
            return httpx.get(f"{warm.url}/v1/memories", headers=headers, trust_env=False, timeout=60).status_code

        assert status(KEY) == 200
        assert status("mb_another") == 401

    def test_the_api_believes_no_caller_that_it_came_over_https(self, warm: EmbeddedStack) -> None:
        answer = httpx.get(
            f"{warm.url}/health/live", headers={"X-Forwarded-Proto": "https"}, trust_env=False, timeout=60
        )
        assert "strict-transport-security" not in answer.headers

    def test_other_commands_find_it_by_its_directory(self, warm: EmbeddedStack) -> None:
        result = run_memorybase("doctor", "--data-dir", str(warm.data))
        assert result.returncode == 0, result.stdout
        assert "failed" not in result.stdout

    def test_it_prints_a_sign_in_link_and_a_command_creates_another(self, warm: EmbeddedStack) -> None:
        begins = f"{warm.url}/ui/enter?token="
        printed = wait_until(lambda: re.search(r"^sign in: (.+)$", warm.output(), re.MULTILINE), what="the link")[1]
        result = run_memorybase("sign-in", "--data-dir", str(warm.data), "--key", KEY)
        links = [printed, result.stdout.strip()]
        assert all(link.startswith(begins) for link in links), result.stderr
        with closing(sqlite3.connect(warm.data / "memorybase.db")) as database:
            kept = {token_hash for (token_hash,) in database.execute("SELECT token_hash FROM web_tickets")}
        assert {api_keys.hash_of(link.removeprefix(begins)) for link in links} == kept

    def test_redis_and_chroma_are_on_the_loopback_and_redis_asks_for_a_password(self, warm: EmbeddedStack) -> None:
        for name in ("redis", "chroma"):
            sockets = psutil.Process(warm.child(name)).net_connections(kind="tcp")
            listening = [found.laddr.ip for found in sockets if found.status == psutil.CONN_LISTEN]
            assert listening == ["127.0.0.1"]
        configuration = warm.data / "run" / "redis.conf"
        assert "requirepass " in configuration.read_text()
        assert configuration.stat().st_mode & 0o077 == 0

    def test_a_second_stack_in_the_same_directory_is_refused(self, warm: EmbeddedStack) -> None:
        result = run_memorybase("up", "--port", "0", "--data-dir", str(warm.data))
        assert result.returncode == 1
        assert result.stderr.startswith("error: A stack is already running in ")
        assert warm.url in result.stderr
        assert warm.ready()

    def test_a_taken_port_is_named_and_nothing_is_started(self, warm: EmbeddedStack, tmp_path: Path) -> None:
        result = run_memorybase("up", "--port", str(warm.port), "--data-dir", str(tmp_path / "new"))
        assert result.returncode == 1
        assert f"Port {warm.port} on 127.0.0.1 is taken by the stack in {warm.data} ({warm.url})" in result.stderr
        assert not (tmp_path / "new").exists()

    @pytest.mark.slow
    @pytest.mark.parametrize("name", NAMES)
    def test_a_killed_child_is_restarted(self, warm: EmbeddedStack, name: str) -> None:
        killed = warm.child(name)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: _another(warm, name, killed), RESTART_SECONDS, f"another {name}")
        wait_until(warm.ready, RESTART_SECONDS, "ready again")
        assert not alive(killed)


class TestCommands:
    def test_an_import_is_ingested_searched_and_changes_nothing_the_second_time(self, warm: EmbeddedStack) -> None:
        sample = ROOT / "memorybase" / "samples" / "conversation.jsonl"
        words = ("import", str(sample), "--flow", "imported", "--url", warm.url, "--key", KEY)
        first, second = run_memorybase(*words), run_memorybase(*words)
        assert first.stdout.splitlines() == [
            "1 flow, 4 sessions, 34 runs, 68 messages: 68 new, 0 already there",
            "memory base imported: 68 ingested, 0 dead letters",
        ]
        assert second.stdout.splitlines() == [
            "1 flow, 4 sessions, 34 runs, 68 messages: 0 new, 68 already there",
            "memory base imported: 68 ingested, 0 dead letters",
        ]
        words = ("search", "a greyhound that steals", "--memory", "imported", "--url", warm.url, "--key", KEY)
        found = run_memorybase(*words)
        assert "Biscuit" in found.stdout.splitlines()[2], found.stdout + found.stderr  # after the turn before

    def test_an_error_for_an_unknown_memory_base_lists_the_existing_ones(self, warm: EmbeddedStack) -> None:
        result = run_memorybase("search", "q", "--memory", "missing", "--url", warm.url, "--key", KEY)
        assert result.returncode == 1
        assert result.stderr.startswith("error: There is no memory base named missing. Existing: ")
        assert "Traceback" not in result.stderr

    def test_a_key_works_until_it_is_revoked(self, warm: EmbeddedStack) -> None:
        here = ("--data-dir", str(warm.data))
        secret = run_memorybase("keys", "create", "mine", *here).stdout.strip()
        row = next(line.split() for line in run_memorybase("keys", "list", *here).stdout.splitlines() if "mine" in line)
        search = ("search", "q", "--memory", "missing", "--url", warm.url, "--key", secret)
        assert "no memory base" in run_memorybase(*search).stderr
        assert run_memorybase("keys", "revoke", row[0], *here).returncode == 0
        # The API keeps a valid key for a second.
        wait_until(lambda: "valid API key" in run_memorybase(*search).stderr, RESTART_SECONDS, "the key is refused")

    def test_a_single_sweep_prints_what_it_did(self, warm: EmbeddedStack) -> None:
        result = run_memorybase("sweep", "--once", "--data-dir", str(warm.data))
        assert result.returncode == 0, result.stderr
        assert "requeued: 0" in result.stdout


class TestEnding:
    def test_a_restart_keeps_the_data_and_does_not_kill_foreign_processes(self, worn: EmbeddedStack) -> None:
        """A stale pid file names its id, as after a restart of the machine."""
        headers = {"Authorization": f"Bearer {KEY}"}
        flow = f"{worn.url}/v1/flows/kept"
        httpx.put(flow, json={"name": "kept"}, headers=headers, trust_env=False, timeout=60)
        worn.stop()
        bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
        try:
            (worn.data / "run" / "worker.pid").write_text(str(bystander.pid))
            worn.start()
            assert bystander.poll() is None
        finally:
            bystander.kill()
            bystander.wait()
        assert worn.ready()
        assert httpx.get(flow, headers=headers, trust_env=False, timeout=60).json()["name"] == "kept"

    @pytest.mark.slow
    def test_the_next_start_ends_processes_of_a_killed_supervisor(self, worn: EmbeddedStack) -> None:
        left = [worn.child(name) for name in NAMES]
        worn.kill()
        assert all(alive(pid) for pid in left)
        worn.start()
        assert not any(alive(pid) for pid in left)
        assert worn.ready()

    def test_a_stop_ends_everything(self, worn: EmbeddedStack) -> None:
        assert len(processes_of(worn.data)) >= len(NAMES)
        os.kill(worn.pid, signal.SIGTERM)
        assert worn.wait() == 0
        assert processes_of(worn.data) == []
        assert list((worn.data / "run").glob("*.pid")) == []
        assert not (worn.data / "run" / "stack.json").exists()
        stopped = [line.removeprefix("stopping ") for line in worn.output().splitlines() if "stopping" in line]
        assert stopped[-len(NAMES) :] == list(reversed(NAMES))

    @pytest.mark.slow
    def test_captures_go_on_while_the_worker_keeps_crashing(self, own: EmbeddedStack) -> None:
        """The stack names the worker, and ingests what was captured once it stays up."""
        sabotage = own.directory / "sabotage"
        sabotage.mkdir()
        code = "import os, sys\nif 'celery' in sys.orig_argv:\n print('no worker today', flush=True)\n os._exit(7)"
        (sabotage / "sitecustomize.py").write_text(code)
        own.changes = {"PYTHONPATH": f"{sabotage}{os.pathsep}{ROOT}"}
        own.launch()
        line = f"not ready: worker; captures are accepted at {own.url}"
        wait_until(lambda: line in own.output(), own.start_seconds, "captures are accepted")
        with httpx.Client(
            base_url=own.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=60
        ) as client:
            client.put("/v1/flows/f", json={"name": "f"}).raise_for_status()
            made = client.post("/v1/memories", json={"name": "b", "flow_id": "f", "threshold": 1})
            message = {"role": "assistant", "content": "captured without a worker"}
            captured = client.post("/v1/flows/f/runs", json={"session_id": "s", "messages": [message]})
            assert (made.status_code, captured.status_code) == (201, 201)
            assert client.get("/health/ready").json()["error"]["details"]["failing"] == ["worker"]
            assert "worker exited with status 7, 3 times in a row" in own.output()
            assert "the last line: no worker today" in own.output()
            (sabotage / "sitecustomize.py").unlink()
            wait_until(lambda: f"ready {own.url}" in own.output().splitlines(), RESTART_SECONDS, "the stack is ready")
            base = f"/v1/memories/{made.json()['id']}"
            wait_until(lambda: client.get(base).json()["total_processed"] == 1, RESTART_SECONDS, "it is ingested")

    @pytest.mark.slow
    def test_a_child_that_keeps_dying_ends_the_stack_with_its_log(self, own: EmbeddedStack) -> None:
        (own.data / "chroma").write_text("a file where Chroma wants its directory")
        result = subprocess.run(
            memorybase("up", "--port", "0", "--data-dir", str(own.data)),
            capture_output=True,
            text=True,
            timeout=120,
            env=environment(),
            check=False,
        )
        assert result.returncode == 1
        assert result.stderr.startswith("error: chroma exited with status ")
        assert str(own.data / "logs" / "chroma.log") in result.stderr
        assert processes_of(own.data) == []

    def test_a_stop_while_it_starts_ends_everything(self, own: EmbeddedStack) -> None:
        with (
            subprocess.Popen(
                memorybase("up", "--port", "0", "--data-dir", str(own.data)),
                stdout=subprocess.PIPE,
                text=True,
                env=environment(),
            ) as starting,
            killed_at_the_end(starting),
        ):
            assert starting.stdout is not None
            assert starting.stdout.readline().startswith("starting redis")
            starting.send_signal(signal.SIGINT)
            assert starting.wait(60) == 0
        assert processes_of(own.data) == []

    def test_clients_of_its_user_find_it(self, own: EmbeddedStack, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("MEMORYBASE_URL", "MEMORYBASE_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("XDG_STATE_HOME", str(own.state))
        own.start()
        local_stack.note(LocalStack("http://127.0.0.1:9", "a key", str(own.data / "ended")))
        wait_until(lambda: (local_stack.find() or LocalStack("", "")).url == own.url)

        with AgentMemory("support", timeout_seconds=60) as memory:
            memory.capture("monday", [{"role": "user", "content": "The boat lies at berth 12."}])
            memory.flush()
            assert [each.content for each in memory.messages("monday") or []] == ["The boat lies at berth 12."]
        own.stop()

        assert local_stack.find() is None

    def test_a_stack_of_a_command_ends_when_the_command_is_killed(self, own: EmbeddedStack) -> None:
        """Its standard input closes, and its output has no reader."""
        with (
            subprocess.Popen(
                memorybase("up", "--with-parent", "--port", "0", "--data-dir", str(own.data)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(),
            ) as kept,
            killed_at_the_end(kept),
        ):
            assert kept.stdin is not None
            assert kept.stdout is not None
            wait_until((own.data / "run" / "chroma.pid").exists, 30, "its first children")
            kept.stdout.close()
            kept.stdin.close()
            assert kept.wait(60) == 0
        assert processes_of(own.data) == []


class TestDoctor:
    def test_doctor_without_a_stack_says_in_one_line_how_to_start_it(self, tmp_path: Path) -> None:
        missing = tmp_path / "none"
        result = run_memorybase("doctor", "--data-dir", str(missing))
        assert result.returncode == 1
        assert result.stderr == ""
        assert result.stdout.splitlines() == [
            f"No stack is running in {missing}. Start it with: memorybase up --data-dir {missing}"
        ]
        assert not missing.exists()


def _another(stack: EmbeddedStack, name: str, old: int) -> bool:
    path = stack.data / "run" / f"{name}.pid"
    return path.exists() and int(path.read_text()) != old
