"""An id that a caller sends is a UUID or a string; the ids that its row may have differ by flow."""

from __future__ import annotations

from uuid import UUID, uuid4, uuid5

import pytest
from harness.rows import each_row

from memorybase.core.errors import InvalidRequest
from memorybase.core.ids import CallerId, IdKind, flow_id

USER = UUID("6f1c1f5e-2b1d-4c07-9a55-0b8f6b1c0d11")
KINDS: tuple[IdKind, ...] = ("flow", "run", "message", "node_execution")


def test_a_uuid_stands_for_itself() -> None:
    given = uuid4()
    assert flow_id(USER, str(given)) == given
    assert flow_id(USER, str(given).upper()) == given
    assert CallerId.of(USER, "flow", str(given).upper()).external_id is None


@each_row("value", ["support-bot", "a/b c", "ünï", "0" * 128, "d41d8cd98f00b204e9800998ecf8427e"])
def test_any_other_string_is_an_external_id(value: str) -> None:
    given = CallerId.of(USER, "flow", value)
    assert (given.own, given.external_id) == (uuid5(USER, f"flow:{value}"), value)


def test_the_spelling_of_a_uuid_does_not_matter() -> None:
    given = uuid4()
    assert CallerId.of(USER, "run", str(given)) == CallerId.of(USER, "run", str(given).upper())


def test_kinds_users_and_flows_do_not_share_the_ids_of_strings() -> None:
    flows = uuid4(), uuid4()
    given = [CallerId.of(user, kind, "x") for user in (USER, uuid4()) for kind in KINDS]
    assert len({each.in_flow(flow)[0] for each in given for flow in flows}) == 2 * len(given)
    assert len({each.own for each in given}) == len(given)


def test_a_uuid_keeps_its_row_id_unless_another_flow_has_it() -> None:
    sent = uuid4()
    given = CallerId.of(USER, "message", sent)
    first, second = given.in_flow(uuid4())
    assert first == sent
    assert given.external_id_of(first) is None
    assert given.external_id_of(second) == str(sent)


@each_row("value", ["", "  ", "x" * 129, "a\x00b", "a\ud800"])
def test_what_cannot_be_an_id_is_refused(value: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        CallerId.of(USER, "run", value)
    assert caught.value.field == "run_id"


def test_the_bound_is_in_the_error() -> None:
    with pytest.raises(InvalidRequest) as caught:
        CallerId.of(USER, "run", "x" * 129)
    assert (caught.value.value, caught.value.limit) == (129, 128)
