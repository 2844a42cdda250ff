"""The progress of a running regenerate."""

from __future__ import annotations

from uuid import uuid4

import pytest
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases import regenerate
from memorybase.core.read_models import memory_bases
from memorybase.core.read_models.memory_bases import BuildView, GenerationsView


def test_progress_is_shown_while_a_build_runs(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "one", "two")
    world.say("t", "three")
    world.settle()

    def seen() -> GenerationsView:
        return memory_bases.get_generations(world.services, world.user_id, base)

    assert seen() == GenerationsView(1, None)
    regenerate.regenerate(world.services, world.user_id, base)
    assert seen() == GenerationsView(1, BuildView(2, 2, 0, 3, 0))
    world.run(next(message for message in world.queue.enqueued if (message.session_id, message.generation) == ("s", 2)))
    assert seen() == GenerationsView(1, BuildView(2, 2, 1, 3, 2))
    world.settle()
    assert seen() == GenerationsView(2, None)
    with pytest.raises(errors.NotFound):
        memory_bases.get_generations(world.services, uuid4(), base)
