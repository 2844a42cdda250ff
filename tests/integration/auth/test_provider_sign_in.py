"""Sign-in to the page at an OpenID Connect provider: what an answer of the provider must be.

tests/acceptance/test_oauth.py has whole sign-ins at a real one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from harness.api import Api, open_api, settings_in
from harness.issuer import PUBLIC_URL, IssuerServer, serve_issuer, unsigned
from harness.plain_browser import Page, mounted
from harness.rows import each_row

from memorybase.core import errors
from memorybase.core.auth import access_tokens, api_keys, provider_sign_in, web_sessions
from memorybase.core.auth.api_keys import SCOPES
from memorybase.core.auth.provider_sign_in import Begun, Returned
from memorybase.core.auth.web_sessions import Ticket
from memorybase.core.settings import Settings

CLIENT = "page"
ROLES = {"team": "editor", "readers": "reader", "admins": "operator"}


@pytest.fixture
def issuer() -> Iterator[IssuerServer]:
    with serve_issuer() as served:
        yield served


@pytest.fixture
def api(issuer: IssuerServer, tmp_path: Path) -> Iterator[Api]:
    update = {
        "public_url": PUBLIC_URL,
        "oauth_issuer": issuer.url,
        "sign_in_client_id": CLIENT,
        "sign_in_client_secret": "s:e/c",
        "sign_in_roles": ROLES,
    }
    with open_api(settings_in(tmp_path).model_copy(update=update)) as api:
        yield api


def finish(api: Api, issuer: IssuerServer, begun: Begun | None = None, **claims: Any) -> Ticket:
    """A sign-in that ends with an ID token that has these claims."""
    begun = begun or Begun.new()
    usual = {"aud": CLIENT, "nonce": begun.nonce, "groups": ["team"], "scope": None}
    issuer.id_token = issuer.id_token or issuer.token(headers={"typ": "JWT"}, **{**usual, **claims})
    returned = Returned(state=begun.state, code="the-code", iss=issuer.url)
    try:
        return provider_sign_in.finish(api.services, begun, returned)
    finally:
        issuer.id_token = ""


def people(api: Api) -> list[str]:
    return [key.name for key in api_keys.list_keys(api.services, api.user_id) if not key.prefix]


def test_the_browser_is_sent_with_a_challenge_and_the_code_is_exchanged_with_its_verifier(
    api: Api, issuer: IssuerServer
) -> None:
    begun = Begun.new()
    asked = parse_qs(urlsplit(provider_sign_in.address(api.services, begun)).query)

    finish(api, issuer, begun)

    (form,) = issuer.forms
    challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"][0].encode()).digest())
    assert asked["code_challenge"] == [challenge.rstrip(b"=").decode()]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"] == form["redirect_uri"] == [f"{PUBLIC_URL}/ui/sign-in/callback"]
    assert asked["state"] == [begun.state]
    assert issuer.authorized == [f"Basic {base64.b64encode(b'page:s%3Ae%2Fc').decode()}"]
    assert "client_secret" not in form


def test_a_provider_that_knows_no_basic_gets_the_secret_in_the_form(api: Api, issuer: IssuerServer) -> None:
    issuer.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}

    finish(api, issuer)

    assert issuer.forms[0]["client_secret"] == ["s:e/c"]
    assert issuer.authorized == [None]


@each_row(
    "groups, scopes",
    [
        (["team", "other"], ["read", "write"]),
        ("readers", ["read"]),
        (["readers", "admins"], list(SCOPES)),
    ],
)
def test_the_role_decides_the_scopes_and_a_new_sign_in_changes_them(
    api: Api, issuer: IssuerServer, groups: Any, scopes: list[str]
) -> None:
    ticket = finish(api, issuer, groups=groups, email="anna@example.com")

    principal = web_sessions.principal_of(api.services, ticket.token)
    assert sorted(principal.scopes) == sorted(scopes)
    assert principal.name == "anna@example.com"
    assert principal.key_id == access_tokens.key_id_of(api.services.settings, "anna")
    assert people(api).count("anna@example.com") == 1


@each_row("groups", [None, [], ["other"], {"team": True}, 7])
def test_without_a_role_nobody_gets_in(api: Api, issuer: IssuerServer, groups: Any) -> None:
    with pytest.raises(errors.Forbidden, match="claim groups must have one of team, readers, admins"):
        finish(api, issuer, groups=groups)
    assert not people(api)


@each_row(
    "claims, reason",
    [
        ({"nonce": "of another sign-in"}, "is of another sign-in"),
        ({"nonce": None}, "is of another sign-in"),
        ({"aud": "another-client"}, "is for another client"),
        ({"aud": [CLIENT, "another-client"], "azp": "another-client"}, "is for another client"),
        ({"iss": "https://evil.example.com"}, "is of another issuer"),
        ({"exp": 1_700_000_000}, "has expired"),
        ({"kid": "second"}, "a key that its issuer does not have"),
    ],
)
def test_a_wrong_id_token_signs_nobody_in(api: Api, issuer: IssuerServer, claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(errors.Unauthorized, match=reason):
        finish(api, issuer, **claims)
    assert not people(api)


def test_an_unsigned_id_token_signs_nobody_in(api: Api, issuer: IssuerServer) -> None:
    begun = Begun.new()
    issuer.id_token = unsigned(issuer.token(aud=CLIENT, nonce=begun.nonce, groups=["team"]), {"alg": "none"})

    with pytest.raises(errors.Unauthorized, match="must be signed"):
        finish(api, issuer, begun)


def test_an_outage_of_the_provider_is_no_wrong_sign_in(api: Api, issuer: IssuerServer) -> None:
    finish(api, issuer)
    issuer.status = 500

    with pytest.raises(errors.IssuerUnavailable, match="answered with status 500"):
        finish(api, issuer)


def test_a_provider_that_hangs_takes_only_some_threads(api: Api) -> None:
    slots = api.services.state.of(provider_sign_in._Slots)
    for _ in range(provider_sign_in.AT_ONCE):
        assert slots.acquire(blocking=False)

    with pytest.raises(errors.IssuerUnavailable, match="Too many people sign in at once"):
        provider_sign_in.address(api.services, Begun.new())


def test_a_person_has_no_key_and_an_access_token_does_not_open_the_page(api: Api, issuer: IssuerServer) -> None:
    finish(api, issuer)

    with pytest.raises(errors.Unauthorized):
        web_sessions.open_session(api.services, issuer.token())


def test_a_person_has_no_secret_to_rotate(api: Api, issuer: IssuerServer) -> None:
    finish(api, issuer)
    person = access_tokens.key_id_of(api.services.settings, "anna")

    error = api.refused("POST", f"/keys/{person}/rotate", 422, json={})

    assert (error["field"], error["value"]) == ("key_id", str(person))
    with mounted(api):
        shown = Page(api).get("/settings/keys")
    assert f"memorybase keys restore {person}" in shown
    assert f"rotate-{person}" not in shown


def test_a_revoked_person_is_restored_and_signs_in_anew(api: Api, issuer: IssuerServer) -> None:
    before = finish(api, issuer)
    person = access_tokens.key_id_of(api.services.settings, "anna")
    api.delete(f"/keys/{person}")
    with pytest.raises(errors.Forbidden, match=f"memorybase keys restore {person}"):
        finish(api, issuer)

    provider_sign_in.restore(api.services, api.user_id, person)

    after = finish(api, issuer)
    assert web_sessions.principal_of(api.services, after.token).key_id == person
    with pytest.raises(errors.Unauthorized):
        web_sessions.principal_of(api.services, before.token)


def test_only_a_revoked_person_is_restored(api: Api, issuer: IssuerServer) -> None:
    finish(api, issuer)
    person = access_tokens.key_id_of(api.services.settings, "anna")
    key = UUID(api.post("/keys", {"name": "x", "scopes": ["read"]}, expect=201)["id"])
    api.delete(f"/keys/{key}")

    for not_revoked in (person, key):
        with pytest.raises(errors.NotFound):
            provider_sign_in.restore(api.services, api.user_id, not_revoked)


def test_without_a_client_nobody_signs_in_with_a_provider(api_settings: Settings) -> None:
    with open_api(api_settings) as api, mounted(api):
        for path in ("/ui/sign-in/provider", "/ui/sign-in/callback?code=x&state=x"):
            assert api.client.get(path, follow_redirects=False).status_code == 404
        assert "/sign-in/provider" not in api.client.get("/ui/sign-in").text


def test_a_browser_that_began_no_sign_in_gets_the_form_again(api: Api) -> None:
    with mounted(api):
        for cookie in ("", "made-up", *(base64.urlsafe_b64encode(each).decode() for each in (b"7", b"[" * 3_000))):
            answer = api.client.get(
                "/ui/sign-in/callback?code=x&state=x", headers={"Cookie": f"memorybase_sign_in={cookie}"}
            )
            assert answer.status_code == 401
            assert "it began in another browser" in answer.text
