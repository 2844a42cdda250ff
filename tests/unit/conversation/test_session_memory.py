"""Session memory: pairs, summary and console; nothing is shown twice or lost between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from harness.rows import each_row
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybase.core.conversation import Limits, Record, Summary, View
from memorybase.core.conversation.history.session_reader import ThreadTail
from memorybase.core.conversation.session_memory.presets import FLOWX_5, FLOWX_6, TOKEN_BUFFER, WINDOW, SessionPreset
from memorybase.core.conversation.session_memory.session_view import (
    ModelCall,
    SessionMemory,
    StoredSummary,
    session_memory,
)
from memorybase.core.conversation.view.budget import GAP, SUMMARY_DROPPED
from memorybase.core.conversation.view.threads import inferred_parents, thread

WITH_CURRENT = replace(FLOWX_5, count_current=True)


def turns(count: int, first: int = 1) -> list[Record]:
    """q1 a1 q2 a2 ..., one run per pair."""
    return [
        Record(id=f"{kind}{turn}", seq=2 * turn - (kind == "q"), role=role, content=f"{kind}{turn}", run_id=f"r{turn}")
        for turn in range(first, count + 1)
        for kind, role in (("q", "user"), ("a", "assistant"))
    ]


def summary_of(turn: int) -> StoredSummary | None:
    """A summary of turns 1 to this one."""
    if not turn:
        return None
    return StoredSummary(Summary(text=f"of 1-{turn}", from_seq=1, to_seq=2 * turn, message_ids=("s",)), f"a{turn}")


def shown(
    records: Sequence[Record],
    preset: SessionPreset = FLOWX_5,
    *,
    stored: StoredSummary | None = None,
    complete: bool = True,
    **call: Any,
) -> SessionMemory:
    return session_memory(
        ThreadTail(list(records), complete), preset, ModelCall(**call), stored=stored, use_memory=True
    )


def routed(count: int) -> list[Record]:
    """Each turn with a routing decision and a draft before its answer, by hand: q, "billing", "draft", a."""
    return [
        Record(
            id=f"{kind}{turn}",
            seq=4 * turn + place,
            role="user" if kind == "q" else "assistant",
            content=f"{kind}{turn}",
            run_id=f"r{turn}",
            intermediate=kind in {"route", "draft"},
        )
        for turn in range(1, count + 1)
        for place, kind in enumerate(("q", "route", "draft", "a"))
    ]


def test_routing_decisions_and_drafts_are_no_part_of_the_pairs() -> None:
    memory = shown(routed(5), preset=FLOWX_6)

    assert memory.view.text == "\n".join(f"user: q{turn}\nagent: a{turn}" for turn in range(1, 6))
    assert history(memory.view) == [f"{kind}{turn}" for turn in range(1, 6) for kind in "qa"]
    assert {removed.reason for removed in memory.view.report.removed} == {"intermediate"}
    assert memory.memory_use_summary is not None
    assert [pair["agentMessage"] for pair in memory.memory_use_summary["chatMessages"]] == [
        "a5",
        "a4",
        "a3",
        "a2",
        "a1",
    ]


def test_a_turn_with_a_routing_decision_alone_is_no_pair() -> None:
    without_answer = [record for record in routed(4) if record.id != "a4"]

    assert shown(without_answer).view.text == "user: q1\nagent: a1\nuser: q2\nagent: a2\nuser: q3\nagent: a3"


def test_other_presets_show_intermediate_outputs() -> None:
    assert history(shown(routed(1), preset=WINDOW).view) == ["q1", "route1", "draft1", "a1"]


def history(view: View) -> list[str]:
    return [each for source in view.sources if source.kind == "history" for each in source.message_ids]


def pairs(*numbers: int) -> list[str]:
    return [f"{kind}{number}" for number in numbers for kind in ("q", "a")]


# Before turn n: the pairs shown, the turns that the summary covers, the order on the console.
VECTORS = [
    (FLOWX_5, 1, (), 0, []),
    (FLOWX_5, 4, (1, 2, 3), 0, [3, 2, 1]),
    (FLOWX_5, 5, (2, 3, 4), 1, [4, 3, 2]),
    (FLOWX_5, 10, (7, 8, 9), 6, [9, 8, 7]),
    (WITH_CURRENT, 4, (2, 3), 1, [3, 2]),
    (FLOWX_6, 10, tuple(range(1, 10)), 0, list(range(9, 0, -1))),
    (FLOWX_6, 35, tuple(range(5, 35)), 0, list(range(34, 4, -1))),
]


@each_row(("preset", "turn", "given_pairs", "summarised", "console"), VECTORS)
def test_pairs_summary_and_console_before_each_turn(
    preset: SessionPreset, turn: int, given_pairs: tuple[int, ...], summarised: int, console: list[int]
) -> None:
    question = Record(id="current", seq=2 * turn - 1, role="user", content="now", run_id="now")

    memory = shown([*turns(turn - 1), question], preset, stored=summary_of(summarised), exclude_run_id="now")

    assert history(memory.view) == pairs(*given_pairs)
    lines = [f"{who}: {word}{number}" for number in given_pairs for who, word in (("user", "q"), ("agent", "a"))]
    lines += [f"Summary of previous replies: of 1-{summarised}"] if summarised else []
    assert memory.view.text == "\n".join(lines)
    assert memory.memory_use_summary == {
        "summary": f"of 1-{summarised}" if summarised else "",
        "chatMessages": [
            {"messageId": f"q{number}", "userMessage": f"q{number}", "agentMessage": f"a{number}"} for number in console
        ],
    }
    assert memory.expired is None
    assert GAP not in memory.view.report.flags


@each_row(
    ("style", "first", "text"),
    [
        ("line", False, "user: q2\nagent: a2\nSummary of previous replies: of 1-1"),
        ("heading", False, "user: q2\nagent: a2\n## Previous conversation summary:\nof 1-1"),
        ("both", False, "user: q2\nagent: a2\nSummary of previous replies: ## Previous conversation summary:\nof 1-1"),
        ("line", True, "Summary of previous replies: of 1-1\nuser: q2\nagent: a2"),
    ],
)
def test_options_change_the_structure_of_the_text(style: Any, first: bool, text: str) -> None:
    preset = replace(FLOWX_5, pairs=1, summary_style=style, summary_first=first)

    assert shown(turns(2), preset, stored=summary_of(1)).view.text == text


def test_memory_is_off_by_default() -> None:
    memory = session_memory(ThreadTail(turns(9), complete=True), FLOWX_5, ModelCall(), stored=summary_of(6))

    assert (memory.view.messages, memory.view.text, memory.memory_use_summary) == ([], "", None)
    assert (memory.expired, memory.enough) == (None, True)


def test_a_turn_without_a_reply_is_no_pair_and_two_replies_are_joined() -> None:
    records = turns(5)
    records[7] = replace(records[7], role="user", content="still there?")  # instead of a4
    records.insert(4, replace(records[3], id="more", content="more"))
    records = [replace(record, seq=index, run_id=None) for index, record in enumerate(records, 1)]

    memory = shown(records)

    assert history(memory.view) == [*pairs(1, 2)[:2], "q2", "a2", "more", *pairs(3), *pairs(5)]
    assert [each["messageId"] for each in (memory.memory_use_summary or {})["chatMessages"]] == ["q5", "q3", "q2", "q1"]
    assert "agent: a2\n  more\n" in memory.view.text


def test_session_memory_holds_only_user_and_agent_messages() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    records = [
        Record(id="s", seq=1, role="system", content="rules"),
        Record(id="q", seq=2, role="user", content="q"),
        Record(id="c", seq=3, role="assistant", tool_calls=[call]),
        Record(id="t", seq=4, role="tool", tool_call_id="c", content="42"),
        Record(id="a", seq=5, role="assistant", content="a"),
    ]

    memory = shown(records)

    assert history(memory.view) == ["q", "a"]
    assert memory.view.text == "user: q\nagent: a"


def test_uncovered_messages_are_shown_verbatim_and_a_summary_is_requested() -> None:
    memory = shown(turns(9), stored=summary_of(4))

    assert history(memory.view) == pairs(5, 6, 7, 8, 9)
    assert memory.expired is not None
    assert memory.expired.id == "a6"
    assert memory.view.text.endswith("Summary of previous replies: of 1-4")


def test_uncovered_messages_beyond_the_bound_are_flagged_as_a_gap() -> None:
    memory = shown(turns(9), replace(FLOWX_5, uncovered_tokens=10), stored=summary_of(4))

    assert history(memory.view) == pairs(6, 7, 8, 9)
    assert GAP in memory.view.report.flags
    assert [removed.id for removed in memory.view.report.removed if removed.reason == "limit"] == pairs(5)


def test_pairs_beyond_the_budget_are_dropped_and_the_summary_before_the_newest_pair() -> None:
    long = summary_of(6)
    assert long is not None
    long = StoredSummary(replace(long.summary, text="word " * 100), long.last_message_id)

    short = shown(turns(9), stored=summary_of(6), token_budget=36).view
    assert history(short) == pairs(8, 9)
    assert GAP in short.report.flags
    memory = shown(turns(9), stored=long, token_budget=36)
    assert SUMMARY_DROPPED in memory.view.report.flags
    assert history(memory.view) == pairs(7, 8, 9)
    assert memory.view.report.tokens_after <= 36


def test_a_summary_of_another_branch_is_not_shown() -> None:
    records = turns(6)
    other = replace(records[2], id="other", seq=13, run_id="r7", parent_id="a1")
    log = [*records, other, replace(records[3], id="reply", seq=14, run_id="r7")]
    branch = thread(log, parents=inferred_parents(log)).rows

    memory = shown(branch, replace(FLOWX_5, pairs=1), stored=summary_of(3))

    assert history(memory.view) == [*pairs(1), "other", "reply"]
    assert memory.memory_use_summary is not None
    assert memory.memory_use_summary["summary"] == ""
    on_it = shown(branch, replace(FLOWX_5, pairs=1), stored=summary_of(1))
    assert on_it.memory_use_summary is not None
    assert on_it.memory_use_summary["summary"] == "of 1-1"


# Reading no more than needed


def test_a_tail_is_enough_once_nothing_older_can_be_shown() -> None:
    part = turns(20, first=11)

    assert shown(part, stored=summary_of(17), complete=False).enough
    assert not shown(part[-6:], stored=summary_of(17), complete=False).enough  # a pair may precede the three
    assert not shown(part, stored=None, complete=False).enough  # no summary covers what comes before
    assert shown(part, replace(FLOWX_5, uncovered_tokens=9), stored=None, complete=False).enough
    assert shown(part, TOKEN_BUFFER, token_budget=60, stored=None, complete=False).enough
    assert not shown(part, TOKEN_BUFFER, token_budget=600, stored=None, complete=False).enough
    assert shown(part, WINDOW, complete=False).enough is False
    assert shown(part, replace(WINDOW, limits=Limits(max_turns=3, prune="turn")), complete=False).enough
    branch = ThreadTail(part, complete=False, linked=True)
    call = ModelCall(token_budget=60)
    assert session_memory(branch, TOKEN_BUFFER, call, use_memory=True).enough
    # The thread may not contain the summary's last message.
    of_three = summary_of(3)
    assert of_three is not None
    open_ = session_memory(branch, TOKEN_BUFFER, call, stored=of_three, use_memory=True)
    assert open_.next_read == "summary_thread"
    known = session_memory(branch, TOKEN_BUFFER, call, stored=replace(of_three, on_thread=True), use_memory=True)
    assert known.enough


@each_row("preset", [TOKEN_BUFFER, FLOWX_5, replace(WINDOW, summary=True)])
def test_a_summary_that_ends_before_the_tail_is_shown(preset: SessionPreset) -> None:
    preset = replace(preset, uncovered_tokens=0)
    memory = shown(turns(20, first=11), preset, stored=summary_of(3), complete=False, token_budget=60)

    assert memory.view.report.summary is not None
    assert (memory.view.report.summary.to_seq, memory.view.report.summary.overlap) == (6, 0)
    assert GAP in memory.view.report.flags
    assert "of 1-3" in memory.view.text


# Limits


def test_a_token_buffer_requests_a_summary_of_what_does_not_fit() -> None:
    memory = shown(turns(9), TOKEN_BUFFER, token_budget=40)

    assert memory.expired is not None
    kept = history(memory.view)
    assert kept[-1] == "a9"
    assert memory.view.report.tokens_after <= 40
    last = int(memory.expired.id[1:])
    assert kept == pairs(*range(last + 1, 10))


def test_a_question_is_summarized_only_with_its_answer() -> None:
    question = Record(id="q10", seq=19, role="user", content="x" * 4_000)

    memory = shown([*turns(9), question], TOKEN_BUFFER, token_budget=100)

    assert memory.expired is not None
    assert memory.expired.id == "a9"


@given(
    count=st.integers(1, 12),
    covered=st.integers(0, 12),
    budget=st.none() | st.integers(30, 200),
    preset=st.sampled_from([FLOWX_5, WITH_CURRENT, replace(FLOWX_5, pairs=1), TOKEN_BUFFER]),
)
def test_each_message_is_verbatim_or_summarized_or_reported(
    count: int, covered: int, budget: int | None, preset: SessionPreset
) -> None:
    covered = min(covered, count)
    memory = shown(turns(count), preset, stored=summary_of(covered), token_budget=budget)

    report = memory.view.report
    given_ids = history(memory.view)
    everything = pairs(*range(1, count + 1))
    assert given_ids == everything[len(everything) - len(given_ids) :]
    summarized = everything[: 2 * covered] if report.summary is not None else []
    is_whole = set(given_ids) | set(summarized) == set(everything)
    assert is_whole or GAP in report.flags or report.over_budget
    if report.summary is not None:
        assert report.summary.overlap == len(set(given_ids) & set(summarized))
    if memory.expired is not None:
        assert memory.expired.seq > 2 * covered or report.summary is None
    if budget is not None:
        assert report.tokens_after <= budget or report.over_budget


@st.composite
def sized_turns(draw: st.DrawFn) -> list[Record]:
    """Turns of messages of different lengths."""
    sizes = draw(st.lists(st.integers(1, 60), min_size=2, max_size=40))
    records = [replace(each, content="word " * size) for each, size in zip(turns(20), sizes, strict=False)]
    return records[: len(records) // 2 * 2]


class Shared:
    """The summary of a session, as its callers request it and a worker makes it."""

    def __init__(self, records: Sequence[Record], tokens: int) -> None:
        self.records = records
        self.tokens = tokens
        self.requested = 0
        self.stored: StoredSummary | None = None

    def read(self, budget: int) -> View:
        memory = session_memory(
            ThreadTail(list(self.records), complete=True),
            TOKEN_BUFFER,
            ModelCall(token_budget=budget, counter=PerWord()),
            stored=self.stored,
            use_memory=True,
        )
        if memory.expired is not None:
            self.requested = max(self.requested, memory.expired.seq)
        return memory.view

    def work(self) -> bool:
        to_seq = 0 if self.stored is None else self.stored.summary.to_seq
        if self.requested <= to_seq:
            return False
        summary = Summary(text="word " * self.tokens, from_seq=1, to_seq=self.requested)
        self.stored = StoredSummary(summary, self.records[self.requested - 1].id)
        return True


class PerWord:
    """A token for each word."""

    name = "words"

    def count(self, record: Record) -> int:
        return len(record.text.split())


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(sized_turns(), st.lists(st.integers(1, 1_500), min_size=1, max_size=6), st.integers(1, 150))
def test_no_caller_takes_messages_from_another_one(records: list[Record], budgets: list[int], tokens: int) -> None:
    shared = Shared(records, tokens)
    alone = {budget: Shared(records, tokens) for budget in budgets}
    for caller in (*alone.values(), shared):
        for budget in budgets if caller is shared else [b for b, each in alone.items() if each is caller]:
            for _ in range(10):
                caller.read(budget)
                if not caller.work():
                    break
    verbatim: list[set[str]] = []
    for budget in sorted(budgets):
        view = shared.read(budget)
        kept, report = set(view.report.kept), view.report
        covered = set() if report.summary is None else {r.id for r in records if r.seq <= report.summary.to_seq}
        is_complete = kept | covered == {each.id for each in records}
        assert is_complete or report.over_budget or {"clipped", SUMMARY_DROPPED} & set(report.flags)
        assert GAP not in report.flags or not is_complete
        assert kept == set(alone[budget].read(budget).report.kept), "as if this caller were alone"
        verbatim.append(kept)
    assert all(fewer <= more for fewer, more in pairwise(verbatim))
