"""Standing statements in POST /context: within their share, once, of the right person, and only if wanted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from harness.rows import each_row
from harness.world import World

from memorybase.core.conversation import View
from memorybase.core.conversation.context import ContextRequest, RecallOptions, StandingOptions, build_context
from memorybase.core.conversation.context_report import ContextReport
from memorybase.core.conversation.memory_use import record as uses
from memorybase.core.conversation.session_memory.presets import FLOWX_5, FLOWX_6, TOKEN_BUFFER, WINDOW
from memorybase.core.database import clock
from memorybase.core.sessions import edits, flows
from memorybase.features.standing_statements import statements
from memorybase.features.standing_statements.context_statements import STANDING_HEADING

METRIC, FRAMEWORKS = "Always answer in metric units.", "I prefer light frameworks."


@pytest.fixture
def world(sqlite_world: World) -> World:
    """On SQLite only: the statements are the same on both databases, and test_statements runs them there."""
    return sqlite_world


def tell(world: World, *texts: str, session: str = "old", end_user: str | None = "ada") -> list[Any]:
    said: list[Any] = [{"role": "user", "content": text} for text in texts]
    return world.say(session, *said, end_user_id=end_user).messages


def context(
    world: World, session: str = "new", *, include: bool | None = True, share: float = 0.15, **fields: Any
) -> View:
    standing = StandingOptions(include=include, share=share)
    request = {"flow_id": world.flow_id, "session_id": session, "token_budget": 1_000, "standing": standing} | fields
    return build_context(world.services, world.user_id, ContextRequest(**({"end_user_id": "ada"} | request)))


def database_time(world: World) -> datetime:
    with world.services.database.reading() as db:
        return clock.now(db)


def report(view: View) -> ContextReport:
    assert isinstance(view.report, ContextReport)
    return view.report


def said(view: View) -> list[str]:
    """The statements that the model reads."""
    lines = [record.text.splitlines() for record in view.records if record.kind == "standing"]
    return [line.removeprefix("- ") for each in lines for line in each[1:]]


def test_they_are_one_marked_message_that_names_its_sources(world: World) -> None:
    first, second = (tell(world, text, session=text)[0].id for text in (METRIC, FRAMEWORKS))
    view = context(world, query="How far is it to the harbor?")
    (message,), (source,) = view.messages, view.sources
    assert message == {"role": "system", "content": f"{STANDING_HEADING}\n- {METRIC}\n- {FRAMEWORKS}"}
    assert (source.kind, source.message_ids) == ("standing", (str(first), str(second)))
    assert [each.message_id for each in report(view).standing] == [str(first), str(second)]
    assert report(view).spent.standing == source.tokens == view.report.tokens_after
    assert METRIC in view.text


@each_row(
    ("include", "flow_says", "contains"),
    [(None, False, False), (None, True, True), (True, False, True), (False, True, False)],
)
def test_the_call_decides_and_else_the_flow(
    world: World, include: bool | None, flow_says: bool, contains: bool
) -> None:
    world = world.for_new_user()
    tell(world, METRIC)
    flows.update_flow(world.services, world.user_id, world.flow_id, {"standing": flow_says})
    assert said(context(world, include=include)) == ([METRIC] if contains else [])


def test_a_context_without_them_is_as_before(world: World) -> None:
    tell(world, "Where is my boat?")
    without = context(world, include=False, query="boat").as_dict()
    assert context(world, include=True, query="boat").as_dict() == without
    assert context(world, include=None, query="boat").as_dict() == without


def test_they_stay_with_their_end_user(world: World) -> None:
    tell(world, METRIC)
    tell(world, FRAMEWORKS, session="bobs", end_user="bob")
    tell(world, "Never use emojis.", session="nobodys", end_user=None)
    tell(world, "Call me Sam.", session="nobodys too", end_user=None)
    flow = RecallOptions(scope="flow")
    assert said(context(world)) == said(context(world, recall=flow)) == [METRIC]
    assert said(context(world, end_user_id="bob")) == [FRAMEWORKS]
    assert said(context(world, end_user_id="eve")) == []
    assert said(context(world, "unknown", end_user_id=None)) == []
    assert said(context(world, "unknown", end_user_id=None, recall=flow)) == ["Never use emojis.", "Call me Sam."]


def test_what_the_history_shows_is_not_said_twice(world: World) -> None:
    tell(world, METRIC)
    tell(world, FRAMEWORKS, session="now")
    view = context(world, "now")
    assert said(view) == [METRIC]
    assert [source.kind for source in view.sources] == ["standing", "history"]


def test_a_persons_own_words_are_said_beside_the_message(world: World) -> None:
    tell(world, FRAMEWORKS, session="now")
    (found,) = statements.list_statements(world.services, world.user_id, world.flow_id, end_user_id="ada").statements
    statements.edit_statement(world.services, world.user_id, found.id, "Suggest small frameworks.", by="key")
    view = context(world, "now")
    assert said(view) == ["Suggest small frameworks."]
    assert [each.own_words for each in report(view).standing] == [True]


@each_row("preset", [TOKEN_BUFFER, WINDOW, FLOWX_5, FLOWX_6])
@each_row("budget", [60, 150, 400, 1_500])
def test_the_budget_holds_and_their_share_too(world: World, preset: Any, budget: int) -> None:
    world = world.for_new_user()
    for number in range(12):
        tell(world, f"Always mention tool{number} before harbor{number}.", session=f"old {number}")
    world.say(
        "now",
        *(
            {"role": role, "content": f"turn {number} {'x' * 80}"}  # type: ignore[arg-type]
            for number in range(12)
            for role in ("user", "assistant")
        ),
        end_user_id="ada",
    )
    view = context(world, "now", token_budget=budget, share=0.4, preset=preset, query="harbor")
    assert report(view).spent.standing <= 0.4 * budget
    assert bool(said(view)) == (budget >= 150)
    assert view.report.tokens_after <= budget
    assert not view.report.over_budget


def test_as_of_a_date_later_statements_words_and_edits_do_not_count(world: World) -> None:
    imperial = "Always answer in imperial units."
    first = tell(world, METRIC, FRAMEWORKS)
    before = database_time(world)
    (found, _) = statements.list_statements(world.services, world.user_id, world.flow_id, end_user_id="ada").statements
    tell(world, imperial, session="later")
    statements.edit_statement(world.services, world.user_id, found.id, "I prefer small ones.", by="key")
    assert said(context(world)) == ["I prefer small ones.", imperial]
    assert said(context(world, as_of=before)) == [METRIC, FRAMEWORKS]
    edits.edit_message(world.services, world.user_id, first[1].id, {"content": "Always mention the harbor."})
    assert said(context(world)) == ["Always mention the harbor.", imperial]
    assert said(context(world, as_of=before)) == [METRIC]


def test_of_too_many_those_about_the_question_come_first(world: World) -> None:
    tell(world, "Always show prices when I ask about hotels.", session="a")
    tell(world, "Always give opening hours when I ask about museums.", session="b")
    tell(world, "Call me Sam.", session="c")
    narrow = {"share": 0.06, "token_budget": 1_000}
    assert "Always show prices when I ask about hotels." in said(context(world, query="Which hotel?", **narrow))
    assert "Always give opening hours when I ask about museums." in said(context(world, query="A museum?", **narrow))
    assert "Call me Sam." in said(context(world, query="Where is it?", **narrow))


def test_a_share_of_zero_and_no_memory_leave_them_out(world: World) -> None:
    tell(world, METRIC)
    assert said(context(world, share=0.0)) == []
    assert said(context(world, use_memory=False)) == []


def test_a_recorded_use_loses_them_with_their_message(world: World) -> None:
    message = tell(world, METRIC)[0].id
    run = world.say("now", {"role": "user", "content": "How far?"}, end_user_id="ada")  # type: ignore[arg-type]
    context(world, "now", run_id=run.run_id, node_id="llm")
    edits.delete_message(world.services, world.user_id, message)
    (node,) = uses.run_memory(world.services, world.user_id, world.flow_id, run.run_id).nodes
    assert METRIC not in str(node.messages)
