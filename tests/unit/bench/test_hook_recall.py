"""The tasks of the benchmark of the hooks' recall are valid, and its figures count what they say."""

from __future__ import annotations

from itertools import chain

import hook_recall
from hook_recall import Got, Task, Turn

TASKS = {part: hook_recall.read(part) for part in hook_recall.PARTS}


def test_each_of_twelve_tasks_has_ten_prompts_most_of_which_need_nothing() -> None:
    tasks = [*chain(*TASKS.values())]
    assert [len(each) for each in TASKS.values()] == [6, 6]
    assert len({task.name for task in tasks}) == 12
    for task in tasks:
        assert len(task.turns) == 10, task.name
        assert 0 < sum(bool(turn.needs) for turn in task.turns) <= 5, task.name


def test_a_prompt_needs_messages_of_its_tasks_history_and_each_mark_is_needed_once_at_least() -> None:
    marks: list[str] = []
    for task in chain(*TASKS.values()):
        own = [mark for session in task.history for _, _, *ids in session["messages"] for mark in ids]
        assert set(own) == {id_ for turn in task.turns for id_ in turn.needs}, task.name
        marks += own
    assert len(set(marks)) == len(marks)


def test_a_message_helps_until_no_later_prompt_needs_it() -> None:
    task = Task("t", "/t", [], [Turn("a", frozenset()), Turn("b", frozenset({"x", "y"})), Turn("c", frozenset())])
    got = [Got(["x", "noise"], 10), Got([], 0), Got(["x"], 5)]
    assert hook_recall.figures([task], [got]) == {
        "prompts": 3,
        "helped": 1,
        "other": 2,
        "needing": 1,
        "met": 1,
        "messages": 3.0,
        "again": 1.0,
        "tokens": 15,
    }


def test_the_model_searches_only_for_what_the_first_prompt_did_not_bring() -> None:
    task = Task("t", "/t", [], [Turn("a", frozenset()), Turn("b", frozenset({"x"})), Turn("c", frozenset({"y"}))])
    first = [Got(["x"], 10), Got(), Got()]
    on_demand = [Got(), Got(["x"], 100), Got(["y"], 100)]
    assert hook_recall.combined(task, first, on_demand) == [Got(["x"], 10), Got(), Got(["y"], 100)]
