"""The workers and what each of them holds."""

from __future__ import annotations

from api.deps import Admin, ServicesDep, keyed_router
from memorybase.core.operations import workers
from memorybase.core.operations.workers import Workers

router = keyed_router("workers")


@router.get("/workers")
def list_workers(services: ServicesDep, _caller: Admin) -> Workers:
    """List the workers of the installation, with how much each of them holds. `memorybase workers drain` stops one."""
    return workers.list_workers(services)
