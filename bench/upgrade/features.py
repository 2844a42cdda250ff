"""What only a new version may know: used while it runs alone, left to the old one, and looked at in the end."""

from __future__ import annotations

import time

import httpx
from chaos.run import http_client
from harness.receiver import Receiver

from upgrade.rollout import Rollout

RETAIN_DAYS = 3_650
DELIVERY_SECONDS = 60.0
HELD = {"flow_id": "held", "reason": "Claim 4711"}


class Features:
    """Retention, a legal hold, a paused memory base, a limited key and a webhook."""

    def __init__(self, rollout: Rollout, bases: dict[str, str], receiver: Receiver) -> None:
        self._rollout = rollout
        self._paused = bases["flow-1"]
        self._receiver = receiver
        self._secret = ""

    def use(self) -> None:
        """Through an API of the new version."""
        url = {"url": f"{self._receiver.url}/hook", "event_types": ["job.completed"]}
        limited = {"name": "limited", "scopes": ["read", "write"], "flow_ids": ["flow-0"]}
        with http_client(self._rollout.urls[0]) as client:
            client.put("/flows/held", json={"name": "held"}).raise_for_status()
            client.post("/holds", json=HELD).raise_for_status()
            client.patch("/flows/flow-0", json={"retain_days": RETAIN_DAYS}).raise_for_status()
            client.patch(f"/memories/{self._paused}", json={"paused": True}).raise_for_status()
            client.post("/webhooks", json=url).raise_for_status()
            self._secret = client.post("/keys", json=limited).raise_for_status().json()["secret"]

    def beyond_limits(self) -> list[str]:
        """A version that may not know the limits of a key must not take it for one without limits."""
        headers = {"Authorization": f"Bearer {self._secret}"}
        query = {"flow_id": "flow-1"}
        answers = [
            httpx.get(f"{url}/messages", params=query, headers=headers, trust_env=False, timeout=30)
            for url in self._rollout.urls
        ]
        return [
            f"a key for flow-0 asked for flow-1 and got {answer.status_code}: {answer.text[:200]}"
            for answer in answers
            if answer.status_code not in {401, 403, 404}
        ]

    def end(self) -> list[str]:
        """What was set is still set. The memory base is resumed: then everything can come to rest."""
        with http_client(self._rollout.urls[0]) as client:
            holds = client.get("/holds").raise_for_status().json()
            flow = client.get("/flows/flow-0").raise_for_status().json()
            base = client.get(f"/memories/{self._paused}").raise_for_status().json()
            client.patch(f"/memories/{self._paused}", json={"paused": False}).raise_for_status()
        kept = {
            "the legal hold": [each["reason"] for each in holds["items"]] == [HELD["reason"]],
            "retain_days": flow["retain_days"] == RETAIN_DAYS,
            "the pause": base["paused_at"] is not None,
        }
        return [f"{what} was lost" for what, is_kept in kept.items() if not is_kept]

    def undelivered(self) -> list[str]:
        """At rest: the webhook received something, and nothing waits any more."""
        with http_client(self._rollout.urls[0]) as client:
            (hook,) = client.get("/webhooks").raise_for_status().json()["items"]
            path, query = f"/webhooks/{hook['id']}/deliveries", {"state": "pending"}
            deadline = time.monotonic() + DELIVERY_SECONDS
            while waiting := client.get(path, params=query).raise_for_status().json()["total"]:
                if time.monotonic() > deadline:
                    return [f"{waiting} deliveries still wait"]
                time.sleep(0.2)
        return [] if self._receiver.requests else ["the webhook received nothing"]
