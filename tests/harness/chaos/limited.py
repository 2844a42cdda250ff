"""A client whose key has a quota of messages: it captures until it is refused, and goes on trying."""

from __future__ import annotations

import random
import threading
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from harness.chaos.clients import Caller, Kept, Orders, attempt, new_text, new_uuid
from harness.chaos.cluster import Plan
from harness.network.namespace import Namespace
from memorybase.models import Flow, Message

FLOW = "limited"
QUOTA = 150  # messages a day
MOST_OF_A_RUN = 4
WORDS = 8  # of a message


class Limited(threading.Thread):
    """`kept` is what was acknowledged. `unsure` are runs whose first attempt was cut and whose repetition was refused:
    the first one may still have been carried out, and counted."""

    def __init__(self, plan: Plan, orders: Orders, namespace: Namespace | None = None) -> None:
        super().__init__(name=FLOW, daemon=True)
        self._namespace = namespace
        self.rng = random.Random(f"{plan.seed}/{FLOW}")
        self.orders = orders
        self.plan = plan
        self.caller = Caller(orders, self.rng, plan.call_seconds)
        self.kept: dict[str, Kept] = {}
        self.unsure: dict[str, Kept] = {}
        self.acknowledged = 0

    def prepare(self) -> None:
        """The flow, its memory base and the key."""
        call = self.caller.call
        call("PUT", f"/flows/{FLOW}", 200, 201, json={"name": FLOW})
        call("POST", "/memories", 201, json={"name": FLOW, "flow_id": FLOW, "threshold": 3, "idle_after": 3})
        made = {"name": FLOW, "scopes": ["read", "write"], "quotas": {"messages_per_day": QUOTA}}
        key = call("POST", "/keys", 201, json=made).json()["secret"]
        self.caller.close()
        self.caller = Caller(self.orders, self.rng, self.plan.call_seconds, key=key)

    def run(self) -> None:
        if self._namespace:
            self._namespace.enter()
        while not self.orders.stop.wait(self.rng.uniform(0.05, 0.4)):
            attempt(self._capture, self.name, self.orders)
        self.caller.close()

    def _capture(self) -> None:
        messages: list[dict[str, Any]] = [
            {"id": str(new_uuid(self.rng)), "role": "user", "content": new_text(self.rng, WORDS)}
            for _ in range(self.rng.randint(1, MOST_OF_A_RUN))
        ]
        session = f"limited-{self.rng.randrange(5)}"
        body = {"session_id": session, "run_id": str(new_uuid(self.rng))}
        answer = self.caller.call(
            "POST", f"/flows/{FLOW}/runs", 201, 429, repeated=(200,), json=body | {"messages": messages}
        )
        said = {message["id"]: Kept(FLOW, session, message["role"], message["content"]) for message in messages}
        if answer.status_code != 429:
            self.kept |= said
            self.acknowledged += len(said)
        elif answer.json()["error"]["code"] != "quota_exceeded":
            self.orders.counts["calls_refused"] += 1
        else:
            self.orders.counts["quota_refusals"] += 1
        if answer.status_code == 429 and self.caller.was_repeated:
            self.unsure |= said

    def settle(self, db: OrmSession) -> None:
        """At rest: what was stored of the runs that nobody knows about is kept too."""
        there = {str(each) for each in db.scalars(sa.select(Message.id))}
        self.kept |= {each: kept for each, kept in self.unsure.items() if each in there}


def check_quota(db: OrmSession) -> list[str]:
    """No more was stored than the quota allows."""
    own = sa.select(Flow.id).where(Flow.external_id == FLOW)
    stored = db.scalar(sa.select(sa.func.count(Message.id)).where(Message.flow_id.in_(own))) or 0
    return [f"{stored} messages under a quota of {QUOTA}"] if stored > QUOTA else []
