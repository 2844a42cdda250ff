"""A page waits for each part that may hang no longer than its deadline, and says what does not answer."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from harness.api import Api, open_api, settings_in
from harness.plain_browser import Page, mounted

from api.web.deadlines import Deadlines
from api.web.views import home
from memorybase.core.conversation import context
from memorybase.core.memory_bases import consistency
from memorybase.core.operations import health, stack_parts
from memorybase.core.read_models import overview
from memorybase.core.search import search
from memorybase.features.memory_map import read

SOON = 0.05
LONG = 30.0  # longer than any page of this test takes
WITHIN = "did not end within 0.05 s"


@dataclass(frozen=True)
class Case:
    """A page that a function keeps waiting, the deadline that ends this, and what the page then says."""

    deadline: str
    path: str
    hangs: tuple[tuple[Any, str], ...]
    says: str


CHECK = (health, "check_part")
CASES = [
    Case("home", "/", ((overview, "overview"),), "The database does not answer"),
    Case("home", "/home/overview", ((overview, "overview"),), "The database does not answer"),
    Case("home", "/home/problems", ((home, "problems"),), "The database does not answer"),
    Case("home", "/alert", ((home, "problems"),), "The database does not answer"),
    Case("part", "/home/problems", (CHECK,), "Chroma does not answer"),
    Case("part", "/home/parts", (CHECK,), "Chroma"),
    Case("health", "/settings/health", (CHECK,), "Away: Chroma"),
    Case("lag", "/settings/health", ((health, "oldest_pending_seconds"),), "Away: Worker, Sweeper"),
    Case("store", "/memories/{base}/store", ((consistency, "check_mismatch"),), "does not answer"),
    Case("search", "/playground/results?q=berth&flow=support", ((search, "search"),), WITHIN),
    Case("search", "/playground/given?q=berth&flow=support", ((context, "build_context"),), WITHIN),
    Case("several", "/playground/results?q=berth&memory={base}", ((search, "search_several"),), WITHIN),
    Case("away", "/playground/results?q=berth&flow=support", ((search, "search"), CHECK), "Chroma is away"),
    Case("map", "/memories/{base}/map/question?question=berth", ((read, "get_map"),), "model does not answer"),
]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with open_api(settings_in(tmp_path).model_copy(update={"rate_limit_per_second": 0})) as opened:
        yield opened


def hanging(ended: threading.Event, real: Callable[..., Any]) -> Callable[..., Any]:
    """A double that does not return before the test ends. Of the parts, only Chroma hangs."""

    def call(*arguments: Any, **options: Any) -> Any:
        if real.__name__ != "check_part" or "chroma" in arguments:
            ended.wait(LONG)
        return real(*arguments, **options)

    return call


@pytest.mark.slow
def test_a_page_ends_each_wait_at_its_deadline(api: Api) -> None:
    base = api.memory()["id"]
    api.capture("Berth 12 is free.")
    api.work()
    problems = [f"{name} has no case" for name in names() - {case.deadline for case in CASES} - {"browser"}]
    for case in CASES:
        # All others are longer than the test: only the one that is meant can end the wait.
        deadlines = replace(Deadlines(**dict.fromkeys(names(), LONG)), **{case.deadline: SOON})
        if case.deadline == "away":
            deadlines = replace(deadlines, search=SOON)
        ended = threading.Event()
        with pytest.MonkeyPatch.context() as patch, mounted(api, deadlines):
            page = Page(api)
            patch.setattr(stack_parts, "FRESH", 0.0)  # no check of the case before counts
            for module, name in case.hangs:
                patch.setattr(module, name, hanging(ended, getattr(module, name)))
            try:
                answer = page.client.get("/ui" + case.path.format(base=base))
                said = html.unescape(answer.text)
            finally:
                ended.set()
        if answer.status_code != 200 or case.says not in said:
            problems.append(f"{case.deadline}: {case.path} is {answer.status_code} without {case.says!r}")
    assert not problems, "\n".join(problems)


def names() -> set[str]:
    return {field.name for field in fields(Deadlines)}


def test_the_browser_waits_as_long_as_its_deadline(api: Api) -> None:
    with mounted(api, replace(Deadlines(), browser=35.5)):
        for path in ("/", "/sign-in"):
            assert '"timeout": 35500}' in Page(api).get(path), path


def test_by_default_a_page_answers_within_two_seconds() -> None:
    usual = Deadlines()
    assert usual.part < usual.home < 2
    assert max(usual.search + usual.away, usual.health + usual.lag, usual.store) <= 2
