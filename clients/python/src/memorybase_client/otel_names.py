"""OpenTelemetry's names for operations of a memory: the one table of the server and of both clients.

They are the span `gen_ai.memory.client` of SCHEMA_URL. Its status is Development: a later version may rename them, and
then this file changes, and clients/typescript/src/otel-names.ts, which a test compares with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"

Operation = Literal[
    "create_memory",
    "create_memory_store",
    "delete_memory",
    "delete_memory_store",
    "search_memory",
    "update_memory",
    "upsert_memory",
]

OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
STORE_ID = "gen_ai.memory.store.id"
RECORD_ID = "gen_ai.memory.record.id"
RECORD_COUNT = "gen_ai.memory.record.count"
QUERY_TEXT = "gen_ai.memory.query.text"
RECORDS = "gen_ai.memory.records"
ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

PROVIDER = "memorybase"  # in spans of clients: to the server, it is its own

# The calls of the HTTP API that are operations of a memory, for spans of clients.
OF_CALLS: Mapping[str, Operation] = {
    "POST /search": "search_memory",
    "POST /memories/{memory_base_id}/search": "search_memory",
    "POST /context": "search_memory",
    "POST /flows/{flow_id}/runs": "create_memory",
    "PATCH /messages/{message_id}": "update_memory",
    "DELETE /messages/{message_id}": "delete_memory",
    "DELETE /sessions": "delete_memory",
    "DELETE /end-users/{end_user_id}": "delete_memory",
    "POST /memories": "create_memory_store",
    "PUT /flows/{flow_id}/memories/{name}": "create_memory_store",
    "DELETE /memories/{memory_base_id}": "delete_memory_store",
}

# Texts of spans, if they are asked for. A collector refuses an export of more than a few MiB, and one has 512 spans.
MAX_RECORDS = 100
MAX_CHARACTERS = 1_000  # of a record, and of a query

TEXTS_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
TEXTS_IN = {  # what it may be, and whether spans then have texts; memorybase sends no events
    "NO_CONTENT": False,
    "SPAN_ONLY": True,
    "EVENT_ONLY": False,
    "SPAN_AND_EVENT": True,
    "TRUE": True,
    "FALSE": False,
}


def are_texts_wanted() -> bool | None:
    """Whether spans have texts, by OpenTelemetry's variable; None if it has another value than those of TEXTS_IN."""
    return TEXTS_IN.get(os.environ.get(TEXTS_VARIABLE, "").strip().upper() or "NO_CONTENT")
