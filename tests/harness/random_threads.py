"""Sessions with random parents, to compare what the database finds with what the engine finds in memory."""

from __future__ import annotations

import random
from uuid import UUID, uuid4

from harness.world import World
from memorybase.core.conversation import UUID_NIL


def random_log(world: World, chance: random.Random, linked: float, session_id: str = "s") -> None:
    """Capture runs of one to three messages, some in several captures. A `linked` share of the messages names a parent:
    an earlier message, NIL or one that does not exist."""
    known: list[str] = []
    runs: list[UUID] = []
    for _ in range(chance.randint(3, 25)):
        run_id = chance.choice(runs) if runs and chance.random() < 0.2 else uuid4()
        runs.append(run_id)
        messages = []
        for _ in range(chance.randint(1, 3)):
            parent = None
            if chance.random() < linked:
                parent = chance.choice([*known[-4:], *known[:1], UUID_NIL, str(uuid4())])
            identity = str(uuid4())
            known.append(identity)
            role = chance.choice(["user", "assistant"])
            messages.append({"id": identity, "role": role, "content": "text", "parent_message_id": parent})
        world.say(session_id, *messages, run_id=run_id)
