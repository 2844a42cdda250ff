"""The documentation site: it reads as GitHub shows the pages, is searched, strict, and has a folder for each version.

`make site` installs the tools, builds the site and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-site" / "bin"
DOCS = ROOT / "docs"
SITE = ROOT / "build" / "site"
CONFIG = Path("deploy/site/mkdocs.yml")
PAGES = sorted(DOCS.rglob("*.md"))

_STRUCTURE = re.compile(r"<(pre|ol|ul|li|table|tr|h[1-6]|em|strong|blockquote)[ >]")


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    assert (SITE / "index.html").exists(), "run: make site"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a copy of what the site is built from."""
    for folder in ("docs", "deploy/site"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "memorybase")
    git(tmp_path, "config", "user.email", "memorybase@example.com")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "Start")
    return tmp_path


def git(tree: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=tree, check=True, capture_output=True, text=True).stdout


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOLS / command[0]), *command[1:], "--config-file", str(CONFIG)],
        cwd=tree,
        env=os.environ | {"PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"},  # mike starts mkdocs
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def address(page: Path) -> str:
    """Where the page is in the site, as a folder."""
    folder = page.relative_to(DOCS).parent
    return "" if page == DOCS / "index.md" else f"{folder if page.stem == 'README' else folder / page.stem}/"


def test_each_page_has_the_structure_that_github_shows(subtests: pytest.Subtests) -> None:
    github = MarkdownIt("gfm-like", {"linkify": False})
    for page in PAGES:
        with subtests.test(str(page.relative_to(ROOT))):
            html = (SITE / address(page) / "index.html").read_text(encoding="utf-8")
            article = html[html.index("<article") : html.index("</article>")]
            expected = github.render(page.read_text(encoding="utf-8"))
            assert Counter(_STRUCTURE.findall(article)) == Counter(_STRUCTURE.findall(expected)), (
                "the parsers read this page differently: a blank line before a list item, or no number at the "
                "beginning of a line, is what both understand"
            )


def test_search_knows_each_page_and_its_text() -> None:
    found = json.loads((SITE / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert {address(page) for page in PAGES} <= {part["location"] for part in found}
    (promise,) = (part for part in found if part["location"] == "explanation/delivery/#the-promise")
    assert "acknowledged message" in promise["text"]


def test_links_out_of_docs_lead_to_the_repository() -> None:
    html = (SITE / "explanation" / "threat-model" / "index.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/memorybase/memorybase/blob/HEAD/SECURITY.md"' in html


@pytest.mark.parametrize("link", ["howto/gone.md", "howto/install.md#gone"])
def test_a_broken_link_fails_the_build(tree: Path, link: str) -> None:
    with (tree / "docs" / "glossary.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[Gone]({link})\n")
    build = run(tree, "mkdocs", "build")
    assert build.returncode == 1
    assert link in build.stdout


def test_a_page_that_the_index_does_not_name_fails_the_build(tree: Path) -> None:
    (tree / "docs" / "howto" / "new.md").write_text("# New\n", encoding="utf-8")
    build = run(tree, "mkdocs", "build")
    assert build.returncode == 1
    assert "howto/new.md" in build.stdout


def test_each_version_has_a_folder(tree: Path) -> None:
    for version in ("0.1", "0.2"):
        (tree / "docs" / "tutorial.md").write_text(f"# Tutorial\n\nOf {version}.\n", encoding="utf-8")
        deployed = run(tree, "mike", "deploy", "--update-aliases", version, "latest")
        assert deployed.returncode == 0, deployed.stdout

    versions = {
        version["version"]: version["aliases"] for version in json.loads(git(tree, "show", "gh-pages:versions.json"))
    }
    assert versions == {"0.1": [], "0.2": ["latest"]}
    assert "Of 0.1." in git(tree, "show", "gh-pages:0.1/tutorial/index.html")
    assert "Of 0.2." in git(tree, "show", "gh-pages:0.2/tutorial/index.html")
