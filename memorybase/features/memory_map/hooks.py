"""What the core calls."""

from __future__ import annotations

from collections.abc import Iterator

from memorybase.extension import Hooks, Step
from memorybase.features.memory_map import job
from memorybase.features.memory_map.models import MemoryMap
from memorybase.operations.clock_steps import longest_notify
from memorybase.queries.timestamps import Limit
from memorybase.services import Services


def _limits(services: Services) -> Iterator[Limit]:
    yield Limit(MemoryMap.notify_at, longest_notify(services.settings))
    yield Limit(MemoryMap.lease_until, job.lease(services))


HOOKS = Hooks(limits=_limits, steps=(Step("maps", job.enqueue_due),), tasks={job.MAP: job.compute_map})
