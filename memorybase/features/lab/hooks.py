"""What the core calls: nothing. Loading it declares the table."""

from __future__ import annotations

from memorybase.core.extension import Hooks
from memorybase.features.lab import models  # noqa: F401

HOOKS = Hooks()
