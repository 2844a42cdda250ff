"""Schemas of bodies that are not one JSON value: lines of an export, and server-sent events."""

from __future__ import annotations

from typing import Any

from api.contract.messages import CONTENT, FREE, TEXT, TOOL_CALLS, Schema, array, closed, nullable, opened, ref, said

JSON_LINES, EVENTS = "application/x-ndjson", "text/event-stream"

_UUID: Schema = {"type": "string", "format": "uuid"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def text_of(media_type: str, item: str, description: str) -> Schema:
    """The content of such a body: text whose items have the schema. A validator of 3.1 sees a string."""
    schema = {"type": "string", "contentMediaType": media_type, "contentSchema": array(ref(item))}
    if media_type == JSON_LINES:
        schema["format"] = "binary"  # generators then take and return it as it is
    return {media_type: {"schema": said(description, schema)}}


_FLOW: dict[str, Schema] = {
    "flow_id": said("The flow.", _UUID),
    "flow_external_id": said("The flow's id as the caller chose it.", nullable(TEXT)),
}
_SESSION: dict[str, Schema] = {
    **_FLOW,
    "session_id": said("The session.", TEXT),
    "end_user_id": said("The person that the session belongs to.", nullable(TEXT)),
}
_CHAT: dict[str, Schema] = {
    **_FLOW,
    "node_id": said("The node of the chat memory.", TEXT),
    "chat_id": said("The chat.", TEXT),
    "end_user_id": said("The person that the chat belongs to.", nullable(TEXT)),
}
_RUN: dict[str, Schema] = {
    "run_id": said("The run.", _UUID),
    "run_external_id": said("The run's id as the caller chose it.", nullable(TEXT)),
}
_IDS: dict[str, Schema] = {
    "id": said("The UUID.", _UUID),
    "external_id": said("The id as the caller chose it.", nullable(TEXT)),
}
_CREATED: dict[str, Schema] = {"created_at": said("When it was created.", _TIME)}
_UPDATED: dict[str, Schema] = {**_CREATED, "updated_at": said("When it last changed.", _TIME)}
_SAID: dict[str, Schema] = {
    "seq": said("Number of the message, in commit order.", _COUNT),
    "role": said("Who speaks.", TEXT),
    "content": said("Text, content parts, or null beside tool calls.", CONTENT),
    "tool_calls": said("Calls of tools by the model.", TOOL_CALLS),
    "tool_call_id": said("The tool call that this message answers.", nullable(TEXT)),
    "name": said("The name of the speaker or the tool.", nullable(TEXT)),
    "files": said("Files of the message, as they were sent.", array({})),
    "metadata": said("Any JSON object.", FREE),
    "status": said("`completed`, `failed` or `stopped`.", TEXT),
}
_MESSAGE: dict[str, Schema] = {
    **_SESSION,
    **_RUN,
    "parent_external_id": said("The id of the message that this one follows, as the caller chose it.", nullable(TEXT)),
    **_IDS,
    **_SAID,
    "is_output": said("Whether it is an output of the flow.", {"type": "boolean"}),
    "sender_name": said("The speaker's name.", nullable(TEXT)),
    "parent_message_id": said("The message that this one follows.", nullable(_UUID)),
    "parent_rule": said("How the parent was named, if not by an id.", nullable(TEXT)),
    "version": said("Number of the version, from 1.", _COUNT),
    "timestamp": said("When it was written.", _TIME),
    "captured_at": said("When it was stored.", _TIME),
    "edited_at": said("When it was last edited.", nullable(_TIME)),
    "muted": said("Whether no search recalls it.", {"type": "boolean"}),
    "pinned": said("Whether searches return it first where it is relevant.", {"type": "boolean"}),
    "standing": said("What people made of its standing statements.", array(ref("StandingChange"))),
}
_STANDING: dict[str, Schema] = {
    "kind": said("`instruction` or `preference`.", TEXT),
    "found": said("What was found in the message, verbatim.", TEXT),
    "edited": said("A person's own words in its place; null without any.", nullable(TEXT)),
    "deleted_at": said("When a person deleted it; null if nobody did.", nullable(_TIME)),
    "changed_by": said("The name of the API key that changed it.", nullable(TEXT)),
    "changed_at": said("When it was changed.", _TIME),
}
_CHAT_MESSAGE: dict[str, Schema] = {
    **_CHAT,
    **_IDS,
    **_SAID,
    "run_id": said("The run that wrote it.", nullable(_UUID)),
    "request_id": said("The run that wrote it, or an id for each call without a run.", _UUID),
    "tokens": said("Number of tokens.", _COUNT),
    **_CREATED,
}
_SUMMARY: dict[str, Schema] = {
    "summary": said("The text; null if there is none.", nullable(TEXT)),
    "covers": said("The messages that it covers.", nullable(ref("Covers"))),
}
_EXECUTION: dict[str, Schema] = {
    **_SESSION,
    **_RUN,
    **_IDS,
    "node_id": said("The node.", TEXT),
    "index": said("Number of this execution among the node's executions in the run.", _COUNT),
    "status": said("How it ended.", TEXT),
    "outputs": said("What the node returned.", ref("ExecutionOutputs")),
    "few_shots": said("Messages before its context.", array(ref("OpenAIViewMessage"))),
    **_UPDATED,
}
_USE: dict[str, Schema] = {
    **_FLOW,
    **_RUN,
    "session_id": said("The session that it was asked for, stored or not; null for a chat.", nullable(TEXT)),
    "end_user_id": said("The person that it was asked for; null if there is none.", nullable(TEXT)),
    "node_id": said("The node.", TEXT),
    "messages": said("The messages as they were sent.", array(ref("ViewMessage"))),
    "sources": said("Where each message comes from.", array(ref("Source"))),
    "report": said("The report of the view.", FREE),
    "query": said("What was looked for; null if nothing was.", nullable(TEXT)),
    "memory_use_summary": said("What session memory showed.", nullable(ref("MemoryUseSummary"))),
    "recorded_at": said("When the memory was read.", _TIME),
    "external_ids": said("Ids of its sources as the caller chose them, by kind and UUID.", FREE),
}
_EVERY_FLOW: dict[str, Schema] = {**_IDS, "name": said("The name.", TEXT), **_CREATED}
_EVERY_SESSION: dict[str, Schema] = {
    **_SESSION,
    "metadata": said("Any JSON object.", FREE),
    **_CREATED,
    "last_captured_at": said("When a message was last captured.", _TIME),
}
_EVERY_MEMORY: dict[str, Schema] = {
    **{name: field for name, field in _CHAT.items() if name not in {"chat_id", "end_user_id"}},
    **_CREATED,
}
_EVERY_SUMMARY: dict[str, Schema] = {
    **_SESSION,
    "preset": said("The preset whose summary it is.", TEXT),
    "summarizer": said("What wrote it.", TEXT),
    **_SUMMARY,
    "stale": said("Whether a covered message was edited since.", {"type": "boolean"}),
    "updated_at": said("When it last changed.", nullable(_TIME)),
}

_LINES: dict[str, tuple[str, str, dict[str, Schema]]] = {
    "ExportStart": (
        "export",
        "The first line of an export.",
        {
            "format": said("Version of the format.", _COUNT),
            "memorybase": said("Version of the server.", TEXT),
            "exported_at": said("When the export began.", _TIME),
        },
    ),
    "FlowLine": ("flow", "A flow.", _EVERY_FLOW),
    "SessionLine": ("session", "A session.", _EVERY_SESSION),
    "RunLine": ("run", "A run.", {**_SESSION, **_IDS, **_CREATED}),
    "MessageLine": ("message", "A stored message.", _MESSAGE),
    "ChatMemoryLine": ("chat_memory", "A chat memory.", _EVERY_MEMORY),
    "ChatLine": ("chat", "A chat.", {**_CHAT, **_SUMMARY, **_UPDATED}),
    "ChatMessageLine": ("chat_message", "A message of a chat.", _CHAT_MESSAGE),
    "SummaryLine": ("summary", "A summary of a session. An import ignores it.", _EVERY_SUMMARY),
    "NodeExecutionLine": ("node_execution", "A node execution.", _EXECUTION),
    "MemoryUseLine": ("memory_use", "What a model received.", _USE),
}


# Lines of earlier exports lack these, and are imported.
_ADDED_LATER = frozenset({("message", "standing"), ("memory_use", "end_user_id")})


def _line(kind: str, description: str, fields: dict[str, Schema]) -> Schema:
    required = [name for name in fields if (kind, name) not in _ADDED_LATER]
    return closed(description, {"type": said("What the line is.", {"const": kind}), **fields}, "type", *required)


def _any_line() -> Schema:
    names = [*_LINES, "ExportEnd"]
    kinds = [*(kind for kind, _, _ in _LINES.values()), "end"]
    return {
        "description": "A line of an export.",
        "oneOf": [ref(name) for name in names],
        "discriminator": {
            "propertyName": "type",
            "mapping": {kind: ref(name)["$ref"] for kind, name in zip(kinds, names, strict=True)},
        },
    }


SCHEMAS: dict[str, Schema] = {
    "ExportLine": _any_line(),
    **{name: _line(*line) for name, line in _LINES.items()},
    "StandingChange": closed("A standing statement that a person changed.", _STANDING, *_STANDING),
    "ExportEnd": opened(
        "The last line of an export. Without it, the export is incomplete.",
        {
            "type": said("What the line is.", {"const": "end"}),
            **{
                kind: said(f"Number of lines of {kind.replace('_', ' ')}.", _COUNT)
                for kind in (
                    "flows",
                    "sessions",
                    "runs",
                    "messages",
                    "summaries",
                    "node_executions",
                    "memory_uses",
                    "chat_memories",
                    "chats",
                    "chat_messages",
                )
            },
        },
        "type",
    ),
    "JobEvent": closed(
        "A server-sent event about a job.",
        {
            "event": said(
                "`job`: the job changed; `end`: it ended; `gone`: it was deleted; `unauthorized`: the key was revoked.",
                {"type": "string", "enum": ["job", "end", "gone", "unauthorized"]},
            ),
            "data": said("The job, for `job` and `end`; else empty.", {"anyOf": [ref("JobView"), ref("NoData")]}),
        },
        "event",
        "data",
    ),
    "NoData": {"description": "Always `{}`.", "type": "object", "properties": {}, "additionalProperties": False},
}

LINES_OF_EXPORT: dict[str, Any] = {
    "content": text_of(JSON_LINES, "ExportLine", "JSON lines: one ExportLine on each."),
}
EVENTS_OF_JOB: dict[str, Any] = {
    "content": text_of(EVENTS, "JobEvent", "Events; the `data` of each is JSON."),
}
LINES_OF_AUDIT: dict[str, Any] = {
    "content": text_of(JSON_LINES, "AuditEntryView", "JSON lines: one AuditEntryView on each."),
}
