"""The steps from FastAPI's document to ours."""

from __future__ import annotations

from typing import Any

from api.contract.errors import add_errors
from api.contract.headers import add_headers
from api.contract.parts import parameters
from api.contract.properties import add_types

SERVERS: list[dict[str, Any]] = [
    {"url": "/", "description": "The server that this document was read from."},
    {"url": "http://127.0.0.1:8000", "description": "A stack on this machine, started with `memorybase up`."},
]

# In the order of a reader who starts with a flow.
TAGS: list[dict[str, Any]] = [
    {"name": "flows", "description": "Flows, and the capture of their runs."},
    {"name": "traces", "description": "OpenTelemetry spans of model calls, whose conversations are captured."},
    {"name": "messages", "description": "Stored messages: list, read, edit, delete."},
    {"name": "sessions", "description": "Sessions: list, rename, delete, and erase an end user."},
    {"name": "history", "description": "The history that a model reads, node executions, and what each run received."},
    {"name": "context", "description": "History, summary, standing statements and recalled memories in one budget."},
    {"name": "standing statements", "description": "What end users ask for or prefer: list, correct, delete."},
    {"name": "summaries", "description": "Summaries of sessions."},
    {"name": "chat memories", "description": "Memory of a flow's Chat Memory nodes, with a log for each chat."},
    {"name": "memories", "description": "Memory bases: their settings, progress, dead letters and search weights."},
    {"name": "facts", "description": "What a language model derives from messages: turn it on, list, search, delete."},
    {"name": "search", "description": "Search in one memory base, in several, in all of a flow, or in all."},
    {"name": "retention", "description": "Legal holds, and what expires: what would be deleted and what was."},
    {"name": "labels", "description": "Which results are right or wrong for a question, to measure searches on."},
    {"name": "dify", "description": "Dify's External Knowledge API."},
    {"name": "knowledge bases", "description": "Named collections of documents, and those of memory bases."},
    {"name": "overview", "description": "Everything in one look, and what needs a person."},
    {"name": "jobs", "description": "Jobs that ingest, repair and regenerate: list, wait, watch, cancel."},
    {"name": "dead letters", "description": "Messages that could not be embedded: list, group, retry, discard."},
    {"name": "portability", "description": "Export and import of everything captured, as JSON lines."},
    {"name": "workers", "description": "What the workers of the installation hold."},
    {"name": "webhooks", "description": "Events that are sent to other systems: endpoints, deliveries, replay."},
    {"name": "keys", "description": "API keys, their scopes and limits."},
    {"name": "audit", "description": "Who changed or read what, when, and from where."},
    {"name": "sign-in", "description": "Links that sign a browser in to the web page."},
    {"name": "health", "description": "Liveness and readiness, without a key."},
    {"name": "metrics", "description": "Metrics for Prometheus."},
]


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with all that FastAPI cannot generate. It is changed in place."""
    add_types(document)
    _title(document)
    add_headers(document)
    _say_once(document)
    add_errors(document)
    return document


def _say_once(document: dict[str, Any]) -> None:
    """Leave the description of a parameter out of its schema, where FastAPI repeats it."""
    for _, parameter in parameters(document):
        parameter["schema"].pop("description", None)


def _title(document: dict[str, Any]) -> None:
    """Give each schema a title of its own: FastAPI gives all schemas of a generic type the same."""
    for name, schema in document["components"]["schemas"].items():
        schema["title"] = name.rstrip("_").replace("_", " of ")
