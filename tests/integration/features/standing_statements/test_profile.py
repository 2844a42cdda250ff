"""A person's profile: what it contains, in which order, whose it is, and that it goes with its messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from harness.world import World

from memorybase.core import errors
from memorybase.core.conversation import View
from memorybase.core.conversation.context import ContextRequest, RecallOptions, build_context
from memorybase.core.conversation.session_memory.presets import TOKEN_BUFFER
from memorybase.core.sessions import edits
from memorybase.features.standing_statements import profile, statements
from memorybase.features.standing_statements.context_profile import PROFILE_HEADING
from memorybase.features.standing_statements.profile import ProfileItem

NURSE, METRIC = "I'm a nurse on ward 4.", "Always answer in metric units."


def tell(world: World, *texts: str, session: str = "one", end_user: str | None = "ada") -> list[UUID]:
    said: list[Any] = [{"role": "user", "content": text} for text in texts]
    return [each.id for each in world.say(session, *said, end_user_id=end_user).messages]


def items(world: World, end_user: str = "ada", limit: int = 200) -> list[ProfileItem]:
    return profile.get_profile(world.services, world.user_id, world.flow_id, end_user, limit=limit).items


def texts(world: World, end_user: str = "ada") -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in items(world, end_user)]


def context(world: World, query: str | None, session: str = "new", **fields: Any) -> View:
    request = {"flow_id": world.flow_id, "session_id": session, "token_budget": 1_000, "end_user_id": "ada"} | fields
    return build_context(world.services, world.user_id, ContextRequest(query=query, **request))


def told(view: View) -> list[str]:
    """The lines of the profile, without their dates."""
    found = [record.text.splitlines() for record in view.records if record.text.startswith(PROFILE_HEADING)]
    return [line.partition("] ")[2] for lines in found for line in lines[1:]]


def test_it_has_pins_wishes_what_is_repeated_and_what_is_told(world: World) -> None:
    (nurse,) = tell(world, NURSE)
    first, second = tell(world, "The cat gets two spoons of fish.", "The cat gets two spoons of fish, mind.")
    tell(world, "Where is my boat?", "Make me a list of boats.", METRIC, "The boat left at noon.")
    (pinned,) = tell(world, "Berth twelve.", session="two")
    edits.edit_message(world.services, world.user_id, pinned, {"pinned": True})
    (office,) = tell(world, "My office is in room 31.", session="two")
    found = items(world)
    assert [(each.kind, each.text, each.times) for each in found] == [
        ("pinned", "Berth twelve.", 1),
        ("standing", METRIC, 1),
        ("repeated", "The cat gets two spoons of fish, mind.", 2),
        ("about", NURSE, 1),
        ("about", "My office is in room 31.", 1),
    ]
    assert found[2].sources == [second, first]
    assert (found[2].message_id, found[2].session_id) == (second, "one")
    assert (found[3].message_id, found[4].message_id) == (nurse, office)
    assert items(world, limit=2) == found[:2]
    assert profile.message_ids(found) == [each.message_id for each in found]


def test_only_the_present_value_is_in_it(world: World) -> None:
    tell(world, "My office is in room 12.", "I live in Bergen. My sister is called Ida.")
    tell(world, "My office is in room 31.", "I live in Oslo now.", "Please use imperial units from now on.")
    tell(world, "Please use metric units from now on.", session="two")
    assert texts(world) == [
        ("standing", "Please use metric units from now on."),
        ("about", "My sister is called Ida."),
        ("about", "My office is in room 31."),
        ("about", "I live in Oslo now."),
    ]


def test_statements_count_as_people_changed_them_and_also_if_they_were_not_looked_for(world: World) -> None:
    unread = world.services.settings.model_copy(update={"find_standing": False})
    tell(replace(world, services=replace(world.services, settings=unread)), METRIC)
    assert texts(world) == [("standing", METRIC)]
    tell(world, "Never use emojis.", "Call me Sam.", session="two")
    listed = statements.list_statements(world.services, world.user_id, world.flow_id, end_user_id="ada").statements
    by_text = {each.text: each.id for each in listed}
    statements.edit_statement(world.services, world.user_id, by_text["Call me Sam."], "Call me Samuel.")
    statements.delete_statement(world.services, world.user_id, by_text["Never use emojis."])
    assert [each for each in texts(world) if each[0] == "standing"] == [
        ("standing", "Call me Samuel."),
        ("standing", METRIC),
    ]


def test_it_stays_with_its_person_and_flow(world: World) -> None:
    tell(world, NURSE)
    tell(world, "I'm a plumber.", session="bobs", end_user="bob")
    tell(world, "I'm a pilot.", session="nobodys", end_user=None)
    other = replace(world, flow_id=world.new_flow())
    tell(other, "I'm a baker.", session="elsewhere")
    assert texts(world) == [("about", NURSE)]
    assert texts(world, "bob") == [("about", "I'm a plumber.")]
    assert texts(other) == [("about", "I'm a baker.")]
    with pytest.raises(errors.NotFound):
        items(world, "carol")
    stranger = world.for_new_user()
    with pytest.raises(errors.NotFound):
        profile.get_profile(stranger.services, stranger.user_id, world.flow_id, "ada", limit=9)


def test_nothing_is_left_of_what_was_erased_deleted_or_muted(world: World) -> None:
    nurse, office, boat = tell(world, NURSE, "My office is in room 31.", "My boat is blue.")
    tell(world, METRIC, session="two")
    edits.edit_message(world.services, world.user_id, boat, {"muted": True})
    edits.delete_message(world.services, world.user_id, office)
    edits.edit_message(world.services, world.user_id, nurse, {"content": "I'm a midwife."})
    assert texts(world) == [("standing", METRIC), ("about", "I'm a midwife.")]
    edits.delete_session(world.services, world.user_id, world.flow_id, "two")
    assert texts(world) == [("about", "I'm a midwife.")]
    edits.erase_end_user(world.services, world.user_id, "ada")
    with pytest.raises(errors.NotFound):
        items(world)
    assert told(context(world, "What do you know about me?")) == []


def test_a_long_history_is_read_from_both_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "NEWEST_READ", 4)
    monkeypatch.setattr(profile, "OLDEST_READ", 2)
    tell(world, NURSE, "My cat is blind.", "My boat is blue.", "My bike is red.", "My hat is green.", session="old")
    tell(world, "My tea is cold.", "My van is new.", session="recent")
    assert [text for _, text in texts(world)] == [
        NURSE,
        "My cat is blind.",
        "My bike is red.",
        "My van is new.",
        "My tea is cold.",
        "My hat is green.",
    ]


class TestContext:
    def test_a_question_about_the_person_gets_it(self, world: World) -> None:
        first, second = tell(world, NURSE, METRIC)
        view = context(world, "What do you know about me?")
        assert told(view) == [METRIC, NURSE]
        (message,), (source,) = view.messages, view.sources
        assert (message["role"], source.kind) == ("system", "recall")
        assert source.message_ids == (str(second), str(first))
        report: Any = view.report
        assert [each.message_id for each in report.recalled] == [str(second), str(first)]
        assert report.spent.recall == source.tokens == report.tokens_after
        assert told(context(world, "Was weißt du über mich?")) == told(view)

    def test_the_call_decides_and_else_the_question(self, world: World) -> None:
        tell(world, NURSE)
        for query, wanted, contains in (
            ("Where is my boat?", None, False),
            ("Where is my boat?", True, True),
            (None, True, True),
            (None, None, False),
            ("Who am I?", None, True),
            ("Who am I?", False, False),
        ):
            assert told(context(world, query, profile=wanted)) == ([NURSE] if contains else []), query
        assert told(context(world, "Who am I?", use_memory=False)) == []
        assert told(context(world, "Who am I?", recall=RecallOptions(share=0))) == []

    def test_a_question_about_an_area_of_life_gets_it_the_nearest_first(self, world: World) -> None:
        base = world.new_base()
        tell(world, "My family owns a harbour.", "My cat is blind.", METRIC, session="one")
        tell(world, "I live on a boat.", "I work as a plumber.", session="two")
        world.flush(base)
        world.drain()
        about_me = told(context(world, "What do you know about me?"))
        about_family = told(context(world, "Tell me what you know about my family."))
        assert about_family[0] == "My family owns a harbour." != about_me[0]
        assert sorted(about_family) == sorted(about_me)
        assert told(context(world, "What do you know about my piano?")) == []
        assert told(context(world, "What do you know about my family?", profile=False)) == []

    def test_nothing_is_shown_twice(self, world: World) -> None:
        base = world.new_base()
        tell(world, NURSE, "My boat is blue.")
        world.flush(base)
        world.drain()
        own = tell(world, "I'm on the night shift this week.", session="new")
        view = context(world, "What colour is my boat?", profile=True, recall=RecallOptions(min_score=0))
        assert told(view) == [NURSE, "My boat is blue."]  # the third is in the history
        assert view.text.count("My boat is blue.") == view.text.count("night shift") == 1
        assert [ids for source in view.sources for ids in source.message_ids].count(str(own[0])) == 1

    def test_it_keeps_to_the_share_of_the_memories(self, world: World) -> None:
        tell(world, *(f"My boat number {number} is called Marigold {number}." for number in range(60)))
        for budget in (50, 200, 1_000):
            asked: Any = context(world, "Who am I?", token_budget=budget).report
            given: Any = context(world, "Hm?", token_budget=budget, profile=True, memory_base_ids=()).report
            assert asked.spent.recall <= budget * 0.3
            assert given.tokens_after <= budget
        assert told(context(world, "Who am I?"))

    def test_without_an_end_user_it_is_the_sessions_or_the_flows(self, world: World) -> None:
        tell(world, NURSE, session="first", end_user=None)
        tell(world, "I'm a pilot.", session="second", end_user=None)
        asked = {"end_user_id": None, "preset": replace(TOKEN_BUFFER, roles=frozenset({"assistant"}))}
        assert told(context(world, "Who am I?", session="second", **asked)) == [NURSE, "I'm a pilot."]
        alone = RecallOptions(scope="session")
        assert told(context(world, "Who am I?", session="second", recall=alone, **asked)) == ["I'm a pilot."]
        assert told(context(world, "Who am I?", session="unknown", recall=alone, **asked)) == []
        tell(world, "I'm a plumber.", session="bobs", end_user="bob")
        assert told(context(world, "Who am I?", session="second", **asked)) == ["I'm a pilot."]
