"""API keys: created with their secret shown once, listed, revoked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from nicegui import ui

from api.web import forms, parts
from api.web.layout import page_layout
from api.web.parts import Poller, Table, cell, text_cell
from api.web.visits import Visit, Visitor
from memorybase.auth import api_keys as keys
from memorybase.auth.api_keys import SCOPES
from memorybase.models import ApiKey

PATH = "/keys"
LIFETIMES = {0: "Never", 30: "In 30 days", 90: "In 90 days", 365: "In a year"}
SCOPE_LABELS = {
    "read": "Read", "write": "Write: capture, ingest, edit, delete", "admin": "Admin: create and revoke keys",
}  # fmt: skip


@ui.page(PATH, title="API keys")
async def api_keys(visit: Visitor) -> None:
    with page_layout(visit, "API keys", section=PATH):
        if visit.may("admin"):
            await KeysPage(visit).build()
            return
        parts.heading("API keys", 1)
        with parts.banner("Permission denied", "Listing and creating keys requires a key with the scope admin."):
            pass


class KeysPage:
    """The user's keys, without revoked ones."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    async def build(self) -> None:
        with ui.element("div").classes("head"):
            parts.heading("API keys", 1)
            with ui.element("div").classes("actions"):
                parts.button("New key", lambda: self._run(self._create()), kind="primary")
        self._rows = Table[ApiKey](
            "API keys",
            ("Name", "Prefix", "Scopes", "Created", "Last used", "Expires", ""),
            lambda key: (key.id, key.last_used_at),
            self._row,
        )
        self._poller = Poller(self._refresh, seconds=10.0)
        await self._refresh()

    async def _run(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._poller.refresh()

    async def _refresh(self) -> None:
        self._rows.show(await self._visit.admin(keys.list_keys))

    def _row(self, key: ApiKey) -> Callable[[ApiKey], None]:
        with cell():
            ui.label(key.name).classes("strong")
            if key.id == self._visit.principal.key_id:
                parts.badge("current", "busy")
        text_cell(f"{key.prefix}..." if key.prefix else "-")
        text_cell(", ".join(key.scopes))
        text_cell(parts.utc_time(key.created_at))
        text_cell(parts.ago(key.last_used_at))
        text_cell(parts.utc_time(key.expires_at))
        with cell("row-actions"):
            parts.icon_button("delete", f"Revoke {key.name}", lambda: self._run(self._revoke(key)))
        return lambda _: None

    async def _create(self) -> None:
        with forms.dialog("New key") as form:
            name = forms.field(ui.input("Name").props("autofocus"))
            boxes = {scope: ui.checkbox(SCOPE_LABELS[scope], value=scope != "admin") for scope in SCOPES}
            lifetime = forms.field(ui.select(LIFETIMES, value=0, label="Expires"))

            async def submit() -> None:
                expires_at = datetime.now(UTC) + timedelta(days=lifetime.value) if lifetime.value else None
                created = await parts.attempt(
                    self._visit.admin(
                        keys.create_key,
                        name=str(name.value or ""),
                        scopes=[scope for scope, box in boxes.items() if box.value],
                        expires_at=expires_at,
                    )
                )
                if created:
                    form.submit(created[1])

            forms.buttons(form, "Create", submit)
        secret = await forms.result_of(form, str)
        if secret:
            await self._show(secret)

    async def _show(self, secret: str) -> None:
        with forms.dialog("Key created") as dialog:
            ui.label("Copy the key now. It is not shown again.")
            parts.code_block(secret)
            with ui.element("div").classes("actions"):
                parts.button("Done", lambda: dialog.submit(None), kind="primary")
        await forms.result_of(dialog, bool)

    async def _revoke(self, key: ApiKey) -> None:
        is_current = key.id == self._visit.principal.key_id
        text = "Requests with this key are refused from now on."
        if is_current:
            text += " You are signed in with this key and will be signed out."
        if await parts.confirm(f"Revoke {key.name}?", text, action="Revoke", typed=key.name if is_current else None):
            await self._visit.admin(keys.revoke_key, key.id)
            parts.notify(f"{key.name} revoked.")
