"""Usage: limit, use and reset of each quota, of the user and of keys; the quotas of keys are set here."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from api.web.calls import without_content
from api.web.extension import Pages, ProblemPage
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.auth import api_keys
from memorybase.core.operations.problems import ProblemKind
from memorybase.core.services import Services
from memorybase.core.settings import MAX_QUOTA, QuotaName
from memorybase.features.quotas import manage, usage
from memorybase.features.quotas.usage import QuotaUsage

router = APIRouter(include_in_schema=False)

PATH = "/settings/usage"
NAMES: dict[QuotaName, str] = {
    "messages_per_day": "Messages a day",
    "stored_messages": "Stored messages",
    "searches_per_minute": "Searches a minute",
    "end_users": "End users",
}
MOST_KEYS = 50  # shown: each is counted

PAGES = Pages(
    router=router,
    tab=("usage", "Usage"),
    problems={ProblemKind.QUOTA: ProblemPage(about="", actions={}, link=lambda _: ("Details", PATH))},
)


class Listed(NamedTuple):
    """A key: the quotas that hold for it, and those that were set for it. `id`: where they may be set."""

    name: str
    quotas: list[QuotaUsage]
    own: dict[str, int]
    id: UUID | None = None


@router.get(PATH)
@without_content
async def page(visit: Visitor) -> Response:
    return await _page(visit)


@router.post(f"{PATH}/{{key_id}}")
async def save(visit: Visitor, key_id: UUID) -> Response:
    """Replace the quotas of a key; an empty field is the default of the settings."""
    form = await visit.request.form()
    given: dict[str, str] = {name: str(form.get(name, "")) for name in NAMES}
    try:
        quotas = {name: _number(name, text.strip()) for name, text in given.items()}
        key = await visit.admin(manage.change_key_quotas, key_id, quotas, by_key_id=visit.principal.key_id)
    except errors.InvalidRequest as error:
        return await _page(visit, changed=key_id, given=given, error=error)
    return visit.done(PATH, f"The quotas of {key.name} are saved.")


def _number(name: str, text: str) -> int | None:
    """Raises InvalidRequest. What is no number, or longer than the bound, has no value to compare with it."""
    if not text:
        return None
    if not text.isdecimal() or len(text) > len(str(MAX_QUOTA)):
        raise errors.InvalidRequest(
            f"{name} must be 0 to {MAX_QUOTA}", field=name, value=text[:100], limit=[0, MAX_QUOTA]
        )
    return int(text)


async def _page(visit: Visit, **values: Any) -> Response:
    found = await visit.read(usage.usage_of_key, visit.principal.key_id)
    listed, left_out = [Listed(visit.principal.name, found.key, {})], 0
    if visit.may("admin"):
        listed, left_out = await visit.admin(_keys, visit.principal.key_id)
    settings = visit.services.settings
    shown: dict[str, Any] = {"changed": None, "given": {}, "error": None} | values
    return visit.page(
        "settings_usage.html",
        place="settings",
        title="Usage",
        tab="usage",
        user=found.user,
        keys=listed,
        left_out=left_out,
        names=NAMES,
        most=MAX_QUOTA,
        defaults={each: settings.key_quotas.get(each) for each in NAMES},
        **shown,
    )


def _keys(services: Services, user_id: UUID, asking_id: UUID) -> tuple[list[Listed], int]:
    """The keys, those with quotas first, and how many are left out. The quotas of the key that asks may not be set, nor
    those of its rotation."""
    found = api_keys.list_keys(services, user_id)
    subjects = {key.id: key.quota_subject or key.id for key in found}
    listed = [
        Listed(
            key.name,
            usage.usage_of_key(services, user_id, key.id).key,
            key.quotas or {},
            None if subjects[key.id] == subjects.get(asking_id) else key.id,
        )
        for key in found[:MOST_KEYS]
    ]
    listed.sort(key=lambda each: all(quota.limit is None for quota in each.quotas))
    return listed, len(found) - len(listed)
