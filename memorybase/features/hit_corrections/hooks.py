"""What the core calls."""

from __future__ import annotations

from memorybase.core.extension import Hooks
from memorybase.features.hit_corrections import marking

HOOKS = Hooks(before_search=marking.comparison)
