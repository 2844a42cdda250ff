from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _redacting(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation whose flows redact unless they say otherwise."""
    monkeypatch.setenv("MEMORYBASE_SECRETS", "redact")
