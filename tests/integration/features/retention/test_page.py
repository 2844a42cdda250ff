"""The page of retention: rules, legal holds, receipts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.api import Api
from harness.plain_browser import Page, mounted
from harness.rows import each_row

from memorybase.core.models import Message, Receipt


@pytest.fixture
def page(api: Api) -> Iterator[Page]:
    api.flow("support")
    api.flow("sales")
    api.capture("an old text", "an older one", session="s1", end_user_id="anna")
    with mounted(api):
        yield Page(api)


def flow_id(api: Api, name: str) -> str:
    found: str = api.get(f"/flows/{name}")["id"]
    return found


def grow_old(api: Api, days: int) -> None:
    with api.services.database.transaction() as db:
        db.execute(sa.update(Message).values(captured_at=datetime.now(UTC) - timedelta(days=days)))


def test_a_rule_is_counted_before_it_is_saved(api: Api, page: Page) -> None:
    grow_old(api, 40)
    target = f"flow:{flow_id(api, 'support')}"
    counted = page.get(f"/settings/retention?target={target}&days=30")
    assert '<dt>Messages</dt><dd class="number">2</dd>' in counted
    assert "Save the rule" in counted
    assert 'class="number">2</dd>' not in page.get(f"/settings/retention?target={target}&days=%20")
    assert api.get("/flows/support")["retain_days"] is None
    assert "No rules" in page.get("/settings/retention/due")
    page.post("/settings/retention", target=target, days="30")
    assert api.get("/flows/support")["retain_days"] == 30
    assert ">support</b>" in page.get("/settings/retention/due")
    assert "Lift the rule" in page.get(f"/settings/retention?target={target}")
    page.post("/settings/retention", target=target, days="")
    assert api.get("/flows/support")["retain_days"] is None


@each_row(("target", "days"), [("flow:none", "3"), ("x", "3"), ("{flow}", "0"), ("{flow}", "many")])
def test_a_rule_that_is_none_is_refused(api: Api, page: Page, target: str, days: str) -> None:
    target = target.format(flow=f"flow:{flow_id(api, 'support')}")
    assert 'role="alert"' in page.get(f"/settings/retention?target={target}&days={days}")
    assert 'role="alert"' in page.post("/settings/retention", target=target, days=days).text
    assert api.get("/flows/support")["retain_days"] is None


def test_a_memory_that_would_forget_more_is_saved_once_that_is_confirmed(api: Api, page: Page) -> None:
    base = api.memory(threshold=1)["id"]
    api.post(f"/memories/{base}/flush", expect=202)
    api.work()
    grow_old(api, 40)
    path, form = f"/memories/{base}/settings", {"name": "notes", "threshold": "5", "idle_minutes": "1"}
    assert "2 messages would be forgotten now" in page.post(path, **form, retain_days="30").text
    assert api.get(f"/memories/{base}")["retain_days"] is None
    page.post(path, **form, retain_days="20", confirmed_days="30")  # something else than what was counted
    assert api.get(f"/memories/{base}")["retain_days"] is None
    page.post(path, **form, retain_days="30", confirmed_days="30")
    assert api.get(f"/memories/{base}")["retain_days"] == 30
    page.post(path, **form, retain_days="60")  # forgets nothing that the rule of today does not
    assert api.get(f"/memories/{base}")["retain_days"] == 60
    page.post(path, **form, retain_days="")
    assert api.get(f"/memories/{base}")["retain_days"] is None


def test_a_hold_is_placed_with_a_reason_and_lifted(api: Api, page: Page) -> None:
    support = flow_id(api, "support")
    page.post("/settings/retention/holds", flow=support, session="s1", reason="Claim 4711")
    page.post("/settings/retention/holds", person="anna", reason="Claim 4712")
    first, second = api.get("/holds")["items"]
    assert (first["flow_id"], first["session_id"], first["reason"], first["placed_by"]) == (
        support,
        "s1",
        "Claim 4711",
        "local",
    )
    assert second["end_user_id"] == "anna"
    listed = page.get("/settings/retention/holds")
    assert "Claim 4711" in listed
    assert ">s1</a>" in listed
    api.refused("DELETE", "/end-users/anna", 409)
    for each in (first, second):
        page.post(f"/settings/retention/holds/{each['id']}/lift")
    assert api.get("/holds")["items"] == []


def test_a_hold_on_nothing_and_one_on_a_session_that_is_unknown_are_refused(api: Api, page: Page) -> None:
    support = flow_id(api, "support")
    for fields in ({}, {"flow": support, "person": "anna"}, {"flow": support, "session": "none"}, {"session": "s1"}):
        shown = page.post("/settings/retention/holds", reason="Claim 4711", **fields).text
        assert 'role="alert"' in shown
        assert 'value="Claim 4711"' in shown
    assert api.get("/holds")["items"] == []


def test_receipts_are_listed(api: Api, page: Page) -> None:
    assert "No receipts" in page.get("/settings/retention/receipts")
    support, now = UUID(flow_id(api, "support")), datetime.now(UTC)
    receipt = Receipt(
        id=uuid4(),
        user_id=api.user_id,
        rule="flow",
        flow_id=support,
        subject_id=support,
        retain_days=30,
        expired_before=now,
        counts={"messages": 1234, "facts": 5678},
        started_at=now,
    )
    with api.services.database.transaction() as db:
        db.add(receipt)
    listed = page.get("/settings/retention/receipts")
    assert ">support</b>" in listed
    assert "<td>1,234 messages, 5,678 facts</td>" in re.sub(r"\s*\n\s*", "", listed)
    assert "Goes on" in listed


def test_receipts_of_erasures_are_listed_and_downloaded(api: Api, page: Page) -> None:
    assert "No erasures" in page.get("/settings/retention/receipts")
    api.capture("apples", session="of-ann", end_user_id="ann")
    shown = page.post("/person/erase?id=ann").text
    (kept,) = api.get("/erasures")["items"]
    path = f"/settings/retention/receipts/{kept['id']}"
    assert f'href="/ui{path}" download' in shown
    assert "until you delete them" in shown
    listed = page.get("/settings/retention/receipts")
    assert (">End user</b>" in listed, f'href="/ui{path}" download' in listed) == (True, True)
    answer = page.client.get(f"/ui{path}")
    assert answer.headers["content-disposition"] == f'attachment; filename="erasure-{kept["id"]}.json"'
    downloaded = answer.json()
    assert {name: downloaded[name] for name in ("id", "messages", "remaining")} == {
        name: kept[name] for name in ("id", "messages", "remaining")
    }
    assert page.client.get(f"/ui/settings/retention/receipts/{uuid4()}").status_code == 404


def test_a_session_says_that_it_is_held(api: Api, page: Page) -> None:
    assert "On legal hold" not in page.get("/session?flow=support&id=s1")
    api.post("/holds", {"flow_id": "support", "session_id": "s1"}, expect=201)
    assert "· On legal hold" in page.get("/session?flow=support&id=s1")
