"""A session's captured messages as a view, read as far back as its limits need."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from harness.records import Flat
from harness.world import World
from memorybase.core.conversation import View, ViewOptions, build_view
from memorybase.core.conversation.history.session_reader import tails


def captured_view(world: World, options: ViewOptions, session_id: str = "s") -> View:
    leaf_id = None if options.leaf_id is None else UUID(options.leaf_id)
    given = replace(options, thread="given")
    with world.services.database.reading() as db:
        for tail in tails(db, world.flow_id, session_id, leaf_id=leaf_id, prune=options.limits.prune):
            view = build_view(tail.records, given, counter=Flat(), flags=tail.flags)
            if view.report.is_full:
                break
    return view
