"""The overview: problems for a person, captured messages, and how many of them are searchable."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from api.deps import Reader, ServicesDep, keyed_router
from memorybase.core.operations import problems
from memorybase.core.operations.problems import Problems
from memorybase.core.read_models import overview
from memorybase.core.read_models.overview import Overview, Window

router = keyed_router("overview")


@router.get("/problems")
def list_problems(services: ServicesDep, caller: Reader) -> Problems:
    """List what needs a person, the worst first, each with the calls that end it. At most 50 of a kind.

    Parts that do not answer, lost vectors, dead letters, messages that nothing ingests. It answers within seconds
    whatever part hangs.
    """
    return problems.problems(services, caller.user_id)


@router.get("/overview")
def get_overview(
    services: ServicesDep,
    caller: Reader,
    window: Annotated[Window, Query(description="The last hour, day or week.")] = Window.DAY,
) -> Overview:
    """Read what was captured in a window and what of it is searchable, by time and by flow, and the latest runs.

    The ten flows with the latest captures are listed; figures include the 500 with the latest captures. The answer may
    be some seconds old where it takes long to compute.
    """
    return overview.overview(services, caller.user_id, window)
