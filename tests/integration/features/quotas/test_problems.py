"""Used up quotas among the problems that need a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from harness.world import World

from memorybase.core.callers import acting_as, caller_of
from memorybase.core.models import ApiKey
from memorybase.core.operations.problems import Problem, ProblemKind
from memorybase.features.quotas import manage, usage
from memorybase.features.quotas.hooks import HOOKS


def found(world: World) -> Sequence[Problem]:
    with world.services.database.reading() as db:
        return HOOKS.problems(db, world.services, world.user_id)


def test_a_quota_of_which_nothing_is_left_is_a_problem_until_it_is_raised(world: World) -> None:
    def limit(**quotas: int | None) -> None:
        manage.change_user_quotas(world.services, world.user_id, quotas)

    limit(messages_per_day=2, stored_messages=100)
    world.say("s", "one")
    assert found(world) == []
    world.say("s", "two")
    (problem,) = found(world)
    assert (problem.kind, problem.title) == (ProblemKind.QUOTA, "The quota messages_per_day is used up")
    day = datetime.now(UTC).date() + timedelta(days=1)
    assert problem.text == f"2 of 2 are used by the user; new messages are refused until {day} 00:00 UTC."
    assert problem.fixes[0].command is not None
    assert problem.fixes[0].command.startswith("memorybase quotas show")
    with world.services.database.reading() as db:  # of every user, for the doctor
        assert [each.quota for each in usage.used_up(db, world.services.settings, datetime.now(UTC))] == [
            "messages_per_day"
        ]
    limit(messages_per_day=3)
    assert found(world) == []
    limit(messages_per_day=None, stored_messages=2)
    (problem,) = found(world)
    assert problem.text.endswith(
        "new messages are refused. Delete messages, sessions or end users, or wait until retention does."
    )


def test_a_used_up_quota_of_a_key_names_the_key(world: World) -> None:
    with world.services.database.transaction() as db:
        key = ApiKey(
            id=uuid4(),
            user_id=world.user_id,
            name="agent",
            prefix="mb_x",
            key_hash=b"k" * 32,
            scopes=["write"],
            created_at=datetime.now(UTC),
            quotas={"end_users": 1},
        )
        db.add(key)
    with acting_as(caller_of(world.services.settings, world.user_id, None, key.id, key.quotas)):
        world.say("s", "one", end_user_id="ann")
    (problem,) = found(world)
    assert problem.text.startswith("1 of 1 are used by the API key agent; messages of new end users are refused. Erase")
    assert str(key.id) in str(problem.fixes[0].command)
