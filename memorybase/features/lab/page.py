"""The marks in the playground: whether a result is right or wrong for the question."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.extension import Pages, ResultForm
from api.web.playground.asked import Asked
from api.web.visits import Visitor
from memorybase.core import errors
from memorybase.core.ids import CallerId
from memorybase.core.services import Services
from memorybase.features.lab import labels

TEMPLATE = "playground_label.html"

router = APIRouter(include_in_schema=False)


@router.post("/playground/label")
async def label(
    visit: Visitor,
    message: Annotated[UUID, Form()],
    q: Annotated[str, Form()],
    verdict: Annotated[str, Form(pattern="^(right|wrong|none)$")],
    label_id: Annotated[UUID | None, Form()] = None,
    person: Annotated[str, Form()] = "",
    here: Annotated[str, Form()] = "/playground",
) -> Response:
    """Mark a result, or take the mark away."""
    mark: tuple[UUID, bool] | None = None
    if verdict == "none":
        if label_id is None:
            raise errors.InvalidRequest("label_id must name the mark to take away", field="label_id")
        await visit.write(labels.remove_label, label_id)
    else:
        wanted = labels.Mark(
            message_id=CallerId.of(visit.principal.user_id, "message", message),
            query=q,
            right=verdict == "right",
            end_user_id=person or None,
            settings=_settings_of(here),
        )
        made = await visit.write(labels.mark, visit.principal.key_id, wanted)
        mark = (made.id, made.right)
    if not visit.is_fragment:
        return visit.done(here if here.startswith("/playground") else "/playground")
    ask = Asked(q=q, person=person)
    return visit.fragment(TEMPLATE, ask=ask, message_id=message, stored=mark, query=here, is_answer=True)


def _settings_of(here: str) -> dict[str, Any]:
    """What a label keeps of the search that found the message."""
    setting = Asked.at(here).a
    return {
        "mode": setting.mode,
        "top_k": setting.k,
        "min_score": setting.min_score,
        "half_life_days": setting.half_life,
        "weights": asdict(setting.weights),
    }


def _marks(
    services: Services, user_id: UUID, ask: Asked, flow_ids: Collection[UUID], message_ids: Collection[UUID]
) -> dict[UUID, tuple[UUID, bool]]:
    return labels.marks_of(services, user_id, flow_ids, ask.q, message_ids, end_user_id=ask.person or None)


PAGES = Pages(router=router, result_form=ResultForm(_marks, TEMPLATE))
