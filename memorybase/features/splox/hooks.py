"""What the core calls."""

from __future__ import annotations

from functools import partial

from memorybase.core.extension import Hooks, Step
from memorybase.core.queries import leased_work
from memorybase.features.splox import lines, summaries

HOOKS = Hooks(
    limits=partial(leased_work.limits, summaries.WORK),
    steps=(Step("chat_summaries", partial(leased_work.enqueue_due, summaries.WORK)),),
    tasks={summaries.SUMMARIZE: summaries.make_pending},
    lines=(lines.LINES,),
)
