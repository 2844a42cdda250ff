from __future__ import annotations

import http.client
import sys
from pathlib import Path

from harness.process import PortServer
from memorybase.core.vectors.chroma_database import write_ahead
from memorybase.core.vectors.store import VectorStore
from memorybase.stack.children import CHROMA, CHROMA_ENVIRONMENT


class ChromaServer(PortServer):
    """`chroma run` as the stack starts it, its data in `<directory>/data`."""

    name = "chroma"

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def command(self) -> list[str]:
        chroma = (sys.executable, "-c", CHROMA)
        return [*chroma, "run", "--host", self.host, "--port", str(self.port), "--path", str(self.data)]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), **CHROMA_ENVIRONMENT, "ANONYMIZED_TELEMETRY": "False"}

    def launch(self) -> None:
        write_ahead(self.data, on=False)
        super().launch()

    def answers(self) -> bool:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=1)
        try:
            connection.request("GET", "/api/v2/heartbeat")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def delete_collections_of(store: VectorStore, base_id: str) -> None:
    """Delete every collection of a memory base, so that there is a mismatch."""
    for each in store.list_collections():
        if each.ref.name.startswith(f"mb-{base_id}-"):
            store.delete_collection(each.ref.name)
