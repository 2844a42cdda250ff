"""A flow that is put under the runtime's own id, also by two requests at once and for a user that is gone."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from harness.world import World
from sqlalchemy.orm import Session

from memorybase.core import errors
from memorybase.core.models import Flow
from memorybase.core.sessions import flows


def test_a_flow_that_another_request_has_just_created_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    flow_id = uuid4()
    flows.put_flow(world.services, world.user_id, name="first", flow_id=flow_id)
    looks: list[UUID] = []
    lock = flows.flows.lock_flow

    def look(db: Session, id_: UUID) -> Flow | None:
        looks.append(id_)
        return None if len(looks) == 1 else lock(db, id_)  # the first one is before the other request's commit

    monkeypatch.setattr(flows.flows, "lock_flow", look)
    flow, is_new = flows.put_flow(world.services, world.user_id, name="second", flow_id=flow_id)
    assert (flow.name, is_new) == ("second", False)


def test_a_user_that_is_gone_is_an_error_and_no_endless_retry(world: World) -> None:
    with pytest.raises(errors.ConstraintViolated):
        flows.put_flow(world.services, uuid4(), name="flow", flow_id=uuid4())
