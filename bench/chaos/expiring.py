"""A client whose sessions expire: by a time of their own, or by the rule of their flow; one of them is held."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from chaos.clients import FlowOwner, Orders, attempt, new_text
from chaos.cluster import Plan
from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.models import Message, Receipt
from memorybase.features.retention.queries.receipts import PASS_RULES

FLOW = "expiring"
HELD = "held"
RETAIN_DAYS = 1
AGE = timedelta(days=2)
EXPIRY = timedelta(seconds=3)
MESSAGES = 4  # of each session
WORDS = 8  # of a message
RETRY_SECONDS = 0.3


class Expiring(FlowOwner):
    """Captures sessions of its own flow and lets some of their messages expire.

    `kept` is what must be there at rest, `expired` what must be gone and in the receipts of `retention_passes`, once.
    """

    flow = FLOW
    pause = (0.5, 1.5)

    def __init__(self, plan: Plan, orders: Orders, database_url: str) -> None:
        super().__init__(plan, orders)
        self._database = Database(database_url, pool_size=1)
        self.expired: set[str] = set()
        self._sessions = 0
        self._held: list[str] = []

    def prepare(self) -> None:
        """The flow with its rule and memory base, and the session that is held."""
        self.make_base(threshold=2)
        call = self.caller.call
        call("PATCH", f"/flows/{FLOW}", 200, json={"retain_days": RETAIN_DAYS})
        self._held = self._four(HELD)
        call("POST", "/holds", 201, json={"flow_id": FLOW, "session_id": HELD, "reason": "the run of faults"})

    def run(self) -> None:
        attempt(lambda: self._age(self._held, HELD), self.name, self.orders)
        super().run()
        self._database.dispose()

    def act(self) -> None:
        """One session."""
        self._sessions += 1
        session = f"session-{self._sessions}"
        ids = self._four(session)
        match self.rng.randrange(3):
            case 0:
                self._set_expiry(session)
                self._expire(ids)
            case 1:
                self._age(ids[: MESSAGES // 2], session)
                self._expire(ids[: MESSAGES // 2])
            case _:
                pass  # this one stays

    def _set_expiry(self, session: str) -> None:
        """Until it is answered before the time that it names: behind a frozen or killed part that time passes."""
        status = 422
        while status == 422:
            expires_at = (datetime.now(UTC) + EXPIRY).isoformat()
            body = {"flow_id": FLOW, "session_id": session, "expires_at": expires_at}
            status = self.caller.call("PATCH", "/sessions", 200, 422, repeated=(404,), json=body).status_code

    def _four(self, session: str) -> list[str]:
        return self.capture(session, *(new_text(self.rng, WORDS) for _ in range(MESSAGES)))

    def _age(self, ids: Iterable[str], session: str) -> None:
        """As if these had been captured long ago; patient, since the database is killed all the time."""
        older = sa.update(Message).where(Message.id.in_([UUID(each) for each in ids]))
        while not self.orders.give_up.is_set():
            try:
                with self._database.transaction() as db:
                    db.execute(older.values(captured_at=datetime.now(UTC) - AGE), execution_options=_UNSYNCHRONIZED)
            except errors.DatabaseUnavailable:
                self.orders.give_up.wait(RETRY_SECONDS)
            else:
                return
        self.orders.complaints.append(f"{session}: its messages were never aged")

    def _expire(self, ids: Iterable[str]) -> None:
        for each in ids:
            del self.kept[each]
            self.expired.add(each)
        self.orders.counts["sessions_expiring"] += 1


_UNSYNCHRONIZED = {"synchronize_session": False}


def unrest(db: OrmSession, expired: set[str]) -> dict[str, int]:
    """What retention still has to do."""
    there = {str(each) for each in db.scalars(sa.select(Message.id))}
    open_passes = db.scalars(sa.select(Receipt.id).where(Receipt.finished_at.is_(None))).all()
    return {"expired messages": len(there & expired), "open receipts of retention": len(open_passes)}


def check_receipts(db: OrmSession, expired: set[str]) -> list[str]:
    """Every expired message is in a receipt, once."""
    counts = db.scalars(sa.select(Receipt.counts).where(Receipt.rule.in_(PASS_RULES))).all()
    deleted = sum(each["messages"] for each in counts)
    return [] if deleted == len(expired) else [f"{len(expired)} messages expired, the receipts say {deleted}"]


def count_receipts(db: OrmSession) -> int:
    return len(db.scalars(sa.select(Receipt.id).where(Receipt.rule.in_(PASS_RULES))).all())
