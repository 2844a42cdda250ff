"""A person: everything that is stored of them, as a file, and its erasure with a receipt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from api.web.calls import recorded_as
from api.web.extension import person_cards
from api.web.rendering import address
from api.web.visits import Visitor
from memorybase.core.database.paging import PageRequest
from memorybase.core.import_export import exporter
from memorybase.core.models import ID_LENGTH
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.read_models import end_users, sessions, titles
from memorybase.core.sessions import edits
from memorybase.core.sessions.receipts import ErasureReceipt

router = APIRouter(include_in_schema=False)

RECENT = 5
Id = Annotated[str, Query(min_length=1, max_length=ID_LENGTH)]
COUNTS = {
    "sessions": "Sessions",
    "runs": "Runs",
    "messages": "Messages",
    "chats": "Chats",
    "chat_messages": "Messages in chats",
    "summaries": "Summaries",
    "node_executions": "Node executions",
    "context_messages": "Messages in their contexts",
    "memory_uses": "Memory uses",
    "standing_statements": "Standing statements",
    "chunks": "Chunks in vector stores",
}


@router.get("/person")
async def person(visit: Visitor, id: Id) -> Response:  # noqa: A002 - the name in the address
    known = await visit.read(end_users.get_end_user, id)
    wanted = SessionFilter(end_user_id=id, order="recent", without_planned=True)
    recent = await visit.read(sessions.list_sessions, wanted, PageRequest(size=RECENT))
    figures = [
        ("Sessions", known.sessions, address("/conversations", person=id)),
        ("Runs", known.runs, address("/conversations", tab="runs", person=id)),
        ("Messages", known.messages, ""),
        ("Chats", known.chats, ""),
        ("Summaries", known.summaries, ""),
        ("Node executions", known.node_executions, ""),
    ]
    return visit.page(
        "person.html",
        place="conversations",
        title=id,
        person=known,
        recent=recent.items,
        figures=[(label, count, path) for label, count, path in figures if count],
        titles=await visit.read(titles.session_titles, [(each.flow_id, each.session_id) for each in recent.items]),
        cards=[(each.template, await visit.read(each.read, id)) for each in person_cards()],
    )


@router.get("/person/export")
async def export(visit: Visitor, id: Id) -> Response:  # noqa: A002 - the name in the address
    """Everything of the person as JSON lines, like GET /export?end_user_id=."""
    await visit.read(end_users.get_end_user, id)
    scope = await visit.read(exporter.resolve_scope, flow_id=None, memory_base_id=None, end_user_id=id)

    def lines() -> Iterator[bytes]:
        yield from exporter.export(visit.services, scope)

    name = re.sub(r"[^A-Za-z0-9._-]+", "_", id)
    return StreamingResponse(
        lines(),
        media_type="application/jsonl",
        headers={"Content-Disposition": f'attachment; filename="{name}.jsonl"', "Cache-Control": "no-store"},
    )


@router.post("/person/erase")
@recorded_as("erase_end_user")
async def erase(visit: Visitor, id: Id) -> Response:  # noqa: A002 - the name in the address
    """Answers with the receipt, which is kept."""
    receipt: ErasureReceipt = await visit.write(edits.erase_end_user, id)
    shown = asdict(receipt)
    return visit.page(
        "person_receipt.html",
        place="conversations",
        title=id,
        end_user_id=id,
        receipt=receipt,
        at=receipt.erased_at,
        counts=[(label, shown[name]) for name, label in COUNTS.items()],
        as_json=json.dumps({"end_user_id": id, **shown}, default=str, indent=1),
    )
