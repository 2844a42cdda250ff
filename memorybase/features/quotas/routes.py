"""Usage of quotas, and the quotas of keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query

from api.deps import Admin, Reader, ServicesDep, keyed_router
from api.extension import Routes
from api.key_limits import Rule
from api.key_schemas import KeyAnswer, KeyId, QuotasBody, key_answer
from api.operations import operation
from api.schemas import SentUuid
from memorybase.features.quotas import manage, usage
from memorybase.features.quotas.usage import Usage

router = keyed_router("keys")
ROUTES = Routes(router=router)


@router.put("/keys/{key_id}/quotas")
def set_key_quotas(key_id: KeyId, body: QuotasBody, services: ServicesDep, caller: Admin) -> KeyAnswer:
    """Replace the quotas of a key, also of those that it was rotated into. A key cannot change its own."""
    quotas = body.model_dump()
    return key_answer(manage.change_key_quotas(services, caller.user_id, key_id, quotas, by_key_id=caller.key_id))


@router.get("/usage")
@operation(limits=Rule([], []))
def get_usage(
    services: ServicesDep,
    caller: Reader,
    key_id: Annotated[SentUuid | None, Query(description="Another key; requires the scope admin.")] = None,
) -> Usage:
    """Read the quotas of the user and of the calling key: limit, use, and when it resets. A limited key sees its own
    only."""
    if key_id is not None and key_id != caller.key_id:
        caller.require("admin")
    if caller.token is not None and caller.charged is not None:
        found = usage.usage_of_caller(services, caller.key_id, caller.charged)
    else:
        found = usage.usage_of_key(services, caller.user_id, key_id or caller.key_id)
    return found if caller.limits is None else replace(found, user=[])
