"""A client whose key has a quota of messages: it captures until it is refused, and goes on trying."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from chaos.clients import Caller, FlowOwner, Orders, new_text, new_uuid
from chaos.cluster import Plan
from memorybase.core.models import Flow, Message

FLOW = "limited"
QUOTA = 150  # messages a day
MOST_OF_A_RUN = 4
WORDS = 8  # of a message


class Limited(FlowOwner):
    """`unsure` are the messages of runs whose first attempt was cut and whose repetition was refused: the first one may
    still have been carried out, and counted."""

    flow = FLOW
    pause = (0.05, 0.4)

    def __init__(self, plan: Plan, orders: Orders) -> None:
        super().__init__(plan, orders)
        self.unsure: list[tuple[str, list[dict[str, Any]]]] = []

    def prepare(self) -> None:
        """The flow, its memory base and the key."""
        self.make_base(threshold=3)
        made = {"name": FLOW, "scopes": ["read", "write"], "quotas": {"messages_per_day": QUOTA}}
        key = self.caller.call("POST", "/keys", 201, json=made).json()["secret"]
        self.caller.close()
        self.caller = Caller(self.orders, self.rng, self.plan.call_seconds, key=key)

    def act(self) -> None:
        """One run."""
        messages = self.messages(*(new_text(self.rng, WORDS) for _ in range(self.rng.randint(1, MOST_OF_A_RUN))))
        session = f"limited-{self.rng.randrange(5)}"
        body = {"session_id": session, "run_id": str(new_uuid(self.rng))}
        answer = self.caller.call(
            "POST", f"/flows/{FLOW}/runs", 201, 429, repeated=(200,), json=body | {"messages": messages}
        )
        if answer.status_code != 429:
            self.keep(session, messages)
            self.acknowledged += len(messages)
        elif answer.json()["error"]["code"] != "quota_exceeded":
            self.orders.counts["calls_refused"] += 1
        else:
            self.orders.counts["quota_refusals"] += 1
        if answer.status_code == 429 and self.caller.was_repeated:
            self.unsure.append((session, messages))

    def settle(self, db: OrmSession) -> None:
        """At rest: what was stored of the runs that nobody knows about is kept too."""
        there = {str(each) for each in db.scalars(sa.select(Message.id))}
        for session, messages in self.unsure:
            self.keep(session, [message for message in messages if message["id"] in there])


def check_quota(db: OrmSession) -> list[str]:
    """No more was stored than the quota allows."""
    own = sa.select(Flow.id).where(Flow.external_id == FLOW)
    stored = db.scalar(sa.select(sa.func.count(Message.id)).where(Message.flow_id.in_(own))) or 0
    return [f"{stored} messages under a quota of {QUOTA}"] if stored > QUOTA else []
