"""What the core calls."""

from __future__ import annotations

from memorybase.core.extension import Hooks
from memorybase.features.secret_redaction import screening

HOOKS = Hooks(screen=screening.screen, comparable=screening.comparable)
