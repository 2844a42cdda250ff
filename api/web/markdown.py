"""Messages as HTML where they are written in Markdown: an assistant's whole, of anybody else the fenced code alone.

Nothing of a message becomes markup of its own: HTML is escaped, links lead to http, https and mailto only, images are
links, and headings are below those of the page.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

# Most messages have none of these, and are shown as they are.
_MAYBE = re.compile(r"[`*_|]|^ {0,3}(?:#{1,6} |>|[-+] |\d{1,9}[.)] )|\]\(", re.MULTILINE)
_SAFE = re.compile(r"(?:https?:|mailto:)", re.IGNORECASE)
HEADING = "h4"


@lru_cache(maxsize=1_024)  # a page has up to 200 messages, and some of a millisecond each
def to_html(text: str, role: str) -> Markup | None:
    """None for a text without Markdown."""
    if not (_MAYBE.search(text) if role == "assistant" else "```" in text or "~~~" in text):
        return None
    html = _parser(whole=role == "assistant").render(text)
    return Markup(html)  # noqa: S704 - the parser escapes all that it does not write itself


@cache
def _parser(*, whole: bool) -> MarkdownIt:
    options = {"html": False, "linkify": False, "typographer": False, "breaks": True, "xhtmlOut": False}
    if whole:
        parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
        parser.disable(["html_block", "html_inline", "image"])
    else:
        parser = MarkdownIt("zero", options).enable(["fence", "newline"])
    parser.validateLink = lambda url: _SAFE.match(url) is not None  # type: ignore[method-assign]
    for name in ("heading_open", "heading_close"):
        parser.add_render_rule(name, _heading)
    parser.add_render_rule("link_open", _link)
    return parser


def _heading(_: RendererHTML, tokens: list[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
    return f"<{'/' if tokens[at].nesting < 0 else ''}{HEADING}>"


def _link(renderer: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    tokens[at].attrSet("rel", "noreferrer nofollow")
    return renderer.renderToken(tokens, at, options, env)
