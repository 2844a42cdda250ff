"""A command waits for ingestion as long as it goes on, and says what keeps it from going on."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from memorybase_client import Client
from rich.console import Console

from memorybase.cli import demo, memory_bases
from memorybase.core import errors
from memorybase.stack.state import DataDir

BASE = uuid4()


class Stack:
    """Says the next of these (status, pending) at each look, and the last one from then on."""

    def __init__(self, *looks: tuple[str, int], working: int = 0, problem: str | None = None) -> None:
        self.looks, self.working, self.problem = list(looks), working, problem
        self.looked = 0

    def get_memory_base(self, _: UUID) -> Any:
        status, pending = self.looks[min(self.looked, len(self.looks) - 1)]
        self.looked += 1
        return SimpleNamespace(id=BASE, name="m", status=status, pending_messages=pending, total_processed=1)

    def flush_memory_base(self, _: UUID) -> None:
        """Nothing happens at once."""

    def list_all_jobs(self, *, state: str, size: int) -> Any:
        self.working -= 1
        return SimpleNamespace(page=lambda: SimpleNamespace(total=int(self.working >= 0), asked=(state, size)))

    def list_problems(self) -> Any:
        failed = SimpleNamespace(kind="failed", memory_base_id=BASE, title="Dead letters", text="Some failed.")
        wrong = SimpleNamespace(kind=self.problem, memory_base_id=None, title="No worker is running", text="Start one.")
        return SimpleNamespace(problems=[failed] if self.problem is None else [failed, wrong])


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_bases, "STALLED_SECONDS", 0.0)
    monkeypatch.setattr(memory_bases.time, "sleep", lambda _: None)


def ingested(stack: Stack) -> Any:
    return memory_bases.ingest_pending(cast("Client", stack), BASE, lambda _: None)


def test_one_message_may_take_as_long_as_it_takes() -> None:
    stack = Stack(*[("ingesting", 6)] * 20, ("ready", 0), working=50)
    assert ingested(stack).pending_messages == 0
    assert stack.looked == 21


def test_if_no_worker_works_and_nothing_is_wrong_what_is_pending_is_returned() -> None:
    assert ingested(Stack(("pending", 6), working=3)).pending_messages == 6


@pytest.mark.parametrize("status", ["pending", "paused"])
def test_what_is_wrong_is_said(status: str) -> None:
    with pytest.raises(
        errors.NotReady, match=r"6 messages of the memory base m are not ingested\. No worker is running"
    ):
        ingested(Stack((status, 6), working=0 if status == "pending" else 50, problem="part"))


def test_a_demo_waits_as_long_as_its_stack_runs_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(demo.time, "sleep", lambda _: None)
    unused: Any = None
    out = io.StringIO()
    answers = iter([None, None, 7])
    steps = demo.Demo(Console(file=out), DataDir(tmp_path), unused, unused, lambda: True)
    assert steps.wait("the worker", lambda: next(answers)) == 7
    assert out.getvalue().count("waiting for the worker (0 s)") == 2
    ended = demo.Demo(Console(file=out), DataDir(tmp_path), unused, unused, lambda: False)
    with pytest.raises(errors.NotReady, match="The stack ended"):
        ended.wait("the worker", lambda: None)
