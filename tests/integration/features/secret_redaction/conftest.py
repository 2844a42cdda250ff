from __future__ import annotations

import pytest

from memorybase.core.settings import Settings


@pytest.fixture
def api_settings(api_settings: Settings) -> Settings:
    """An installation whose flows redact unless they say otherwise."""
    return api_settings.model_copy(update={"secrets": "redact"})
