"""A context recalls what pages, examples and the sample data say is found, with the default model.

The questions, and the messages before them, are read out of the documents. Each is asked in a new session, before and
after ingestion.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.asked import Asked, Conversation, asked_by, questions_in
from harness.rows import each_row
from harness.stack import ROOT
from harness.world import World, build_world

from api.web.views import first_minute
from memorybase.cli import demo
from memorybase.core.conversation.context import ContextRequest, build_context
from memorybase.core.conversation.context_report import ContextReport
from memorybase.core.embedding import Embedders
from memorybase.core.import_export import sample
from memorybase.core.models import MemoryBase
from memorybase.core.settings import Settings

PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorial.md",
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
    *sorted((ROOT / "clients").glob("*/README.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]
DOCSTRINGS = [ROOT / "clients/python/src/memorybase_client/__init__.py", ROOT / "clients/typescript/src/index.ts"]
# Pages with questions that no message on them answers, each with the reason.
UNANSWERED = {
    "docs/howto/choose-a-model.md": "questions that models are compared by, with vectors alone",
    "docs/howto/dify.md": "a node's own history",
    "docs/howto/generate-a-client.md": "a question that is captured",
    "docs/howto/splox.md": "variables of a workflow",
    "docs/howto/standing-statements.md": "standing statements, which are there whatever is asked",
    "docs/howto/tune-search.md": "the reader's own messages",
}
# Of a question that another message answers than the first one before it.
ANSWERS = {"cello": "Your cello, whole again."}
UNKNOWN = ("What is the capital of France?", "When is my sister's birthday?")  # no page says it
STATES = ("pending", "ingested")


def read() -> list[Asked]:
    """Each question with the same messages before it once."""
    found = [asked for path in PAGES + DOCSTRINGS for asked in asked_by(path, ROOT) if asked.page not in UNANSWERED]
    first = {(asked.said, asked.question): asked for asked in reversed(found)}
    return [replace(asked, answer=ANSWERS.get(asked.question, asked.answer)) for asked in first.values()]


def of_the_first_minute() -> Asked:
    """The guide of the web page asks what the run that it shows has answered."""
    guide = Conversation("first minute")
    guide.read(first_minute._CODE["curl"])
    return Asked("first minute", tuple(guide.said), first_minute.QUESTION, guide.said[-1].text)


READ = [*read(), of_the_first_minute()]
ASKED = [(asked, state) for asked in READ for state in STATES]
FLOWS = list({asked.said: asked for asked in READ}.values())  # one question of each


def labels(rows: list[tuple[Asked, str]]) -> list[str]:
    return [f"{asked.page}: {asked.question} {state}" for asked, state in rows]


@pytest.fixture(scope="module")
def real(model_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world with the default model."""
    folder = tmp_path_factory.mktemp("asked")
    world = build_world(f"sqlite:///{folder / 'memorybase.db'}", folder)
    settings = Settings(data_dir=folder, model_dir=model_cache)
    services = replace(world.services, settings=settings, embedders=Embedders(settings))
    yield replace(world, services=services)
    world.close()


def recalled(world: World, flow_id: UUID, question: str) -> list[str]:
    """The texts of the messages that a new session's context recalls."""
    request = ContextRequest(flow_id=flow_id, session_id="new", token_budget=2_000, query=question)
    view = build_context(world.services, world.user_id, request)
    assert isinstance(view.report, ContextReport)
    assert not view.report.degraded
    found = {id_ for source in view.sources if source.kind == "recall" for id_ in source.message_ids}
    return [str(each.content) for each in replace(world, flow_id=flow_id).messages() if str(each.id) in found]


def captured(world: World, asked: Asked, state: str) -> UUID:
    """A new flow with what was said before the question."""
    flow_id = world.new_flow()
    base_id = world.new_base(flow_id=flow_id)
    messages = [world.message({"role": said.role, "content": said.text}) for said in asked.said]
    world.capture("earlier", messages, flow_id=flow_id)
    if state == "ingested":
        ingest(world, base_id)
    return flow_id


def ingest(world: World, base_id: UUID) -> None:
    world.settle()
    world.flush(base_id)
    world.settle()


@pytest.mark.slow
@each_row("asked, state", ASKED, ids=labels(ASKED))
def test_a_context_recalls_what_a_page_says_is_found(real: World, asked: Asked, state: str) -> None:
    assert asked.answer in recalled(real, captured(real, asked, state), asked.question)


@pytest.mark.slow
@each_row("asked", FLOWS, ids=[asked.page for asked in FLOWS])
def test_a_context_recalls_nothing_that_the_page_does_not_say(real: World, asked: Asked) -> None:
    """A search that recalls whatever there is would pass the test above."""
    flow_id = captured(real, asked, "ingested")
    assert [recalled(real, flow_id, question) for question in UNKNOWN] == [[], []]


# The sample data


def of_the_sample() -> list[tuple[str, str]]:
    """What `make demo` and the guide of the web page ask, each with a part of the answer."""
    asked = json.loads(files("memorybase").joinpath("samples", "questions.json").read_text(encoding="utf-8"))
    (before_ingestion,) = re.findall(r'query = "(.+\?)"', inspect.getsource(demo))
    return [
        *((each["question"], each["expected"]) for each in asked),
        (before_ingestion, "Write it on Otter with a marker."),
        (sample.QUESTION, "allergic to hazelnuts"),
    ]


@pytest.mark.slow
def test_a_context_recalls_what_is_asked_about_the_sample_data(real: World, subtests: pytest.Subtests) -> None:
    world = real.of_user(real.new_user(), sample.FLOW)
    sample.load(world.services, world.user_id)
    (base_id,) = world.scalars(sa.select(MemoryBase.id).where(MemoryBase.flow_id == world.flow_id))
    for state in STATES:
        if state == "ingested":
            ingest(world, base_id)
        for question, answer in of_the_sample():
            with subtests.test(question, state=state):
                assert answer in "\n".join(recalled(world, world.flow_id, question))


# The reading


def test_each_question_of_a_page_is_read_or_has_a_reason_why_not() -> None:
    """Also a question of a new page: it is recalled, or no message on the page answers it."""
    unread = {}
    for path in PAGES:
        asked = asked_by(path, ROOT)
        known = {each.question for each in asked} | {said.text for each in asked for said in each.said}
        if "memorybase sample" in path.read_text(encoding="utf-8"):
            known |= {question for question, _ in of_the_sample()}
        unread[path.relative_to(ROOT).as_posix()] = questions_in(path) - known
    assert {page: questions for page, questions in unread.items() if questions and page not in UNANSWERED} == {}


def test_the_questions_of_the_tutorial_are_read_with_what_is_captured_before() -> None:
    asked = [(each.question, each.answer, len(each.said)) for each in asked_by(ROOT / "docs" / "tutorial.md", ROOT)]
    assert asked == [("What am I allergic to?", "I am allergic to peanuts.", 2)]
