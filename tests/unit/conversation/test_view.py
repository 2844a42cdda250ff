"""From a log to messages, with the report."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from harness.records import Flat, ids, log, numbered, record
from harness.rows import each_row
from harness.what_models_take import refusals
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybase.core.conversation import (
    FileRef,
    Limits,
    Record,
    Summary,
    ToolResultClearing,
    TrimThreshold,
    View,
    ViewOptions,
    build_view,
)
from memorybase.core.conversation.session_memory.pairs import pairs_of
from memorybase.core.conversation.view.budget import MARK
from memorybase.core.conversation.view.build import SummaryUse
from memorybase.core.conversation.view.turns import open_question

COUNTER = Flat(10)
PREFIX = "[Previous Conversation Summary]\n"


def view(records: list[Record], *, counter: Any = COUNTER, limits: Limits | None = None, **options: Any) -> View:
    given = {name: options.pop(name) for name in ("summary", "predefined", "inserts", "degraded") if name in options}
    return build_view(records, ViewOptions(limits=limits or Limits(), **options), counter=counter, **given)


def shown(seen: View) -> str:
    return ids(seen.records)


def covering(first: int, last: int) -> Summary:
    return Summary(text=f"S({first}-{last})", from_seq=first, to_seq=last)


def predefined(count: int = 2) -> list[Record]:
    return [Record(id=f"p{n}", seq=0, role=("assistant", "user")[n % 2], content=f"p{n}") for n in range(1, count + 1)]  # type: ignore[arg-type]


def test_a_view_reports_the_source_of_each_message_and_each_removal() -> None:
    seen = view(numbered(5), limits=Limits(max_messages=3), summary=covering(1, 2), predefined=predefined(1))

    assert seen.messages == [
        {"role": "user", "content": f"{PREFIX}S(1-2)"},
        {"role": "user", "content": "m3"},
        {"role": "assistant", "content": "m4"},
        {"role": "user", "content": "m5"},
    ]
    assert [(one.kind, one.message_ids, one.tokens) for one in seen.sources] == [
        ("summary", (), 10),
        ("history", ("m3",), 10),
        ("history", ("m4",), 10),
        ("history", ("m5",), 10),
    ]
    assert json.loads(json.dumps(seen.as_dict()))["report"] == {
        "kept": ["m3", "m4", "m5"],
        "removed": [
            {"id": "p1", "reason": "limit"},
            {"id": "m1", "reason": "summarised"},
            {"id": "m2", "reason": "summarised"},
        ],
        "tokens_before": 60,
        "tokens_after": 40,
        "summary": {"from_seq": 1, "to_seq": 2, "overlap": 0},
        "budget": None,
        "over_budget": False,
        "counter": "flat",
        "flags": [],
        "degraded": [],
        "replaced_parts": 0,
    }
    assert seen.text == f"{PREFIX}  S(1-2)\nHuman: m3\nAssistant: m4\nHuman: m5"


def test_the_steps_before_trimming_report_their_reasons() -> None:
    records = [
        replace(record("u1", 1), run_id="r1"),
        replace(record("a1", 2), run_id="r1", content=""),
        replace(record("s1", 3), run_id="r2"),
        replace(record("T9", 4), run_id="r2"),
        replace(record("u2", 5), run_id="r3", parent_id="gone"),
    ]

    seen = view(records, exclude_run_id="r3", roles=frozenset({"user", "assistant", "tool"}))
    reasons = {one.id: one.reason for one in seen.report.removed}
    assert shown(seen) == "u1"
    assert reasons == {"u2": "current_run", "a1": "empty", "s1": "role", "T9": "tool_result_without_call"}

    threaded = view(records, thread="parents")
    assert shown(threaded) == "u2"
    assert threaded.report.flags == ("broken_link",)
    assert threaded.report.removed[0].reason == "not_in_thread"


def test_a_run_continues_its_own_branch_and_not_the_newest() -> None:
    one = [replace(message, run_id="r1") for message in log("u1 a1")]
    mine = replace(record("u2", 3), run_id="r2", parent_id="a1")
    other = [replace(record("u3", 4), run_id="r3", parent_id="a1"), replace(record("a3", 5), run_id="r3")]

    assert shown(view([*one, mine, *other], thread="inferred", exclude_run_id="r2")) == "u1 a1"
    assert shown(view([*one, mine, *other], thread="inferred")) == "u1 a1 u3 a3"
    assert shown(view([*one, mine, *other], thread="inferred", leaf_id="u2")) == "u1 a1 u2"


def test_a_thread_by_parents_and_pruning_of_single_messages() -> None:
    records = [replace(one, parent_id=parent) for one, parent in zip(log("u1 u2 u3"), (None, None, "u1"), strict=True)]

    assert shown(view(records, thread="parents")) == "u1 u3"
    assert shown(view(log("u1 A1[t1] T1 u2"), limits=Limits(max_tokens=20, prune="message"))) == "u2"


# Summaries


def test_a_summary_precedes_what_the_limits_keep_even_if_it_covers_more() -> None:
    limits = Limits(max_messages=6)

    assert shown(view(numbered(10), limits=limits, summary=covering(1, 4))) == "summary m5 m6 m7 m8 m9 m10"
    assert shown(view(numbered(11), limits=limits, summary=covering(1, 5))) == "summary m6 m7 m8 m9 m10 m11"
    beyond = view(numbered(10), limits=limits, summary=covering(1, 8))
    assert shown(beyond) == "summary m5 m6 m7 m8 m9 m10"
    assert beyond.report.summary == SummaryUse(from_seq=1, to_seq=8, overlap=4)
    assert beyond.overflow == ()


@each_row(
    ("turn", "latest", "pairs", "summarised"),
    [(1, 3, [], 0), (4, 3, [1, 2, 3], 0), (5, 3, [2, 3, 4], 1), (10, 3, [7, 8, 9], 6), (4, 2, [2, 3], 1)],
)
def test_session_memory_is_the_latest_pairs_and_a_summary_of_the_rest(
    turn: int, latest: int, pairs: list[int], summarised: int
) -> None:
    """The view before turn n is answered; with 2 pairs, the current turn counts as one of three."""
    limits = Limits(max_turns=latest, prune="turn")
    before = log(" ".join(f"u{n} a{n}" for n in range(1, turn)))

    fresh = view(before, limits=limits)
    covered = view(before, limits=limits, summary=covering(1, 2 * summarised) if summarised else None)

    assert [pair.user.id for pair in pairs_of(covered.records)] == [f"u{n}" for n in pairs]
    assert ids(fresh.overflow) == " ".join(f"u{n} a{n}" for n in range(1, summarised + 1))
    assert covered.overflow == ()
    assert (shown(covered)[:7] == "summary") == bool(summarised)


def test_a_summary_of_the_middle_is_placed_there() -> None:
    limits = Limits(max_messages=6, strategy="drop_middle")

    assert shown(view(numbered(10), limits=limits, summary=covering(3, 6))) == "m1 m2 summary m7 m8 m9 m10"
    behind = view(numbered(11), limits=limits, summary=covering(3, 6), uncovered_tokens=100)
    assert shown(behind) == "m1 m2 summary m7 m8 m9 m10 m11"
    assert ids(behind.overflow) == "m7"


@each_row(("limit", "summary"), [(10, None), (10, covering(1, 4)), (99, covering(1, 8))])
def test_a_conversation_that_fits_completely_gets_no_summary(limit: int, summary: Summary | None) -> None:
    seen = view(numbered(10), limits=Limits(max_messages=limit), summary=summary)

    assert shown(seen) == ids(numbered(10))
    assert seen.overflow == ()


def test_a_summary_that_lags_leaves_no_gap() -> None:
    limits = Limits(max_messages=4)
    behind = view(numbered(10), limits=limits, summary=covering(1, 4), uncovered_tokens=100)

    assert shown(behind) == "summary m5 m6 m7 m8 m9 m10"
    assert ids(behind.overflow) == "m5 m6"
    assert behind.report.flags == ()

    bounded = view(numbered(10), limits=limits, summary=covering(1, 4), uncovered_tokens=10)
    assert shown(bounded) == "summary m6 m7 m8 m9 m10"
    assert bounded.report.flags == ("gap",)

    first = view(numbered(6), limits=limits, uncovered_tokens=100)
    assert shown(first) == ids(numbered(6))
    assert ids(first.overflow) == "m1 m2"


def test_a_summary_uses_tokens_and_is_dropped_for_the_newest_turn() -> None:
    limits = Limits(max_tokens=40)

    assert shown(view(numbered(10), limits=limits, summary=covering(1, 7))) == "summary m8 m9 m10"
    assert shown(view(numbered(10), limits=limits, summary=covering(1, 6))) == "summary m8 m9 m10"
    tight = view(numbered(10), limits=Limits(max_tokens=15), summary=covering(1, 9))
    assert (shown(tight), tight.report.flags) == ("m10", ("summary_dropped",))
    assert not tight.report.over_budget


def test_23_messages_with_5_kept_and_a_summary_are_6() -> None:
    seen = view(numbered(23), limits=Limits(max_messages=5), summary=covering(1, 18))

    assert len(seen.messages) == 6
    assert sum(one.reason == "summarised" for one in seen.report.removed) == 18
    assert seen.messages[0]["content"].startswith(PREFIX)


def test_a_view_with_threshold_and_summary_grows_after_the_summary() -> None:
    limits = Limits(threshold=TrimThreshold(trigger=5, target=2))

    assert shown(view(numbered(5), limits=limits, summary=covering(1, 3))) == "summary m4 m5"
    assert shown(view(numbered(7), limits=limits, summary=covering(1, 3))) == "summary m4 m5 m6 m7"


# Predefined messages, inserts, budget


@each_row(
    ("options", "expected"),
    [
        ({}, "m1 m2 m3 m4 m5"),
        ({"pin_predefined": True}, "p1 p2 m3 m4 m5"),
        ({"strategy": "drop_middle"}, "p1 p2 m3 m4 m5"),
    ],
)
def test_predefined_messages_count_and_go_first_unless_they_are_pinned(options: dict[str, Any], expected: str) -> None:
    limits = Limits(max_messages=5, strategy=options.pop("strategy", "drop_oldest"))

    seen = view(numbered(5), limits=limits, predefined=predefined(), **options)

    assert shown(seen) == expected
    assert all(one.kind == ("predefined" if one.id[0] == "p" else "history") for one in seen.records)
    assert "p1" not in seen.report.kept


def test_inserts_use_the_reserved_tokens_and_precede_the_history() -> None:
    memory = Record(id="r", seq=0, role="system", content="40", kind="recall", message_ids=["x"], score=0.9)
    limits = Limits(max_tokens=100)

    before = view(numbered(10), limits=limits, reserved_tokens=50)
    after = view(numbered(10), limits=limits, reserved_tokens=50, inserts=[memory], summary=covering(1, 6))

    assert shown(before) == "m6 m7 m8 m9 m10"
    assert shown(after) == "summary r m7 m8 m9 m10"
    assert (after.sources[1].kind, after.sources[1].message_ids, after.sources[1].score) == ("recall", ("x",), 0.9)
    assert (after.report.budget, after.report.over_budget) == (100, False)
    assert "x" not in after.report.kept


@each_row(
    ("limits", "clip", "expected", "over"),
    [
        (Limits(max_tokens=25, prune="turn"), False, "m9 m10", False),
        (Limits(max_tokens=15, prune="turn"), False, "", True),
        (Limits(max_tokens=5, min_messages=1), False, "m10", True),
    ],
)
def test_an_exceeded_budget_is_reported(limits: Limits, clip: Any, expected: str, over: Any) -> None:
    seen = view(numbered(10), limits=limits, clip_oversized=clip)

    assert (shown(seen), seen.report.over_budget) == (expected, over)


def long_turns() -> list[Record]:
    """Three turns; the answer of the second one has 3,000 words."""
    return [
        record("u1", 1),
        record("a1", 2),
        record("u2", 3),
        record("a2", 4).with_content("word " * 3000),
        record("u3", 5),
        record("a3", 6),
    ]


def test_clip_edge_truncates_the_next_older_turn_into_the_remaining_room() -> None:
    limits = Limits(max_tokens=200, prune="turn")

    cut = build_view(long_turns(), ViewOptions(limits=limits, clip_edge=True, uncovered_tokens=0))
    whole = build_view(long_turns(), ViewOptions(limits=limits, uncovered_tokens=0))

    assert (shown(cut), shown(whole)) == ("u2 a2 u3 a3", "u3 a3")
    assert MARK in cut.records[1].text
    assert 190 <= cut.report.tokens_after <= 200
    assert cut.report.flags == ("clipped", "gap")
    assert cut.report.kept == ("u2", "a2", "u3", "a3")
    assert [each.id for each in cut.overflow] == ["u1", "a1", "u2", "a2"]
    assert cut.overflow[-1].text == "word " * 3000, "the next summary needs all of it"


@each_row(
    "limits",
    [
        Limits(max_tokens=60, prune="turn"),  # too little is left to say anything
        Limits(max_tokens=200, max_turns=1, prune="turn"),  # not for its tokens is it left out
        Limits(max_tokens=200, max_messages=3, prune="turn"),
        Limits(max_tokens=200, strategy="drop_middle", prune="turn", keep_first=0),
    ],
)
def test_clip_edge_applies_only_if_tokens_are_the_reason_and_enough_remain(limits: Limits) -> None:
    seen = build_view(long_turns(), ViewOptions(limits=limits, clip_edge=True))

    assert shown(seen) == "u3 a3"
    assert seen.report.flags == ()


@each_row("to_seq", [2, 4])
def test_clip_edge_adds_a_part_of_a_turn_whether_a_summary_covers_it_or_not(to_seq: int) -> None:
    options = ViewOptions(limits=Limits(max_tokens=200, prune="turn"), clip_edge=True)

    seen = build_view(long_turns(), options, summary=covering(1, to_seq))

    assert shown(seen) == "summary u2 a2 u3 a3"
    assert ids(seen.overflow) == ("u2 a2" if to_seq == 2 else "")


def test_a_summary_that_leaves_no_room_for_the_newest_turn_is_truncated_if_the_view_truncates() -> None:
    limits = Limits(max_tokens=100, prune="turn")
    long = replace(covering(1, 2), text="word " * 80)

    cut = build_view(long_turns(), ViewOptions(limits=limits, clip_edge=True), summary=long)
    whole = build_view(long_turns(), ViewOptions(limits=limits), summary=long)
    tiny = build_view(long_turns(), ViewOptions(limits=Limits(max_tokens=30), clip_edge=True), summary=long)

    assert (shown(cut), shown(whole)) == ("summary u3 a3", "u3 a3")
    assert MARK in cut.records[0].text
    assert (cut.report.flags, whole.report.flags) == (("summary_clipped", "gap"), ("summary_dropped",))
    assert 95 <= cut.report.tokens_after <= 100
    assert tiny.report.flags == ("summary_dropped",)


def test_clip_oversized_truncates_a_newest_turn_that_is_too_large() -> None:
    records = [record("u1", 1), record("a1", 2).with_content("word " * 3000)]
    limits = Limits(max_tokens=200, prune="turn")

    seen = build_view(records, ViewOptions(limits=limits, clip_oversized=True))

    assert shown(seen) == "u1 a1"
    assert seen.report.flags == ("clipped",)
    assert not seen.report.over_budget
    assert seen.report.tokens_after <= 200
    assert build_view(records, ViewOptions(limits=limits)).messages == []


# Contents and shapes


def test_tool_results_are_cleared_before_tokens_are_counted() -> None:
    records = log("u1 A1[t1] T1 a1 u2 a2")
    records[2] = records[2].with_content("5000")

    cleared = view(records, clearing=ToolResultClearing(), limits=Limits(max_tokens=100))
    assert shown(cleared) == "u1 A1 T1 a1 u2 a2"
    assert cleared.messages[2] == {"role": "tool", "content": "", "tool_call_id": "t1"}
    assert (cleared.report.tokens_before, cleared.report.tokens_after) == (5050, 60)
    assert shown(view(records, limits=Limits(max_tokens=100))) == "a1 u2 a2"
    assert view(records, clearing=ToolResultClearing(above_tokens=6000)).messages[2]["content"] == "5000"


def test_the_report_lists_the_messages_that_alignment_merged() -> None:
    summary = replace(covering(1, 2), message_ids=["m1", "m2"])

    seen = view(numbered(5), limits=Limits(max_messages=3), summary=summary, align="strict")

    assert seen.messages[0] == {"role": "user", "content": f"{PREFIX}S(1-2)\n\nm3"}
    assert (seen.sources[0].kind, seen.sources[0].message_ids) == ("history", ("m1", "m2", "m3"))
    assert seen.report.kept == ("m3", "m4", "m5")


def test_files_become_parts_within_the_image_budget() -> None:
    def asked(word: str, seq: int) -> Record:
        photo = FileRef(type="image", transfer_method="remote_url", pointer=f"https://x.org/{word}.png")
        return replace(record(word, seq), files=[photo])

    seen = view([asked("u1", 1), asked("u2", 2)], max_images=1)
    assert seen.messages[0]["content"] == "[image: u1.png]\nu1"
    assert seen.messages[1]["content"][0]["image_url"]["url"] == "https://x.org/u2.png"
    assert seen.report.degraded == ()

    gone = FileRef(type="image", transfer_method="local_file", pointer="f1", name="cat.png")
    lost = view([replace(record("u1", 1), files=[gone])], degraded=["recall"])
    assert lost.messages == [{"role": "user", "content": "[image: cat.png]\nu1"}]
    assert lost.report.degraded == ("recall", "files")


def test_a_view_renders_for_langchain_with_alignment() -> None:
    seen = view(numbered(10), limits=Limits(max_messages=3), align="user_first", format="langchain")

    assert seen.messages == [
        {"type": "human", "content": "m9", "id": "m9"},
        {"type": "ai", "content": "m10", "id": "m10"},
    ]
    assert [one.reason for one in seen.report.removed if one.id == "m8"] == ["before_first_user"]


LANGCHAIN = "u1 a1 u2 A2[t2] T2 a2 u3"


@each_row(
    ("limit", "plain", "user_first", "with_system"),
    [
        # LangChain's trim_messages gives the same but where noted.
        (7, LANGCHAIN, LANGCHAIN, "s1 u2 A2[t2] T2 a2 u3"),
        (5, "u2 A2[t2] T2 a2 u3", "u2 A2[t2] T2 a2 u3", "s1 u3"),
        (4, "A2[t2] T2 a2 u3", "u3", "s1 u3"),
        (3, "a2 u3", "u3", "s1 u3"),  # there an orphan tool result stays
        (1, "u3", "u3", "s1 u3"),  # there the question goes; here both stay, and over_budget says so
        (0, "", "", "s1"),
    ],
)
def test_views_compared_with_langchains_trim_messages(
    limit: int, plain: str, user_first: str, with_system: str
) -> None:
    system = [record("s1", 0)]
    limits = Limits(max_messages=limit)

    assert shown(view(log(LANGCHAIN), limits=limits)) == ids(log(plain))
    assert shown(view(log(LANGCHAIN), limits=limits, align="user_first")) == ids(log(user_first))
    pinned = view(log(LANGCHAIN), limits=limits, align="user_first", predefined=system, pin_predefined=True)
    assert shown(pinned) == ids(log(with_system))


# What holds for every view


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Anything that a log may hold: unanswered calls, results without calls, failed turns."""
    words: list[str] = []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        kind = draw(st.sampled_from(["u", "u", "a", "a", "A", "T", "AT", "s"]))
        if kind == "AT":
            words += [f"A{number}[t{number}]", f"T{number}"]
        elif kind == "A":
            words.append(f"A{number}[t{number},t{draw(st.integers(number, number + 2))}]")
        else:
            words.append(f"{kind}{number}")
    texts = st.sampled_from(["", "1", "10", "30"])
    return [one.with_content(draw(texts)) for one in log(" ".join(words))]


OPTIONS = st.builds(
    ViewOptions,
    limits=st.builds(
        Limits,
        max_messages=st.none() | st.integers(3, 8),
        max_tokens=st.none() | st.integers(0, 120),
        min_messages=st.integers(0, 2),
        strategy=st.sampled_from(["drop_oldest", "drop_middle"]),
        prune=st.sampled_from(["turn", "group", "message"]),
        threshold=st.none() | st.just(TrimThreshold(trigger=6, target=3)),
    ),
    clearing=st.none() | st.just(ToolResultClearing()),
    max_images=st.none() | st.just(0),
    uncovered_tokens=st.none() | st.integers(0, 60),
    align=st.sampled_from(["none", "user_first", "strict"]),
)


@settings(max_examples=80, deadline=None)
@given(logs(), OPTIONS, st.integers(0, 10), st.randoms(use_true_random=False))
def test_every_view_satisfies_its_options(
    records: list[Record], options: ViewOptions, covered: int, chance: random.Random
) -> None:
    summary = covering(1, covered) if covered else None
    seen = build_view(records, options, counter=COUNTER, summary=summary, predefined=predefined())
    report = seen.report

    shuffled = records[:]
    chance.shuffle(shuffled)
    assert build_view(shuffled, options, counter=COUNTER, summary=summary, predefined=predefined()) == seen

    # Each message is kept or removed with a reason, in the order of the log.
    removed = {one.id for one in report.removed}
    assert set(report.kept) | removed >= {one.id for one in records}
    order = {one.id: one.seq for one in records}
    assert [order[one] for one in report.kept] == sorted(order[one] for one in report.kept)

    # The budget holds, or the report says that it does not; sources are parallel.
    assert report.tokens_after == sum(one.tokens for one in seen.sources)
    assert report.budget is None or report.tokens_after <= report.budget or report.over_budget
    assert len(seen.sources) == len(seen.messages)

    # A model takes it.
    assert refusals(seen.messages) == []

    # The report says what the summary covers, and how much of that is sent as well.
    assert report.summary is not None or not any(one.kind == "summary" for one in seen.sources)
    if report.summary is not None:
        assert (report.summary.from_seq, report.summary.to_seq) == (1, covered)
        assert report.summary.overlap >= len(set(report.kept) & {one.id for one in records if one.seq <= covered})
    for one in report.removed:
        if one.reason == "summarised":
            assert report.summary is not None
            assert order[one.id] <= covered


@settings(max_examples=50, deadline=None)
@given(logs(), OPTIONS)
def test_a_question_is_never_lost_without_a_report(records: list[Record], options: ViewOptions) -> None:
    answered = [*records, Record(id="q", seq=99, role="user", content="7")]

    seen = build_view(answered, options, counter=COUNTER)

    assert open_question(answered) is not None
    assert "q" in seen.report.kept or (seen.report.over_budget and (options.limits.max_tokens or 0) < 7)
