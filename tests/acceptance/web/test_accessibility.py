"""axe-core on every view, in both themes, wide and on a phone: it finds nothing above minor."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote
from uuid import uuid4

import pytest
from harness.browser import NARROW, WIDE, Reader
from memorybase_client import Client

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]


@pytest.fixture
def views(client: Client) -> list[str]:
    """The address of every view, each with something to show."""
    flow = f"axe-{uuid4().hex[:8]}"
    client.put_flow(flow, name="Harbour office")
    base = client.create_memory_base(name=flow, flow_id=flow, threshold=2, capture="all").id
    said = [
        {"role": "user", "content": "Always answer in English. Which berth has shore power?"},
        {"role": "assistant", "content": "Berth 12 has, from Friday."},
    ]
    run = client.capture_run(flow, session_id=flow, run_id=flow, end_user_id=flow, messages=said)
    client.capture_run(flow, session_id=f"{flow}-deleted", end_user_id=f"{flow}-other", messages=said[:1])
    client.delete_session(flow_id=flow, session_id=f"{flow}-deleted")
    memory, ask = f"/memories/{base}", quote("Which berth has shore power?")
    of_memory = [f"{memory}?tab={tab}" for tab in ("messages", "messages&state=deleted", "map", "facts", "settings")]
    settings = ("health", "keys", "usage", "webhooks", "knowledge", "audit?mine=true", "retention", "retention/holds")
    return [
        "/?guide=off",
        "/first-minute",
        "/conversations",
        "/conversations?tab=runs",
        "/conversations?tab=people",
        f"/session?flow={flow}&id={flow}",
        f"/run?flow={flow}&id={flow}",
        f"/person?id={flow}",
        f"/message?id={run.messages[0].id}",
        f"/standing?flow={flow}&person={flow}",
        "/memories",
        memory,
        *of_memory,
        f"/playground?q={ask}",
        f"/playground?q={ask}&b=1",
        "/jobs",
        "/jobs?tab=running",
        "/jobs?tab=all",
        *(f"/settings/{each}" for each in settings),
        "/settings/retention/receipts",
        "/components",
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_no_view_has_a_finding_above_minor(window: Window, views: list[str], width: int, dark: bool) -> None:
    opened = window(width=width, dark=dark)
    found: dict[str, list[str]] = {}
    for path in views:
        opened.open(path)
        found |= {path: findings} if (findings := opened.findings()) else {}
    opened.open("/")
    opened.page.goto(f"{opened.url}/ui/nope")
    found["an error page"] = opened.findings()
    opened.console[:] = [text for text in opened.console if not re.search("status of 404", text)]
    assert {path: each for path, each in found.items() if each} == {}
