"""Home over HTTP: where it leads a new user."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from harness.api import Api
from harness.plain_browser import mounted

from memorybase.core.read_models import overview


def test_home_leads_to_the_guide_until_the_first_run(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "KEEP_FACTOR", 1_000_000)  # a busy machine shows what it counted for long
    with mounted(api):
        browser = TestClient(api.client.app, base_url="http://testserver", follow_redirects=True)
        browser.post("/ui/sign-in", data={"key": api.secret})
        assert browser.get("/ui/").url.path == "/ui/first-minute"
        api.capture("a first message")
        assert browser.get("/ui/").url.path == "/ui/"
