"""What surrounds every page: its title, the ways to the others, light and dark, signing out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nicegui import ui

from api.web import parts
from api.web.visits import Visit

THEME_COOKIE = "memorybase_theme"
STYLE = Path(__file__).parent / "static" / "pages.css"

PLACES = (
    ("Memories", "/"), ("Jobs", "/jobs"), ("Knowledge bases", "/knowledge-bases"), ("API keys", "/keys"),
    ("Health", "/health"),
)  # fmt: skip


@contextmanager
def frame(visit: Visit, title: str, *, here: str = "/", back: tuple[str, str] | None = None) -> Iterator[None]:
    """A page within the frame. `here`: the place it belongs to; `back`: words and address of where it is from."""
    ui.page_title(f"{title} - memorybase")
    ui.add_css(STYLE)
    theme = visit.request.cookies.get(THEME_COOKIE)
    dark = ui.dark_mode({"dark": True, "light": False}.get(theme or ""))
    ui.link("To the content", "#content").classes("skip").props("target=_self")
    with ui.header(fixed=False, add_scroll_padding=False).classes("top"):
        with parts.link(visit, "", "/").classes("brand"):
            ui.html(f'<img src="{visit.root}/static/icon.svg" alt="" width="24" height="24">memorybase', sanitize=False)
        with ui.element("nav").props('aria-label="Places"'):
            for words, path in PLACES:
                link = parts.link(visit, words, path)
                if path == here:
                    link.props('aria-current="page"')
        with ui.element("div").classes("tools"):
            parts.icon_button("contrast", "Light or dark", lambda: _turn(dark))
            with ui.element("form").props(f'method=post action="{visit.root}/sign-out"'):
                parts.said("button", "Sign out").props("type=submit").classes("plain")
    with ui.element("div").props('id=content tabindex="-1"').classes("content"):
        if back:
            parts.link(visit, f"← {back[0]}", back[1]).classes("back")
        yield


async def _turn(dark: ui.dark_mode) -> None:
    """To the other one, and so it stays in this browser."""
    shown = await ui.run_javascript("document.body.classList.contains('body--dark')")
    dark.value = not shown
    theme = "light" if shown else "dark"
    ui.run_javascript(f"document.cookie = '{THEME_COOKIE}={theme}; path=/; max-age=31536000; samesite=lax'")
