"""A run's memory: what history, summary and recalled memories its models were given, and what it said."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts, saying
from api.web.frame import frame
from api.web.pages.flows import run_words
from api.web.parts import Bar, Keyed, Live, Mood, Pager
from api.web.visits import Visit, Visitor
from memorybase import errors
from memorybase.conversation.memory_use import record
from memorybase.conversation.memory_use.record import NodeUse, RunMemory
from memorybase.conversation.view.records import call_parts
from memorybase.messages import message_text, resolve_id
from memorybase.read_models import sessions
from memorybase.read_models.session_queries import MessageQuery
from memorybase.read_models.sessions import MessageView, RunView

# A look reads all that was given; more of it comes with another node's call.
LIVE_SECONDS = 3.0
PAGE = 50
EXCERPT_CHARS = 120

KINDS: dict[str, Mood] = {"history": "calm", "summary": "busy", "recall": "good", "predefined": "calm"}
ROLES = {"human": "user", "ai": "assistant"}
REASONS = {
    "not_in_thread": "not on this run's thread",
    "current_run": "of the run itself",
    "role": "of a role that was not asked for",
    "empty": "empty",
    "tool_result_without_call": "a tool result without its call",
    "tool_call_without_result": "a tool call without its result",
    "limit": "beyond the limit",
    "summarised": "in the summary",
    "before_first_user": "before the first question",
}
FLAGS = {
    "broken_link": "A message that another one answers is gone: the thread begins behind it.",
    "cycle": "Messages answer one another in a circle: the thread begins there.",
    "tool_calls_stripped": "Tool calls without a result were taken off their messages.",
    "clipped": "A message was cut to fit.",
    "gap": "Messages are left out that no summary covers yet.",
    "summary_dropped": "The summary is left out: beside it there was no room for the newest turn.",
    "edited_since": "Messages were edited since: what is shown is what was given.",
    "older_unread": "What is further back was not read: the limits leave it out.",
}
DEGRADED = {
    "recall": "The store or the embedding model was away: memories were looked for by words alone.",
    "files": "Files could not be had: a line of text stands for each.",
}


@ui.page("/flows/{flow_id}/runs/{run_id}", title="Run memory")
async def run(visit: Visitor, flow_id: str, run_id: str) -> None:
    user_id = visit.principal.user_id
    await RunPage(visit, resolve_id(user_id, "flow", flow_id)[0], resolve_id(user_id, "run", run_id)[0]).build()


class RunPage:
    def __init__(self, visit: Visit, flow_id: UUID, run_id: UUID) -> None:
        self._visit = visit
        self._flow_id = flow_id
        self._run_id = run_id

    async def build(self) -> None:
        visit = self._visit
        memory = await visit.ask(record.run_memory, self._flow_id, self._run_id)
        self._run = await self._captured()
        flow = await visit.ask(sessions.get_flow, self._flow_id)
        name = run_words(self._run.external_id if self._run else None, self._run_id)
        with frame(visit, f"Memory of {name}", back=self._from(memory)):
            with ui.element("div").classes("head"):
                parts.heading(f"Memory of {name}", 1)
            with ui.element("div").classes("row-of quiet"):
                ui.label(f"Flow {flow.name}")
                if memory.session_id is not None:
                    ui.label(f"Session {memory.session_id}")
                ui.label(f"Captured {parts.moment(self._run.created_at)}" if self._run else "Not captured yet")
                parts.link(visit, "Runs of the flow", f"/flows/{flow.id}/runs")
            self._nothing = ui.element("div")
            self._nodes = Keyed[NodeUse](
                ui.element("div").classes("nodes"), "section", lambda use: use.node_id, self._node
            )
            with parts.card("What the run said"):
                self._silence = ui.label("None of its messages are stored.")
                self._said = Keyed[MessageView](
                    ui.element("ol").classes("talk"), "li", lambda message: (message.id, message.version), _message
                )
                self._pager = Pager(self._again, size=PAGE)
            self._live = Live(self._look, seconds=LIVE_SECONDS)
            self._first = memory.nodes[0].node_id if memory.nodes else None
            await self._look()

    def _from(self, memory: RunMemory) -> tuple[str, str]:
        if memory.session_id is None:
            return "Runs of the flow", f"/flows/{self._flow_id}/runs"
        return f"Session {memory.session_id}", parts.session_path(self._flow_id, memory.session_id)

    async def _captured(self) -> RunView | None:
        """A model may be given memory before its run is captured."""
        try:
            return await self._visit.ask(sessions.get_run, self._run_id, flow_id=self._flow_id)
        except errors.NotFound:
            return None

    async def _again(self) -> None:
        await self._live.now()

    async def _look(self) -> None:
        memory = await self._visit.ask(record.run_memory, self._flow_id, self._run_id)
        if self._run is None:
            self._run = await self._captured()
        self._nodes.show(memory.nodes)
        self._show_nothing(memory)
        if self._run is not None:
            wanted = MessageQuery(flow_id=self._flow_id, run_id=self._run_id)
            page = await self._visit.ask(sessions.list_messages, wanted, self._pager.request)
            self._said.show(page.items)
            self._pager.show(page.total)
            self._silence.set_visibility(page.total == 0)

    def _show_nothing(self, memory: RunMemory) -> None:
        if memory.nodes:
            self._nothing.clear()
        elif not self._nothing.default_slot.children:
            with (
                self._nothing,
                parts.empty(
                    "No memory is recorded for this run",
                    "What a model is given is recorded when the call that gives it names the run and the node: run_id "
                    "and node_id in POST /v1/context, or in POST /v1/history.",
                    self._command(memory.session_id or "SESSION"),
                ),
            ):
                pass

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
    # What one node was given

    def _node(self, use: NodeUse) -> Callable[[NodeUse], None]:
        return NodeCard(use, is_open=use.node_id == self._first).show


class NodeCard:
    """What one node was given; its messages are built once it is opened, so that a run of many nodes is quick."""

    def __init__(self, use: NodeUse, *, is_open: bool) -> None:
        self._use = use
        with ui.element("details").classes("card node").props("open" if is_open else "") as details:
            with ui.element("summary"):
                parts.heading(f"Node {use.node_id}")
                self._head = ui.element("span").classes("row-of")
            self._inside = ui.element("div").classes("inside")
        details.on("toggle", self._open)
        self._show_head()
        if is_open:
            self._open()

    def show(self, use: NodeUse) -> None:
        """As it is now: given anew, or with words struck since."""
        self._use = use
        self._head.clear()
        self._show_head()
        if self._inside.default_slot.children:
            self._inside.clear()
            self._open()

    def _show_head(self) -> None:
        use = self._use
        with self._head:
            with ui.element("span").classes("badges"):
                for kind, count in Counter(source["kind"] for source in use.sources).items():
                    parts.badge(f"{parts.number(count)} {kind}", KINDS.get(kind, "calm"))
                if use.report["over_budget"]:
                    parts.badge("over budget", "bad")
            tokens = parts.plural(use.report["tokens_after"], "token")
            parts.said("span", f"{tokens}, {parts.moment(use.at)}").classes("quiet")

    def _open(self) -> None:
        if not self._inside.default_slot.children:
            with self._inside:
                _report(self._use.report)
                Given(self._use)


class Given:
    """The messages that a node's model was given, in their order, a page at a time."""

    def __init__(self, use: NodeUse) -> None:
        self._given = list(zip(use.messages, use.sources, strict=True))
        parts.heading("What it was given", 3)
        if not self._given:
            ui.label("Nothing.")
        self._list = ui.element("ol").classes("given")
        self._pager = Pager(self._show, size=PAGE)
        self._fill()
        if use.memoryUseSummary:
            saying.folded("As a memory use summary", json.dumps(use.memoryUseSummary, indent=2, ensure_ascii=False))

    async def _show(self) -> None:
        self._fill()

    def _fill(self) -> None:
        start = self._pager.request.skip
        self._list.clear()
        with self._list:
            for message, source in self._given[start : start + PAGE]:
                with ui.element("li"):
                    _given(message, source)
        self._pager.show(len(self._given))


def _given(message: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    role = str(message.get("role") or ROLES.get(str(message.get("type")), message.get("type")))
    content = message.get("content")
    text = message_text(content)
    with ui.element("details").classes("folded") as details:
        if source["kind"] in {"summary", "recall"}:
            details.props("open")
        with ui.element("summary"):
            parts.badge(source["kind"], KINDS.get(source["kind"], "calm"))
            parts.said("span", role).classes(f"role {role}")
            parts.said("span", _cost(source)).classes("quiet")
            parts.said("span", _excerpt(message, text)).classes("excerpt quiet")
        if message.get("tool_call_id"):
            ui.label(f"Result of call {message['tool_call_id']}").classes("quiet")
        saying.content(content)
        saying.calls(message.get("tool_calls") or ())


def _excerpt(message: Mapping[str, Any], text: str) -> str:
    """One line of what it says or does."""
    called = [call_parts(call)[0] for call in message.get("tool_calls") or ()]
    return " ".join(text[:EXCERPT_CHARS].split()) or (f"Calls {', '.join(called)}" if called else "")


def _cost(source: Mapping[str, Any]) -> str:
    said = [parts.plural(source["tokens"], "token")]
    if source.get("score") is not None:
        said.append(f"score {source['score']:.3f}")
    if len(source["message_ids"]) > 1:
        said.append(f"stands for {parts.plural(len(source['message_ids']), 'message')}")
    return ", ".join(said)


def _report(report: Mapping[str, Any]) -> None:
    """What became of the log, and what that cost."""
    after, budget = report["tokens_after"], report["budget"]
    if report["over_budget"]:
        with parts.banner("Over budget", "Not all that had to be given fits the budget.", "bad"):
            pass
    if budget:
        share = f"{parts.number(after)} of {parts.plural(budget, 'token')} of the budget"
        Bar("Tokens of the budget").show(after, budget, share)
    removed = Counter(each["reason"] for each in report["removed"])
    with ui.element("dl").classes("facts"):
        _fact("Kept", f"{parts.plural(len(report['kept']), 'message')} of the log")
        _fact("Left out", _removed_words(removed))
        _fact("Tokens", f"{parts.number(report['tokens_before'])} before, {parts.number(after)} after")
        if spent := report.get("spent"):
            words = ", ".join(f"{name} {parts.number(tokens)}" for name, tokens in spent.items())
            _fact("Budget spent", words)
        _fact("Counted by", report["counter"])
    for words in _remarks(report):
        ui.label(words).classes("remark")
    if report["removed"]:
        lines = [f"{each['id']}  {REASONS.get(each['reason'], each['reason'])}" for each in report["removed"]]
        saying.folded("What was left out, message by message", "\n".join(lines))


def _removed_words(removed: Mapping[str, int]) -> str:
    return "; ".join(f"{parts.number(count)} {REASONS.get(reason, reason)}" for reason, count in removed.items()) or (
        "nothing"
    )


def _remarks(report: Mapping[str, Any]) -> Sequence[str]:
    flags = [FLAGS.get(flag, flag) for flag in report["flags"]]
    return [*flags, *(DEGRADED.get(part, f"This could not be had: {part}.") for part in report["degraded"])]


def _fact(name: str, value: str) -> None:
    with ui.element("div"):
        parts.said("dt", name)
        parts.said("dd", value)


def _message(message: MessageView) -> Callable[[MessageView], None]:
    with ui.element("article").props(f"aria-label={json.dumps(saying.name(message))}").classes("message"):
        with ui.element("header"):
            saying.who(message)
        with ui.element("div").classes("body"):
            saying.message(message)
    return lambda _: None
