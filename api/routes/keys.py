"""API keys."""

from __future__ import annotations

from fastapi import Request, Response

from api.deps import Admin, PageDep, ServicesDep, keyed_router
from api.idempotency import HEADER, keeping, replayed
from api.locations import location
from api.schemas import KeyAnswer, KeyBody, NewKeyAnswer, SentUuid
from memorybase import errors
from memorybase.auth import api_keys
from memorybase.database.paging import Page

router = keyed_router("keys")


@router.post("/keys", status_code=201)
def create_key(
    body: KeyBody, services: ServicesDep, caller: Admin, request: Request, response: Response
) -> NewKeyAnswer:
    """Create an API key. Only this response contains the secret."""
    first = replayed(request)
    if first is not None:
        raise errors.SecretNotStored(field=HEADER, existing_id=first["id"])
    key, secret = api_keys.create_key(
        services,
        caller.user_id,
        name=body.name,
        scopes=body.scopes,
        expires_at=body.expires_at,
        before_commit=keeping(request, 201, lambda _, key: (KeyAnswer.model_validate(key), location("keys", key.id))),
    )
    response.headers.update(location("keys", key.id))
    return NewKeyAnswer(**KeyAnswer.model_validate(key).model_dump(), secret=secret)


@router.get("/keys")
def list_keys(services: ServicesDep, caller: Admin, page: PageDep) -> Page[KeyAnswer]:
    """List the API keys that are not revoked."""
    if page.cursor is not None:
        raise errors.InvalidRequest("The list of keys has no cursor: use page and size", field="cursor")
    found = api_keys.list_keys(services, caller.user_id)
    shown = found[page.skip : page.skip + page.size]
    return Page([KeyAnswer.model_validate(key) for key in shown], len(found), page.page, page.size)


@router.delete("/keys/{key_id}", status_code=204)
def revoke_key(key_id: SentUuid, services: ServicesDep, caller: Admin) -> Response:
    """Revoke an API key: its next use is refused."""
    api_keys.revoke_key(services, caller.user_id, key_id)
    return Response(status_code=204)
