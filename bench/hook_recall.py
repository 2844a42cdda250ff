"""Measures what recall puts into the prompts of a coding agent, by mode of `memorybase hooks install --recall`.

    PYTHONPATH=tests .venv/bin/python bench/hook_recall.py [development] [held-out] [--passages] [--json FILE]

A task (bench/conversations/tasks) is the earlier sessions of a project and ten prompts, each with the ids of the
messages that it needs; most need none. The sessions of all tasks are captured into one flow, with the hand-written
conversations of bench/ as other projects. Every prompt goes through the installed hook of Claude Code. Each mode has a
row; `each` has further ones with a higher `min_score`, and two modes have one without what comes at a session's start.
`on demand` calls the MCP tool `search_memory` with each prompt that needs something, as a model would that knows when
to look and uses the user's words. `first, then on demand` does so only where a need is not met yet.

    helped    prompts that got a message that they or a later prompt of the task need
    other     prompts that got a message that no prompt needs from then on
    met       of the prompts that need something (needing), those for which a needed message had come by then
    messages  that came in a task; again: those of them that had come before
    tokens    that came in a task, by the estimate of contexts; of `on demand` the tool's whole result

What comes at a session's start counts with its first prompt. --passages prints what each prompt got.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import made
from harness.coding_agents import Machine, machine_at
from harness.mcp import McpClient
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from memorybase_client.coding_agents.events import FLOW
from memorybase_client.coding_agents.files import read_json, remove
from memorybase_client.coding_agents.install import prepare_flow
from memorybase_client.coding_agents.recall import MIN_SCORE
from recalling import corpora

from memorybase.core.conversation.view.token_estimate import estimated_tokens

FOLDER = Path(__file__).with_name("conversations") / "tasks"
PARTS = ("development", "held-out")
SETTINGS = {
    "first": ("first", MIN_SCORE),
    "each": ("each", MIN_SCORE),
    "each, from 0.2 on": ("each", 0.2),
    "each, from 0.5 on": ("each", 0.5),
    "off": ("off", MIN_SCORE),
}
ALSO_WITHOUT_START = ("first", "each")
INGESTING_SECONDS = 1_800.0
BETWEEN_MESSAGES = timedelta(minutes=2)


@dataclass(frozen=True)
class Turn:
    """A prompt, and the ids of the messages that it needs."""

    prompt: str
    needs: frozenset[str]


@dataclass(frozen=True)
class Task:
    name: str
    project: str
    history: Sequence[Any]
    turns: Sequence[Turn]


@dataclass
class Got:
    """What a prompt got: messages by their ids of the task, or of memory if they belong to no task."""

    messages: list[str] = field(default_factory=list)
    tokens: int = 0

    def __add__(self, other: Got) -> Got:
        return Got(self.messages + other.messages, self.tokens + other.tokens)


def read(part: str) -> list[Task]:
    return [
        Task(
            each["name"], each["project"], each["history"], [Turn(said, frozenset(ids)) for said, *ids in each["turns"]]
        )
        for each in json.loads((FOLDER / f"{part}.json").read_text())
    ]


class Memory:
    """A running stack with the history of the tasks."""

    def __init__(self, stack: EmbeddedStack, client: Client, work: Path) -> None:
        self.url, self._work, self._client = stack.url, work, client
        self._tool = McpClient(f"{stack.url}/mcp/flows/{FLOW}", KEY)
        self._ids: dict[str, str] = {}

    def fill(self, tasks: Sequence[Task]) -> int:
        """Capture and ingest everything, and return how many messages that is."""
        prepare_flow(self._client, FLOW)
        for conversation in made.by_hand():
            for run in corpora.chat("", conversation).runs:
                self._capture(run["session_id"], str(self._work / conversation["id"]), run["messages"])
        now = datetime.now(UTC)
        for task in tasks:
            for number, session in enumerate(task.history):
                began = now - timedelta(days=session["days"])
                messages = [
                    {
                        "id": marks[0] if marks else f"{task.name} {number} {place}",
                        "role": role,
                        "content": text,
                        "timestamp": (began + place * BETWEEN_MESSAGES).isoformat(),
                    }
                    for place, (role, text, *marks) in enumerate(session["messages"])
                ]
                self._capture(f"{task.name} {number}", self.folder(task), messages)
        (base,) = self._client.list_memory_bases(flow_id=FLOW)
        self._client.wait_until_searchable(base.id, timeout_seconds=INGESTING_SECONDS)
        self._ids = {str(each.id): str(each.external_id) for each in self._client.list_messages(flow_id=FLOW)}
        return len(self._ids)

    def _capture(self, session: str, project: str, messages: Sequence[Any]) -> None:
        about = {"agent": "claude-code", "project": project, "cwd": project, "branch": "main"}
        dated = [{**each, "metadata": about} for each in messages]
        self._client.capture_run(FLOW, session_id=session, run_id=f"{session} run", messages=dated)

    def folder(self, task: Task) -> str:
        """The task's repository, on its main branch."""
        folder = self._work / Path(task.project).name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        return str(folder)

    def by_hooks(self, machine: Machine, task: Task) -> tuple[Got, list[Got]]:
        """What the start of a session puts in, and each prompt."""
        sent = {"session_id": f"now: {task.name}", "cwd": self.folder(task), "permission_mode": "default"}
        start = self._got(machine, machine.run("claude-code", "SessionStart", **sent, source="startup"))
        prompts = [
            self._got(machine, machine.run("claude-code", "UserPromptSubmit", **sent, prompt=turn.prompt))
            for turn in task.turns
        ]
        return start, prompts

    def _got(self, machine: Machine, printed: str) -> Got:
        text = json.loads(printed)["hookSpecificOutput"]["additionalContext"] if printed else ""
        ids: list[str] = []
        for path in (machine.state / "given").glob("*.json"):  # the hook keeps them for the run's record
            ids += [id_ for source in read_json(str(path))["given"].get("sources", []) for id_ in source["message_ids"]]
            remove(str(path))
        return Got([self._ids[id_] for id_ in ids], estimated_tokens(text))

    def on_demand(self, task: Task) -> list[Got]:
        return [self._search(turn.prompt) if turn.needs else Got() for turn in task.turns]

    def _search(self, query: str) -> Got:
        answer = self._tool.run(lambda client: client.call_tool("search_memory", {"query": query}))
        ids = [hit["id"] for hit in answer.structured_content["results"]]
        return Got([self._ids[id_] for id_ in ids], sum(estimated_tokens(part.text) for part in answer.content))


@contextmanager
def filled(tasks: Sequence[Task]) -> Iterator[tuple[Memory, Path]]:
    with tempfile.TemporaryDirectory(prefix="memorybase-hooks-") as name:
        folder = Path(name)
        (folder / "stack").mkdir()
        stack = EmbeddedStack(folder / "stack")
        stack.one_process = True
        stack.start()
        try:
            with Client(stack.url, KEY) as client:
                memory = Memory(stack, client, folder / "work")
                print(f"{memory.fill(tasks)} messages", flush=True)
                yield memory, folder
        finally:
            stack.close()


def measure(memory: Memory, folder: Path, tasks: Sequence[Task]) -> dict[str, list[list[Got]]]:
    """What each prompt of each task got, by row of the table."""
    found: dict[str, list[list[Got]]] = {}
    for name, (mode, min_score) in SETTINGS.items():
        with machine_at(folder / name) as machine:
            machine.config = {"min_score": min_score}
            machine.install("claude-code", memory.url, KEY, recall=mode)
            both = [memory.by_hooks(machine, task) for task in tasks]
        found[name] = [[start + prompts[0], *prompts[1:]] for start, prompts in both]
        if name in ALSO_WITHOUT_START:
            found[f"{name}, without the start"] = [prompts for _, prompts in both]
    found["on demand"] = [memory.on_demand(task) for task in tasks]
    pairs = zip(tasks, found["first"], found["on demand"], strict=True)
    found["first, then on demand"] = [combined(*each) for each in pairs]
    return found


def combined(task: Task, first: Sequence[Got], on_demand: Sequence[Got]) -> list[Got]:
    """As if the model searched only where a prompt needs what is not there yet."""
    before: set[str] = set()
    found = []
    for turn, pushed, searched in zip(task.turns, first, on_demand, strict=True):
        before.update(pushed.messages)
        got = pushed if turn.needs & before else pushed + searched
        before.update(got.messages)
        found.append(got)
    return found


def figures(tasks: Sequence[Task], got: Sequence[Sequence[Got]]) -> dict[str, float]:
    prompts = helped = other = needing = met = messages = again = 0
    for task, each in zip(tasks, got, strict=True):
        before: set[str] = set()
        for place, (turn, of_turn) in enumerate(zip(task.turns, each, strict=True)):
            useful = frozenset[str]().union(*(later.needs for later in task.turns[place:]))
            prompts += 1
            helped += not useful.isdisjoint(of_turn.messages)
            other += not useful.issuperset(of_turn.messages)
            messages += len(of_turn.messages)
            again += len(before.intersection(of_turn.messages))
            before.update(of_turn.messages)
            needing += bool(turn.needs)
            met += not turn.needs.isdisjoint(before)
    return {
        "prompts": prompts,
        "helped": helped,
        "other": other,
        "needing": needing,
        "met": met,
        "messages": round(messages / len(tasks), 1),
        "again": round(again / len(tasks), 1),
        "tokens": round(sum(turn.tokens for each in got for turn in each) / len(tasks)),
    }


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    columns = ("helped", "other", "met", "needing", "messages", "again", "tokens")
    print(f"{title}\n  {'':26}" + "".join(f"{name:>10}" for name in columns))
    for mode, row in rows.items():
        shares = [f"{row[name] / row['prompts']:.0%}" for name in columns[:2]]
        cells = [*shares, f"{row['met'] / row['needing']:.0%}", *(str(row[name]) for name in columns[3:])]
        print(f"  {mode:26}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


def show_passages(tasks: Sequence[Task], found: dict[str, list[list[Got]]]) -> None:
    for mode in ("each, without the start", "on demand"):
        for task, each in zip(tasks, found[mode], strict=True):
            print(f"{mode}: {task.name}")
            for turn, got in zip(task.turns, each, strict=True):
                print(f"  {turn.prompt[:60]:60} needs {', '.join(sorted(turn.needs)) or '-'}: {got.messages}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help="development, held-out; both")
    parser.add_argument("--passages", action="store_true", help="print what each prompt got")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    parts = {part: read(part) for part in chosen.parts}
    tasks = [task for each in parts.values() for task in each]
    with filled(tasks) as (memory, folder):
        found = measure(memory, folder, tasks)
    report: dict[str, Any] = {}
    for part, own in {**parts, "all": tasks}.items():
        chosen_tasks = [tasks.index(task) for task in own]
        rows = {mode: figures(own, [got[place] for place in chosen_tasks]) for mode, got in found.items()}
        report[part] = rows
        show(f"{part}, {len(own)} tasks", rows)
    if chosen.passages:
        show_passages(tasks, found)
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
