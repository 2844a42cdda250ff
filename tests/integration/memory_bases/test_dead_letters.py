"""Dead letters of several memory bases: grouped by cause and text, retried and discarded in bulk."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import dead_letters, regenerate
from memorybase.core.memory_bases.dead_letters import DeadLetterAction, DeadLetterOutcome, SkipReason
from memorybase.core.models import DeadLetter
from memorybase.core.queries.dead_letters import DeadLetterFilter
from memorybase.core.read_models import dead_letters as groups
from memorybase.core.read_models import jobs

RETRY, DISCARD = DeadLetterAction.RETRY, DeadLetterAction.DISCARD


@pytest.fixture
def bases(world: World) -> tuple[UUID, UUID]:
    """Two memory bases over one flow with five dead letters each: "poison" three times, "more poison" twice."""
    found = world.new_base(threshold=1), world.new_base(threshold=1)
    world.embedder.reject("poison")
    world.say("a", "poison", "fine", "poison", "more poison")
    world.say("b", "poison", "more poison")
    world.settle()
    return found


def act(
    world: World,
    action: DeadLetterAction,
    user_id: UUID | None = None,
    limit: int = 1000,
    *,
    dry_run: bool = False,
    **wanted: Any,
) -> Any:
    return dead_letters.act_on_dead_letters(
        world.services, user_id or world.user_id, action, DeadLetterFilter(**wanted), limit=limit, dry_run=dry_run
    )


def states(world: World, base_id: UUID) -> list[str]:
    return sorted(letter.state for letter in world.dead_letters(base_id))


def test_dead_letters_are_grouped_by_cause_and_text(world: World, bases: tuple[UUID, UUID]) -> None:
    found = groups.group_dead_letters(world.services, world.user_id, DeadLetterFilter())
    (cause,) = found.causes
    assert found.messages == cause.messages == 10
    assert (cause.cause, cause.sessions, cause.memory_bases, cause.distinct_texts) == ("text_rejected", 4, 2, 2)
    texts = [(t.example.message and t.example.message.content, t.messages, t.sessions) for t in cause.texts]
    assert texts == [("poison", 6, 4), ("more poison", 4, 4)]
    (one,) = groups.group_dead_letters(world.services, world.user_id, DeadLetterFilter(memory_base_id=bases[0])).causes
    assert (one.messages, one.sessions, one.memory_bases) == (5, 2, 1)
    other = groups.group_dead_letters(world.services, world.new_user(), DeadLetterFilter())
    assert (other.causes, other.messages) == ([], 0)


@pytest.mark.usefixtures("bases")
def test_texts_of_a_cause_are_limited_and_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "TEXTS_OF_A_CAUSE", 1)
    (cause,) = groups.group_dead_letters(world.services, world.user_id, DeadLetterFilter()).causes
    assert ([text.messages for text in cause.texts], cause.distinct_texts, cause.messages) == ([6], 2, 10)


def test_all_of_a_cause_are_retried_with_a_result_for_each(world: World, bases: tuple[UUID, UUID]) -> None:
    world.embedder._rejected.clear()
    done = act(world, RETRY, cause="text_rejected")
    assert (len(done.results), done.remaining) == (10, 0)
    assert {result.outcome for result in done.results} == {DeadLetterOutcome.RETRYING}
    queued = {(result.memory_base_id, result.session_id): result.job_id for result in done.results}
    assert len(queued) == len(set(queued.values())) == 4
    ids = [result.id for result in done.results]
    pairs = [(result.id, result.message_id) for result in done.results]
    assert {each.outcome for each in groups.outcomes(world.services, world.user_id, pairs)} == {"retrying"}
    left = groups.dead_letter_states(world.services, world.user_id, ids)
    assert {letter.state for letter in left.values()} == {"retrying"}
    assert act(world, RETRY, cause="text_rejected").results == []  # they are retried already
    world.settle()
    assert groups.dead_letter_states(world.services, world.user_id, ids) == {}
    became = groups.outcomes(world.services, world.user_id, pairs)
    assert {(each.outcome, each.message and each.message.session_id) for each in became} == {
        ("searchable", "a"),
        ("searchable", "b"),
    }
    assert {each.message for each in groups.outcomes(world.services, world.new_user(), pairs)} == {None}
    for base in bases:
        world.assert_all_ingested(base)


def test_a_retry_that_fails_again_is_dead_with_one_more_attempt(world: World, bases: tuple[UUID, UUID]) -> None:
    act(world, RETRY, memory_base_id=bases[0])
    world.settle()
    assert {(letter.state, letter.attempts) for letter in world.dead_letters(bases[0])} == {("dead", 2)}
    assert {letter.attempts for letter in world.dead_letters(bases[1])} == {1}


def test_an_action_is_bounded_and_names_what_remains(world: World, bases: tuple[UUID, UUID]) -> None:
    seen: list[UUID] = []
    for remaining in (6, 2, 0):
        done = act(world, DISCARD, cause="text_rejected", limit=4)
        assert done.remaining == remaining
        seen += [result.id for result in done.results]
    assert len(seen) == len(set(seen)) == 10
    assert states(world, bases[0]) == states(world, bases[1]) == 5 * ["discarded"]


def test_those_alike_have_the_cause_and_the_text(world: World, bases: tuple[UUID, UUID]) -> None:
    (cause,) = groups.group_dead_letters(world.services, world.user_id, DeadLetterFilter()).causes
    example = cause.texts[1].example
    with world.services.database.transaction() as db:  # another cause, the same text
        other = db.scalars(sa.select(DeadLetter).where(DeadLetter.message_id == example.message_id)).first()
        assert other is not None
        other.error_code = "unexpected"
    wanted = other.id
    done = act(world, DISCARD, alike=[wanted])
    assert [result.id for result in done.results] == [wanted]
    assert len(act(world, DISCARD, alike=[cause.texts[0].example.id], memory_base_id=bases[0]).results) == 3
    assert act(world, DISCARD, alike=[uuid4()]).results == []


def test_ids_of_others_are_not_found_and_stay(world: World, bases: tuple[UUID, UUID]) -> None:
    letters = [letter.id for letter in world.dead_letters(bases[0])]
    eve = world.new_user()
    done = act(world, DISCARD, eve, ids=letters)
    assert [(result.id, result.outcome) for result in done.results] == [
        (letter, DeadLetterOutcome.NOT_FOUND) for letter in letters
    ]
    assert act(world, DISCARD, eve, alike=letters).results == []
    with pytest.raises(errors.NotFound):
        act(world, DISCARD, eve, memory_base_id=bases[0])
    assert states(world, bases[0]) == 5 * ["dead"]
    assert groups.dead_letter_states(world.services, eve, letters) == {}


def test_named_ones_are_retried_again_and_discarded_ones_are_not_found(world: World, bases: tuple[UUID, UUID]) -> None:
    first, second, *_ = (letter.id for letter in world.dead_letters(bases[0]))
    act(world, DISCARD, ids=[second])
    for _ in range(2):
        done = act(world, RETRY, ids=[first, second])
        assert [result.outcome for result in done.results] == [DeadLetterOutcome.RETRYING, DeadLetterOutcome.NOT_FOUND]
    world.settle()
    (retried,) = [letter for letter in world.dead_letters(bases[0]) if letter.id == first]
    assert (retried.state, retried.attempts) == ("dead", 2)


def test_the_limit_leaves_out_no_named_one(world: World, bases: tuple[UUID, UUID]) -> None:
    letters = [letter.id for base in bases for letter in world.dead_letters(base)]
    done = act(world, RETRY, ids=letters, limit=4)
    assert (done.taken, done.remaining, done.skipped) == (10, 0, {})


def test_a_list_over_all_memory_bases(world: World, bases: tuple[UUID, UUID]) -> None:
    whole = jobs.list_dead_letters(world.services, world.user_id, DeadLetterFilter(), PageRequest())
    assert (whole.total, {letter.memory_base_id for letter in whole.items}) == (10, set(bases))
    assert (
        jobs.list_dead_letters(world.services, world.user_id, DeadLetterFilter(cause="unexpected"), PageRequest()).total
        == 0
    )
    assert jobs.list_dead_letters(world.services, world.new_user(), DeadLetterFilter(), PageRequest()).total == 0


def test_a_dry_run_counts_and_changes_nothing(world: World, bases: tuple[UUID, UUID]) -> None:
    counted = act(world, DISCARD, memory_base_id=bases[0], dry_run=True)
    assert (counted.taken, counted.remaining, counted.results, counted.dry_run) == (5, 5, [], True)
    named = act(world, RETRY, ids=[world.dead_letters(bases[0])[0].id, uuid4()], dry_run=True)
    assert (named.taken, named.skipped) == (1, {SkipReason.NOT_FOUND: 1})
    assert states(world, bases[0]) == 5 * ["dead"]


def test_a_filter_by_flow_session_and_age_takes_what_matches(world: World, bases: tuple[UUID, UUID]) -> None:
    with world.services.database.reading() as db:
        now = clock.now(db)
    assert act(world, DISCARD, session_id="a", dry_run=True).taken == 6
    assert act(world, DISCARD, session_id="a", memory_base_id=bases[0], dry_run=True).taken == 3
    assert act(world, DISCARD, flow_id=world.new_flow(), dry_run=True).taken == 0
    assert act(world, DISCARD, until=now - timedelta(hours=1), dry_run=True).taken == 0
    assert act(world, DISCARD, since=now - timedelta(hours=1), flow_id=world.flow_id).taken == 10
    with pytest.raises(errors.NotFound):
        act(world, DISCARD, user_id=world.new_user(), flow_id=world.flow_id)


def test_those_that_a_repair_retries_already_are_counted_and_left_alone(world: World, bases: tuple[UUID, UUID]) -> None:
    first = act(world, RETRY, memory_base_id=bases[0], limit=2)
    assert (first.taken, first.skipped) == (2, {})
    second = act(world, RETRY, memory_base_id=bases[0])
    assert (second.taken, second.remaining, second.skipped) == (3, 0, {SkipReason.RETRYING: 2})


def test_a_discarded_message_is_tried_again_by_a_regenerate(world: World, bases: tuple[UUID, UUID]) -> None:
    act(world, DISCARD, flow_id=world.flow_id)
    assert len(world.messages()) == 6
    world.embedder._rejected.clear()
    regenerate.regenerate(world.services, world.user_id, bases[0])
    world.settle()
    world.assert_all_ingested(bases[0])
    assert len({entry.message_id for entry in world.ledger(bases[0])}) == 6
