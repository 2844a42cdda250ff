"""The layout of every page: title, navigation, dark mode, sign-out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from api.web import parts
from api.web.visits import Visit
from memorybase import __version__

THEME_COOKIE = "memorybase_theme"

NAVIGATION = (
    ("Memories", "/"), ("Jobs", "/jobs"), ("Knowledge bases", "/knowledge-bases"), ("API keys", "/keys"),
    ("Health", "/health"),
)  # fmt: skip


@contextmanager
def page_layout(visit: Visit, title: str, *, section: str = "/", back: tuple[str, str] | None = None) -> Iterator[None]:
    """Build a page inside. `section`: the path of its navigation link; `back`: text and path of the parent page."""
    ui.page_title(f"{title} - memorybase")
    ui.add_head_html(f'<link rel="stylesheet" href="{visit.root}/static/pages.css?{__version__}">')
    theme = visit.request.cookies.get(THEME_COOKIE)
    dark = ui.dark_mode({"dark": True, "light": False}.get(theme or ""))
    ui.link("Skip to content", "#content").classes("skip").props("target=_self")
    with ui.header(fixed=False, add_scroll_padding=False).classes("top"):
        with parts.link(visit, "", "/").classes("brand"):
            ui.html(f'<img src="{visit.root}/static/icon.svg" alt="" width="24" height="24">memorybase', sanitize=False)
        with ui.element("nav").props('aria-label="Main"'):
            for label, path in NAVIGATION:
                link = parts.link(visit, label, path)
                if path == section:
                    link.props('aria-current="page"')
        with ui.element("div").classes("tools"):
            parts.icon_button("contrast", "Switch between light and dark", lambda: _switch_theme(dark))
            with ui.element("form").props(f'method=post action="{visit.root}/sign-out"'):
                parts.text_element("button", "Sign out").props("type=submit").classes("plain")
    with ui.element("div").props('id=content tabindex="-1"').classes("content"):
        if back:
            parts.link(visit, f"← {back[0]}", back[1]).classes("back")
        yield


async def _switch_theme(dark: ui.dark_mode) -> None:
    """Switch between light and dark; a cookie keeps the choice in this browser."""
    is_dark = await ui.run_javascript("document.body.classList.contains('body--dark')")
    dark.value = not is_dark
    theme = "light" if is_dark else "dark"
    ui.run_javascript(f"document.cookie = '{THEME_COOKIE}={theme}; path=/; max-age=31536000; samesite=lax'")
