"""Access tokens of the operator's authorization server: signed JSON Web Tokens (RFC 9068), mapped to what a limited key
may do. Nothing of them is stored.

A token must be issued for this server: its audience is `public_url/mcp`, one flow of it, or one that the settings name.
PyJWT is imported in functions: with cryptography it takes 9 MB, and most servers are shown no token.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote
from uuid import NAMESPACE_URL, UUID, uuid5

from memorybase.core import errors, ids
from memorybase.core.auth import api_keys
from memorybase.core.auth.api_keys import LOCAL_USER, Principal, TokenOf
from memorybase.core.auth.issuer import Issuer
from memorybase.core.auth.limits import MAX_FLOWS, KeyLimits
from memorybase.core.cache import Cache
from memorybase.core.callers import caller_of
from memorybase.core.models import ID_LENGTH, NAME_LENGTH
from memorybase.core.queries import credentials
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.validation import check_text

# Signatures with a public key. With HS256 whoever knows that key could sign.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
TYPES = {"at+jwt", "application/at+jwt", "jwt"}  # in lower case; many servers do not mark access tokens
LEEWAY_SECONDS = 30  # between the clocks of the two servers
MAX_LENGTH = 16_000  # of a token

_FORM = re.compile(r"eyJ[\w-]*\.[\w-]+\.[\w-]*")
_REASONS = {  # by the names of PyJWT's errors
    "ExpiredSignatureError": "has expired",
    "ImmatureSignatureError": "is not valid yet",
    "InvalidIssuerError": "is of another issuer",
    "InvalidSignatureError": "has a wrong signature",
}


class _State:
    """The authorization server, and tokens that were valid a moment ago, by their hashes."""

    def __init__(self) -> None:
        self.issuer: Issuer | None = None
        self.valid: Cache[bytes, tuple[Principal, float]] = Cache(api_keys.MOST_KEPT)


def is_token(settings: Settings, secret: str) -> bool:
    """Whether this is an access token and no API key."""
    return bool(settings.oauth_issuer) and _FORM.fullmatch(secret) is not None


def pending(services: Services, token: str) -> Future[None] | None:
    """The request to the authorization server that `authenticate` needs, bounded in time; None if it needs none."""
    try:
        return issuer_of(services).pending(_header(token).get("kid"))
    except errors.Unauthorized:
        return None


def authenticate(services: Services, token: str) -> Principal:
    """The caller with this token. Makes no request to the authorization server. Raises Unauthorized, Forbidden for
    claims that allow nothing here, and IssuerUnavailable."""
    digest, valid = api_keys.hash_of(token), services.state.of(_State).valid
    principal, expires_at = valid.get(digest) or (None, 0.0)
    if principal is not None and expires_at > time.time():
        return principal
    claims = verified(services, token)
    principal = _principal(services, claims)
    valid.put(digest, (principal, float(claims["exp"])), api_keys.VALID_SECONDS)
    return principal


def verified(services: Services, token: str) -> Mapping[str, Any]:
    """The claims of a token that this issuer signed for this server. Raises Unauthorized and IssuerUnavailable."""
    claims, settings = signed_claims(services, token), services.settings
    if not _audiences(settings, claims) and not _flows_of_audience(settings, claims):
        raise _invalid(f"is for another audience than {resource(settings)}")
    return claims


def signed_claims(services: Services, token: str) -> Mapping[str, Any]:
    """The claims of a token that this issuer signed and that has not expired, whoever it is for. Raises Unauthorized
    and IssuerUnavailable."""
    import jwt

    header = _header(token)
    key = issuer_of(services).key(header.get("kid"))
    if key.get("alg", header["alg"]) != header["alg"]:
        raise _invalid("is signed in another way than its key is for")
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            jwt.PyJWK(dict(key), algorithm=header["alg"]),
            algorithms=ALGORITHMS,
            issuer=services.settings.oauth_issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub"], "verify_aud": False},
        )
    except jwt.PyJWTError as error:
        raise _invalid(_REASONS.get(type(error).__name__, "is not valid")) from error
    return claims


def key_id_of(settings: Settings, subject: str) -> UUID:
    """What stands for the API key of this subject: the same for all of its tokens and sign-ins."""
    return uuid5(NAMESPACE_URL, f"{settings.oauth_issuer}\n{subject}")


def is_valid(services: Services, secret: str) -> bool:
    """Whether this is a token that can be verified with the keys at hand. It takes no query and no request."""
    if not is_token(services.settings, secret):
        return False
    try:
        verified(services, secret)
    except (errors.Unauthorized, errors.IssuerUnavailable):
        return False
    return True


def resource(settings: Settings, flow: str | None = None) -> str:
    """The identifier of this server, or of one flow of it, that clients ask tokens for (RFC 8707)."""
    return f"{settings.public_url}/mcp" + ("" if flow is None else f"/flows/{quote(flow, safe='')}")


def issuer_of(services: Services) -> Issuer:
    """The authorization server of the settings."""
    state = services.state.of(_State)
    if state.issuer is None:
        state.issuer = Issuer(services.settings.oauth_issuer)
    return state.issuer


def scope_names(settings: Settings, *scopes: str) -> list[str]:
    """What a client asks the authorization server for, to be allowed this."""
    names = {scope: name for name, scope in reversed(settings.oauth_scopes.items())}
    return [names[scope] for scope in scopes if scope in names]


def _header(token: str) -> Mapping[str, Any]:
    """The unverified header. Raises Unauthorized for one that no valid token has."""
    import jwt

    if len(token) > MAX_LENGTH:
        raise _invalid(f"must have at most {MAX_LENGTH} characters")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise _invalid("cannot be read") from error
    if header.get("alg") not in ALGORITHMS:
        raise _invalid(f"must be signed with one of {', '.join(ALGORITHMS)}")
    if str(header.get("typ", "JWT")).lower() not in TYPES:
        raise _invalid("is a token of another type")
    return header


def _invalid(reason: str) -> errors.Unauthorized:
    return errors.Unauthorized(f"The access token {reason}. Get a new one from its authorization server")


def _audiences(settings: Settings, claims: Mapping[str, Any]) -> set[str]:
    """The audiences that are this whole server."""
    return {resource(settings), *settings.oauth_audiences} & set(listed(claims["aud"]))


def _flows_of_audience(settings: Settings, claims: Mapping[str, Any]) -> list[str]:
    """The flows of this server that are audiences."""
    start = resource(settings, "")
    found = (each.removeprefix(start) for each in listed(claims["aud"]) if each.startswith(start))
    return [unquote(each) for each in found if each and "/" not in each]


def _principal(services: Services, claims: Mapping[str, Any]) -> Principal:
    settings, subject = services.settings, str(claims["sub"])
    user_id, of_user = _user(services)
    key_id = key_id_of(settings, subject)
    flows, end_user_id = _flows(user_id, settings, claims), _end_user(settings, claims)
    issued_for = None
    if not _audiences(settings, claims):
        issued_for = frozenset(ids.flow_id(user_id, each) for each in _flows_of_audience(settings, claims))
        flows = issued_for if flows is None else flows & issued_for
        if not flows:
            raise _useless(settings.oauth_flows_claim, "the flow that the token is issued for")
    return Principal(
        user_id=user_id,
        key_id=key_id,
        scopes=_scopes(settings, claims),
        name=subject[:NAME_LENGTH],
        limits=None if flows is None and end_user_id is None else KeyLimits(flows, end_user_id),
        charged=caller_of(settings, user_id, of_user, key_id),
        token=TokenOf(subject, issued_for),
    )


def _user(services: Services) -> tuple[UUID, Mapping[str, int] | None]:
    """Whose data tokens reach, and the quotas."""
    with services.database.reading(snapshot=False) as db:
        user_id = credentials.user_by_name(db, LOCAL_USER)
        if user_id is not None:
            return user_id, credentials.quotas_of_user(db, user_id)
    with services.database.transaction() as db:
        return api_keys.insert_local_user(db, datetime.now(UTC)), None


def _scopes(settings: Settings, claims: Mapping[str, Any]) -> frozenset[str]:
    name = settings.oauth_scope_claim
    values = claim(claims, name) if name else claims.get("scope", claims.get("scp"))
    return frozenset(settings.oauth_scopes[each] for each in texts(values) if each in settings.oauth_scopes)


def _end_user(settings: Settings, claims: Mapping[str, Any]) -> str | None:
    name = settings.oauth_end_user_claim
    if not name:
        return None
    value = claim(claims, name)
    if not isinstance(value, str) or not value.strip() or len(value) > ID_LENGTH:
        raise _useless(name, f"an end user, with 1 to {ID_LENGTH} characters")
    check_text(value, name)
    return value


def _flows(user_id: UUID, settings: Settings, claims: Mapping[str, Any]) -> frozenset[UUID] | None:
    name = settings.oauth_flows_claim
    if not name:
        return None
    sent = listed(claim(claims, name))
    if not 1 <= len(sent) <= MAX_FLOWS:
        raise _useless(name, f"the ids of 1 to {MAX_FLOWS} flows")
    return frozenset(ids.flow_id(user_id, each) for each in sent)


def _useless(name: str, what: str) -> errors.Forbidden:
    """A claim that is missing narrows to nothing: it must never widen what a token reaches."""
    return errors.Forbidden(f"The claim {name} of the access token must name {what}", field=name)


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim with this name, or else at this path of names with dots between them; None if there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def texts(value: Any) -> list[str]:
    """A list of texts, or one text with spaces between them, as in `scope`."""
    return value.split() if isinstance(value, str) else listed(value)


def listed(value: Any) -> list[str]:
    """A list of texts, or one text."""
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, str)]
