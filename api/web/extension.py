"""What a feature adds to the web page: views, tabs, a form in each result of the playground, and what fixes its
problems on Home."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from memorybase import features
from memorybase.core.operations.problems import FixAction, Problem, ProblemKind
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.services import Services

if TYPE_CHECKING:
    from api.web.playground.asked import Asked
    from api.web.visits import Visit

FEATURES = Path(features.__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    """What the buttons beside a problem do. `about` is the field of the problem, and of the form, with the id of what
    it is about; `actions` return the notice that is shown then."""

    about: str
    actions: Mapping[FixAction, Callable[[Visit, UUID], Awaitable[str]]]
    scope: str = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPage(Fixes):
    """The fixes of a feature's kind of problem, and a link to more: its text and its path."""

    link: Callable[[Problem], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MemoryTab:
    """A tab of a memory's page: its name in the address, its label, and what answers it."""

    name: str
    label: str
    show: Callable[[Visit, MemoryBaseView], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ResultForm:
    """A form in each result of the playground, for keys that may write. `read` takes the ids of the flows and messages
    that were found, and returns by message what `template` gets as `stored`."""

    read: Callable[[Services, UUID, Asked, Collection[UUID], Collection[UUID]], Mapping[UUID, Any]]
    template: str


@dataclass(frozen=True, slots=True)
class PersonCard:
    """What a person's page shows of them: `read` by their id, which `template` gets as `stored`."""

    read: Callable[[Services, UUID, str], Any]
    template: str


@dataclass(frozen=True, slots=True)
class MemoryCheck:
    """Before changed settings of a memory are saved: `count` says what they would delete, which `template` shows as
    `counted` to be confirmed; None if nothing."""

    count: Callable[[Visit, MemoryBaseView, Mapping[str, Any]], Awaitable[Any]]
    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """`tab`: the name and the label of a tab in the settings, whose page is /settings/NAME. `session_note`: what a
    session's page says of it, by its flow and id, or nothing. `session_link`: the label and the path of a page about
    the session, which gets `flow` and `session`. Templates and static files are in the feature's folders templates/ and
    static/."""

    router: APIRouter
    tab: tuple[str, str] | None = None
    memory_tab: MemoryTab | None = None
    memory_check: MemoryCheck | None = None
    session_note: Callable[[Visit, UUID, str], Awaitable[str]] | None = None
    session_link: tuple[str, str] | None = None
    person_card: PersonCard | None = None
    result_form: ResultForm | None = None
    problems: Mapping[ProblemKind, ProblemPage] = field(default_factory=dict)


@cache
def pages_of_features() -> dict[str, Pages]:
    """By the name of the feature."""
    return {each.name: found for each in features.EXTENSIONS if (found := each.pages()) is not None}


def folders(kind: str) -> list[Path]:
    """The features' folders of this name."""
    return [FEATURES / name / kind for name in pages_of_features() if (FEATURES / name / kind).is_dir()]


def memory_tabs() -> list[MemoryTab]:
    return [pages.memory_tab for pages in pages_of_features().values() if pages.memory_tab is not None]


def memory_checks() -> list[MemoryCheck]:
    return [pages.memory_check for pages in pages_of_features().values() if pages.memory_check is not None]


async def session_notes(visit: Visit, flow_id: UUID, session_id: str) -> list[str]:
    """What features say of a session."""
    asked = [pages.session_note for pages in pages_of_features().values() if pages.session_note is not None]
    return [note for ask in asked if (note := await ask(visit, flow_id, session_id))]


def session_links() -> list[tuple[str, str]]:
    return [pages.session_link for pages in pages_of_features().values() if pages.session_link is not None]


def person_cards() -> list[PersonCard]:
    return [pages.person_card for pages in pages_of_features().values() if pages.person_card is not None]


def result_forms() -> list[ResultForm]:
    return [pages.result_form for pages in pages_of_features().values() if pages.result_form is not None]


@cache
def problem_pages() -> dict[ProblemKind, ProblemPage]:
    return {kind: page for pages in pages_of_features().values() for kind, page in pages.problems.items()}
