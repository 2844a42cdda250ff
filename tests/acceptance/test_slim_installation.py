"""API, worker and sweeper of a slim installation, with a model that was exported elsewhere.

`make check-slim` installs the wheel and requirements-slim.txt and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness import ChromaServer, PostgresServer
from harness.process import PortServer, Server
from harness.waiting import wait_until

from memorybase.core.embedding.exported import export_into
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source
from memorybase.core.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
SLIM = ROOT / ".venv-slim"
KEY = "mb_key_of_the_slim_installation"
PATIENCE = 90.0  # seconds, on a loaded machine
MAX_MEGABYTES = 600
# As docker-compose.yml, the Helm chart and the systemd units confine a service: of all file systems only its folder
# is writable, no capabilities, no way to gain any, and no memory that is writable and executable.
CONFINED = """
mount --make-rprivate / && mount --bind "$1" "$1" && mount -o remount,bind,ro / || exit 70
folder=$1; shift; cd "$folder"
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""
WITHOUT_WRITABLE_CODE = """
import ctypes, os, sys
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)  # kernels before 6.3 refuse
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    assert (SLIM / ".installed").exists(), "run: make check-slim"


class Service(PortServer):
    """A process of the slim installation, outside the repository; the API listens on the port."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str], *words: str) -> None:
        self.name = name
        super().__init__(folder)
        self._words, self._environment = words, environment

    def command(self) -> list[str]:
        port = ("--port", str(self.port)) if self.name == "api" else ()
        command = [str(SLIM / "bin" / self._words[0]), *self._words[1:], *port]
        # The tests' PostgreSQL listens on a socket of another user, which a root without capabilities cannot open.
        confined = "MEMORYBASE_DATABASE_URL" not in self._environment
        return [*confinement(self.directory), *command] if confined else command

    def environment(self) -> dict[str, str]:
        return self._environment

    def popen_options(self) -> dict[str, Any]:
        return {"cwd": self.directory}

    def answers(self) -> bool:
        return self.running  # the API's readiness waits for the heartbeats of worker and sweeper


def confinement(folder: Path) -> list[str]:
    """The words before a command that confine it, where the test may; elsewhere none."""
    if os.geteuid() or sys.platform != "linux":
        return []
    python = str(SLIM / "bin" / "python")
    return ["unshare", "--mount", "sh", "-c", CONFINED, "sh", str(folder), python, "-c", WITHOUT_WRITABLE_CODE]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    export_into(folder, Settings(data_dir=folder), find_source(DEFAULT_MODEL), "int8")
    return folder


@pytest.fixture(params=["chroma", "pgvector"])
def environment(
    request: pytest.FixtureRequest, tmp_path: Path, models: Path, redis_url: str, postgres_server: PostgresServer
) -> dict[str, str]:
    """Of every process: nothing but settings, so that no source of the repository is imported."""
    chosen = {
        "MEMORYBASE_DATA_DIR": str(tmp_path / "data"),
        "MEMORYBASE_MODEL_DIR": str(models),
        "MEMORYBASE_API_KEY": KEY,
        "MEMORYBASE_REDIS_URL": redis_url,
        "MEMORYBASE_VECTOR_STORE": request.param,
        "MEMORYBASE_LOG_FORMAT": "json",
    }
    if request.param == "chroma":
        server: ChromaServer = request.getfixturevalue("chroma_server")
        chosen["MEMORYBASE_CHROMA_URL"] = server.url
    else:
        chosen["MEMORYBASE_DATABASE_URL"] = postgres_server.url(postgres_server.create_database())
    (tmp_path / "tmp").mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")} | chosen


def run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(SLIM / "bin" / words[0]), *words[1:]]
    return subprocess.run(
        command, env=environment, cwd=environment["HOME"], check=False, text=True, capture_output=True, timeout=120
    )


@pytest.fixture
def client(environment: dict[str, str], tmp_path: Path) -> Iterator[httpx.Client]:
    """Of a migrated and ready installation."""
    migrated = run(environment, "memorybase", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    worker = ("celery", "-A", "worker.app", "worker", "--pool", "solo", "--without-mingle", "--without-gossip")
    with ExitStack() as cleanup:
        api = Service("api", tmp_path, environment, "python", "-m", "api")
        services: list[Server] = [
            api,
            Service("worker", tmp_path, environment, *worker),
            Service("sweeper", tmp_path, environment, "memorybase", "sweep"),
        ]
        for service in services:
            cleanup.callback(service.close)
            service.start()
        url = f"http://127.0.0.1:{api.port}"
        wait_until(lambda: ready(url), PATIENCE, "every part works")
        headers = {"Authorization": f"Bearer {KEY}"}
        yield cleanup.enter_context(httpx.Client(base_url=f"{url}/v1", headers=headers, trust_env=False, timeout=60))


def ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/ready", trust_env=False, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def call(client: httpx.Client, method: str, path: str, body: Any = None, **query: str) -> Any:
    answer = client.request(method, path, json=body, params=query)
    assert answer.is_success, answer.text
    return answer.json()


def test_it_ingests_and_searches(client: httpx.Client) -> None:
    call(client, "PUT", "/flows/support", {"name": "support"})
    base = call(client, "POST", "/memories", {"name": "m", "flow_id": "support", "capture": "all"})["id"]
    said = [{"role": "user", "content": text} for text in ("My boat is called Albatross.", "It rains in Oslo.")]
    call(client, "POST", "/flows/support/runs", {"session_id": "s", "messages": said})
    (job,) = call(client, "POST", f"/memories/{base}/flush", wait="60")["jobs"]
    assert job["state"] == "done"

    body = {"query": "What is the ship's name?", "mode": "dense", "include_pending": False}
    found = call(client, "POST", f"/memories/{base}/search", body)["results"]
    assert found[0]["content"] == said[0]["content"]
    assert httpx.get(client.base_url.join("/ui/sign-in"), trust_env=False, timeout=60).status_code == 200


def test_it_is_small_and_has_neither_torch_nor_kubernetes() -> None:
    listed = subprocess.run(
        [SLIM / "bin" / "pip", "list", "--format", "json"], check=True, text=True, capture_output=True
    ).stdout
    names = {each["name"] for each in json.loads(listed)}
    assert not names & {"torch", "sentence-transformers", "transformers", "kubernetes", "onnx", "scipy"}
    size = sum(path.lstat().st_size for path in SLIM.rglob("*") if path.is_file())
    assert size < MAX_MEGABYTES * 1_000_000


@pytest.mark.parametrize("environment", ["chroma"], indirect=True)
def test_what_it_cannot_do_names_what_to_install(environment: dict[str, str], tmp_path: Path) -> None:
    up = run(environment | {"PATH": str(SLIM / "bin")}, "memorybase", "up", "--port", "0")
    assert up.returncode == 1
    assert up.stderr.startswith("error: No redis-server was found")

    exported = run(environment, "memorybase", "export-model", str(tmp_path / "elsewhere"))
    assert exported.returncode == 1
    assert "lacks onnx, safetensors" in exported.stderr
