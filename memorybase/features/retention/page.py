"""Retention: rules with a dry run before they are saved, legal holds, and receipts of what was deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.badges import Badge
from api.web.calls import without_content
from api.web.extension import MemoryCheck, Pages
from api.web.rendering import address
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import manage
from memorybase.core.models import ID_LENGTH
from memorybase.core.queries.expiry import MAX_RETAIN_DAYS
from memorybase.core.read_models import memory_bases, sessions, titles
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.sessions import flows
from memorybase.core.sessions.curation import MAX_REASON
from memorybase.core.validation import check_text
from memorybase.features.retention import erasures, holds, preview, receipts
from memorybase.features.retention.preview import RetentionPreview

router = APIRouter(include_in_schema=False)

PATH = "/settings/retention"
PAGE = 50
OFFERED = 200  # flows and memories to choose from
COUNTS = {
    "sessions": "Whole sessions",
    "messages": "Messages",
    "chunks": "Chunks",
    "node_executions": "Node executions",
    "chat_messages": "Chat messages",
    "memory_uses": "Recorded uses of memory",
    "held_sessions": "Sessions that a hold keeps",
}
RULES = {
    "flow": "Flow",
    "session": "Sessions that expire by themselves",
    "memory_base": "Memory",
    "memory_use": "Recorded uses of memory",
}

ERASURES = {"erase_end_user": "End user", "delete_session": "Session", "redact_secrets": "Secrets"}


@router.get(PATH)
@without_content
async def rules(visit: Visitor, target: str = "", days: str = "") -> Response:
    """With a target and days: what that rule would delete now."""
    return await _rules(visit, target, days)


@router.get(f"{PATH}/due")
@without_content
async def due(visit: Visitor) -> Response:
    """The rules that are set, and what each would delete now: counting may take a while."""
    found = (await visit.read(preview.preview)).items
    return visit.fragment("settings_retention_due.html", rules=found, rule_words=RULES, **await _names(visit, found))


@router.post(PATH)
async def save(visit: Visitor, target: Annotated[str, Form()], days: Annotated[str, Form()] = "") -> Response:
    """Save the rule, or lift it with no days."""
    try:
        kind, subject = _target(target)
        changes = {"retain_days": _days(days)}
        if kind == "flow":
            await visit.write(flows.update_flow, subject, changes)
        else:
            await visit.write(manage.update_memory_base, subject, changes)
    except errors.InvalidRequest as error:
        return await _rules(visit, target, days, error)
    kept = (
        "Everything is kept." if changes["retain_days"] is None else "The sweeper deletes what has expired from now on."
    )
    return visit.done(PATH, f"Saved. {kept}")


@router.get(f"{PATH}/holds")
async def list_holds(visit: Visitor, cursor: str = "") -> Response:
    return await _holds(visit, cursor)


@router.post(f"{PATH}/holds")
async def place(
    visit: Visitor,
    flow: Annotated[str, Form()] = "",
    session: Annotated[str, Form()] = "",
    person: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Hold a flow, a session of it, or a person."""
    given = {"flow": flow, "session": session, "person": person, "reason": reason}
    try:
        for name, most in (("session", ID_LENGTH), ("person", ID_LENGTH), ("reason", MAX_REASON)):
            _check_length(given[name], name, most)
        await visit.admin(
            holds.place_hold,
            flow_id=_uuid(flow, "flow_id") if flow else None,
            session_id=session or None,
            end_user_id=person.strip() or None,
            reason=reason.strip() or None,
            placed_by=visit.principal.name,
        )
    except (errors.InvalidRequest, errors.NotFound) as error:
        return await _holds(visit, given=given, error=error)
    return visit.done(f"{PATH}/holds", "The hold is placed. Nothing that it keeps is deleted.")


@router.post(f"{PATH}/holds/{{hold_id}}/lift")
async def lift(visit: Visitor, hold_id: UUID) -> Response:
    await visit.admin(holds.lift_hold, hold_id)
    return visit.done(f"{PATH}/holds", "The hold is lifted. What has expired is deleted by the next pass.")


@router.get(f"{PATH}/receipts")
@without_content
async def list_receipts(visit: Visitor, cursor: str = "", erased: str = "") -> Response:
    """`cursor` pages the receipts of rules, `erased` those of erasures."""
    found = await visit.read(receipts.list_passes, PageRequest(size=PAGE, cursor=cursor or None))
    erased_by_request = await visit.read(erasures.list_receipts, PageRequest(size=PAGE, cursor=erased or None))
    return visit.settings(
        "settings_receipts.html",
        "retention",
        "Retention",
        found=found,
        cursor=cursor,
        erasures=erased_by_request,
        erased=erased,
        rule_words=RULES,
        erasure_words=ERASURES,
        kept_days=receipts.KEPT.days,
        goes_on=Badge("working", "Goes on"),
        **await _names(visit, [*found.items, *(each for each in erased_by_request.items if each.flow_id)]),
    )


@router.get(f"{PATH}/receipts/{{receipt_id}}")
@without_content
async def download_receipt(visit: Visitor, receipt_id: UUID) -> Response:
    """The receipt of an erasure as a file, like GET /erasures/{erasure_id}."""
    receipt = await visit.read(erasures.get_receipt, receipt_id)
    return Response(
        json.dumps(asdict(receipt), default=str, indent=1),
        media_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="erasure-{receipt_id}.json"',
            "Cache-Control": "no-store",
        },
    )


async def _rules(visit: Visit, target: str, days: str, error: errors.MemorybaseError | None = None) -> Response:
    counted: RetentionPreview | None = None
    try:
        if target and days and error is None:
            kind, subject = _target(target)
            found = await visit.read(
                preview.preview,
                retain_days=_days(days),
                flow_id=subject if kind == "flow" else None,
                memory_base_id=None if kind == "flow" else subject,
            )
            counted = next((each for each in found.items if each.rule == kind), None)
    except (errors.InvalidRequest, errors.NotFound) as refused:
        error = refused
    offered = PageRequest(size=OFFERED)
    bases = await visit.read(memory_bases.list_memory_bases, offered)
    return visit.settings(
        "settings_retention.html",
        "retention",
        "Retention",
        target=target,
        days=days,
        flows=(await visit.read(sessions.list_flows, offered)).items,
        memories=bases.items,
        counted=counted,
        counts=COUNTS,
        error=error,
        longest=MAX_RETAIN_DAYS,
    )


async def _holds(visit: Visit, cursor: str = "", **values: Any) -> Response:
    found = await visit.read(holds.list_holds, PageRequest(size=PAGE, cursor=cursor or None))
    offered = (await visit.read(sessions.list_flows, PageRequest(size=OFFERED))).items
    named = await visit.read(sessions.get_flows, {each.flow_id for each in found.items if each.flow_id})
    held = [(each.flow_id, each.session_id) for each in found.items if each.flow_id and each.session_id]
    shown: dict[str, Any] = {"given": {}, "error": None} | values
    return visit.settings(
        "settings_holds.html",
        "retention",
        "Retention",
        titles=await visit.read(titles.session_titles, held),
        found=found,
        cursor=cursor,
        flows=offered,
        flow_names={each: flow.name for each, flow in named.items()},
        address_of=address,
        most=MAX_REASON,
        **shown,
    )


async def _names(visit: Visit, found: Any) -> dict[str, Any]:
    """The names of the flows and memories of rules or receipts."""
    named = await visit.read(sessions.get_flows, {each.flow_id for each in found})
    bases = await visit.read(memory_bases.list_memory_bases, PageRequest(size=OFFERED))
    return {
        "flow_names": {each: flow.name for each, flow in named.items()},
        "memory_names": {each.id: each.name for each in bases.items},
    }


def _check_length(text: str, field: str, most: int) -> None:
    check_text(text, field)
    if len(text) > most:
        raise errors.InvalidRequest(
            f"{field} must have at most {most} characters (got {len(text)})", field=field, value=len(text), limit=most
        )


def _target(text: str) -> tuple[str, UUID]:
    """A flow or a memory and its id. Raises InvalidRequest."""
    kind, _, value = text.partition(":")
    if kind not in {"flow", "memory_base"}:
        raise errors.InvalidRequest("target must be a flow or a memory", field="target")
    return kind, _uuid(value, "target")


def _days(text: str) -> int | None:
    """A number of days, or None without one. Raises InvalidRequest."""
    if not text.strip():
        return None
    try:
        return int(text)
    except ValueError:
        raise errors.InvalidRequest(
            f"retain_days must be from 1 to {MAX_RETAIN_DAYS}", field="retain_days", limit=[1, MAX_RETAIN_DAYS]
        ) from None


def _uuid(text: str, field: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise errors.InvalidRequest(f"{field} must be chosen from the list", field=field) from None


async def _session_note(visit: Visit, flow_id: UUID, session_id: str) -> str:
    return "On legal hold" if await visit.read(holds.is_held, flow_id, session_id) else ""


async def _would_forget(visit: Visit, memory: MemoryBaseView, changes: Mapping[str, Any]) -> RetentionPreview | None:
    """What the memory would forget if that is more than before."""
    days = changes.get("retain_days")
    if days is None or (memory.retain_days is not None and days >= memory.retain_days):
        return None
    found = await visit.read(preview.preview, memory_base_id=memory.id, retain_days=days)
    return found.items[0]


PAGES = Pages(
    router=router,
    tab=("retention", "Retention"),
    session_note=_session_note,
    memory_check=MemoryCheck(_would_forget, "memory_would_forget.html"),
)
