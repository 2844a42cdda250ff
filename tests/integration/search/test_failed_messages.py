"""A message that failed is history and no memory."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from harness.world import World

from memorybase.core.conversation.context import ContextRequest, RecallOptions, build_context
from memorybase.core.conversation.history.read import read_history
from memorybase.core.conversation.history.request import Conversation, HistoryRequest
from memorybase.core.conversation.session_memory.presets import PRESETS
from memorybase.core.search import search as answer
from memorybase.core.search.request import SearchRequest

BERTH, ERROR = "Your boat lies at berth 12.", "Error: the boat's rate limit is 429."


def found(world: World, base: UUID) -> set[Any]:
    request = SearchRequest(memory_base_id=base, query="boat rate limit berth", min_score=0)
    return {hit.content for hit in answer.search(world.services, world.user_id, request).results}


def said(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def test_it_is_in_the_history_and_neither_ingested_nor_found_nor_recalled(world: World) -> None:
    bases = [world.new_base(capture=capture) for capture in ("all", "outputs")]
    world.say("s", {"role": "user", "content": "Where is it?"}, said(BERTH), said(ERROR, status="failed"))
    for ingested in (False, True):
        for base in bases:
            assert BERTH in found(world, base)
            assert ERROR not in found(world, base)
        if not ingested:
            for base in bases:
                world.flush(base)
            world.settle()
    for base in bases:
        world.assert_all_ingested(base)
    view = read_history(Conversation(world.services, world.user_id, world.flow_id, "s"), HistoryRequest()).view
    assert ERROR in view.text
    pairs = ContextRequest(flow_id=world.flow_id, session_id="s", token_budget=500, preset=PRESETS["flowx_5"])
    assert ERROR in build_context(world.services, world.user_id, pairs).text
    other = ContextRequest(
        flow_id=world.flow_id,
        session_id="t",
        token_budget=500,
        query="boat rate limit",
        recall=RecallOptions(min_score=0),
    )
    recalled = build_context(world.services, world.user_id, other).text
    assert BERTH in recalled
    assert ERROR not in recalled


def test_it_follows_an_update_of_its_status(world: World) -> None:
    base = world.new_base()
    world.say("s", said(ERROR, id="m", status="failed"), said("Hello."))
    world.flush(base)
    world.settle()
    for status, is_found in (("completed", True), ("failed", False), ("stopped", True)):
        world.say("s", said(ERROR, id="m", status=status), on_conflict="update")
        world.settle()
        world.assert_exact(base)
        assert (ERROR in found(world, base)) is is_found


def test_it_is_found_if_its_caller_says_it_is_an_output(world: World) -> None:
    base = world.new_base()
    world.say("s", said(ERROR, status="failed", is_output=True))
    assert ERROR in found(world, base)
