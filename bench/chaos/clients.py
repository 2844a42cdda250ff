"""Clients that write, remember what was acknowledged, and come again with the same ids until it is."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID, uuid4

import httpx
from harness.namespace import Namespace

from chaos.cluster import KEY, Plan
from chaos.history import History

COME_AGAIN = (429, 503)
WORDS = ("harbour", "crane", "tide", "ledger", "pilot", "anchor", "rope", "signal", "cargo", "buoy", "ferry", "dock")
ROLES = ("user", "assistant", "user", "assistant", "user", "assistant", "system", "tool")
READ_SIZE = 200
LONG_WORDS = 400  # more than one chunk


class GivenUp(Exception):
    """The run is over and this call was never answered."""


@dataclass
class Orders:
    """What all clients share."""

    url: str
    further_urls: tuple[str, ...] = ()  # of the same service
    is_spread: bool = False  # each call goes to the next address, as behind a load balancer
    stop: threading.Event = field(default_factory=threading.Event)  # begin nothing new; finish what was begun
    give_up: threading.Event = field(default_factory=threading.Event)
    complaints: list[str] = field(default_factory=list)  # answers that nobody may get
    refusals: list[str] = field(default_factory=list)  # answers that ask to come again
    history: History | None = None
    counts: Counter[str] = field(default_factory=Counter)  # approximate where two threads count at once

    def record(self, what: str, began: float, **fields: Any) -> None:
        """A call that was answered just now, and that began then."""
        if self.history:
            self.history.write(what, began=began, **fields)


@dataclass(slots=True)
class Kept:
    """An acknowledged message as it must be found at the end."""

    flow: str
    session: str
    role: str
    content: str
    edited: bool = False


class Caller:
    """HTTP with patience: repeats a call until it is answered, at the next address if nobody answers."""

    def __init__(self, orders: Orders, rng: random.Random, seconds: float = 10, key: str = KEY) -> None:
        self.orders = orders
        self.rng = rng
        self.was_repeated = False  # the last call: an earlier attempt may still be carried out, however late
        self._urls = itertools.cycle((orders.url, *orders.further_urls))
        self._url = next(self._urls)
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(headers=headers, trust_env=False, timeout=seconds)

    def call(self, method: str, path: str, *allowed: int, repeated: tuple[int, ...] = (), **options: Any) -> Any:
        """The answer. `repeated`: further statuses that are right once an unanswered call may have taken effect."""
        again = self.was_repeated = False
        while not self.orders.give_up.is_set():
            if self.orders.is_spread:
                self._url = next(self._urls)
            try:
                answer = self._http.request(method, self._url + path, **options)
            except httpx.TransportError as error:
                self.orders.counts["calls_not_begun" if isinstance(error, httpx.ConnectError) else "calls_cut"] += 1
                self._url = next(self._urls)
            else:
                if answer.status_code in allowed or (again and answer.status_code in repeated):
                    return answer
                complaint = f"{method} {path.split('?', maxsplit=1)[0]}: {answer.status_code} {answer.text[:300]}"
                if answer.status_code not in COME_AGAIN:
                    self.orders.complaints.append(complaint)
                    raise GivenUp(complaint)
                self.orders.refusals.append(complaint)
                self.orders.counts["calls_refused"] += 1
            again = self.was_repeated = True
            time.sleep(self.rng.uniform(0.05, 0.3))
        complaint = f"{method} {path.split('?', maxsplit=1)[0]}: never answered"
        self.orders.complaints.append(complaint)
        raise GivenUp(complaint)

    def close(self) -> None:
        self._http.close()


def attempt(action: Callable[[], None], who: str, orders: Orders) -> None:
    """Do it; what goes wrong stands in the complaints."""
    try:
        action()
    except GivenUp:
        return  # it stands in the complaints
    except Exception as error:  # noqa: BLE001 - a thread's edge: an answer that lacks something must not go unseen
        orders.complaints.append(f"{who}: {type(error).__name__}: {error}")


def new_uuid(rng: random.Random) -> UUID:
    return UUID(int=rng.getrandbits(128), version=4)


def new_text(rng: random.Random, words: int) -> str:
    """So many words, and a number that no other text has."""
    return " ".join(rng.choices(WORDS, k=words)) + f" {rng.getrandbits(40):x}"


class Client(threading.Thread):
    """Captures, edits, deletes, replays and flushes. `kept` is what it was promised."""

    def __init__(
        self, number: int, plan: Plan, orders: Orders, bases: dict[str, str], namespace: Namespace | None = None
    ) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self._namespace = namespace
        self.rng = random.Random(f"{plan.seed}/client/{number}")
        self.number = number
        self.plan = plan
        self.orders = orders
        self.bases = bases  # flow -> its lasting memory base
        self.caller = Caller(orders, self.rng, plan.call_seconds)
        self.kept: dict[str, Kept] = {}
        self.acknowledged = 0
        self.deleted = 0
        self.erased: set[tuple[str, str]] = set()  # sessions, by flow and id
        self._runs: list[tuple[str, dict[str, Any], list[str]]] = []  # to replay: flow, body, ids
        self._removed: set[str] = set()  # one by one, out of sessions that live
        # An attempt that nobody waits for any more may still be carried out. So: a message with a repeated edit is not
        # edited again, a session with a repeated capture is not deleted, and none is used again after a repeated
        # deletion.
        self._edited_late: set[str] = set()
        self._captured_late: set[tuple[str, str]] = set()
        self._lives: Counter[tuple[str, str]] = Counter()  # of a session: how often it was deleted
        self._retired: Counter[int] = Counter()  # of a session's place: names that are not used again

    def run(self) -> None:
        if self._namespace:
            self._namespace.enter()
        actions = (self._capture, self._edit, self._remove, self._replay, self._flush, self._erase_session, self._read)
        weights = (80, 6, 4, 5, 4, 1, 6 if self.plan.network else 0)
        while not self.orders.stop.is_set():
            (action,) = self.rng.choices(actions, weights)
            attempt(action, self.name, self.orders)
        self.caller.close()

    def _capture(self) -> None:
        flow = self.rng.choice(list(self.bases))
        count = self.rng.randint(1, 10)
        raw = [self._message() for _ in range(count)]
        body: dict[str, Any] = {"session_id": self._session(), "run_id": str(self._uuid()), "messages": raw}
        if self.rng.random() < 0.75:
            for message in raw:
                message["id"] = str(self._uuid())
        began = time.monotonic()
        answer = self.caller.call("POST", f"/flows/{flow}/runs", 201, repeated=(200,), json=body).json()
        place = (flow, body["session_id"])
        if self.caller.was_repeated:
            self._captured_late.add(place)
        ids = [message["id"] for message in answer["messages"]]
        if len(set(ids)) != count:
            self.orders.complaints.append(f"{count} messages were captured as {len(set(ids))}")
        for message_id, message in zip(ids, raw, strict=True):
            self.kept[message_id] = Kept(flow, body["session_id"], message["role"], message["content"])
        seqs = [message["seq"] for message in answer["messages"]]
        life = self._lives[place]
        self.orders.record("capture", began, flow=flow, session=place[1], life=life, ids=ids, seqs=seqs)
        self.acknowledged += count
        self._runs = [*self._runs[-20:], (flow, body, ids)]
        # A pause that the stop cuts short; on average the clients together write as fast as planned.
        self.orders.stop.wait(count * self.plan.clients / self.plan.messages_per_second * self.rng.uniform(0.5, 1.0))

    def _edit(self) -> None:
        if (message_id := self._any_message()) and message_id not in self._edited_late:
            content = self._text()
            self.caller.call("PATCH", f"/messages/{message_id}", 200, json={"content": content})
            self.kept[message_id].content = content
            self.kept[message_id].edited = True
            if self.caller.was_repeated:
                self._edited_late.add(message_id)
            self.orders.counts["edits"] += 1

    def _remove(self) -> None:
        if message_id := self._any_message():
            began = time.monotonic()
            self.caller.call("DELETE", f"/messages/{message_id}", 200, repeated=(404,))
            self.orders.record("remove", began, ids=[message_id])
            self._forget([message_id])
            self._removed.add(message_id)

    def _replay(self) -> None:
        """The same run again, as a client does that never got the answer, or that posts its whole state after every
        turn: nothing new may come of it, and nothing that was deleted may come back."""
        known = [run for run in self._runs if all(self._untouched(m) or m in self._removed for m in run[2])]
        if known:
            flow, body, ids = self.rng.choice(known)
            answer = self.caller.call("POST", f"/flows/{flow}/runs", 200, json=body).json()
            expected = [(message_id, message_id in self._removed) for message_id in ids]
            if [(message["id"], message["deleted"]) for message in answer["messages"]] != expected:
                self.orders.complaints.append("a replay was answered with other messages")
            self.orders.counts["replays"] += 1

    def _flush(self) -> None:
        body = {"session_id": self._session()} if self.rng.random() < 0.5 else {}
        base = self.rng.choice(list(self.bases.values()))
        # 404: the session may not be there yet.
        self.caller.call("POST", f"/memories/{base}/flush", 200, 202, 404, 409, json=body)
        self.orders.counts["flushes"] += 1

    def _erase_session(self) -> None:
        """Only a session that is this client's alone: it must know what goes."""
        all_own = {(kept.flow, kept.session) for kept in self.kept.values() if kept.session.startswith("own-")}
        if own := sorted(all_own - self._captured_late):
            flow, session_id = self.rng.choice(own)
            query = {"flow_id": flow, "session_id": session_id}
            self.caller.call("DELETE", "/sessions", 200, 202, 204, repeated=(404,), params=query)
            self._forget([m for m, kept in self.kept.items() if (kept.flow, kept.session) == (flow, session_id)])
            self._lives[flow, session_id] += 1
            self.erased.add((flow, session_id))
            if self.caller.was_repeated:
                self._retired[int(session_id.split("-")[2])] += 1
            # Its runs are deleted too, and posting one again would start a new session.
            self._runs = [run for run in self._runs if (run[0], run[1]["session_id"]) != (flow, session_id)]
            self.orders.counts["sessions_deleted"] += 1

    def _read(self) -> None:
        """A session of this client alone, through any API: what it acknowledged is there."""
        if not self._runs:
            return
        flow, body, _ = self.rng.choice(self._runs)
        session = body["session_id"]
        if not session.startswith("own-"):
            return
        query = {"flow_id": flow, "session_id": session, "size": READ_SIZE, "order": "desc"}
        began = time.monotonic()
        answer = self.caller.call("GET", "/messages", 200, params=query).json()
        ids = [message["id"] for message in answer["items"]]
        if answer["total"] <= READ_SIZE:  # all of it
            life = self._lives[flow, session]
            self.orders.record("read", began, flow=flow, session=session, life=life, ids=ids)
            self.orders.counts["reads"] += 1

    def _forget(self, message_ids: list[str]) -> None:
        for message_id in message_ids:
            del self.kept[message_id]
        self.deleted += len(message_ids)

    def _untouched(self, message_id: str) -> bool:
        return message_id in self.kept and not self.kept[message_id].edited

    def _any_message(self) -> str | None:
        return self.rng.choice(list(self.kept)) if self.kept else None

    def _session(self) -> str:
        # Half of the time where the others write too.
        position = self.rng.randrange(3)
        if self.rng.random() < 0.5:
            return f"shared-{position}"
        own = f"own-{self.number}-{position}"
        return f"{own}-{self._retired[position]}" if self._retired[position] else own

    def _message(self) -> dict[str, Any]:
        role = self.rng.choice(ROLES)
        message: dict[str, Any] = {"role": role, "content": self._text()}
        return message | ({"tool_call_id": "call"} if role == "tool" else {})

    def _text(self) -> str:
        words = LONG_WORDS if self.rng.random() < 0.02 else self.rng.randint(3, 25)
        return new_text(self.rng, words)

    def _uuid(self) -> UUID:
        return new_uuid(self.rng)


class FlowOwner(threading.Thread):
    """Somebody who acts in a flow of their own, again and again. `kept` is what must be there at rest."""

    flow: ClassVar[str]
    pause: ClassVar[tuple[float, float]]  # seconds between two acts

    def __init__(self, plan: Plan, orders: Orders) -> None:
        super().__init__(name=self.flow, daemon=True)
        self.rng = random.Random(f"{plan.seed}/{self.flow}")
        self.plan = plan
        self.orders = orders
        self.caller = Caller(orders, self.rng, plan.call_seconds)
        self.kept: dict[str, Kept] = {}
        self.acknowledged = 0

    def prepare(self) -> None:
        """The flow and what it needs, before the first fault."""
        raise NotImplementedError

    def act(self) -> None:
        """Once."""
        raise NotImplementedError

    def run(self) -> None:
        while not self.orders.stop.wait(self.rng.uniform(*self.pause)):
            attempt(self.act, self.name, self.orders)
        self.caller.close()

    def make_base(self, **options: Any) -> str:
        """The flow with a memory base, whose id it returns."""
        self.caller.call("PUT", f"/flows/{self.flow}", 200, 201, json={"name": self.flow})
        body = {"name": self.flow, "flow_id": self.flow, "idle_after": 3, **options}
        return str(self.caller.call("POST", "/memories", 201, json=body).json()["id"])

    def messages(self, *texts: str) -> list[dict[str, Any]]:
        """In turn of a user and an assistant."""
        roles = itertools.cycle(("user", "assistant"))
        return [
            {"id": str(new_uuid(self.rng)), "role": role, "content": text}
            for text, role in zip(texts, roles, strict=False)
        ]

    def capture(self, session: str, *texts: str) -> list[str]:
        """Until it is acknowledged; the ids."""
        messages = self.messages(*texts)
        body = {"session_id": session, "run_id": str(new_uuid(self.rng)), "messages": messages}
        self.caller.call("POST", f"/flows/{self.flow}/runs", 201, repeated=(200,), json=body)
        self.keep(session, messages)
        self.acknowledged += len(messages)
        return [message["id"] for message in messages]

    def keep(self, session: str, messages: Sequence[dict[str, Any]]) -> None:
        self.kept |= {each["id"]: Kept(self.flow, session, each["role"], each["content"]) for each in messages}


class Operator(threading.Thread):
    """Regenerates, flushes, and makes and deletes further memory bases while all the others write."""

    def __init__(self, plan: Plan, orders: Orders, bases: dict[str, str], namespace: Namespace | None = None) -> None:
        super().__init__(name="operator", daemon=True)
        self._namespace = namespace
        self.rng = random.Random(f"{plan.seed}/operator")
        self.plan = plan
        self.orders = orders
        self.bases = bases
        self.caller = Caller(orders, self.rng, plan.call_seconds)
        self.guests: list[str] = []
        self.deleted: list[str] = []

    def run(self) -> None:
        if self._namespace:
            self._namespace.enter()
        while not self.orders.stop.wait(self.rng.uniform(0.5, 1.5) * self.plan.operator_every_seconds):
            (action,) = self.rng.choices((self._create, self._remove, self._regenerate, self._flush), (3, 3, 2, 2))
            attempt(action, self.name, self.orders)
        self.caller.close()

    def _create(self) -> None:
        if len(self.guests) >= 2:
            return
        body = {
            "name": f"guest {uuid4()}",
            "flow_id": self.rng.choice(list(self.bases)),
            "threshold": self.rng.choice((1, 3, 10)),
            "capture": self.rng.choice(("outputs", "all")),
            "start": self.rng.choice(("now", "beginning", "all")),
            "idle_after": 2,
        }
        answer = self.caller.call("POST", "/memories", 201, repeated=(409,), json=body)
        made = answer.json()
        # 409: a call that was never answered had made it.
        self.guests.append(made["id"] if answer.status_code == 201 else made["error"]["details"]["existing_id"])
        self.orders.counts["bases_created"] += 1

    def _remove(self) -> None:
        if self.guests:
            base = self.guests.pop(self.rng.randrange(len(self.guests)))
            self.caller.call("DELETE", f"/memories/{base}", 202, 204, repeated=(404,))
            self.deleted.append(base)
            self.orders.counts["bases_deleted"] += 1

    def _regenerate(self) -> None:
        base = self.rng.choice([*self.bases.values(), *self.guests])
        self.caller.call("POST", f"/memories/{base}/regenerate", 202, 409)
        self.orders.counts["regenerates"] += 1

    def _flush(self) -> None:
        base = self.rng.choice([*self.bases.values(), *self.guests])
        self.caller.call("POST", f"/memories/{base}/flush", 200, 202, 409)
        self.orders.counts["flushes"] += 1
