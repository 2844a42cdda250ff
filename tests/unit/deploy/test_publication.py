"""Texts name package indexes and registries if, and only if, deploy/publication.toml says `published`; until then
anybody may take our names there."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path

import pytest

from memorybase import __version__

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
SWITCH = runpy.run_path(str(DEPLOY / "publication.py"))
BUILD = runpy.run_path(str(DEPLOY / "build.py"))
PUBLISHED: bool = SWITCH["PUBLICATION"]["published"]
TESTS = ("tests/", "clients/python/tests/", "clients/typescript/tests/")
# `memorybase` on PyPI is another project.
OURS = frozenset({"memorybase-server", "memorybase-client", "n8n-nodes-memorybase"})
# How a text speaks of what is on no index, or leaves a name open. Contributors have a clone.
UNPUBLISHED = re.compile(
    r"install.*\./clients/python|copy of the repository|(?:from|[Ii]n) the clone[,:.]|package index yet|OWNER/"
    r"|REPOSITORY|registry\.example\.com/memorybase|github\.com/memorybase"
)
OF_CONTRIBUTORS = ("CONTRIBUTING.md", "Makefile", "docs/howto/release.md", ".ci/", "deploy/release.py", *TESTS)

# An installer and its arguments: in a shell, a sentence, a list of Python or an "args" of JSON.
COMMAND = re.compile(
    r"(?:pip[3x]?(?: +-\S+)* +(?:install|inject|run|download|wheel)|uvx|uv +(?:add|tool +(?:install|run))"
    r"|uv +run +--with|npm +(?:i|install|add|exec)|npx|bunx|(?:pnpm|yarn|bun)(?: +global)? +(?:add|install|dlx))"
    r"\s+([^\n`;|&()<\\]*)"
)
# A line that goes on, in a shell and as the next literal of Python: spaces instead, as many.
CONTINUED = re.compile(r"\\\n|[\"'] *\n *f?[\"']")
# A file's name would have a suffix, a path a slash.
REQUIREMENT = re.compile(r"(?:n8n-nodes-)?memorybase(?:-[a-z]+)*(?:\[[^]]*])?(?:[=<>~!@;]\S*)?[.:]?")
# After one of these stands the package, and the program's own name is no requirement.
NAMES_THE_PACKAGE = re.compile(r"--(?:from|spec)[ =]+(\S+)")
# In an image's tag, a file's name, an address and a requirement.
VERSIONED = re.compile(
    r"(?<!/opt/)memorybase(?:[_-](?:server|client|plugin|image))?(?:[:/@-]|==)(\d+\.\d+\.\d+)(?![\d.]*\d)"
)
WITH_EXTRA = re.compile(r"(?<![\w./-])memorybase(?:-[a-z]+)?\[[a-z][a-z, -]*]")


def found_in(text: str) -> dict[int, tuple[str, list[str]]]:
    """What would install memorybase from an index, with the names, and its name with an extra, by the line."""
    found = {match.start(): (match[0], [match[0]]) for match in WITH_EXTRA.finditer(text)}
    joined = CONTINUED.sub(lambda gap: " " * len(gap[0]), text)
    joined = joined.replace('"', " ").replace("'", " ").replace(",", " ")
    for command in COMMAND.finditer(joined):
        words = NAMES_THE_PACKAGE.findall(command[1]) or command[1].split()
        if named := [word for word in words if REQUIREMENT.fullmatch(word)]:
            found[command.start()] = (" ".join(command[0].split()), named)
    return {text.count("\n", 0, start) + 1: found[start] for start in sorted(found, reverse=True)}


@cache
def all_texts() -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): text for path, text in SWITCH["texts"]()}


def texts(*but: str) -> dict[str, str]:
    return {name: text for name, text in all_texts().items() if not name.startswith(but)}


@pytest.mark.skipif(PUBLISHED, reason="deploy/publication.toml says published")
def test_no_text_installs_memorybase_from_an_index() -> None:
    found = [
        f"{name}:{line}: {what}" for name, text in texts(*TESTS).items() for line, (what, _) in found_in(text).items()
    ]
    assert not found, "until a release exists, install a folder or a file instead:\n" + "\n".join(found)


@pytest.mark.skipif(PUBLISHED, reason="deploy/publication.toml says published")
def test_each_text_that_publication_replaces_is_somewhere() -> None:
    found = list(texts().values())
    gone = [
        before
        for before in (each["before"] for each in SWITCH["PUBLICATION"]["texts"])
        if not any(before in text for text in found)
    ]
    assert not gone, "correct these in deploy/publication.toml, as their pages changed:\n" + "\n".join(gone)


def test_published_texts_name_only_our_packages() -> None:
    found = {
        f"{name}:{line}: {what}": {re.split(r"[^a-z0-9-]", each)[0] for each in named}
        for name, text in texts(*TESTS).items()
        for line, (what, named) in found_in(SWITCH["as_published"](text, "an-account")).items()
    }
    assert len(found) >= 20
    assert set().union(*found.values()) >= {"memorybase-server", "memorybase-client"}
    foreign = [command for command, names in found.items() if not names <= OURS]
    assert not foreign, "these would install another project:\n" + "\n".join(foreign)


def test_published_texts_do_not_speak_of_a_clone() -> None:
    found = [
        f"{name}: {line}"
        for name, text in texts(*OF_CONTRIBUTORS).items()
        for line in SWITCH["as_published"](text, "an-account").splitlines()
        if UNPUBLISHED.search(line)
    ]
    assert not found, "add what they say once published to deploy/publication.toml:\n" + "\n".join(found)


def test_texts_name_the_version_that_is_next() -> None:
    found = {
        f"{name}: {match[0]}"
        for name, text in texts(*TESTS).items()
        for match in VERSIONED.finditer(SWITCH["as_published"](text, "an-account"))
        if match[1] != __version__
    }
    assert not found, f"these must name {__version__}: {sorted(found)}"


@pytest.mark.parametrize("folder", [".", "clients/python"])
def test_links_of_a_readme_lead_to_files_from_an_index_too(folder: str) -> None:
    readme = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    shown = BUILD["with_absolute_links"](readme, folder, "an-account")
    links = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert len(links) >= 5
    of_ours = rf"https://(?:github|raw\.githubusercontent)\.com/an-account/memorybase/(?:blob/)?{__version__}/"
    for link in links:
        assert link.startswith("https://"), link
        if match := re.match(of_ours, link):
            assert (ROOT / link[match.end() :].partition("#")[0]).is_file(), link
    assert len([link for link in links if re.match(of_ours, link)]) >= 5


def test_publication_changes_nothing_twice() -> None:
    for name, text in texts().items():
        once = SWITCH["as_published"](text, "an-account")
        assert SWITCH["as_published"](once, "an-account") == once, name


@pytest.mark.skipif(PUBLISHED, reason="deploy/publication.toml says published")
def test_the_switch_refuses_to_run_by_mistake() -> None:
    with pytest.raises(SystemExit, match="published = true"):
        SWITCH["main"]()
