"""Usage of quotas."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query

from api.deps import Reader, ServicesDep, keyed_router
from api.key_limits import Rule
from api.operations import operation
from api.schemas import SentUuid
from memorybase.quotas import usage
from memorybase.quotas.usage import Usage

router = keyed_router("keys")


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
    found = usage.usage_of_key(services, caller.user_id, key_id or caller.key_id)
    return found if caller.limits is None else replace(found, user=[])
