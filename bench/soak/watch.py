"""Health compared with the truth: every second, does it say what really works?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import httpx
import psutil
from chaos.clients import Kept
from chaos.cluster import KEY

LOOK_SECONDS = 1.0
CALL_SECONDS = 10.0  # the API answers after 5 that it is overloaded
# Health may take this long to notice a fault, and to notice that it is over.
NOTICE_SECONDS = 60.0
FLOW = "probe"
MEMORY_SECONDS = 10.0


@dataclass
class Truth:
    """What has failed since when, by what is tried and by what health says. Times are monotonic; a thing has failed
    since its first failure after its last success."""

    failing_since: dict[str, float] = field(default_factory=dict)
    alarm_since: float | None = None  # health is not fine while everything that is tried works

    def note(self, what: str, works: bool, now: float) -> None:
        if works:
            self.failing_since.pop(what, None)
        else:
            self.failing_since.setdefault(what, now)

    def note_health(self, fine: bool, now: float) -> None:
        if fine or self.failing_since:
            self.alarm_since = None
        elif self.alarm_since is None:
            self.alarm_since = now

    def long_failing(self, now: float) -> list[str]:
        return [what for what, since in self.failing_since.items() if now - since > NOTICE_SECONDS]

    def long_alarmed(self, now: float) -> bool:
        return self.alarm_since is not None and now - self.alarm_since > NOTICE_SECONDS


class HealthWatch(threading.Thread):
    """Captures, searches and follows one message a second on a memory base of its own, and reads the readiness."""

    def __init__(self, url: str, base_id: str, note: Callable[[str], None]) -> None:
        super().__init__(name="health-watch", daemon=True)
        self.looks = 0
        self.silent: list[str] = []  # seconds in which something failed and health was fine
        self.false_alarms: list[str] = []  # seconds in which health had not been fine for long though all worked
        self.kept: dict[str, Kept] = {}
        self.said: str = ""
        self._base_id = base_id
        self._note = note
        self._http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=CALL_SECONDS
        )
        self._ended = threading.Event()
        self._truth = Truth()
        self._processed = 0
        self._progressed = time.monotonic()
        self._unanswered: str | None = None

    def run(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self.look()

    def stop(self) -> None:
        """End, after the last capture was answered."""
        self._ended.set()
        self.join()
        while self._unanswered is not None:
            self._capture()
        self._http.close()

    def look(self) -> None:
        self._truth.note("capture", self._capture(), time.monotonic())
        self._truth.note("search", self._search(), time.monotonic())
        self._truth.note("ingestion", self._ingests(), time.monotonic())
        fine, said = self._health()
        if said != self.said:
            self._note(f"health: {said}")
            self.said = said
        now = time.monotonic()
        self._truth.note_health(fine, now)
        if fine and (failing := self._truth.long_failing(now)):
            self.silent.append(f"{', '.join(failing)} failed, and health said {said}")
            self._note(f"SILENT {self.silent[-1]}")
        if self._truth.long_alarmed(now):
            self.false_alarms.append(said)
            self._note(f"FALSE ALARM {said}")
        self.looks += 1

    def _capture(self) -> bool:
        """One message, with the same id again until it is acknowledged."""
        message_id = self._unanswered or str(uuid4())
        content = f"probe {message_id}"
        body = {
            "session_id": "probe",
            "run_id": message_id,
            "messages": [{"id": message_id, "role": "user", "content": content}],
        }
        self._unanswered = message_id
        answer = self._call("POST", f"/flows/{FLOW}/runs", body)
        if answer is None or answer.status_code not in {200, 201}:
            return False
        self._unanswered = None
        self.kept[message_id] = Kept(FLOW, "probe", "user", content)
        return True

    def _search(self) -> bool:
        """Whether it was answered; that others search at the moment is an answer too, and no part has failed."""
        answer = self._call("POST", f"/memories/{self._base_id}/search", {"query": "harbour"})
        return answer is not None and (
            answer.status_code == httpx.codes.OK or answer.json()["error"]["code"] == "overloaded"
        )

    def _ingests(self) -> bool:
        """Whether a message of any memory base was ingested lately. A message waits in each second, this watch's own;
        a backlog that gets shorter is no failure."""
        answer = self._call("GET", "/memories", None)
        if answer is not None and answer.status_code == httpx.codes.OK:
            processed = sum(base["total_processed"] for base in answer.json()["items"])
            if processed != self._processed:
                self._processed, self._progressed = processed, time.monotonic()
        return time.monotonic() - self._progressed < NOTICE_SECONDS / 2

    def _health(self) -> tuple[bool, str]:
        answer = self._call("GET", "/health/ready", None)
        if answer is None:
            return False, "no answer"
        body = answer.json()
        if answer.status_code == httpx.codes.OK:
            return body["status"] == "ready", f"{body['status']} {body.get('reason') or ''}".strip()
        return False, body["error"]["message"]

    def _call(self, method: str, path: str, body: object) -> httpx.Response | None:
        try:
            return self._http.request(method, path, json=body)
        except httpx.TransportError:
            return None


class MemoryWatch(threading.Thread):
    """The resident memory of each child every ten seconds, in MB."""

    def __init__(self, pids: Callable[[], dict[str, int]]) -> None:
        super().__init__(name="memory-watch", daemon=True)
        self.samples: dict[str, list[float]] = {}
        self._pids = pids
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(MEMORY_SECONDS):
            for name, pid in self._pids().items():
                try:
                    used = psutil.Process(pid).memory_info().rss / 2**20
                except psutil.Error:
                    continue  # it is being restarted
                self.samples.setdefault(name, []).append(round(used, 1))

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def quarters(self) -> dict[str, list[float]]:
        """For each child the largest value of each quarter of the run."""
        found = {}
        for name, values in self.samples.items():
            size = max(1, len(values) // 4)
            found[name] = [max(values[start : start + size]) for start in range(0, 4 * size, size) if values[start:]]
        return found
