"""What the core calls."""

from __future__ import annotations

from memorybase.core.extension import Collections, Hooks
from memorybase.features.documents import comparison, queries

HOOKS = Hooks(collections=(Collections(queries.ordinary_knowledge_bases, comparison.check, comparison.restore),))
