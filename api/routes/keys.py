"""API keys."""

from __future__ import annotations

from fastapi import Request, Response

from api.deps import Admin, PageDep, ServicesDep, keyed_router
from api.idempotency import keeping, refuse_replay
from api.key_schemas import KeyAnswer, KeyBody, KeyId, NewKeyAnswer, RotationBody, key_answer
from api.locations import location
from api.operations import operation
from api.schemas import CONFLICT
from memorybase.core import errors, ids
from memorybase.core.auth import api_keys
from memorybase.core.database.paging import Page

router = keyed_router("keys")


@router.post("/keys", status_code=201)
@operation(once=True, left_out="secret")
def create_key(
    body: KeyBody, services: ServicesDep, caller: Admin, request: Request, response: Response
) -> NewKeyAnswer:
    """Create an API key. Only this response contains the secret. `flow_ids` and `end_user_id` limit the key."""
    refuse_replay(request)
    named = body.flow_ids
    flow_ids = None if named is None else [ids.flow_id(caller.user_id, each) for each in named]
    key, secret = api_keys.create_key(
        services,
        caller.user_id,
        name=body.name,
        scopes=body.scopes,
        expires_at=body.expires_at,
        flow_ids=flow_ids,
        end_user_id=body.end_user_id,
        quotas=(body.quotas and body.quotas.model_dump(exclude_none=True)) or None,
        before_commit=keeping(request, 201, lambda _, key: (key_answer(key), location("keys", key.id))),
    )
    response.headers.update(location("keys", key.id))
    return NewKeyAnswer(**key_answer(key).model_dump(), secret=secret)


@router.post("/keys/{key_id}/rotate", status_code=201, responses=CONFLICT)
@operation(once=True, left_out="secret")
def rotate_key(
    key_id: KeyId,
    services: ServicesDep,
    caller: Admin,
    request: Request,
    response: Response,
    body: RotationBody | None = None,
) -> NewKeyAnswer:
    """Create a key that replaces this one, with its name, scopes, limits, quotas and usage. Both are valid during the
    overlap. Only this response contains the secret."""
    refuse_replay(request)
    wanted = body or RotationBody()
    key, secret = api_keys.rotate_key(
        services,
        caller.user_id,
        key_id,
        overlap_seconds=wanted.overlap_seconds,
        expires_at=wanted.expires_at,
        before_commit=keeping(request, 201, lambda _, key: (key_answer(key), location("keys", key.id))),
    )
    response.headers.update(location("keys", key.id))
    return NewKeyAnswer(**key_answer(key).model_dump(), secret=secret)


@router.get("/keys")
def list_keys(services: ServicesDep, caller: Admin, page: PageDep) -> Page[KeyAnswer]:
    """List the API keys that are not revoked."""
    if page.cursor is not None:
        raise errors.InvalidRequest("The list of keys has no cursor: use page and size", field="cursor")
    found = api_keys.list_keys(services, caller.user_id)
    shown = found[page.skip : page.skip + page.size]
    return Page([key_answer(key) for key in shown], len(found), page.page, page.size)


@router.delete("/keys/{key_id}", status_code=204)
def revoke_key(key_id: KeyId, services: ServicesDep, caller: Admin) -> Response:
    """Revoke an API key: its next use is refused."""
    api_keys.revoke_key(services, caller.user_id, key_id)
    return Response(status_code=204)
