"""The peers, each a child process in their own environment, with the same messages and the same model."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingesting.figures import Figures, after_kills, left, rate
from memorybase.core.embedding.source import find_source
from memorybase.core.errors import EnvironmentFailure

SCRIPTS = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 600.0
WARM = 5  # messages before the clock starts
QUESTIONS = [f"What was said about the harbour in week {number}?" for number in range(20)]
KILLED_CALL = 10  # messages


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
        answer = self._run(
            peer, {"model": str(self._model), "warm": warm, "questions": QUESTIONS, "work": {name: calls}}
        )
        done = answer["work"][name]
        self.versions |= answer["versions"]
        return {
            "messages": done["messages"],
            "stored": done["stored"],
            "messages_per_second": rate(done["messages"], done["seconds"]),
            "search_p50_ms": done["search_ms"],
            "most_rss_mb": answer["rss_mb"],
        }

    def kill(self, texts: Sequence[str], times: int) -> dict[str, Figures]:
        """What kills during calls of ten leave in each, after the call that was not acknowledged was repeated."""
        found = {}
        for peer in PEERS if self.installed else ():
            dice = random.Random(23)
            found[peer.name] = after_kills([self._killed(peer, texts, dice) for _ in range(times)])
        return found

    def _killed(self, peer: Peer, texts: Sequence[str], dice: random.Random) -> Figures:
        calls = [
            [{"role": "user", "content": text} for text in texts[index : index + KILLED_CALL]]
            for index in range(0, len(texts), KILLED_CALL)
        ]
        with tempfile.TemporaryDirectory(prefix="memorybase-peer-") as directory:
            work = {"model": str(self._model), "directory": directory}
            acknowledged = self._until_killed(peer, work | {"calls": calls}, dice)
            held: list[str] = self._run(peer, work | {"calls": calls[acknowledged:]})["texts"]
        return left(texts, held, acknowledged * KILLED_CALL)

    def _until_killed(self, peer: Peer, work: Mapping[str, object], dice: random.Random) -> int:
        """The number of calls that it acknowledged before it was killed during the next."""
        with subprocess.Popen(self._command(peer), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            if child.stdin is None or child.stdout is None:
                raise EnvironmentFailure(f"{peer.script} has no pipes")
            child.stdin.write(json.dumps(work))
            child.stdin.close()
            child.stdout.readline()
            began, calls = time.monotonic(), dice.randint(2, 6)
            for _ in range(calls):
                child.stdout.readline()
            time.sleep(dice.random() * (time.monotonic() - began) / calls)
            child.send_signal(signal.SIGKILL)
            return 1 + calls + len(child.stdout.read().splitlines())

    def _command(self, peer: Peer) -> list[str]:
        # -E: what leads Python to memorybase's packages must not lead the peers there.
        return [str(self._python), "-E", str(SCRIPTS / peer.script)]

    def _run(self, peer: Peer, work: Mapping[str, object]) -> Figures:
        done = subprocess.run(
            self._command(peer),
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
