"""Sign-in links for the web page."""

from __future__ import annotations

from api.deps import AnyKey, ServicesDep, keyed_router
from api.operations import operation
from api.schemas import SignInLinkAnswer
from memorybase.core import errors
from memorybase.core.auth import web_sessions

router = keyed_router("sign-in")


@router.post("/sign-in-links", status_code=201)
@operation(location=False)  # it would put the token into logs of headers
def create_sign_in_link(services: ServicesDep, caller: AnyKey) -> SignInLinkAnswer:
    """Create a link that signs a browser in with this key's scopes. It works once, for one hour."""
    if not services.settings.web:
        raise errors.NotFound("The web page is off. Set MEMORYBASE_WEB=true to serve it")
    link = web_sessions.make_link(services, caller)
    return SignInLinkAnswer(url_path=f"/ui/enter?token={link.token}", expires_at=link.expires_at)
