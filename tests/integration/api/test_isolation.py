"""No operation shows or changes another user's data: another user calls each one with the owner's ids.

Every operation of the OpenAPI document has its attempts below. A new one fails here until it has some.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from uuid import UUID, uuid4

import httpx
import pytest
import sqlalchemy as sa
from harness.api import Api, open_api
from harness.calls import export_of_span
from harness.constants import constants
from harness.contract import CONTRACT
from harness.facts import add_fact, add_usage

from memorybase.core.auth import api_keys
from memorybase.core.conversation import Record
from memorybase.core.conversation.session_memory import summaries
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.conversation.session_memory.summary_job import make_summary
from memorybase.core.database import clock
from memorybase.core.database.engine import Database
from memorybase.core.models import (
    ApiKey,
    Base,
    Flow,
    Generation,
    KnowledgeBase,
    LedgerEntry,
    MemoryBase,
    Message,
    PlannedBaseDeletion,
    PlannedDeletion,
    Receipt,
    Session,
    User,
)
from memorybase.core.read_models import sessions
from memorybase.core.settings import Settings
from memorybase.features.facts.models import Fact
from memorybase.features.memory_map.models import MapPoint, MemoryMap
from memorybase.features.quotas import manage, usage

METHODS = {"get", "post", "put", "patch", "delete"}


class Operation(NamedTuple):
    id: str
    method: str
    path: str
    ids: frozenset[str]  # the parameters and fields that take an id or a name of something


@dataclass(frozen=True)
class Attempt:
    """A call by another user. Any status but 404 needs a reason why it addresses no data of the owner."""

    path: str
    expect: int = 404
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    why: str = ""

    @property
    def strings(self) -> set[str]:
        """Every string in the request."""
        in_bodies = re.findall('"([^"]*)"', json.dumps([self.body, self.query]))
        return {*in_bodies, *map(unquote, self.path.split("/"))}


@dataclass(frozen=True)
class Things:
    """One user's ids and names."""

    of: str
    flow: str
    base: str
    run: str
    execution: str
    message: str
    # Others, whose ids the other user may have used for things of its own before the lists are looked at.
    parent: str  # a message
    other_run: str
    other_execution: str
    job: str
    dead_letter: str
    key: str
    label: str
    webhook: str
    delivery: str
    hold: str
    statement: str
    fact: str

    @property
    def words(self) -> set[str]:
        """What must not leak: the ids, and the user's name, which is in every text."""
        theirs = {self.of, self.parent, self.other_run, self.other_execution}
        return {*astuple(self), f"{self.of}-"} - theirs

    def named(self, what: str) -> str:
        return f"{self.of}-{what}"


OWN_NAMES = "names and strings of the caller's own are unique within one user, so this makes another thing"
OWN_IDS = "ids are unique within a flow, so in the caller's flow this is another thing"
OWN_LIST = "a list of what is the caller's"
FREE_TEXT = "a session or an end user is free text within a flow of the caller's"
NOT_FOUND = "each id has a result, and it is not_found"
ALIKE = "no dead letter of the caller's is like one of another user"
NO_USER = "it belongs to no user"

Cases = dict[str, Callable[[Things, Things], list[Attempt]]]


def of_flow(path: str, *, body: Any = None) -> Callable[[Things, Things], list[Attempt]]:
    """By the flow's UUID and by its external id, which is unknown to the other user."""
    return lambda o, _: [Attempt(path.format(flow_id=each), body=body) for each in (o.flow, o.named("flow"))]


def of_base(path: str = "", *, body: Any = None, **query: Any) -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, _: [Attempt(f"/memories/{o.base}{path}", body=body, query=query)]


def of_chat_memory(path: str = "", *, body: Any = None, **query: Any) -> Callable[[Things, Things], list[Attempt]]:
    """The owner's node in the owner's flow, by both of its ids, and in a flow of the caller's."""
    return lambda o, e: [
        Attempt(f"/flows/{flow}/chat-memories/{o.named('node')}{path}", body=body, query=query)
        for flow in (o.flow, o.named("flow"), e.flow)
    ]


def of_message(body: Any = None, *, path: str = "") -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, e: [
        Attempt(f"/messages/{each}{path}", body=body, query={} if flow is None else {"flow_id": flow})
        for each in (o.message, o.named("message"))
        for flow in (None, o.flow, e.flow)
    ]


def of_deleted(path: str = "") -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, e: [
        Attempt(f"/deleted-messages/{each}{path}", query={} if flow is None else {"flow_id": flow})
        for each in (o.named("slip"), o.message)
        for flow in (None, o.flow, e.flow)
    ]


def of_job(path: str = "") -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, _: [Attempt(f"/jobs/{o.job}{path}")]


def of_knowledge_base(path: str = "", *, body: Any = None) -> Callable[[Things, Things], list[Attempt]]:
    """An ordinary one and that of a memory base."""
    return lambda o, _: [Attempt(f"/knowledge-bases/{o.named(each)}{path}", body=body) for each in ("book", "notes-kb")]


def of_webhook(path: str = "", *, body: Any = None) -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, _: [Attempt(f"/webhooks/{o.webhook}{path}", body=body)]


def of_dead_letter(path: str = "") -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, e: [
        Attempt(f"/memories/{base}/dead-letters/{letter}{path}")
        for base, letter in ((o.base, o.dead_letter), (e.base, o.dead_letter), (o.base, e.dead_letter))
    ]


def flush(path: str) -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, e: [
        Attempt(f"/memories/{o.base}{path}"),
        Attempt(f"/memories/{o.base}{path}", body={"session_id": o.named("session")}),
        Attempt(f"/memories/{e.base}{path}", body={"session_id": o.named("session")}),
        Attempt(f"/memories/{o.base}{path}", body={"session_ids": [o.named("session")]}),
        Attempt(f"/memories/{e.base}{path}", 200, body={"session_ids": [o.named("session")]}, why=FREE_TEXT),
    ]


def searches(o: Things) -> list[dict[str, Any]]:
    """Filters with ids of the owner; each finds nothing."""
    asked = {"query": "cat sleeps", "neighbors": 2, "facts": True}
    return [
        asked | {"session_id": o.named("session")},
        asked | {"end_user_id": o.named("end-user")},
        asked | {"exclude_message_ids": [o.message, o.named("message")]},
    ]


def session_condition(o: Things) -> dict[str, Any]:
    """Dify's filter by a session of the owner."""
    condition = {"name": "session_id", "comparison_operator": "is", "value": o.named("session")}
    return {"metadata_condition": {"conditions": [condition]}}


def summaries_of() -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, e: [
        Attempt("/summary", query={"flow_id": flow, "session_id": o.named("session")})
        for flow in (o.flow, o.named("flow"), e.flow)
    ]


def contexts(o: Things) -> dict[str, Any]:
    """The context of a session of the owner's name."""
    return {"session_id": o.named("session"), "token_budget": 1_000, "query": "cat sleeps"}


def of_execution(o: Things, e: Things) -> list[Attempt]:
    return [
        Attempt(f"/node-executions/{each}", query={} if flow is None else {"flow_id": flow})
        for each in (o.execution, o.named("execution"))
        for flow in (None, o.flow, e.flow)
    ]


def memory_body(message_id: str, **fields: Any) -> dict[str, Any]:
    sources = [{"kind": "recall", "message_ids": [message_id]}]
    return {"session_id": "s", "messages": [{"role": "system", "content": "given"}], "sources": sources, **fields}


def execution_body(flow: str, run: str, **fields: Any) -> dict[str, Any]:
    outputs = {"text": "mine", "context": []}
    named = {"session_id": "eve-session", "node_id": "llm"} | fields
    return {"flow_id": flow, "run_id": run, "status": "succeeded", "outputs": outputs, **named}


def run_body(**fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "mine"} | fields.pop("message", {})
    return {"session_id": "eve-session", "messages": [message], **fields}


def by_flow(o: Things, path: str) -> list[Attempt]:
    return [Attempt(path, query={"flow_id": each}) for each in (o.flow, o.named("flow"))]


def of_run(path: str = "") -> Callable[[Things, Things], list[Attempt]]:
    return lambda o, e: [
        Attempt(f"/flows/{flow}/runs/{run}{path}")
        for flow, run in ((o.flow, o.run), (e.flow, o.run), (o.flow, e.run), (o.named("flow"), o.named("run-2")))
    ]


def own(path: str, query: dict[str, Any] | None = None, *, body: Any = None) -> Attempt:
    return Attempt(path, 200, body, query or {}, OWN_LIST)


def free(path: str, query: dict[str, Any] | None = None, *, body: Any = None, expect: int = 200) -> Attempt:
    return Attempt(path, expect, body, query or {}, FREE_TEXT)


CASES: Cases = {
    "health_live": lambda _o, _e: [Attempt("/health/live", 200, why=NO_USER)],
    "health_ready": lambda _o, _e: [Attempt("/health/ready", 503, why=NO_USER)],
    "get_metrics": lambda _o, _e: [Attempt("/metrics", 200, why="counts over all users, without any name or id")],
    "create_flow": lambda _o, _e: [Attempt("/flows", 201, {"name": "shared-flow"}, why=OWN_NAMES)],
    "put_flow": lambda o, _: [
        Attempt(f"/flows/{o.flow}", body={"name": "taken over"}),
        Attempt("/flows/shared-flow", 201, {"name": "mine"}, why=OWN_NAMES),
    ],
    "list_flows": lambda _o, _e: [own("/flows")],
    "get_flow": of_flow("/flows/{flow_id}"),
    "update_flow": of_flow("/flows/{flow_id}", body={"name": "taken over", "retain_days": 1}),
    "delete_flow": of_flow("/flows/{flow_id}"),
    "receive_traces": lambda o, _: [
        Attempt(f"/flows/{flow}/traces", body=export_of_span("s", "cat?", "cat")) for flow in (o.flow, o.named("flow"))
    ],
    "capture_run": lambda o, e: [
        Attempt(f"/flows/{o.flow}/runs", body=run_body()),
        Attempt(f"/flows/{o.named('flow')}/runs", body=run_body()),
        Attempt(f"/flows/{e.flow}/runs", 201, run_body(run_id=o.other_run), why=OWN_IDS),
        *(
            Attempt(f"/flows/{e.flow}/runs", 201, run_body(message={"id": o.parent}, on_conflict=rule), why=OWN_IDS)
            for rule in ("error", "keep", "update")
        ),
        Attempt(
            f"/flows/{e.flow}/runs",
            201,
            run_body(
                session_id="shared-session",
                end_user_id="shared-end-user",
                run_id="shared-run",
                message={"id": "shared-message", "parent_message_id": o.parent},
            ),
            why=f"{OWN_NAMES}; a parent is a label that nothing follows; {FREE_TEXT}",
        ),
    ],
    "list_runs": of_flow("/flows/{flow_id}/runs"),
    "get_run_of_flow": of_run(),
    "find_runs": lambda o, _: [
        own("/runs"),
        *by_flow(o, "/runs"),
        own("/runs", {"q": o.named("x")}),
        free("/runs", {"session_id": o.named("session-2")}),
        free("/runs", {"end_user_id": o.named("end-user-2")}),
    ],
    "get_run": lambda o, e: [
        Attempt(f"/runs/{each}", query={} if flow is None else {"flow_id": flow})
        for each in (o.run, o.named("run-2"))
        for flow in (None, o.flow, e.flow)
    ],
    "get_history": lambda o, e: [
        Attempt("/history", body={"flow_id": o.flow, "session_id": o.named("session")}),
        Attempt("/history", body={"flow_id": o.named("flow"), "session_id": o.named("session")}),
        Attempt("/history", body={"flow_id": e.flow, "session_id": e.named("session"), "leaf_id": o.message}),
        Attempt(
            "/history",
            200,
            {"flow_id": e.flow, "session_id": "s", "run_id": o.other_run, "node_id": "shared-llm"},
            why=OWN_IDS,
        ),
        free("/history", body={"flow_id": e.flow, "session_id": o.named("session")}),
        Attempt(
            "/history",
            200,
            {
                "flow_id": e.flow,
                "session_id": "s",
                "mode": "node",
                "node_id": "n",
                "run_id": e.run,
                "execution_id": o.execution,
            },
            why="an id that none of the run's executions has leaves nothing out",
        ),
    ],
    "put_node_execution": lambda o, e: [
        Attempt(f"/node-executions/{o.other_execution}", 201, execution_body(e.flow, e.run), why=OWN_IDS),
        Attempt(f"/node-executions/{o.execution}", body=execution_body(o.flow, o.run)),
        Attempt("/node-executions/new", body=execution_body(o.flow, e.run)),
        Attempt("/node-executions/new", body=execution_body(o.named("flow"), e.run)),
        Attempt("/node-executions/new", 201, execution_body(e.flow, o.other_run), why=OWN_IDS),
        Attempt(
            "/node-executions/shared-execution",
            201,
            execution_body(e.flow, "shared-new-run", session_id="shared-session", node_id="shared-llm"),
            why=f"{OWN_NAMES}; {FREE_TEXT}",
        ),
    ],
    "get_node_execution": of_execution,
    "delete_node_execution": of_execution,
    "get_run_memory": of_run("/memory"),
    "put_run_memory": lambda o, e: [
        *(
            Attempt(f"/flows/{flow}/runs/{o.run}/memory/llm", body=memory_body(e.message))
            for flow in (o.flow, o.named("flow"))
        ),
        Attempt(
            f"/flows/{e.flow}/runs/{o.other_run}/memory/shared-llm",
            200,
            memory_body(o.message, session_id=o.named("session"), end_user_id=o.named("end-user")),
            why=f"{OWN_IDS}; {FREE_TEXT}",
        ),
    ],
    "get_run_story": of_run("/story"),
    "list_chat_memories": of_flow("/flows/{flow_id}/chat-memories"),
    "put_chat_memory": lambda o, e: [
        *(
            Attempt(f"/flows/{flow}/chat-memories/{o.named('node')}", body={"name": "mine", "chat_id": "owner-chat"})
            for flow in (o.flow, o.named("flow"))
        ),
        Attempt(f"/flows/{e.flow}/chat-memories/shared-node", 201, {"name": "mine", "chat_id": "c"}, why=OWN_NAMES),
    ],
    "get_chat_memory": of_chat_memory(),
    "delete_chat_memory": of_chat_memory(),
    "list_chats": of_chat_memory("/chats", end_user_id="owner-end-user"),
    "post_chat_messages": of_chat_memory(
        "/messages",
        body={
            "chat_id": "owner-chat",
            "end_user_id": "owner-end-user",
            "run_id": "owner-run",
            "messages": [{"role": "user", "content": "x"}],
        },
    ),
    "list_chat_messages": of_chat_memory("/messages", chat_id="owner-chat"),
    "delete_chat_messages": of_chat_memory("/messages", chat_id="owner-chat", mode="all", roles=["user", "assistant"]),
    "view_chat": of_chat_memory("/view", body={"chat_id": "owner-chat", "run_id": "owner-run"}),
    "trim_chat": of_chat_memory("/trim", body={"chat_id": "owner-chat", "max_messages": 0}),
    "summarize_chat": of_chat_memory("/summarize", body={"chat_id": "owner-chat", "keep_last_n": 0}),
    "export_chats": of_chat_memory("/export", chat_id="owner-chat"),
    "create_memory_base": lambda o, e: [
        Attempt("/memories", body={"name": "mine", "flow_id": o.flow}),
        Attempt("/memories", body={"name": "mine", "flow_id": o.named("flow")}),
        Attempt(
            "/memories",
            201,
            {
                "name": "shared-notes",
                "kb_name": "shared-notes-kb",
                "flow_id": e.flow,
                "id": o.base,
                "user_id": "somebody",
            },
            why=f"{OWN_NAMES}; id and user_id mean nothing there",
        ),
    ],
    "put_memory_base": lambda o, e: [
        Attempt(f"/flows/{o.flow}/memories/mine", body={}),
        Attempt(f"/flows/{o.named('flow')}/memories/mine", body={}),
        Attempt(f"/flows/{e.flow}/memories/shared-notes", 200, {"kb_name": "shared-notes-kb"}, why=OWN_NAMES),
    ],
    "list_problems": lambda *_: [own("/problems")],
    "get_overview": lambda *_: [own("/overview")],
    "list_memory_bases": lambda o, _: [own("/memories"), *by_flow(o, "/memories")],
    "get_memory_base": of_base(),
    "update_memory_base": of_base(body={"name": "taken over", "threshold": 1}),
    "delete_memory_base": of_base(),
    "list_memory_base_sessions": lambda o, e: [
        Attempt(f"/memories/{o.base}/sessions"),
        free(f"/memories/{e.base}/sessions", {"end_user_id": o.named("end-user")}),
    ],
    "flush_memory_base": flush("/flush"),
    "sync_memory_base": flush("/update"),
    "regenerate_memory_base": of_base("/regenerate"),
    "check_mismatch": of_base("/mismatch"),
    "get_search_weights": of_base("/weights"),
    "set_search_weights": of_base("/weights", body={"sets": {"default": {"bias": 1, "weights": {}}}}),
    "reset_search_weights": of_base("/weights"),
    "get_activity": of_base("/activity", since=(datetime.now(UTC) - timedelta(hours=1)).isoformat()),
    "list_jobs": lambda o, e: [
        Attempt(f"/memories/{o.base}/jobs"),
        free(f"/memories/{e.base}/jobs", {"session_id": o.named("session")}),
    ],
    "list_dead_letters": of_base("/dead-letters"),
    "retry_dead_letter": of_dead_letter("/retry"),
    "discard_dead_letter": of_dead_letter(),
    "list_all_dead_letters": lambda o, _: [
        own("/dead-letters"),
        Attempt("/dead-letters", query={"memory_base_id": o.base}),
    ],
    "group_dead_letters": lambda o, _: [
        own("/dead-letters/groups"),
        Attempt("/dead-letters/groups", query={"memory_base_id": o.base}),
    ],
    "act_on_dead_letters": lambda o, _: [
        Attempt("/dead-letters/actions", body={"action": "discard", "memory_base_id": o.base}),
        *(
            Attempt("/dead-letters/actions", body={"action": "discard", "flow_id": each})
            for each in (o.flow, o.named("flow"))
        ),
        free("/dead-letters/actions", body={"action": "discard", "session_id": o.named("session")}),
        Attempt("/dead-letters/actions", body={"action": "discard", "ids": [o.dead_letter]}, expect=200, why=NOT_FOUND),
        Attempt("/dead-letters/actions", body={"action": "discard", "alike": [o.dead_letter]}, expect=200, why=ALIKE),
    ],
    "act_on_jobs": lambda o, _: [
        Attempt("/jobs/actions", body={"action": "cancel", "memory_base_id": o.base}),
        *(Attempt("/jobs/actions", body={"action": "cancel", "flow_id": each}) for each in (o.flow, o.named("flow"))),
        Attempt("/jobs/actions", body={"action": "cancel", "ids": [o.job]}, expect=200, why=NOT_FOUND),
        free("/jobs/actions", body={"action": "cancel", "session_id": o.named("session")}),
    ],
    "list_workers": lambda *_: [Attempt("/workers", 200, why="workers belong to nobody: it lists names and numbers")],
    "list_all_jobs": lambda o, _: [
        own("/jobs"),
        free("/jobs", {"session_id": o.named("session")}),
        Attempt("/jobs", query={"memory_base_id": o.base}),
    ],
    "get_job": of_job(),
    "watch_job": of_job("/events"),
    "cancel_job": of_job(),
    "list_messages": lambda o, e: [
        own("/messages"),
        *by_flow(o, "/messages"),
        Attempt("/messages", query={"memory_base_id": o.base}),
        Attempt("/messages", query={"memory_base_id": o.base, "flow_id": e.flow}),
        Attempt("/messages", query={"memory_base_id": e.base, "flow_id": o.flow}),
        *(Attempt("/messages", query={"run_id": each}) for each in (o.run, o.named("run-2"))),
        *(Attempt("/messages", query={name: o.message}) for name in ("before_message_id", "after_message_id")),
        free("/messages", {"session_id": o.named("session-2")}),
        free("/messages", {"end_user_id": o.named("end-user-2")}),
    ],
    "get_message": of_message(),
    "list_message_uses": of_message(path="/uses"),
    "get_message_ingestion": of_message(path="/ingestion"),
    "edit_message": of_message({"content": "taken over"}),
    "delete_message": of_message(),
    "get_message_history": of_message(path="/history"),
    "act_on_messages": lambda o, _: [
        *(
            Attempt(
                "/messages/actions",
                200,
                {"action": action, "ids": [o.message, o.named("message")]},
                why="each message has its own result, here not_found",
            )
            for action in ("mute", "pin", "delete", "restore")
        ),
        Attempt(
            "/messages/actions",
            200,
            {"action": "mute", "ids": [o.message], "flow_id": o.flow},
            why="each message has its own result, here not_found",
        ),
    ],
    "list_deleted_messages": lambda o, e: [
        own("/deleted-messages"),
        *by_flow(o, "/deleted-messages"),
        Attempt("/deleted-messages", query={"memory_base_id": o.base}),
        Attempt("/deleted-messages", query={"memory_base_id": o.base, "flow_id": e.flow}),
        free("/deleted-messages", {"session_id": o.named("session-2")}),
    ],
    "restore_message": of_deleted("/restore"),
    "purge_message": of_deleted(),
    "list_sessions": lambda o, _: [
        own("/sessions"),
        *by_flow(o, "/sessions"),
        free("/sessions", {"end_user_id": o.named("end-user-2")}),
        own("/sessions", {"q": o.named("x")}),
    ],
    "update_session": lambda o, e: (
        [
            Attempt("/sessions", body={"flow_id": flow, "session_id": o.named("session-2"), "metadata": {"x": 1}})
            for flow in (o.flow, o.named("flow"), e.flow)
        ]
        + [
            free(
                "/sessions",
                body={"flow_id": e.flow, "session_id": e.named("session-3"), "new_session_id": "shared-session-2"},
            )
        ]
    ),
    "delete_session": lambda o, e: [
        Attempt("/sessions", query={"flow_id": flow, "session_id": o.named("session-3")})
        for flow in (o.flow, o.named("flow"), e.flow)
    ],
    "request_memory_map": of_base("/map", body={}),
    "get_memory_map": of_base("/map", question="cat"),
    "get_distillation": of_base("/distillation"),
    "set_distillation": of_base("/distillation", body={"enabled": True}),
    "list_facts": lambda o, e: [
        Attempt(f"/memories/{o.base}/facts"),
        *(
            free(f"/memories/{e.base}/facts", each)
            for each in ({"session_id": o.named("session")}, {"end_user_id": o.named("end-user")})
        ),
    ],
    "search_facts": lambda o, e: [
        Attempt(f"/memories/{o.base}/facts/search", body={"query": "cat"}),
        *(
            free(f"/memories/{e.base}/facts/search", body={"query": "cat", **each})
            for each in ({"session_id": o.named("session")}, {"end_user_id": o.named("end-user")})
        ),
    ],
    "get_fact": lambda o, e: [Attempt(f"/memories/{base}/facts/{o.fact}") for base in (o.base, e.base)],
    "delete_fact": lambda o, e: [Attempt(f"/memories/{base}/facts/{o.fact}") for base in (o.base, e.base)],
    "delete_facts": of_base("/facts"),
    "get_summary": summaries_of(),
    "delete_summary": summaries_of(),
    "request_summary": lambda o, e: [
        Attempt("/summary", body={"flow_id": flow, "session_id": o.named("session")})
        for flow in (o.flow, o.named("flow"), e.flow)
    ],
    "build_context": lambda o, e: [
        *(Attempt("/context", body=contexts(o) | {"flow_id": each}) for each in (o.flow, o.named("flow"))),
        Attempt("/context", body=contexts(e) | {"flow_id": e.flow, "memory_base_ids": [o.base]}),
        Attempt("/context", body=contexts(e) | {"flow_id": e.flow, "leaf_id": o.message}),
        free("/context", body=contexts(o) | {"flow_id": e.flow, "node_id": o.named("node")}),
        Attempt(
            "/context", 200, contexts(o) | {"flow_id": e.flow, "run_id": o.other_run, "node_id": "llm"}, why=OWN_IDS
        ),
        free("/context", body=contexts(o) | {"flow_id": e.flow, "end_user_id": o.named("end-user")}),
    ],
    "list_end_users": lambda o, _: [
        own("/end-users"),
        *by_flow(o, "/end-users"),
        own("/end-users", {"q": o.named("end-user")}),
    ],
    "get_end_user": lambda o, _: [Attempt(f"/end-users/{o.named(each)}") for each in ("end-user", "end-user-2")],
    "get_end_user_profile": lambda o, e: [
        Attempt(f"/end-users/{o.named('end-user-5')}/profile", query={"flow_id": each})
        for each in (o.flow, o.named("flow"), e.flow)
    ],
    "erase_end_user": lambda o, _: [Attempt(f"/end-users/{o.named(each)}") for each in ("end-user", "end-user-2")],
    "export_lines": lambda o, e: [
        own("/export"),
        *by_flow(o, "/export"),
        Attempt("/export", query={"memory_base_id": o.base}),
        Attempt("/export", query={"memory_base_id": o.base, "flow_id": e.flow}),
        Attempt("/export", query={"memory_base_id": e.base, "flow_id": o.flow}),
        free("/export", {"end_user_id": o.named("end-user-2")}),
    ],
    "import_lines": lambda o, e: [
        Attempt("/import", body={"type": "flow", "id": o.flow, "name": "taken over"}),
        Attempt("/import", body={"type": "session", "flow_id": o.flow, "session_id": "s"}),
        Attempt(
            "/import",
            200,
            {"type": "run", "flow_id": e.flow, "session_id": "eve-session", "id": o.other_run},
            why=OWN_IDS,
        ),
        Attempt(
            "/import",
            body={
                "type": "message",
                "flow_id": o.flow,
                "session_id": "s",
                "run_id": e.run,
                "id": e.message,
                "role": "assistant",
                "content": "mine",
            },
        ),
        Attempt(
            "/import",
            200,
            {
                "type": "message",
                "flow_id": e.flow,
                "session_id": "eve-session",
                "run_id": "new",
                "id": o.parent,
                "role": "assistant",
                "content": "mine",
            },
            query={"on_conflict": "update"},
            why=OWN_IDS,
        ),
    ],
    "search_memory_base": lambda o, e: [
        Attempt(f"/memories/{o.base}/search", body={"query": "cat", "facts": True}),
        *(
            Attempt(f"/memories/{e.base}/search", 200, each, why="filters of a search of the caller's own")
            for each in searches(o)
        ),
    ],
    "search_flow": lambda o, e: [
        *(Attempt("/search", body={"query": "cat", "flow_id": each}) for each in (o.flow, o.named("flow"))),
        Attempt("/search", body={"query": "cat", "memory_base_ids": [e.base, o.base]}),
        own("/search", body={"query": "cat", "all": True, "facts": True}),
        *(
            Attempt("/search", 200, {"flow_id": e.flow, **each}, why="filters of a search of the caller's own")
            for each in searches(o)
        ),
    ],
    "mark_result": lambda o, e: [
        *(
            Attempt("/labels", body={"message_id": each, "query": "cat", "right": True})
            for each in (o.message, o.named("message"))
        ),
        Attempt("/labels", body={"message_id": e.message, "flow_id": o.flow, "query": "cat", "right": True}),
        free(
            "/labels",
            body={
                "message_id": e.message,
                "query": "cat",
                "right": True,
                "session_id": o.named("session"),
                "end_user_id": o.named("end-user"),
            },
        ),
    ],
    "list_labels": lambda o, _: [own("/labels"), *by_flow(o, "/labels")],
    "export_labels": lambda o, _: [
        *by_flow(o, "/labels/export"),
        Attempt("/labels/export", query={"memory_base_id": o.base}),
    ],
    "delete_label": lambda o, _: [Attempt(f"/labels/{o.label}")],
    "list_standing_statements": lambda o, e: [
        *(
            Attempt("/standing-statements", query={"flow_id": each, "end_user_id": o.named("end-user-5")})
            for each in (o.flow, o.named("flow"))
        ),
        Attempt("/standing-statements", query={"flow_id": e.flow, "session_id": o.named("session-5")}),
        free("/standing-statements", {"flow_id": e.flow, "end_user_id": o.named("end-user-5")}),
    ],
    "edit_standing_statement": lambda o, _: [Attempt(f"/standing-statements/{o.statement}", body={"text": "mine"})],
    "delete_standing_statement": lambda o, _: [Attempt(f"/standing-statements/{o.statement}")],
    "preview_retention": lambda o, _: [
        own("/retention/preview"),
        *(
            Attempt("/retention/preview", query={"flow_id": each} | more)
            for each in (o.flow, o.named("flow"))
            for more in ({}, {"retain_days": 1})
        ),
        *(Attempt("/retention/preview", query={"memory_base_id": o.base} | more) for more in ({}, {"retain_days": 1})),
    ],
    "list_retention_passes": lambda o, _: [own("/retention/passes"), *by_flow(o, "/retention/passes")],
    "list_erasures": lambda o, _: [own("/erasures"), own("/erasures", {"end_user_id": o.named("end-user")})],
    "get_erasure": lambda o, _: [Attempt(f"/erasures/{o.flow}")],
    "place_hold": lambda o, e: [
        *(Attempt("/holds", body={"flow_id": each}) for each in (o.flow, o.named("flow"))),
        *(Attempt("/holds", body={"flow_id": each, "session_id": o.named("session")}) for each in (o.flow, e.flow)),
        free("/holds", body={"end_user_id": o.named("end-user")}, expect=201),
    ],
    "scan_secrets": lambda o, _: [
        *(Attempt("/secrets/scan", body={"flow_id": each}) for each in (o.flow, o.named("flow"))),
        own("/secrets/scan", body={"redact": True}),
    ],
    "list_holds": lambda o, _: [own("/holds"), *by_flow(o, "/holds"), free("/holds", {"end_user_id": o.named("held")})],
    "lift_hold": lambda o, _: [Attempt(f"/holds/{o.hold}")],
    "retrieve_knowledge": lambda o, e: [
        *(
            Attempt("/dify/retrieval", body={"knowledge_id": each, "query": "cat sleeps"})
            for each in (o.base, o.named("notes"), o.flow, o.named("flow"), f"{o.flow}/{o.named('end-user')}")
        ),
        free("/dify/retrieval", body={"knowledge_id": f"{e.flow}/{o.named('end-user')}", "query": "cat sleeps"}),
        Attempt(
            "/dify/retrieval",
            200,
            {"knowledge_id": e.base, "query": "cat sleeps"} | session_condition(o),
            why="filters of a search of the caller's own",
        ),
    ],
    "list_knowledge_bases": lambda _o, _e: [
        own("/knowledge-bases"),
        own("/knowledge-bases", {"for_retrieval": "true"}),
    ],
    "create_knowledge_base": lambda _o, _e: [Attempt("/knowledge-bases", 201, {"name": "shared-book"}, why=OWN_NAMES)],
    "get_knowledge_base": of_knowledge_base(),
    "delete_knowledge_base": of_knowledge_base(),
    "add_documents": of_knowledge_base("/documents", body={"documents": [{"id": "owner-document", "text": "mine"}]}),
    "rebuild_knowledge_base": of_knowledge_base("/rebuild"),
    "search_knowledge_base": of_knowledge_base("/search", body={"query": "cat"}),
    "create_key": lambda o, _e: [
        Attempt("/keys", 201, {"name": "shared-key", "scopes": ["read"]}, why=OWN_NAMES),
        *(
            Attempt("/keys", body={"name": "k", "scopes": ["read"], "flow_ids": [each]})
            for each in (o.flow, o.named("flow"))
        ),
        free("/keys", body={"name": "k", "scopes": ["read"], "end_user_id": o.named("end-user")}, expect=201),
    ],
    "list_keys": lambda _o, _e: [own("/keys")],
    "rotate_key": lambda o, _: [Attempt(f"/keys/{o.key}/rotate"), Attempt(f"/keys/{o.key}/rotate", body={})],
    "set_key_quotas": lambda o, _: [Attempt(f"/keys/{o.key}/quotas", body={"messages_per_day": 1})],
    "get_usage": lambda o, _: [own("/usage"), Attempt("/usage", query={"key_id": o.key})],
    "revoke_key": lambda o, _: [Attempt(f"/keys/{o.key}")],
    "create_webhook": lambda _o, _e: [
        Attempt("/webhooks", 201, {"url": "https://example.com/shared", "event_types": ["job.failed"]}, why=OWN_NAMES)
    ],
    "list_webhooks": lambda _o, _e: [own("/webhooks")],
    "get_webhook": of_webhook(),
    "update_webhook": of_webhook(body={"enabled": False}),
    "delete_webhook": of_webhook(),
    "rotate_webhook_secret": of_webhook("/secret"),
    "send_test_event": of_webhook("/test"),
    "list_deliveries": of_webhook("/deliveries"),
    "get_delivery": lambda o, e: [
        Attempt(f"/webhooks/{webhook}/deliveries/{delivery}")
        for webhook, delivery in ((o.webhook, o.delivery), (e.webhook, o.delivery), (o.webhook, e.delivery))
    ],
    "replay_delivery": lambda o, e: [
        Attempt(f"/webhooks/{webhook}/deliveries/{delivery}/replay")
        for webhook, delivery in ((o.webhook, o.delivery), (e.webhook, o.delivery), (o.webhook, e.delivery))
    ],
    "replay_dead_deliveries": of_webhook("/replay", body={"since": "2026-01-01T00:00:00Z"}),
    "discard_delivery": lambda o, e: [
        Attempt(f"/webhooks/{webhook}/deliveries/{delivery}")
        for webhook, delivery in ((o.webhook, o.delivery), (e.webhook, o.delivery), (o.webhook, e.delivery))
    ],
    "discard_dead_deliveries": of_webhook("/discard"),
    "list_audit_entries": lambda o, _: [
        own("/audit", {"operation": "put_flow"}),
        own("/audit", {"operation": "create_memory_base", "kind": "change"}),
        own("/audit", {"key_id": o.key}),
    ],
    "export_audit_entries": lambda _o, _e: [own("/audit/export")],
    "create_sign_in_link": lambda _o, _e: [Attempt("/sign-in-links", 201, why="it names nothing but the caller's key")],
}

# Fields that end like an id and name nothing that is stored.
NO_IDS = {"request_id"}
# Whose rows a table without any of these columns holds: those of nobody.
UNOWNED_TABLES = {"audit_chain", "distillation_days", "embedding_usage", "heartbeats", "redaction_keys"}


def operations() -> list[Operation]:
    return [
        Operation(item[method]["operationId"], method.upper(), path.removeprefix("/v1"), _ids(path, item[method]))
        for path, item in CONTRACT["paths"].items()
        for method in sorted(METHODS & item.keys())
    ]


def _ids(path: str, operation: dict[str, Any]) -> frozenset[str]:
    in_path = set(re.findall(r"{(\w+)}", path))
    named = {each["name"] for each in operation.get("parameters", [])} | set(_fields(operation))
    return frozenset(in_path | {each for each in named if re.search(r"_ids?$", each)} - NO_IDS)


def _fields(operation: dict[str, Any]) -> Iterator[str]:
    said = json.dumps(operation.get("requestBody", {}))
    for name in re.findall(r"#/components/schemas/(\w+)", said):
        yield from CONTRACT["components"]["schemas"][name].get("properties", {})


OPERATIONS = operations()


# An owner who has one of everything, and somebody else who has as much.


class Writes:
    """Tells whether anything was written to a SQLite file: if not, its rows need not be read again to be compared."""

    def __init__(self, database: Database) -> None:
        self._dialect = database.engine.dialect
        self._connection = sqlite3.connect(str(database.url.database), isolation_level=None)
        self._last: int | None = None

    def any_since_last(self) -> bool:
        before, (self._last,) = self._last, self._connection.execute("PRAGMA data_version").fetchone()
        return self._last != before

    def sql(self, rows: sa.Select[Any]) -> str:
        return str(rows.compile(dialect=self._dialect, compile_kwargs={"literal_binds": True}))

    def rows(self, statement: str) -> list[str]:
        """Rows as they are stored: to make values of Python of so many takes most of the time."""
        return sorted(repr(row) for row in self._connection.execute(statement))

    def close(self) -> None:
        self._connection.close()


@dataclass
class TwoUsers:
    owner: Api
    eve: Api
    mine: Things  # the owner's
    hers: Things
    writes: Writes

    def snapshot(self) -> dict[str, Any]:
        """Every row of the owner in every table, the owner's collections, files and notifications."""
        if self.writes.any_since_last():
            self._rows = self._rows_now()
        bases, books, collections, rows = self._rows
        found: dict[str, Any] = dict(rows)
        stored = self.owner.vectors._collections
        found["collections"] = {name: repr(stored[name].records) for name in collections}
        folder = self.owner.services.settings.knowledge_dir
        found["files"] = {str(file): file.read_text() for book in books for file in (folder / str(book)).iterdir()}
        found["enqueued"] = sum(message.memory_base_id in bases for message in self.owner.queue.enqueued)
        return found

    def _rows_now(self) -> tuple[list[UUID], list[UUID], list[str], dict[str, list[str]]]:
        """The owner's memory bases, knowledge bases and collections, and every row by its table."""
        with self.owner.services.database.reading() as db:
            bases = list(db.scalars(self.owned["memory_base_id"]))
            books = list(db.scalars(self.owned["knowledge_base_id"]))
            collections = [
                *db.scalars(sa.select(Generation.collection_name).where(Generation.memory_base_id.in_(bases))),
                *db.scalars(sa.select(KnowledgeBase.collection_name).where(KnowledgeBase.id.in_(books))),
            ]
        found = {table: self.writes.rows(statement) for table, statement in self.statements.items()}
        return bases, books, [name for name in collections if name is not None], found

    @cached_property
    def owned(self) -> dict[str, sa.Select[Any]]:
        """The values of a column in the rows that are the owner's."""
        owner = self.owner.user_id
        flows = sa.select(Flow.id).where(Flow.user_id == owner)
        return {
            "user_id": sa.select(User.id).where(User.id == owner),
            "flow_id": flows,
            "memory_base_id": sa.select(MemoryBase.id).where(MemoryBase.user_id == owner),
            "knowledge_base_id": sa.select(KnowledgeBase.id).where(KnowledgeBase.user_id == owner),
            "position": sa.select(Message.position).where(Message.flow_id.in_(flows)),
            "key_id": sa.select(ApiKey.id).where(ApiKey.user_id == owner),
            "fact_id": sa.select(Fact.id).where(Fact.flow_id.in_(flows)),
        }

    @cached_property
    def statements(self) -> dict[str, str]:
        """Each table's rows that are the owner's."""
        found: dict[str, str] = {}
        for table in Base.metadata.sorted_tables:
            column = next((each for each in self.owned if each in table.c), "id" if table.name == "users" else None)
            if column is None:
                assert table.name in UNOWNED_TABLES, f"say in this test whose the rows of {table.name} are"
                continue
            whose = self.owned.get(column, self.owned["user_id"])
            found[table.name] = self.writes.sql(sa.select(table).where(table.c[column].in_(whose)))
        return found


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoUsers]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("isolation"),
        embedding_model="fake",
        api_key="key-of-the-settings",
        rate_limit_per_second=0,
    )
    with open_api(settings) as api:
        api.embedders.get().reject("poison")
        eve = api.of_user("eve")
        with closing(Writes(api.services.database)) as writes:
            stage = TwoUsers(api, eve, furnish(api, "owner"), furnish(eve, "eve"), writes)
            furnish_shared(api)
            empty = {name for name, rows in stage.snapshot().items() if not rows}
            assert empty == {"preparations"}, (  # gone with the call that made it
                "the owner has something of everything"
            )
            yield stage


def furnish(api: Api, name: str, *, repeatable: str = "of both users") -> Things:
    """One row of everything, with the user's name in every text, a deleted message and two queued jobs."""
    flow = api.call("PUT", f"/flows/{name}-flow", json={"name": f"{name}-flow"}, expect=201).json()["id"]
    base = api.memory(f"{name}-notes", f"{name}-flow", kb_name=f"{name}-notes-kb", threshold=2)["id"]
    said = [
        {"role": "assistant", "content": f"{name}-secret cat sleeps", "id": f"{name}-message", "sender_name": name},
        {"role": "assistant", "content": f"{name}-secret poison"},
    ]
    where = f"/flows/{name}-flow/runs"
    body = {"session_id": f"{name}-session", "end_user_id": f"{name}-end-user", "run_id": f"{name}-run"}
    hook = {"url": f"https://example.com/{name}-hook", "event_types": ["job.completed"]}
    webhook = api.post("/webhooks", hook, expect=201)["id"]
    run = api.post(where, body | {"messages": said}, expect=201)
    api.work()
    put_on_map(api, base)
    for number in (2, 3):
        again = {
            "session_id": f"{name}-session-{number}",
            "run_id": f"{name}-run-{number}",
            "end_user_id": f"{name}-end-user-{number}",
        }
        api.post(where, again | {"messages": [{"role": "assistant", "content": f"{name}-pending"}] * 2}, expect=201)
    takes_back = {"session_id": f"{name}-session-2", "end_user_id": f"{name}-end-user-2", "run_id": f"{name}-run-2"}
    slip = {"role": "user", "content": f"{name}-secret", "id": f"{name}-slip"}
    slipped = api.post(where, takes_back | {"messages": [slip]}, expect=201)["messages"][0]["id"]
    api.call("DELETE", f"/messages/{slipped}")
    node = f"{where.removesuffix('/runs')}/chat-memories/{name}-node"
    api.call("PUT", node, json={"name": f"{name}-memory", "chat_id": f"{name}-chat"}, expect=201)
    post = {"chat_id": f"{name}-chat", "end_user_id": f"{name}-end-user-4", "messages": said[:1]}
    api.post(f"{node}/messages", post, expect=201)
    asked = summaries.SummaryKey(
        flow_id=UUID(flow), session_id=f"{name}-session", preset="token_buffer", summarizer="extractive"
    )
    summaries.request_summary(api.services, asked, Record(id=run["messages"][0]["id"], seq=1, role="assistant"))
    api.queue.drain_task(SUMMARIZE, lambda each: make_summary(api.services, each))
    context = [{"role": "assistant", "content": f"{name}-secret"}]
    given = {"flow_id": flow, "session_id": f"{name}-session", "run_id": f"{name}-run", "node_id": f"{name}-llm"}
    report = given | {"status": "succeeded", "outputs": {"text": f"{name}-secret", "context": context}}
    execution = api.call("PUT", f"/node-executions/{name}-execution", json=report, expect=201).json()["id"]
    again = f"/node-executions/{name}-execution-2"
    other_execution = api.call("PUT", again, json=report | {"run_id": f"{name}-run"}, expect=201).json()["id"]
    api.post("/history", given | {"run_id": f"{name}-run-2"})
    headers = {"Idempotency-Key": repeatable}
    api.call("POST", "/knowledge-bases", json={"name": f"{name}-book"}, headers=headers, expect=201)
    document = {"id": f"{name}-document", "text": f"{name}-secret cat", "metadata": {"k": f"{name}-value"}}
    api.post(f"/knowledge-bases/{name}-book/documents", {"documents": [document]})
    key, _ = api_keys.create_key(api.services, api.user_id, name=f"{name}-key", scopes=["read"])
    api.post("/sign-in-links", expect=201)
    asks = {
        "session_id": f"{name}-session-5",
        "end_user_id": f"{name}-end-user-5",
        "run_id": f"{name}-run-5",
        "messages": [{"role": "user", "content": f"Always say {name}-secret."}],
    }
    api.post(where, asks, expect=201)
    standing = api.get("/standing-statements", flow_id=flow, end_user_id=f"{name}-end-user-5")["statements"]
    marked = {"message_id": run["messages"][0]["id"], "query": f"{name}-question", "right": True}
    _plan_deletions(api, where, base, name)
    _finish_retention_pass(api, flow)
    _count_end_users(api)
    _speak_german(api, where, name)
    fact = derive_fact(api, base, name)
    return Things(
        of=name,
        flow=flow,
        base=base,
        run=run["run_id"],
        execution=execution,
        message=run["messages"][0]["id"],
        parent=run["messages"][1]["id"],
        other_run=api.get(f"/runs/{name}-run-3")["run_id"],
        other_execution=other_execution,
        job=api.get(f"/memories/{base}/jobs", state="queued")["items"][0]["id"],
        dead_letter=api.get(f"/memories/{base}/dead-letters")["items"][0]["id"],
        key=str(key.id),
        label=api.post("/labels", marked)["id"],
        webhook=webhook,
        delivery=api.get(f"/webhooks/{webhook}/deliveries")["items"][0]["id"],
        hold=api.post("/holds", {"end_user_id": f"{name}-held"}, expect=201)["id"],
        statement=standing[0]["id"],
        fact=fact,
    )


def put_on_map(api: Api, base: str) -> None:
    """A map with one point: a real one needs many messages."""
    with api.services.database.transaction() as db:
        entry = db.scalars(sa.select(LedgerEntry).where(LedgerEntry.memory_base_id == UUID(base))).first()
        assert entry is not None
        db.add(MemoryMap(memory_base_id=entry.memory_base_id, generation=entry.generation))
        db.add(
            MapPoint(
                memory_base_id=entry.memory_base_id,
                position=0,
                generation=entry.generation,
                progress_id=entry.progress_id,
                message_id=entry.message_id,
                x=0.5,
                y=0.5,
                cluster=0,
            )
        )


def derive_fact(api: Api, base: str, name: str) -> str:
    """A fact with one source, and what its request used."""
    with api.services.database.reading() as db:
        stored = sa.select(LedgerEntry.message_id).where(LedgerEntry.memory_base_id == UUID(base))
        message = str(db.scalars(stored).first())
    add_usage(api.services, base, message)
    return add_fact(api.services, base, message, who=name, what=f"{name}-secret")


def _plan_deletions(api: Api, where: str, base: str, name: str) -> None:
    leaving = {
        "session_id": f"{name}-leaving",
        "run_id": f"{name}-leaving",
        "messages": [{"role": "user", "content": f"{name}-leaving"}],
    }
    api.post(where, leaving, expect=201)
    with api.services.database.transaction() as db:
        session = db.scalars(sa.select(Session.id).where(Session.session_id == leaving["session_id"])).one()
        due_at = datetime.now(UTC) + timedelta(days=1)
        db.add(PlannedDeletion(session_uuid=session, user_id=api.user_id, batch_id=uuid4(), due_at=due_at))
        db.add(PlannedBaseDeletion(memory_base_id=UUID(base), user_id=api.user_id, batch_id=uuid4(), due_at=due_at))


def _finish_retention_pass(api: Api, flow: str) -> None:
    with api.services.database.transaction() as db:
        now = clock.now(db)
        db.add(
            Receipt(
                id=uuid4(),
                user_id=api.user_id,
                rule="flow",
                flow_id=UUID(flow),
                subject_id=UUID(flow),
                expired_before=now,
                counts={"messages": 1},
                started_at=now,
                finished_at=now,
            )
        )


def _speak_german(api: Api, where: str, name: str) -> None:
    """A flow remembers the languages that are spoken in it, besides English."""
    said = "Ich habe gestern mit meiner Schwester über den Urlaub am Meer gesprochen."
    body = {"session_id": f"{name}-german", "messages": [{"role": "user", "content": said}]}
    api.post(where, body, expect=201)


def _count_end_users(api: Api) -> None:
    manage.change_user_quotas(api.services, api.user_id, {"end_users": 1_000})
    usage.usage_of_user(api.services, api.user_id)


def furnish_shared(owner: Api) -> None:
    """Rows of the owner under names that the other user will use too."""
    owner.flow("shared-flow")
    said = [{"role": "assistant", "content": "owner-secret", "id": "shared-message"}]
    for session, user in (("shared-session", "shared-end-user"), ("shared-session-2", None)):
        body = {"session_id": session, "end_user_id": user, "run_id": session.replace("session", "run")}
        owner.post("/flows/shared-flow/runs", body | {"messages": said}, expect=201)
        said = [{"role": "assistant", "content": "owner-secret"}]
    owner.memory("shared-notes", "shared-flow", kb_name="shared-notes-kb")
    owner.post("/knowledge-bases", {"name": "shared-book"}, expect=201)
    api_keys.create_key(owner.services, owner.user_id, name="shared-key", scopes=["read"])


# The walk.


@dataclass
class Walk:
    """Makes attempts and compares what others have before and after each."""

    others: TwoUsers | Limited
    things: Things  # of the others
    held: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.held = self.others.snapshot()

    def wrong_after(self, key: Api, operation: Operation, attempt: Attempt) -> tuple[httpx.Response, list[str]]:
        """What the attempt changed and showed; the next one is compared with what it left."""
        answer = called(key, operation, attempt)
        before, self.held = self.held, self.others.snapshot()
        wrong = [f"it changed the {part} of others" for part in before if self.held[part] != before[part]]
        sent = f"{attempt.path} {json.dumps(attempt.body)} {attempt.query}"
        # What a use was asked for are words of the caller, of an earlier attempt.
        text = re.sub(r'("type":"memory_use".*?)"session_id":.*?"run_id"', r"\1", answer.text)
        shown = sorted(word for word in self.things.words if word in text and word not in sent)
        return answer, wrong + ([f"it shows {shown} of others: {answer.text}"] if shown else [])


def called(key: Api, operation: Operation, attempt: Attempt) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key.secret}"}
    return key.client.request(
        operation.method, f"/v1{attempt.path}", json=attempt.body, params=attempt.query, headers=headers
    )


def test_every_operation_has_attempts() -> None:
    for operation in OPERATIONS:
        assert operation.id in CASES, (
            f"{operation.method} {operation.path} has no attempts: add '{operation.id}' to CASES in "
            f"{Path(__file__).name}, with calls that put the owner's ids into {sorted(operation.ids) or 'it'} and "
            "expect 404. Where nothing of the owner is addressed, say why"
        )
    assert CASES.keys() <= {operation.id for operation in OPERATIONS}, "remove the cases of operations that are gone"


def test_no_operation_shows_or_changes_another_users_data(stage: TwoUsers, subtests: pytest.Subtests) -> None:
    assert OPERATIONS
    walk = Walk(stage, stage.mine)
    for operation in OPERATIONS:
        for attempt in CASES[operation.id](stage.mine, stage.hers):
            with subtests.test(f"{operation.id} {attempt.path} {attempt.query} {attempt.body}"):
                answer, wrong = walk.wrong_after(stage.eve, operation, attempt)
                assert not wrong, "; ".join(wrong)
                assert answer.status_code == attempt.expect, answer.text
                if answer.status_code == 404:
                    assert _missing(answer.json()) in attempt.strings, "a 404 names the id as the caller sent it"


def _missing(body: dict[str, Any]) -> Any:
    """The id that a 404 names, also in Dify's form."""
    in_difys_form = re.search(r"\(got (.*)\)$", body.get("error_msg", ""))
    return in_difys_form[1] if in_difys_form else body["error"]["value"]


def test_every_attempt_uses_an_id_of_the_owner_or_gives_a_reason(stage: TwoUsers, subtests: pytest.Subtests) -> None:
    """Attempts match their operation, try each id parameter with the owner's id, and explain every status but 404."""
    mine = stage.mine
    owned = (*astuple(mine)[1:], "owner-", "shared-")
    assert OPERATIONS
    for operation in OPERATIONS:
        with subtests.test(operation.id):
            attempts = CASES[operation.id](mine, stage.hers)
            shape = re.compile(re.sub(r"{\w+}", "[^/]+", operation.path))
            assert all(shape.fullmatch(attempt.path) for attempt in attempts)
            assert all(attempt.expect == 404 or attempt.why for attempt in attempts), "say why that is no 404"
            positions = {name: _given(operation, attempts, name) for name in operation.ids}
            untried = [name for name, given in positions.items() if not any(word in given for word in owned)]
            assert not untried, f"no attempt puts something of the owner into {untried}"
            assert "{" not in operation.path or any(attempt.expect == 404 for attempt in attempts)


def _given(operation: Operation, attempts: list[Attempt], name: str) -> str:
    """The values that the attempts send in this parameter, as one text."""
    found: list[Any] = []
    for attempt in attempts:
        for segment, wanted in zip(attempt.path.split("/"), operation.path.split("/"), strict=True):
            if wanted == f"{{{name}}}":
                found.append(segment)
        found += [position[name] for position in (attempt.query, attempt.body or {}) if name in position]
    return json.dumps(found)


# The same walk within one user, with keys that are limited to the flow and the end user of "eve".


@dataclass
class Limited:
    keys: dict[str, Api]
    outside: Things
    inside: Things
    writes: Writes
    statements: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        flow, base = UUID(self.outside.flow), UUID(self.outside.base)
        held = {
            table.name: sa.select(table).where(table.c.flow_id == flow)
            if "flow_id" in table.c
            else sa.select(table).where(table.c.memory_base_id == base)
            for table in Base.metadata.sorted_tables
            if {"flow_id", "memory_base_id"} & set(table.c.keys())
        }
        held["flows"] = sa.select(Flow.name).where(Flow.id == flow)
        self.statements = {name: self.writes.sql(rows) for name, rows in held.items()}

    def snapshot(self) -> dict[str, list[str]]:
        """Every row of the flow that lies outside."""
        if self.writes.any_since_last():
            self._rows = {name: self.writes.rows(statement) for name, statement in self.statements.items()}
        return self._rows


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("limited"),
        embedding_model="fake",
        api_key="key-of-the-settings",
        rate_limit_per_second=0,
    )
    with constants({"api.limits.UNAUTHORIZED_PER_SECOND": 0}), open_api(settings) as api:
        api.embedders.get().reject("poison")
        outside, inside = furnish(api, "owner", repeatable="1"), furnish(api, "eve", repeatable="2")
        flows = [UUID(inside.flow)]
        both = {"flow_ids": flows, "end_user_id": inside.named("end-user")}
        # Rotated: a key keeps its limits while both are valid, and its successor has them.
        keys = {"flow": rotate(api, 86_400, {"flow_ids": flows})[0]}
        keys["flow and end user"] = rotate(api, 86_400, both)[1]
        with closing(Writes(api.services.database)) as writes:
            yield Limited(keys, outside, inside, writes)


def rotate(api: Api, overlap: int, limits: dict[str, Any]) -> tuple[Api, Api]:
    """A limited key that was rotated, and its successor."""
    old = api.limited_key(**limits)
    key_id = api_keys.authenticate(api.services, old.secret).key_id
    _, secret = api_keys.rotate_key(api.services, api.user_id, key_id, overlap_seconds=overlap)
    return old, replace(old, secret=secret)


def test_no_operation_shows_or_changes_what_lies_outside_a_keys_limits(
    limited: Limited, subtests: pytest.Subtests
) -> None:
    assert OPERATIONS
    walk = Walk(limited, limited.outside)
    for kind, key in limited.keys.items():
        for operation in OPERATIONS:
            for attempt in CASES[operation.id](limited.outside, limited.inside):
                with subtests.test(f"{kind}: {operation.id} {attempt.path} {attempt.query} {attempt.body}"):
                    answer, wrong = walk.wrong_after(key, operation, attempt)
                    assert not wrong, "; ".join(wrong)
                    refused = {403, 404} if attempt.expect == 404 else {200, 201, attempt.expect, 403, 404, 422}
                    assert answer.status_code in refused, answer.text


# Keys that are not valid, in calls that name what the caller has.

NO_KEY = {"health_live": {200}, "health_ready": {200, 503}}
DIFY = "retrieve_knowledge"  # it answers in Dify's form


def invalid_keys(api: Api, limits: dict[str, Any]) -> dict[str, Api]:
    ended, _ = rotate(api, 0, limits)
    expired, revoked = api.of_user("local"), api.of_user("local")
    now = datetime.now(UTC)
    for key, change in ((expired, {"expires_at": now - timedelta(seconds=1)}), (revoked, {"revoked_at": now})):
        key.get("/flows")  # until now it is valid
        with api.services.database.transaction() as db:
            db.execute(sa.update(ApiKey).where(ApiKey.key_hash == api_keys.hash_of(key.secret)).values(**change))
    return {"unknown": replace(api, secret="mb_unknown"), "expired": expired, "revoked": revoked, "rotated out": ended}


def test_a_key_that_is_not_valid_reaches_nothing(limited: Limited, subtests: pytest.Subtests) -> None:
    assert OPERATIONS
    api, inside = limited.keys["flow"], limited.inside
    keys = invalid_keys(api, {"flow_ids": [UUID(inside.flow)], "end_user_id": inside.named("end-user")})
    for number, (kind, key) in enumerate(keys.items()):
        for operation in OPERATIONS:
            attempts = CASES[operation.id](inside, inside)
            for attempt in attempts[number :: len(keys)] or attempts[:1]:  # each kind of key, and each attempt
                with subtests.test(f"{kind}: {operation.id} {attempt.path} {attempt.query} {attempt.body}"):
                    answer = called(key, operation, attempt)
                    if operation.id in NO_KEY:
                        assert answer.status_code in NO_KEY[operation.id], answer.text
                    elif operation.id == DIFY:
                        assert (answer.status_code, answer.json()["error_code"]) == (403, 1002), answer.text
                    else:
                        assert answer.status_code == 401, answer.text
                        assert answer.json()["error"]["code"] == "unauthorized"


def test_get_flows_returns_only_the_users_own(api: Api) -> None:
    api.flow("mine")
    (flow,) = api.get("/flows")["items"]
    wanted = {UUID(flow["id"]), uuid4()}
    assert [each.name for each in sessions.get_flows(api.services, api.user_id, wanted).values()] == ["mine"]
    assert sessions.get_flows(api.services, api.of_user("another").user_id, wanted) == {}
