"""Sign-in to the web page at the operator's OpenID Connect provider: the authorization code flow with PKCE.

A person who has signed in has a row like an API key's, without a secret, with the scopes of the role. So the page, the
audit log and quotas treat people as keys, and revoking the row signs the person out.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import httpx

from memorybase.core import errors
from memorybase.core.auth import access_tokens, api_keys, web_sessions
from memorybase.core.auth import issuer as issuers
from memorybase.core.auth.web_sessions import Ticket
from memorybase.core.models import NAME_LENGTH
from memorybase.core.models.accounts import PERSON
from memorybase.core.queries import credentials
from memorybase.core.queries.ownership import not_found
from memorybase.core.services import Services
from memorybase.core.settings import Role, is_secure

CALLBACK = "/ui/sign-in/callback"
LIFETIME = timedelta(hours=12)  # of a session; then the provider says again what the person may do
AT_ONCE = 4  # sign-ins that wait for the provider, each with a thread
SCOPES: Mapping[Role, tuple[str, ...]] = {
    "reader": ("read",),
    "editor": ("read", "write"),
    "operator": api_keys.SCOPES,
}


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that has begun. Only the browser that began it has these, and shows them at its end."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> Begun:
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))


@dataclass(frozen=True, slots=True)
class Returned:
    """The query with which the provider sends the browser back."""

    state: str = ""
    code: str = ""
    iss: str | None = None
    error: str = ""


class _Slots(threading.BoundedSemaphore):
    def __init__(self) -> None:
        super().__init__(AT_ONCE)


def address(services: Services, begun: Begun) -> str:
    """Where the browser goes to sign in. Blocks for a bounded time. Raises IssuerUnavailable."""
    settings = services.settings
    with _slot(services):
        endpoint = _endpoint(access_tokens.issuer_of(services).metadata(), "authorization_endpoint")
    challenge = hashlib.sha256(begun.verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": settings.sign_in_client_id,
        "redirect_uri": settings.public_url + CALLBACK,
        "scope": settings.sign_in_scopes,
        "state": begun.state,
        "nonce": begun.nonce,
        "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"


def finish(services: Services, begun: Begun, returned: Returned) -> Ticket:
    """Open a session for who has signed in. Blocks for a bounded time. Raises Unauthorized, Forbidden for a person
    without a role and for one whose access was revoked, and IssuerUnavailable."""
    if not hmac.compare_digest(returned.state.encode(), begun.state.encode()):
        raise _failed("it began in another browser or too long ago")
    with _slot(services):
        metadata = access_tokens.issuer_of(services).metadata()
        _check_returned(services.settings.oauth_issuer, metadata, returned)
        token = _exchanged(services, metadata, begun, returned.code)
        claims = _identity(services, token, begun)
    return _open_session(services, claims)


def restore(services: Services, user_id: UUID, person_id: UUID) -> None:
    """Let a person whose access was revoked sign in again. Raises NotFound."""
    with services.database.transaction() as db:
        if person_id.version != PERSON or not credentials.restore_person(db, user_id, person_id):
            raise not_found("revoked person", person_id, field="key_id")


@contextmanager
def _slot(services: Services) -> Iterator[None]:
    slots = services.state.of(_Slots)
    if not slots.acquire(blocking=False):
        raise errors.IssuerUnavailable("Too many people sign in at once, or the provider is slow. Try again")
    try:
        yield
    finally:
        slots.release()


def _check_returned(issuer: str, metadata: Mapping[str, Any], returned: Returned) -> None:
    is_named = returned.iss is not None or metadata.get("authorization_response_iss_parameter_supported")
    if is_named and returned.iss != issuer:
        raise _failed("another provider has answered")  # RFC 9207
    if returned.error or not returned.code:
        raise _failed("the provider has refused it")


def _exchanged(services: Services, metadata: Mapping[str, Any], begun: Begun, code: str) -> str:
    """The ID token for the code."""
    settings = services.settings
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": settings.public_url + CALLBACK,
        "code_verifier": begun.verifier,
    }
    client_id, secret = settings.sign_in_client_id, settings.sign_in_client_secret
    by_basic = "client_secret_basic" in metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    auth = httpx.BasicAuth(quote(client_id, safe=""), quote(secret, safe="")) if secret and by_basic else None
    if auth is None:
        form |= {"client_id": client_id, **({"client_secret": secret} if secret else {})}
    try:
        with httpx.Client(timeout=issuers.OPERATION_SECONDS, auth=auth) as client:
            deadline = time.monotonic() + issuers.FETCH_SECONDS
            answer = issuers.answer(client, _endpoint(metadata, "token_endpoint"), deadline, form) or {}
    except httpx.HTTPError as error:
        reason = f"The sign-in provider cannot be reached ({type(error).__name__}). Try again"
        raise errors.IssuerUnavailable(reason) from error
    except issuers.Refused as error:
        if error.is_of_caller:
            raise _failed(f"the provider {error}") from error
        raise errors.IssuerUnavailable(f"The sign-in provider {error}. Try again") from error
    token = answer.get("id_token")
    if not isinstance(token, str):
        raise _failed("the provider sent no ID token; sign_in_scopes must have openid")
    return token


def _identity(services: Services, token: str, begun: Begun) -> Mapping[str, Any]:
    """The claims of an ID token for this sign-in (OpenID Connect Core, 3.1.3.7)."""
    client_id = services.settings.sign_in_client_id
    pending = access_tokens.pending(services, token)
    if pending is not None:
        wait((pending,), issuers.FETCH_SECONDS)
    claims = access_tokens.signed_claims(services, token)
    audiences = access_tokens.listed(claims["aud"])
    if client_id not in audiences or claims.get("azp", client_id) != client_id:
        raise _failed("its ID token is for another client")
    if not hmac.compare_digest(str(claims.get("nonce")).encode(), begun.nonce.encode()):
        raise _failed("its ID token is of another sign-in")
    return claims


def _open_session(services: Services, claims: Mapping[str, Any]) -> Ticket:
    settings, now = services.settings, datetime.now(UTC)
    held = access_tokens.texts(access_tokens.claim(claims, settings.sign_in_role_claim))
    roles = {settings.sign_in_roles[each] for each in held if each in settings.sign_in_roles}
    if not roles:
        raise errors.Forbidden(
            f"Your account has no role here: its claim {settings.sign_in_role_claim} must have one of "
            f"{', '.join(settings.sign_in_roles)}",
            field=settings.sign_in_role_claim,
        )
    scopes = set().union(*(SCOPES[role] for role in roles))
    names = (claims.get(each) for each in ("preferred_username", "email", "name", "sub"))
    name = next(each for each in names if isinstance(each, str) and each.strip())
    person_id = access_tokens.key_id_of(settings, claims["sub"])
    with services.database.transaction() as db:
        values = {
            "id": person_id,
            "user_id": api_keys.insert_local_user(db, now),
            "name": name[:NAME_LENGTH],
            "prefix": "",
            "key_hash": secrets.token_bytes(32),  # of no secret
            "scopes": [scope for scope in api_keys.SCOPES if scope in scopes],
            "created_at": now,
            "expires_at": now + LIFETIME,
            "last_used_at": now,
        }
        if not credentials.put_person(db, values):
            raise errors.Forbidden(
                "The access of your account was revoked here. An operator can restore it: memorybase keys restore "
                f"{person_id}"
            )
        return web_sessions.issue(db, person_id, "session", LIFETIME)


def _endpoint(metadata: Mapping[str, Any], name: str) -> str:
    url = metadata.get(name)
    if not isinstance(url, str) or not is_secure(url):
        raise errors.IssuerUnavailable(f"The authorization server names no https {name} in its metadata")
    return url


def _failed(reason: str) -> errors.Unauthorized:
    return errors.Unauthorized(f"The sign-in failed: {reason}. Sign in again")
