"""What the core calls."""

from __future__ import annotations

from memorybase.core.extension import Hooks
from memorybase.features.lab import labels

HOOKS = Hooks(on_renamed=labels.follow_rename)
