"""RabbitMQ, one node with an epmd of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path

from harness.process import STOP_SECONDS, PortServer, claim_port

# Not the one on PATH, which changes to another account.
PROGRAM = next(
    filter(None, (shutil.which("rabbitmq-server", path=path) for path in ("/usr/lib/rabbitmq/bin", None))), None
)
EPMD = shutil.which("epmd")
INSTALLED = bool(PROGRAM and EPMD)


class EpmdServer(PortServer):
    """Erlang's port mapper, without which no node starts; a node would start one that outlives it."""

    name = "epmd"

    def command(self) -> list[str]:
        return [str(EPMD), "-port", str(self.port), "-address", self.host]

    def answers(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=1):
                return True
        except OSError:
            return False


class RabbitServer(PortServer):
    """It keeps its durable queues over restarts, with the messages that are persistent."""

    name = "rabbitmq"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        (directory / "epmd").mkdir()
        (directory / "plugins").write_text("[].")
        self._epmd = EpmdServer(directory / "epmd")
        self._node_port, self._node_claim = claim_port()

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{self.host}:{self.port}//"

    def command(self) -> list[str]:
        return [str(PROGRAM)]

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.directory),  # of the cookie
            "ERL_EPMD_PORT": str(self._epmd.port),
            "RABBITMQ_NODENAME": f"memorybase{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": self.host,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_CONFIG_FILE": str(self.directory / "none"),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.directory / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "RABBITMQ_PID_FILE": str(self.directory / "pid"),
            "RUNNING_UNDER_SYSTEMD": "true",  # the script becomes the node, instead of watching it
        }

    def launch(self) -> None:
        if not self._epmd.running:
            self._epmd.start()
        super().launch()

    def answers(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as connection:
                connection.sendall(b"AMQP\x00\x00\x09\x01")
                return connection.recv(1) == b"\x01"  # its first method
        except OSError:
            return False

    def kill(self) -> None:
        # With its helpers.
        os.killpg(self.pid, signal.SIGKILL)
        self._wait(STOP_SECONDS)

    def close(self) -> None:
        super().close()
        self._epmd.close()
        self._node_claim.close()
