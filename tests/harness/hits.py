"""Hits as the Python client reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memorybase_client import models


def client_hit(content: str = "text", **fields: Any) -> models.Hit:
    ids = {"message_id": UUID(int=1), "memory_base_id": UUID(int=2), "run_id": UUID(int=3), "session_id": "s", "seq": 1}
    said = {"role": "user", "content": content, "timestamp": datetime(2026, 3, 2, tzinfo=UTC), "metadata": {}}
    passage = {"snippet": content, "snippet_start": 0, "snippet_end": len(content)}
    return models.Hit.model_validate({**ids, **said, **passage, "score": 0.5, "pending": False, **fields})
