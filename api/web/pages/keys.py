"""API keys: made, their secret shown once, revoked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from nicegui import ui

from api.web import forms, parts
from api.web.frame import frame
from api.web.parts import Live, Rows, cell
from api.web.visits import Visit, Visitor
from memorybase.auth import api_keys as keys
from memorybase.auth.api_keys import SCOPES
from memorybase.models import ApiKey

PLACE = "/keys"
LIFETIMES = {0: "Never", 30: "In 30 days", 90: "In 90 days", 365: "In a year"}
SCOPE_WORDS = {"read": "Read", "write": "Write: capture, ingest, edit, delete", "admin": "Admin: make and revoke keys"}


@ui.page(PLACE, title="API keys")
async def api_keys(visit: Visitor) -> None:
    with frame(visit, "API keys", here=PLACE):
        if not visit.may("admin"):
            parts.heading("API keys", 1)
            with parts.banner("Not with this key", "Keys are seen and made with a key that has the scope admin."):
                return
        await KeysPage(visit).build()


class KeysPage:
    """The user's keys that were not revoked."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    async def build(self) -> None:
        with ui.element("div").classes("head"):
            parts.heading("API keys", 1)
            with ui.element("div").classes("ways"):
                parts.button("New key", lambda: self._then(self._create()), kind="first")
        self._rows = Rows[ApiKey](
            "API keys",
            ("Name", "Begins with", "Scopes", "Made", "Last used", "Ends", ""),
            lambda key: (key.id, key.last_used_at),
            self._row,
        )
        self._live = Live(self._look, seconds=10.0)
        await self._look()

    async def _then(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._live.now()

    async def _look(self) -> None:
        self._rows.show(await self._visit.administer(keys.list_keys))

    def _row(self, key: ApiKey) -> Callable[[ApiKey], None]:
        with cell():
            ui.label(key.name).classes("strong")
            if key.id == self._visit.principal.key_id:
                parts.badge("yours now", "busy")
        with cell():
            ui.label(f"{key.prefix}..." if key.prefix else "-")
        with cell():
            ui.label(", ".join(key.scopes))
        with cell():
            ui.label(parts.moment(key.created_at))
        with cell():
            ui.label(parts.ago(key.last_used_at))
        with cell():
            ui.label(parts.moment(key.expires_at))
        with cell("acts"):
            parts.icon_button("delete", f"Revoke {key.name}", lambda: self._then(self._revoke(key)))
        return lambda _: None

    async def _create(self) -> None:
        with forms.dialog("New key") as dialog:
            name = forms.field(ui.input("Name").props("autofocus"))
            boxes = {scope: ui.checkbox(SCOPE_WORDS[scope], value=scope != "admin") for scope in SCOPES}
            lifetime = forms.field(ui.select(LIFETIMES, value=0, label="Ends"))

            async def make() -> None:
                ends = datetime.now(UTC) + timedelta(days=lifetime.value) if lifetime.value else None
                made = await parts.attempt(
                    self._visit.administer(
                        keys.create_key,
                        name=str(name.value or ""),
                        scopes=[scope for scope, box in boxes.items() if box.value],
                        expires_at=ends,
                    )
                )
                if made:
                    dialog.submit(made[1])

            forms.ways(dialog, "Create", make)
        secret = await forms.asked(dialog, str)
        if secret:
            await self._show(secret)

    async def _show(self, secret: str) -> None:
        with forms.dialog("The new key") as dialog:
            ui.label("It is shown this once. Keep it where your program reads it.")
            parts.code(secret)
            with ui.element("div").classes("ways"):
                parts.button("I have it", lambda: dialog.submit(None), kind="first")
        await forms.asked(dialog, bool)

    async def _revoke(self, key: ApiKey) -> None:
        own = key.id == self._visit.principal.key_id
        words = "Programs that use it are refused from now on."
        if own:
            words += " It is the key that you are signed in with: you are signed out, too."
        if await parts.confirm(f"Revoke {key.name}?", words, action="Revoke", typed=key.name if own else None):
            await self._visit.administer(keys.revoke_key, key.id)
            parts.tell(f"{key.name} is revoked.")
