"""The pages of an API in this process, and a browser without JavaScript."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.web import csrf, deadlines, site
from api.web.deadlines import Deadlines
from api.web.visits import COOKIE
from harness.api import Api


@contextmanager
def mounted(api: Api, chosen: Deadlines | None = None) -> Iterator[None]:
    """The application serves its pages meanwhile: it serves other tests, without pages."""
    app = api.client.app
    assert isinstance(app, FastAPI)
    without = list(app.router.routes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deadlines, "USUAL", chosen or deadlines.USUAL)
        site.mount(app)
    try:
        yield
    finally:
        app.router.routes[:] = without


class Page:
    """A signed-in browser without JavaScript."""

    def __init__(self, api: Api) -> None:
        self.client = TestClient(api.client.app, base_url="http://testserver", follow_redirects=True)
        self.client.post("/ui/sign-in", data={"key": api.secret})
        self.token = csrf.issue(self.client.cookies[COOKIE])

    def get(self, path: str) -> str:
        """With one space for all white space, as it is shown."""
        found = self.client.get(f"/ui{path}")
        assert found.status_code == 200, found.text
        return " ".join(html.unescape(found.text).split())

    def post(self, path: str, **fields: str) -> httpx.Response:
        return self.client.post(f"/ui{path}", data={csrf.FIELD: self.token, **fields})
