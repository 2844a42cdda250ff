"""The peers, each a child process in their own environment, with the same messages and the same model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingesting.figures import Figures, rate
from memorybase.core.embedding.source import find_source
from memorybase.core.errors import EnvironmentFailure

SCRIPTS = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 600.0
WARM = 5  # messages before the clock starts


@dataclass(frozen=True)
class Peer:
    """`messages`: at most so many of those that memorybase gets. A rate needs no more, and one of them is slow."""

    name: str
    script: str
    messages: int


PEERS = (Peer("langchain", "peer_langchain.py", 600), Peer("mem0", "peer_mem0.py", 200))


class Peers:
    """Those that are installed; none where the environment is missing."""

    def __init__(self, environment: Path, model: str) -> None:
        self._python = environment / "bin" / "python"
        self.installed = self._python.exists()
        self.versions: dict[str, str] = {}  # of those that were measured
        self._model = find_source(model).folder

    def measure(self, name: str, texts: Sequence[str], size: int | None) -> dict[str, Figures]:
        """What each makes of these texts in calls of `size`, or in one call."""
        return {peer.name: self._measure(peer, name, texts, size) for peer in PEERS} if self.installed else {}

    def _measure(self, peer: Peer, name: str, texts: Sequence[str], size: int | None) -> Figures:
        messages = [
            {"role": ("user", "assistant")[index % 2], "content": text}
            for index, text in enumerate(texts[: peer.messages])
        ]
        width = size or len(messages)
        calls = [messages[index : index + width] for index in range(0, len(messages), width)]
        warm = [{"role": "user", "content": f"warm {number}"} for number in range(WARM)]
        answer = self._run(peer, {"model": str(self._model), "warm": warm, "work": {name: calls}})
        done = answer["work"][name]
        self.versions |= answer["versions"]
        return {
            "messages": done["messages"],
            "stored": done["stored"],
            "messages_per_second": rate(done["messages"], done["seconds"]),
        }

    def _run(self, peer: Peer, work: Mapping[str, object]) -> Figures:
        # -E: what leads Python to memorybase's packages must not lead the peers there.
        done = subprocess.run(
            [str(self._python), "-E", str(SCRIPTS / peer.script)],
            input=json.dumps(work),
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise EnvironmentFailure(f"{peer.script} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        return figures
