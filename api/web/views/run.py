"""A run: its question and answer, what each node's model was given and how well it fits, and when it was ingested."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web import model_input, timeline
from api.web.badges import Badge
from api.web.bubbles import Bubble, bubbles
from api.web.model_input import Read
from api.web.rendering import address
from api.web.visits import Visit, Visitor
from memorybase.core import errors, ids
from memorybase.core.conversation.memory_use import record
from memorybase.core.database.paging import MAX_SIZE, PageRequest
from memorybase.core.ingestion import flush
from memorybase.core.queries.coverage import RANKED, SearchState
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import ingestion, run_story, sessions, titles, transcript
from memorybase.core.read_models.ingestion import Ingestion
from memorybase.core.read_models.run_story import GivenView, RunStory
from memorybase.core.read_models.views import excerpt
from memorybase.core.search.bands import FAIR

router = APIRouter(include_in_schema=False)

REASONS = {
    "not_in_thread": "on another branch",
    "current_run": "of this run",
    "role": "of other roles",
    "intermediate": "intermediate outputs",
    "empty": "empty",
    "tool_result_without_call": "tool results without their call",
    "tool_call_without_result": "tool calls without their result",
    "repeated": "repeated system prompts",
    "limit": "over the limit",
    "summarised": "covered by the summary",
    "before_first_user": "before the first user message",
}
FLAGS = {
    "broken_link": "A parent message was deleted, so the thread starts after it.",
    "cycle": "Messages reply to one another in a cycle, so the thread starts there.",
    "tool_calls_stripped": "Tool calls without a result were removed.",
    "clipped": "A message was truncated to fit.",
    "gap": "Some omitted messages are not covered by a summary yet.",
    "summary_clipped": "The summary was truncated to leave room for the newest turn.",
    "summary_too_old": "The summary was omitted because it ends so far back that it may be of another branch.",
    "summary_dropped": "The summary was omitted because the newest turn did not fit beside it.",
    "edited_since": "Messages were edited later; the model was given the earlier text.",
    "older_unread": "Older messages were not read because the limits exclude them.",
}
CHANGING = {SearchState.UPDATING, SearchState.WAITING, SearchState.INGESTING}


@router.get("/run")
async def run(visit: Visitor, flow: str, id: str, memory: UUID | None = None) -> Response:  # noqa: A002 - in the address
    story = await _story(visit, flow, id)
    if visit.is_fragment:
        return visit.live("run_timeline.html", **await _timeline(visit, story, memory))
    inputs = await _inputs(visit, story)
    shown_flow = await visit.read(sessions.get_flow, story.flow_id)
    return visit.page(
        "run.html",
        place="conversations",
        title=_title(story, id),
        flow=shown_flow,
        run_id=story.external_id or (id if story.captured_at is None else str(story.run_id)),
        bubbles=await _bubbles(visit, story),
        reasons=REASONS,
        flags=FLAGS,
        advice=_advice,
        inputs=inputs,
        unlisted=model_input.unlisted,
        titles=await visit.read(titles.session_titles, _sessions_of(story)),
        version="",
        **await _timeline(visit, story, memory),
    )


@router.get("/run/input")
async def whole_text(visit: Visitor, flow: str, id: str, node: str, number: int) -> Response:  # noqa: A002 - in the address
    """The whole text of one message that was sent to a node's model."""
    user_id = visit.principal.user_id
    given = ids.CallerId.of(user_id, "run", id)
    memory = await visit.read(record.run_memory, ids.flow_id(user_id, flow), given)
    use = next((each for each in memory.nodes if each.node_id == node), None)
    if use is None or not 0 <= number < len(use.messages):
        raise errors.NotFound("There is no such message in this run", field="number", value=str(number))
    return visit.fragment("run_input.html", text=model_input.text_of(use.messages[number]))


@router.post("/run/ingest")
async def ingest(
    visit: Visitor, flow: Annotated[str, Form()], run_id: Annotated[str, Form()], memory: Annotated[UUID, Form()]
) -> Response:
    """Ingest what waits of the run's session, without waiting for the threshold."""
    story = await _story(visit, flow, run_id)
    done = await visit.write(flush.flush, memory, story.session_id)
    notice = "Ingestion has started." if done.jobs else "Nothing waits, or a job is already running."
    return visit.done(address("/run", flow=flow, id=run_id, memory=memory), notice)


async def _story(visit: Visit, flow: str, run_id: str) -> RunStory:
    user_id = visit.principal.user_id
    given = ids.CallerId.of(user_id, "run", run_id)
    return await visit.read(run_story.run_story, ids.flow_id(user_id, flow), given)


async def _inputs(visit: Visit, story: RunStory) -> dict[str, list[Read]]:
    """What the model of each node read, by node."""
    given = {node.node_id: node.given for node in story.nodes if node.given is not None}
    if not given:
        return {}
    memory = await visit.read(record.run_memory, story.flow_id, story.run_id)
    return {use.node_id: model_input.read_by(use, given[use.node_id]) for use in memory.nodes if use.node_id in given}


async def _bubbles(visit: Visit, story: RunStory) -> list[Bubble]:
    """The run's messages, at most a page."""
    if story.captured_at is None or story.session_id is None:
        return []
    query = MessageQuery(flow_id=story.flow_id, run_id=story.run_id)
    page = await visit.read(sessions.list_messages, query, PageRequest(size=MAX_SIZE))
    holdings = await visit.read(transcript.holdings_of, story.flow_id, story.session_id, page.items)
    return bubbles(page.items, holdings, {})


async def _timeline(visit: Visit, story: RunStory, memory: UUID | None) -> dict[str, Any]:
    """What the timeline shows: the chosen memory base, or the first that counts the run's messages."""
    counting = [each for each in story.memories if each.state != SearchState.NOT_COUNTED]
    chosen = next((each for each in story.memories if each.memory_base_id == memory), None)
    chosen = chosen or next(iter(counting or story.memories), None)
    return {
        "story": story,
        "chosen": chosen,
        "steps": [] if chosen is None else timeline.steps_of(chosen),
        "after": timeline.after,
        "starts": timeline.starts,
        "idle": await visit.read(ingestion.idle_times, story.flow_id),
        "is_live": any(each.state in CHANGING for each in story.memories),
        "whole": _whole(counting),
    }


def _whole(memories: list[Ingestion]) -> Badge | None:
    """The state of the run over all memory bases: the worst one's, or when the last one had it."""
    worst = max(memories, key=lambda each: (RANKED.index(each.state), each.searchable_after_ms or 0), default=None)
    return None if worst is None else timeline.state_of(worst)


def _advice(given: GivenView) -> str | None:
    """What to do where recall took tokens and did not help."""
    if given.verdict != "did_not_help" or given.best_score is None or not given.total_tokens:
        return None
    count = len(given.memories)
    bound = next(bound for bound in (0.01, 0.02, 0.03, 0.04, FAIR.low) if given.best_score < bound)
    none_above = f"none above {bound:.2f}" if count > 1 else f"not above {bound:.2f}"
    share = round(100 * given.tokens.recall / given.total_tokens)
    were = "1 memory was given" if count == 1 else f"{count} memories were given"
    return f"{were}, {none_above}, in {share} % of the tokens."


def _title(story: RunStory, given: str) -> str:
    """Its question, else its answer. A run that is not captured has no other name than the one in the address."""
    text = excerpt(story.question or story.answer)
    name = story.external_id or given
    return text or ("Untitled run" if titles.is_generated(name) else f"Run {name}")


def _sessions_of(story: RunStory) -> set[titles.SessionKey]:
    """Its own session, and those of the memories that its models were given."""
    given = (memory.message for node in story.nodes if node.given for memory in node.given.memories)
    named = {(message.flow_id, message.session_id) for message in given if message is not None}
    return named if story.session_id is None else {*named, (story.flow_id, story.session_id)}
