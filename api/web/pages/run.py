"""A run's memory: the history, summary and recalled memories given to its models, and its captured messages."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import message_view, parts
from api.web.layout import page_layout
from api.web.pages.flows import run_label
from api.web.parts import KeyedList, Pager, Poller, ProgressBar, Tone
from api.web.visits import Visit, Visitor
from memorybase import errors, ids
from memorybase.conversation.memory_use import record
from memorybase.conversation.memory_use.record import NodeUse, RunMemory
from memorybase.conversation.view.records import call_parts
from memorybase.messages import message_text
from memorybase.read_models import sessions
from memorybase.read_models.session_queries import MessageQuery
from memorybase.read_models.sessions import MessageView, RunView

# A refresh reads everything that the run's nodes were given.
REFRESH_SECONDS = 3.0
PAGE_SIZE = 50
EXCERPT_CHARS = 120

KINDS: dict[str, Tone] = {"history": "calm", "summary": "busy", "recall": "good", "predefined": "calm"}
ROLES = {"human": "user", "ai": "assistant"}
REASONS = {
    "not_in_thread": "not on this run's thread",
    "current_run": "from this run",
    "role": "with a role that was not requested",
    "intermediate": "intermediate output",
    "empty": "empty",
    "tool_result_without_call": "tool result without its call",
    "tool_call_without_result": "tool call without its result",
    "limit": "over the limit",
    "summarised": "covered by the summary",
    "before_first_user": "before the first user message",
}
FLAGS = {
    "broken_link": "A parent message was deleted, so the thread starts after it.",
    "cycle": "Messages reply to one another in a cycle, so the thread starts there.",
    "tool_calls_stripped": "Tool calls without a result were removed from their messages.",
    "clipped": "A message was truncated to fit.",
    "gap": "Some omitted messages are not covered by a summary yet.",
    "summary_dropped": "The summary was omitted because the newest turn did not fit beside it.",
    "edited_since": "Messages were edited later; this is what the model was given.",
    "older_unread": "Older messages were not read because the limits exclude them.",
}
DEGRADED = {
    "recall": "The vector store or the embedding model was unavailable, so recall used keywords only.",
    "files": "Files could not be loaded; a line of text replaces each.",
}


@ui.page("/flows/{flow_id}/runs/{run_id}", title="Run memory")
async def run(visit: Visitor, flow_id: str, run_id: str) -> None:
    user_id = visit.principal.user_id
    await RunPage(visit, ids.flow_id(user_id, flow_id), ids.CallerId.of(user_id, "run", run_id)).build()


class RunPage:
    def __init__(self, visit: Visit, flow_id: UUID, given: ids.CallerId) -> None:
        self._visit = visit
        self._flow_id = flow_id
        self._given = given

    async def build(self) -> None:
        visit = self._visit
        memory = await self._memory()
        self._run = await self._captured()
        flow = await visit.read(sessions.get_flow, self._flow_id)
        name = run_label(self._run.external_id if self._run else None, self._run_id)
        with page_layout(visit, f"Run memory: {name}", back=self._parent(memory)):
            with ui.element("div").classes("head"):
                parts.heading(f"Run memory: {name}", 1)
            with ui.element("div").classes("hstack muted"):
                ui.label(f"Flow {flow.name}")
                if memory.session_id is not None:
                    ui.label(f"Session {memory.session_id}")
                ui.label(f"Captured {parts.utc_time(self._run.created_at)}" if self._run else "Not captured yet")
                parts.link(visit, "Flow runs", f"/flows/{flow.id}/runs")
            self._poller = Poller(self._refresh, seconds=REFRESH_SECONDS)
            self._empty = ui.element("div")
            self._nodes = KeyedList[NodeUse](
                ui.element("div").classes("nodes"), "section", lambda use: use.node_id, self._node
            )
            with parts.card("Captured messages"):
                self._no_messages = ui.label("No captured messages.")
                self._messages = KeyedList[MessageView](
                    ui.element("ol").classes("messages"), "li", lambda message: (message.id, message.version), _message
                )
                self._pager = Pager(self._poller.refresh, size=PAGE_SIZE)
            self._first_node = memory.nodes[0].node_id if memory.nodes else None
            await self._refresh()

    async def _memory(self) -> RunMemory:
        memory = await self._visit.read(record.run_memory, self._flow_id, self._given)
        self._run_id = memory.run_id  # may change when the run is captured
        return memory

    def _parent(self, memory: RunMemory) -> tuple[str, str]:
        if memory.session_id is None:
            return "Flow runs", f"/flows/{self._flow_id}/runs"
        return f"Session {memory.session_id}", parts.session_path(self._flow_id, memory.session_id)

    async def _captured(self) -> RunView | None:
        """The run, or None: a model may be given memory before its run is captured."""
        try:
            return await self._visit.read(sessions.get_run, self._run_id, flow_id=self._flow_id)
        except errors.NotFound:
            return None

    async def _refresh(self) -> None:
        memory = await self._memory()
        if self._run is None:
            self._run = await self._captured()
        self._nodes.show(memory.nodes)
        self._show_empty(memory)
        if self._run is not None:
            query = MessageQuery(flow_id=self._flow_id, run_id=self._run_id)
            page = await self._visit.read(sessions.list_messages, query, self._pager.request)
            self._messages.show(page.items)
            self._pager.show(page.total)
            self._no_messages.set_visibility(page.total == 0)

    def _show_empty(self, memory: RunMemory) -> None:
        if memory.nodes:
            self._empty.clear()
        elif not self._empty.default_slot.children:
            with self._empty:
                parts.empty_state(
                    "No memory recorded for this run",
                    "The memory given to a model is recorded if the request for it (POST /v1/context or POST "
                    "/v1/history) has a run_id and a node_id:",
                    self._command(memory.session_id or "SESSION"),
                )

    def _command(self, session_id: str) -> str:
        run_id = self._run.external_id if self._run and self._run.external_id else str(self._run_id)
        body = {
            "flow_id": str(self._flow_id), "session_id": session_id, "run_id": run_id, "node_id": "answer",
            "token_budget": 2000,
        }  # fmt: skip
        return (
            f"curl {self._visit.origin}/v1/context \\\n"
            '  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n'
            f"  -d {shlex.quote(json.dumps(body))}"
        )

    # -----------------------------------------------------------------------------------------------------------
    # Nodes

    def _node(self, use: NodeUse) -> Callable[[NodeUse], None]:
        return NodeCard(use, is_open=use.node_id == self._first_node).show


class NodeCard:
    """The memory given to one node. Its messages are built when it is opened, so that large runs load fast."""

    def __init__(self, use: NodeUse, *, is_open: bool) -> None:
        self._use = use
        with ui.element("details").classes("card node").props("open" if is_open else "") as details:
            with ui.element("summary"):
                parts.heading(f"Node {use.node_id}")
                self._header = ui.element("span").classes("hstack")
            self._body = ui.element("div").classes("node-body")
        details.on("toggle", self._open)
        self._show_header()
        if is_open:
            self._open()

    def show(self, use: NodeUse) -> None:
        """Update the card: the node was given memory again, or text was redacted."""
        self._use = use
        self._header.clear()
        self._show_header()
        if self._body.default_slot.children:
            self._body.clear()
            self._open()

    def _show_header(self) -> None:
        use = self._use
        with self._header:
            with ui.element("span").classes("badges"):
                for kind, count in Counter(source["kind"] for source in use.sources).items():
                    parts.badge(f"{parts.number(count)} {kind}", KINDS.get(kind, "calm"))
                if use.report["over_budget"]:
                    parts.badge("over budget", "bad")
            tokens = parts.plural(use.report["tokens_after"], "token")
            parts.text_element("span", f"{tokens}, {parts.utc_time(use.at)}").classes("muted")

    def _open(self) -> None:
        if not self._body.default_slot.children:
            with self._body:
                _report(self._use.report)
                ModelInput(self._use)


class ModelInput:
    """The messages given to a node's model, in order, page by page."""

    def __init__(self, use: NodeUse) -> None:
        self._messages = list(zip(use.messages, use.sources, strict=True))
        parts.heading("Model input", 3)
        if not self._messages:
            ui.label("No messages.")
        self._list = ui.element("ol").classes("model-input")
        self._pager = Pager(self._show, size=PAGE_SIZE)
        self._fill()
        if use.memoryUseSummary:
            message_view.collapsed("Memory use summary", json.dumps(use.memoryUseSummary, indent=2, ensure_ascii=False))

    async def _show(self) -> None:
        self._fill()

    def _fill(self) -> None:
        start = self._pager.request.skip
        self._list.clear()
        with self._list:
            for message, source in self._messages[start : start + PAGE_SIZE]:
                with ui.element("li"):
                    _input_message(message, source)
        self._pager.show(len(self._messages))


def _input_message(message: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    role = str(message.get("role") or ROLES.get(str(message.get("type")), message.get("type")))
    content = message.get("content")
    text = message_text(content)
    with ui.element("details").classes("collapsed") as details:
        if source["kind"] in {"summary", "recall"}:
            details.props("open")
        with ui.element("summary"):
            parts.badge(source["kind"], KINDS.get(source["kind"], "calm"))
            parts.text_element("span", role).classes(f"role {role}")
            parts.text_element("span", _cost(source)).classes("muted")
            parts.text_element("span", _excerpt(message, text)).classes("excerpt muted")
        message_view.message_content(content, message.get("tool_calls") or (), message.get("tool_call_id"))


def _excerpt(message: Mapping[str, Any], text: str) -> str:
    """The text in one line, or the names of the tool calls."""
    calls = [call_parts(call)[0] for call in message.get("tool_calls") or ()]
    return " ".join(text[:EXCERPT_CHARS].split()) or (f"Tool calls: {', '.join(calls)}" if calls else "")


def _cost(source: Mapping[str, Any]) -> str:
    texts = [parts.plural(source["tokens"], "token")]
    if source.get("score") is not None:
        texts.append(f"score {source['score']:.3f}")
    if len(source["message_ids"]) > 1:
        texts.append(f"covers {parts.plural(len(source['message_ids']), 'message')}")
    return ", ".join(texts)


def _report(report: Mapping[str, Any]) -> None:
    """Which messages were kept and omitted, and the tokens used."""
    after, budget = report["tokens_after"], report["budget"]
    if report["over_budget"]:
        with parts.banner("Over budget", "The required messages exceed the token budget.", "bad"):
            pass
    if budget:
        text = f"{parts.number(after)} of {parts.plural(budget, 'token')} used"
        ProgressBar("Token budget").show(after, budget, text)
    removed = Counter(each["reason"] for each in report["removed"])
    with ui.element("dl").classes("facts"):
        _fact("Kept", f"{parts.plural(len(report['kept']), 'message')} of the log")
        _fact("Omitted", _reasons(removed))
        _fact("Tokens", f"{parts.number(report['tokens_before'])} before, {parts.number(after)} after")
        if spent := report.get("spent"):
            text = ", ".join(f"{name} {parts.number(tokens)}" for name, tokens in spent.items())
            _fact("Budget use", text)
        _fact("Token counter", report["counter"])
    for text in _remarks(report):
        ui.label(text).classes("remark")
    if report["removed"]:
        lines = [f"{each['id']}  {REASONS.get(each['reason'], each['reason'])}" for each in report["removed"]]
        message_view.collapsed("Omitted messages", "\n".join(lines))


def _reasons(removed: Mapping[str, int]) -> str:
    return "; ".join(f"{parts.number(count)} {REASONS.get(reason, reason)}" for reason, count in removed.items()) or (
        "none"
    )


def _remarks(report: Mapping[str, Any]) -> Sequence[str]:
    flags = [FLAGS.get(flag, flag) for flag in report["flags"]]
    return [*flags, *(DEGRADED.get(part, f"Unavailable: {part}.") for part in report["degraded"])]


def _fact(name: str, value: str) -> None:
    with ui.element("div"):
        parts.text_element("dt", name)
        parts.text_element("dd", value)


def _message(message: MessageView) -> Callable[[MessageView], None]:
    with ui.element("article").props(f"aria-label={json.dumps(message_view.aria_label(message))}").classes("message"):
        with ui.element("header"):
            message_view.byline(message)
        with ui.element("div").classes("body"):
            message_view.message_body(message)
    return lambda _: None
