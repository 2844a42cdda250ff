"""What the core calls."""

from __future__ import annotations

from memorybase.core.extension import Hooks, Step
from memorybase.features.dify import deletion

HOOKS = Hooks(
    erase_outside=deletion.erase,
    steps=(Step("node_memory", deletion.enqueue_clean_up),),
    tasks={deletion.CLEAN_UP_TASK: deletion.clean_up},
)
