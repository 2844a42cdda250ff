"""The form of a new memory on the web page offers the vector stores that can be used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from harness.api import Api, open_api, settings_in

from api.web import site

OFFERED = re.compile(r'<select id="new-store" name="vector_store">(.*?)</select>')


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with open_api(settings_in(tmp_path)) as opened:
        app = opened.client.app
        assert isinstance(app, FastAPI)
        without = list(app.router.routes)
        site.mount(app)
        yield opened
        app.router.routes[:] = without  # the application serves other tests, without pages


def signed_in(api: Api) -> str:
    """The token of a page's forms, from the page of memories."""
    api.client.post("/ui/sign-in", data={"key": api.secret}, follow_redirects=True).raise_for_status()
    return re.findall(r'name="csrf" value="([^"]+)"', page(api))[0]


def page(api: Api) -> str:
    return " ".join(api.client.get("/ui/memories?new").raise_for_status().text.split())


def create(api: Api, csrf: str, store: str) -> httpx.Response:
    form = {"csrf": csrf, "name": "notes", "flow": api.flow(), "vector_store": store}
    return api.client.post("/ui/memories", data=form, follow_redirects=False)


def test_with_one_store_there_is_no_choice(api: Api) -> None:
    signed_in(api)

    assert OFFERED.search(page(api)) is None


def test_with_two_stores_the_form_offers_both(api: Api) -> None:
    settings = api.services.settings.model_copy(update={"pgvector_url": "postgresql://pgvector"})
    object.__setattr__(api.services, "settings", settings)
    csrf = signed_in(api)
    (offered,) = OFFERED.findall(page(api))

    assert re.findall(r'value="([a-z]+)"', offered) == ["chroma", "pgvector"]
    assert create(api, csrf, "pgvector").status_code == 303
    assert api.get("/memories")["items"][0]["vector_store"] == "pgvector"
    # The name is taken: the form comes back as it was filled.
    assert '<option value="pgvector" selected>' in create(api, csrf, "pgvector").text


def test_a_store_without_a_url_is_refused(api: Api) -> None:
    assert "vector_store must be a store with a URL" in create(api, signed_in(api), "pgvector").text
    assert api.get("/memories")["total"] == 0
