"""The documentation names everything that there is. Each failure says what is missing and where to add it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from harness.contract import CONTRACT
from harness.postgres import DEPLOYED

from api import failures
from api.locations import PREFIX
from api.web.views import run
from memorybase import cli, features
from memorybase.core import models, redis_locks
from memorybase.core.conversation.memory_use.record import EDITED_SINCE
from memorybase.core.errors import MemorybaseError
from memorybase.core.operations.sweeper import steps_of
from memorybase.core.settings import ENVIRONMENT_PREFIX, Settings, embedded
from memorybase.core.vectors import chroma
from memorybase.stack.state import SERVICE_URLS
from worker.queue import QUEUE
from worker.tasks import app as celery_app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
DECISIONS = DOCS / "decisions"
PAGES = sorted(DOCS.rglob("*.md"))
BENCHMARKS = sorted((ROOT / "bench").glob("*.md"))
ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINKING = [*PAGES, *BENCHMARKS, *(ROOT / name for name in ROOT_PAGES)]
PACKAGES = ("memorybase", "api", "worker")

DECISION_HEADINGS = ("## Context", "## Decision", "## Consequences", "## Alternatives")
# `up` chooses these when it starts, so its settings cannot be asked for them.
CHOSEN_BY_UP = frozenset({"redis_url", "chroma_url"})
# Read by clients of the API; the server has no such setting.
OF_CLIENTS = frozenset({"MEMORYBASE_URL", "MEMORYBASE_FLOW", "MEMORYBASE_END_USER"})

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_VARIABLE = re.compile(rf"\b{ENVIRONMENT_PREFIX}[A-Z][A-Z_]+\b")
_ROW_KEY = re.compile(r"^`([^`]+)`$")


def prose(page: Path) -> str:
    """The page without its blocks of code, in which # is no heading and brackets are no links."""
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def sections(page: Path) -> dict[str, str]:
    """What stands below each heading, up to the next."""
    parts = re.split(_HEADING, page.read_text(encoding="utf-8"))
    return dict(zip(parts[2::3], parts[3::3], strict=True))


def rows(page: Path) -> dict[str, list[str]]:
    """The rows of the page's tables whose first cell is one piece of code, by that; the other cells."""
    found: dict[str, list[str]] = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            continue
        first, *others = [cell.strip() for cell in line.strip("|").split("|")]
        if match := _ROW_KEY.match(first):
            found[match[1]] = others
    return found


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings, and those that the page itself sets."""
    text = prose(page)
    headings = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for _, heading in _HEADING.findall(text)}
    return headings | set(_ANCHOR.findall(text))


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(ENVIRONMENT_PREFIX + name.upper(), raising=False)


# Settings


def shown(value: Any) -> str:
    """A setting's value as it stands in the table."""
    if value is None:
        return "unset"
    if value == "":
        return "empty"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_each_setting_is_documented_with_its_default(subtests: pytest.Subtests) -> None:
    page = rows(REFERENCE / "settings.md")
    plain, quick = Settings(), embedded(Settings().data_dir)
    assert Settings.model_fields
    for name in Settings.model_fields:
        variable = ENVIRONMENT_PREFIX + name.upper()
        with subtests.test(variable):
            row = page.get(variable)
            assert row is not None, "add a row for it to docs/reference/settings.md"
            default, meaning = row
            wanted = shown(getattr(plain, name))
            assert default == wanted, f"docs/reference/settings.md: its default is {wanted}, not {default}"
            other = shown(getattr(quick, name)) if getattr(quick, name) != getattr(plain, name) else ""
            if name in CHOSEN_BY_UP:
                assert meaning.endswith("`up` always chooses it."), "docs/reference/settings.md: end with that sentence"
                continue
            said = re.findall(r"With `up`: (`.*`)\.$", meaning)
            assert said == [other] * bool(other), f"docs/reference/settings.md: with `up` it is {other or default}"
            assert meaning, "docs/reference/settings.md: say what it means"


def test_no_page_names_a_setting_that_does_not_exist() -> None:
    known = OF_CLIENTS | {ENVIRONMENT_PREFIX + name.upper() for name in Settings.model_fields}
    pages = [*LINKING, ROOT / "docker-compose.yml"]
    unknown = [f"{page}: {name}" for page in pages for name in set(_VARIABLE.findall(page.read_text())) - known]
    assert not unknown, f"these are no settings; correct the pages: {unknown}"


def test_each_setting_of_postgresql_is_explained() -> None:
    page = (ROOT / "docs/howto/postgresql.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)`", "".join(line for line in page.splitlines() if line.startswith("| `"))))
    assert {"shared_buffers", "max_wal_size"} <= DEPLOYED.keys()
    assert DEPLOYED.keys() <= explained


# Errors


def error_classes() -> list[type[MemorybaseError]]:
    assert failures.NoSuchMethod
    assert chroma.VectorUnreadable  # imported, so that their classes are there to be found
    found: list[type[MemorybaseError]] = []
    waiting = [MemorybaseError]
    while waiting:
        one = waiting.pop()
        if one.__module__.split(".")[0] in PACKAGES:
            found.append(one)
        waiting += one.__subclasses__()
    return sorted(found, key=lambda kind: kind.__name__)


def test_each_error_is_documented_with_its_status(subtests: pytest.Subtests) -> None:
    page = rows(REFERENCE / "errors.md")
    kinds = error_classes()
    assert kinds
    for kind in kinds:
        with subtests.test(f"{kind.code} {kind.__name__}"):
            row = page.get(kind.code)
            assert row is not None, "add a row for it to docs/reference/errors.md"
            stated = [str(kind.status_code), "yes" if kind.retryable else "no"]
            assert row[:2] == stated, f"docs/reference/errors.md: status and retryable are {stated}, not {row[:2]}"
            assert row[2], "docs/reference/errors.md: say what to do about it"


def test_no_error_class_is_overlooked() -> None:
    stated = {
        code
        for package in PACKAGES
        for source in (ROOT / package).rglob("*.py")
        for code in re.findall(r'^    code(?:: ClassVar\[str\])? = "(\w+)"', source.read_text(), flags=re.MULTILINE)
    }
    overlooked = stated - {kind.code for kind in error_classes()}
    assert not overlooked, f"error_classes() in this test must import the modules that define {overlooked}"


# Commands


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if name.count(" "):
        yield name, command
    for each in inner.values():
        yield from commands(each, f"{name} {each.name}")


COMMANDS = dict(commands(typer.main.get_command(cli.app), "memorybase"))
COMMON_OPTIONS = {"--data-dir", "--url", "--key"}


def options_of(command: Any) -> set[str]:
    shown = (each for each in command.params if each.param_type_name == "option" and not getattr(each, "hidden", False))
    return {each.opts[0] for each in shown} - {"--help"}


def test_each_command_is_documented_with_its_options(subtests: pytest.Subtests) -> None:
    """A command of a group stands below the heading of its group, options of several commands in Common options."""
    page = sections(REFERENCE / "cli.md")
    assert COMMANDS
    for name, command in COMMANDS.items():
        with subtests.test(name):
            _, first, *rest = name.split()
            heading = f"memorybase {first}"
            assert heading in page, f"add a heading '## {heading}' to docs/reference/cli.md"
            called = [f"`{name}", *(f"`{first} {each}" for each in rest)]
            assert not rest or any(each in page[heading] for each in called), f"name `{name}` below '## {heading}'"
            named = set(re.findall(r"(?<![\w-])--[a-z-]+", page[heading]))
            missing = options_of(command) - COMMON_OPTIONS - named
            assert not missing, f"add {missing} below '## {heading}' in docs/reference/cli.md"


# Tasks and keys


def test_what_makes_doctor_check_services_elsewhere_is_documented() -> None:
    named = re.findall(r"`MEMORYBASE_(\w+)`", sections(REFERENCE / "cli.md")["memorybase doctor"])
    assert {name.lower() for name in named} == SERVICE_URLS


def test_each_celery_task_and_its_queue_are_documented() -> None:
    page = rows(REFERENCE / "tasks.md")
    tasks = [name for name in celery_app.tasks if not name.startswith("celery.")]
    assert tasks
    for name in tasks:
        assert name in page, f"add a row for the task {name} to docs/reference/tasks.md"
        assert page[name][0] == f"`{QUEUE}`", f"docs/reference/tasks.md: the queue of {name} is {QUEUE}"


def test_each_step_of_the_sweeper_is_documented() -> None:
    section = sections(REFERENCE / "tasks.md")["The sweeper"]
    services: Any = SimpleNamespace(hooks=features.hooks())
    beside = [each.name for hooks in services.hooks for each in hooks.background]
    names = [*(step.name for step in steps_of(services)), "indexes", *beside]
    assert [name for name in names if f"`{name}`" not in section] == []


def test_each_redis_key_is_documented() -> None:
    page = rows(REFERENCE / "redis-keys.md")
    listed = re.findall(r"^    (memorybase:\S+)$", redis_locks.__doc__ or "", flags=re.MULTILINE)
    assert listed, "the docstring of memorybase/core/redis_locks.py no longer lists its Redis keys"
    for key in [*listed, QUEUE]:
        assert key in page, f"add a row for the Redis key {key} to docs/reference/redis-keys.md"


# Routes

ROUTES = [
    f"{method.upper()} {path.removeprefix(PREFIX)}"
    for path, operations in CONTRACT["paths"].items()
    for method in operations
]


def test_the_documented_routes_are_those_of_the_api() -> None:
    documented = {key for key in rows(REFERENCE / "api.md") if re.match(r"(GET|POST|PUT|PATCH|DELETE) /", key)}
    missing, gone = sorted(set(ROUTES) - documented), sorted(documented - set(ROUTES))
    assert not missing, f"add rows for these routes to docs/reference/api.md: {missing}"
    assert not gone, f"docs/reference/api.md names routes that the API does not have: {gone}"


def test_the_page_of_a_run_has_words_for_each_documented_flag_and_reason() -> None:
    page = (DOCS / "explanation/conversation-memory.md").read_text(encoding="utf-8").splitlines()

    def documented(begin: str) -> set[str]:
        (row,) = (line for line in page if line.startswith(begin))
        return set(re.findall(r"`(\w+)`", row.removeprefix(begin)))

    assert run.FLAGS.keys() == documented("| `flags` |") | {EDITED_SINCE}
    assert run.REASONS.keys() == documented("| `kept`, `removed` |")


# Tables


def test_each_table_says_what_it_holds() -> None:
    tables = models.Base.registry.mappers
    assert len(list(tables)) > 40
    silent = [each.class_.__name__ for each in tables if not each.class_.__doc__]
    assert not silent, f"say in the docstring of each of these models what its table holds: {silent}"


# Links


def internal_links(page: Path) -> list[str]:
    return [link for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]


def test_each_internal_link_leads_somewhere(subtests: pytest.Subtests) -> None:
    links = [(page, link) for page in LINKING for link in internal_links(page)]
    assert links
    for page, link in links:
        with subtests.test(f"{page.relative_to(ROOT)} {link}"):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), "the link leads nowhere"
            assert not anchor or anchor in anchors(target), "that page has no such heading"


def test_each_test_that_a_page_names_exists() -> None:
    pages = [*PAGES, *BENCHMARKS]
    named = [(page, path) for page in pages for path in re.findall(r"`(tests/[\w/.-]+)", page.read_text())]
    assert named
    gone = sorted({f"{page.relative_to(ROOT)}: {path}" for page, path in named if not (ROOT / path).exists()})
    assert not gone, f"these tests do not exist; correct the pages: {gone}"


def test_each_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = [link.partition("#")[0] for link in internal_links(page)]
        waiting += [(page.parent / link).resolve() for link in links if link]
    lost = [str(page.relative_to(ROOT)) for page in PAGES if page not in reached]
    assert not lost, f"link these from docs/index.md or a page that it leads to: {lost}"


# Decisions

RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))


def test_each_decision_with_a_page_has_its_headings_and_is_in_the_list(subtests: pytest.Subtests) -> None:
    listed = re.sub(r"\s+", " ", (DECISIONS / "README.md").read_text(encoding="utf-8"))
    assert RECORDS
    for record in RECORDS:
        with subtests.test(f"docs/decisions/{record.name}"):
            number, text, below = record.name[:4], record.read_text(encoding="utf-8"), sections(record)
            assert text.startswith(f"# {number}. "), f"it begins with '# {number}. ' and its title"
            lacking = [name for name in DECISION_HEADINGS if not below.get(name.removeprefix("## "), "").strip()]
            assert not lacking, f"it lacks {lacking} with something below"
            title = text.splitlines()[0].removeprefix("# ")
            row = f"[{title}]({record.name})"
            assert row in listed, f"add '- <a id=\"{number}\"></a>{row}' to docs/decisions/README.md"


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(_ANCHOR.findall((DECISIONS / "README.md").read_text(encoding="utf-8")))
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
    assert len(numbers) >= 119, "a number that links use has gone from docs/decisions/README.md"


def test_each_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    record = sections(DECISIONS / "0020-dependencies.md")["Decision"]
    stated = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    for requirement in stated:
        name = re.split(r"[^A-Za-z0-9-]", requirement, maxsplit=1)[0]
        assert re.search(rf"\b{name}\b", record), f"add {name} and why to docs/decisions/0020-dependencies.md"
