"""What the site takes from the pages: its navigation from docs/index.md, and where links out of docs/ lead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown

_HEADING_OR_LINK = re.compile(r"^(##+) (.+)$|\]\(([\w/-]+\.md)\)", re.MULTILINE)


class ListIndent(Extension):
    """Lists as GitHub reads them: what belongs to an item is indented by two spaces or more, instead of four."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.tab_length = 2
        md.build_parser()  # the parser that exists has the old length in its expressions


def on_config(config: Any) -> None:
    """Make each heading of docs/index.md a section, with the pages that are first linked below it."""
    config.markdown_extensions.insert(0, ListIndent())
    config.nav = ["index.md"]
    section: list[Any] = []
    pages: list[Any] = []
    named = set()
    for level, title, page in _HEADING_OR_LINK.findall(Path(config.docs_dir, "index.md").read_text(encoding="utf-8")):
        if level == "##":
            pages = section = []
            config.nav.append({title: section})
        elif level:
            pages = []
            section.append({title: pages})
        elif page not in named:
            named.add(page)
            pages.append(page)


def on_page_markdown(markdown: str, config: Any, page: Any, **_: Any) -> str:
    """Let links that leave docs/ lead to the repository."""
    out = "../" * (page.file.src_uri.count("/") + 1)
    return markdown.replace(f"]({out}", f"]({config.repo_url}/blob/HEAD/")
