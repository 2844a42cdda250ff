"""What the core calls."""

from __future__ import annotations

from functools import partial

from memorybase.core.extension import Hooks, Step
from memorybase.core.queries import leased_work
from memorybase.features.memory_map import job

HOOKS = Hooks(
    limits=partial(leased_work.limits, job.WORK),
    steps=(Step("maps", partial(leased_work.enqueue_due, job.WORK)),),
    tasks={job.MAP: job.compute_map},
)
