"""`memorybase retention` against the answers of an API."""

from __future__ import annotations

import json

import pytest
from harness.clients import http_answer, scripted
from harness.stack import run_memorybase

pytestmark = pytest.mark.slow  # It starts the command in a process of its own.

COUNTS = (
    "sessions",
    "runs",
    "messages",
    "chunks",
    "node_executions",
    "memory_uses",
    "summaries",
    "message_changes",
    "restorable_messages",
    "chats",
    "chat_messages",
)
RECEIPT = {
    "id": "00000000-0000-0000-0000-000000000001",
    "rule": "flow",
    "flow_id": "00000000-0000-0000-0000-000000000002",
    "retain_days": 30,
    "expired_before": "2026-03-01T10:00:00Z",
    "started_at": "2026-03-31T10:00:00Z",
    "finished_at": "2026-03-31T10:00:05Z",
    **dict.fromkeys(COUNTS, 3),
}


def output(*receipts: dict[str, object]) -> list[str]:
    page = {"items": receipts, "total": len(receipts), "page": 1, "size": 50}
    with scripted([http_answer("200 OK", json.dumps(page).encode())]) as server:
        done = run_memorybase("retention", "--url", server.url, "--key", "k")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_receipt_has_the_facts_that_went_with_the_messages() -> None:
    heading, *rows = output({**RECEIPT, "facts": 5678}, RECEIPT)
    begins = heading.index("facts")
    assert [row[begins : heading.index("finished")].strip() for row in rows if "flow" in row] == ["5678", "0"]
