"""The documentation names everything that there is. Each failure says what is missing and where to add it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from harness.contract import CONTRACT

from api import failures
from api.locations import PREFIX
from memorybase import cli, locks, models
from memorybase.errors import MemorybaseError
from memorybase.settings import ENVIRONMENT_PREFIX, Settings, embedded
from memorybase.vectors import chroma
from worker.queue import QUEUE
from worker.tasks import app as celery_app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
DECISIONS = DOCS / "decisions"
PAGES = sorted(DOCS.rglob("*.md"))
LINKING = [*PAGES, ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]
PACKAGES = ("memorybase", "api", "worker")

# The words that code, tables, logs and pages share.
WORDS = (
    "memory base", "session", "message", "run", "stride", "seq", "cursor", "target", "pending", "counted", "threshold",
    "job", "generation", "serving", "building", "chunk", "ledger", "dead letter", "repair", "recall", "view",
    "notification", "enqueue", "claim", "lease", "heartbeat", "recover", "due",
)  # fmt: skip
DECISION_HEADINGS = ("## Context", "## Decision", "## Consequences", "## Alternatives")
# `up` chooses these when it starts, so its settings cannot be asked for them.
CHOSEN_BY_UP = frozenset({"redis_url", "chroma_url"})
# Read by clients of the API; the server has no such setting.
OF_CLIENTS = frozenset({"MEMORYBASE_URL", "MEMORYBASE_FLOW", "MEMORYBASE_END_USER"})

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
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


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    headings = [heading for _, heading in _HEADING.findall(prose(page))]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


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


@pytest.mark.parametrize("name", Settings.model_fields)
def test_each_setting_is_documented_with_its_default(name: str) -> None:
    variable = ENVIRONMENT_PREFIX + name.upper()
    row = rows(REFERENCE / "settings.md").get(variable)
    assert row is not None, f"add a row for {variable} to docs/reference/settings.md"
    default, with_up, meaning = row
    plain, quick = Settings(), embedded(Settings().data_dir)
    wanted = shown(getattr(plain, name))
    assert default == wanted, f"docs/reference/settings.md: the default of {variable} is {wanted}, not {default}"
    other = shown(getattr(quick, name)) if getattr(quick, name) != getattr(plain, name) else ""
    other = "its own" if name in CHOSEN_BY_UP else other
    assert with_up == other, f"docs/reference/settings.md: with `up` {variable} is {other or 'the default'}"
    assert meaning, f"docs/reference/settings.md: say what {variable} means"


def test_no_page_names_a_setting_that_does_not_exist() -> None:
    known = OF_CLIENTS | {ENVIRONMENT_PREFIX + name.upper() for name in Settings.model_fields}
    pages = [*LINKING, ROOT / "docker-compose.yml"]
    unknown = [f"{page}: {name}" for page in pages for name in set(_VARIABLE.findall(page.read_text())) - known]
    assert not unknown, f"these are no settings; correct the pages: {unknown}"


# Errors


def error_classes() -> list[type[MemorybaseError]]:
    assert failures.NoSuchMethod
    assert chroma.VectorUnreadable  # imported, so that their classes are there to be found
    found: list[type[MemorybaseError]] = []
    waiting = [MemorybaseError]
    while waiting:
        one = waiting.pop()
        if one.__module__.split(".")[0] in PACKAGES and one.__module__ != "memorybase.testing":
            found.append(one)
        waiting += one.__subclasses__()
    return sorted(found, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_each_error_is_documented_with_its_status(kind: type[MemorybaseError]) -> None:
    row = rows(REFERENCE / "errors.md").get(kind.code)
    assert row is not None, f"add a row for {kind.code} ({kind.__name__}) to docs/reference/errors.md"
    stated = [str(kind.status_code), "yes" if kind.retryable else "no"]
    assert row[:2] == stated, f"docs/reference/errors.md: {kind.code} has status and retryable {stated}, not {row[:2]}"
    assert row[2], f"docs/reference/errors.md: say what to do about {kind.code}"


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


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_documented_with_its_options(name: str) -> None:
    section = sections(REFERENCE / "cli.md").get(name)
    assert section is not None, f"add a heading '## {name}' to docs/reference/cli.md"
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name != "option" or getattr(parameter, "hidden", False):
            continue
        option = parameter.opts[0]
        if option != "--help":
            assert f"| `{option}` |" in section, f"add {option} to the table below '## {name}' in docs/reference/cli.md"


# Tasks and keys


def test_each_celery_task_and_its_queue_are_documented() -> None:
    page = rows(REFERENCE / "tasks.md")
    tasks = [name for name in celery_app.tasks if not name.startswith("celery.")]
    assert tasks
    for name in tasks:
        assert name in page, f"add a row for the task {name} to docs/reference/tasks.md"
        assert page[name][0] == f"`{QUEUE}`", f"docs/reference/tasks.md: the queue of {name} is {QUEUE}"


def test_each_redis_key_is_documented() -> None:
    page = rows(REFERENCE / "redis-keys.md")
    listed = re.findall(r"^    (memorybase:\S+)$", locks.__doc__ or "", flags=re.MULTILINE)
    assert listed, "the docstring of memorybase/locks.py no longer lists its Redis keys"
    for key in [*listed, QUEUE]:
        assert key in page, f"add a row for the Redis key {key} to docs/reference/redis-keys.md"


# Routes

ROUTES = [
    f"{method.upper()} {path.removeprefix(PREFIX)}"
    for path, operations in CONTRACT["paths"].items()
    for method in operations
]


@pytest.mark.parametrize("route", ROUTES)
def test_each_route_is_documented(route: str) -> None:
    row = rows(REFERENCE / "api.md").get(route)
    assert row is not None, f"add a row for {route} to docs/reference/api.md"


def test_no_documented_route_is_gone() -> None:
    documented = [key for key in rows(REFERENCE / "api.md") if re.match(r"(GET|POST|PUT|PATCH|DELETE) /", key)]
    gone = set(documented) - set(ROUTES)
    assert not gone, f"docs/reference/api.md names routes that the API does not have: {sorted(gone)}"


# Tables


@pytest.mark.parametrize("table", models.Base.metadata.sorted_tables, ids=lambda table: table.name)
def test_each_table_is_documented_with_its_columns(table: Any) -> None:
    section = sections(REFERENCE / "tables.md").get(table.name)
    assert section is not None, f"add a heading '## {table.name}' to docs/reference/tables.md"
    missing = [column.name for column in table.columns if f"`{column.name}`" not in section]
    assert not missing, f"add these columns below '## {table.name}' in docs/reference/tables.md: {missing}"


# Words


@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_in_the_glossary(word: str) -> None:
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert f"\n| {word} | " in glossary, f"add a row for '{word}' to docs/glossary.md"


# Links


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_internal_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.relative_to(ROOT)}: {link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{page.relative_to(ROOT)}: {link}: that page has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_test_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"`(tests/[\w/.-]+)", page.read_text()))

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = [link.partition("#")[0] for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]
        waiting += [(page.parent / link).resolve() for link in links if link]
    lost = [str(page.relative_to(ROOT)) for page in PAGES if page not in reached]
    assert not lost, f"link these from docs/index.md or a page that it leads to: {lost}"


# Decisions

RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_each_decision_has_its_headings_and_is_in_the_index(record: Path) -> None:
    text = record.read_text(encoding="utf-8")
    number = record.name[:4]
    assert text.startswith(f"# {number}. "), f"docs/decisions/{record.name} begins with '# {number}. ' and its title"
    for heading in DECISION_HEADINGS:
        below = sections(record).get(heading.removeprefix("## "), "")
        assert below.strip(), f"docs/decisions/{record.name} lacks '{heading}' with something below it"
    title = text.splitlines()[0].removeprefix(f"# {number}. ")
    row = f"| {number} | [{title}]({record.name}) |"
    assert row in (DECISIONS / "README.md").read_text(encoding="utf-8"), f"add '{row}' to docs/decisions/README.md"


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))


def test_each_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    record = sections(DECISIONS / "0020-dependencies.md")["Decision"]
    stated = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    for requirement in stated:
        name = re.split(r"[^A-Za-z0-9-]", requirement, maxsplit=1)[0]
        assert re.search(rf"\b{name}\b", record), f"add {name} and why to docs/decisions/0020-dependencies.md"


# What the README says one installs and writes

# Each guide's tests; those in other environments are run by the target of the Makefile.
TESTED_BY = {
    "langgraph": "tests/integration/integrations/test_langgraph.py",
    "python-client": "tests/integration/clients/test_python_client.py",
    "openai-agents": "clients/python/tests/test_openai_agents.py",
    "pydantic-ai": "clients/python/tests/test_pydantic_ai.py",
    "google-adk": "clients/python/tests/test_google_adk.py",
    "strands": "clients/python/tests/test_strands.py",
    "typescript-client": "clients/typescript/tests/guide.test.ts",
    "langchain": "clients/python/tests/test_langchain.py",
    "llama-index": "clients/python/tests/test_llama_index.py",
    "agent-framework": "clients/python/tests/test_agent_framework.py",
    "haystack": "clients/python/tests/test_haystack.py",
    "capture-without-code": "clients/python/tests/test_litellm.py",
    "mcp": "tests/integration/mcp/test_http.py",
    "dify-app": "tests/integration/clients/test_dify_plugin.py",
    "langflow": "tests/integration/clients/test_langflow.py",
    "n8n": "clients/n8n/test",
    "flowise": "tests/integration/mcp/test_http.py",
    "coding-agents": "tests/integration/integrations/coding_agents",
    "coming-from-elsewhere": "tests/integration/importers/test_import_from.py",
}
_WAY = re.compile(r"^\| \[[^\]]+\]\(docs/howto/([\w-]+)\.md\)[^|]*\|[^|]+\| ([^|]+) \|$", re.MULTILINE)
_CODE = re.compile(r"^```(?:python|ts|typescript)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def ways() -> dict[str, str]:
    """By guide, what one writes."""
    return dict(_WAY.findall(sections(ROOT / "README.md")["What you use, what you install"]))


def test_each_way_to_integrate_has_a_guide_and_a_test() -> None:
    assert ways().keys() == TESTED_BY.keys(), "README.md and TESTED_BY in tests/unit/test_docs.py differ"
    assert [path for path in TESTED_BY.values() if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("guide", TESTED_BY)
def test_the_readme_counts_the_lines_of_the_guides_first_code(guide: str) -> None:
    said = re.search(r"(\d+) lines", ways()[guide])
    if said is None:
        assert ways()[guide] in {"a command", "clicks"}
        return
    code = _CODE.search((DOCS / "howto" / f"{guide}.md").read_text(encoding="utf-8"))
    assert code is not None
    lines = [line for line in code[1].splitlines() if line.strip() and not line.strip().startswith(("#", "//"))]
    assert len(lines) == int(said[1]), f"{guide}: its first code has {len(lines)} lines"
