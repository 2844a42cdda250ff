"""ChatGPT's export: conversations.json, a list of conversations, each a tree of messages.

The whole tree is imported, with parents. What a message says to a tool is a tool call; the results below it name it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memorybase_client.importers.records import (
    NO_CONTENT,
    ROLES,
    Found,
    Json,
    RawRecord,
    Report,
    as_list,
    as_object,
    as_text,
    given,
)
from memorybase_client.importers.trees import in_order, parents_of

_STATUSES = {"in_progress": "stopped", "finished_partial_completion": "stopped"}
# What the page shows as a link, between private-use characters: its kind, then its fields.
_MARK = re.compile("\\s?\ue200([^\ue200-\ue202]*)((?:\ue202[^\ue200-\ue202]*)*)\ue201")
_FORMER = "【[0-9:]+†[^】]*】"  # citations of older answers
_STRAY_MARKS = re.compile(f"[\ue200-\ue20f]|\\s{_FORMER}(?=[\\s.,;:!?)]|$)|{_FORMER}")
_REFERENCE = re.compile(r"(turn\d+[a-z_]+\d+[, ]*)+|https?://.*")
_CITATIONS = ("cite", "filecite", "i", "image_group")  # they show no name
# Of the model's work and the user's settings, not of the conversation.
_NOT_SAID = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "app_pairing_content")


def fits(record: Json) -> bool:
    """Whether this is a conversation of the export."""
    return isinstance(record.get("mapping"), dict)


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages of an export's conversations."""
    for record in records:
        conversation = as_object(record.value)
        session_id = as_text(conversation.get("conversation_id")) or as_text(conversation.get("id"))
        nodes = conversation.get("mapping")
        if session_id is None or not isinstance(nodes, dict):
            report.lose(record.where, "a conversation must have conversation_id (or id) and mapping")
            continue
        yield from _messages(record.where, session_id, conversation, nodes, report)


def _messages(where: str, session_id: str, conversation: Json, nodes: Json, report: Report) -> Iterator[Found]:
    metadata = given(
        title=as_text(conversation.get("title")),
        gizmo_id=as_text(conversation.get("gizmo_id")),
        is_archived=conversation.get("is_archived") is True or None,
    )
    model = as_text(conversation.get("default_model_slug"))  # of answers that name none
    times: dict[str, Any] = {}
    runs: dict[str, str] = {}
    parents = parents_of({node_id: as_object(node).get("parent") for node_id, node in nodes.items()})
    for node_id in in_order(parents, conversation.get("current_node")):
        node = as_object(nodes[node_id])
        parent = parents[node_id]
        message = as_object(node.get("message"))
        place = f"{where}.mapping.{node_id}"
        times[node_id] = message.get("create_time") or times.get(parent or "") or conversation.get("create_time")
        is_question = as_object(message.get("author")).get("role") == "user"
        runs[node_id] = node_id if is_question or parent is None else runs[parent]
        call_id = _call_above(nodes, parents, message, parent) if _author(message).get("role") == "tool" else None
        body = _message(place, message, call_id, report)
        if body is not None and model is not None and body["role"] == "assistant":
            body["metadata"] = {"model": model, **body.get("metadata", {})}
        linked = {
            **(body or {}),
            "id": f"{session_id}:{node_id}",
            "timestamp": times[node_id],
            "parent_message_id": None if parent is None else f"{session_id}:{parent}",
        }
        yield Found(place, session_id, linked, run=runs[node_id], session_metadata=metadata, dropped=body is None)


def _message(place: str, message: Json, call_id: str | None, report: Report) -> Json | None:
    """The message without id, parent and time; None if the node holds nothing that was said."""
    author, content = as_object(message.get("author")), as_object(message.get("content"))
    metadata, kind = as_object(message.get("metadata")), content.get("content_type")
    if not message or not content:
        return None
    role = author.get("role")
    if role not in ROLES:
        report.lose(place, f"author.role must be one of {', '.join(ROLES)}", field="author.role", value=role)
        return None
    if _is_hidden(content, metadata):
        if _text(content):
            report.skip(place, "hidden messages, reasoning and custom instructions are not imported", value=kind)
        return None
    text, files = _text(content), _files(content, metadata)
    if not text and not files:
        if str(kind) not in {"text", "code", "multimodal_text"} or as_list(content.get("parts")) not in ([], [""]):
            report.skip(place, "the message has no text that can be imported", field="content_type", value=kind)
        elif role != "system":  # which begins each conversation, mostly without a text
            report.skip(place, NO_CONTENT)
        return None
    body = given(
        role=role,
        files=files,
        name=as_text(author.get("name")),
        status="failed" if kind == "system_error" else _STATUSES.get(str(message.get("status"))),
        metadata=given(model=as_text(metadata.get("model_slug"))),
    )
    recipient = as_text(message.get("recipient")) or "all"
    if role == "assistant" and recipient != "all":
        call = {"name": recipient, "arguments": text}
        calls = [{"id": message.get("id"), "type": "function", "function": call}]
        # The text is the content too: a message is found by its content, never by its calls.
        return {**body, "content": text, "tool_calls": calls, "is_output": False}
    if role == "tool" and call_id is not None:
        body["tool_call_id"] = call_id
    return {**body, "content": text}


def _call_above(nodes: Json, parents: Mapping[str, str | None], tool: Json, node_id: str | None) -> str | None:
    """The id of the call that a tool's message below this node answers. Above it are further results, then the calls,
    with nodes between that are not imported. Of several calls, the results of one tool answer its calls in order, and
    what is left answers the last one: a tool may answer in several messages."""
    name, earlier = _author(tool).get("name"), 0
    calls: list[Json] = []
    while node_id is not None:
        message = as_object(as_object(nodes[node_id]).get("message"))
        node_id = parents[node_id]
        if _author(message).get("role") == "tool" and not calls:
            earlier += _author(message).get("name") == name
        elif _is_call(message):
            calls.insert(0, message)
        elif _is_said(message):
            break
    own = [call for call in calls if call["recipient"] == name] or calls
    return as_text(own[min(earlier, len(own) - 1)].get("id")) if own else None


def _author(message: Json) -> Json:
    return as_object(message.get("author"))


def _is_call(message: Json) -> bool:
    return _author(message).get("role") == "assistant" and as_text(message.get("recipient")) not in {None, "all"}


def _is_said(message: Json) -> bool:
    """Whether it is imported."""
    content, metadata = as_object(message.get("content")), as_object(message.get("metadata"))
    return not _is_hidden(content, metadata) and bool(_text(content) or _files(content, metadata))


def _is_hidden(content: Json, metadata: Json) -> bool:
    return metadata.get("is_visually_hidden_from_conversation") is True or content.get("content_type") in _NOT_SAID


def _text(content: Json) -> str:
    """The text of every type of content that has one."""
    pieces = [_part_text(part) for part in as_list(content.get("parts"))]
    pieces += [as_text(content.get(name)) for name in ("title", "text", "result", "user_instructions")]
    if not any(pieces):
        pieces = [as_text(as_object(thought).get("content")) for thought in as_list(content.get("thoughts"))]
        pieces += [as_text(content.get("content"))]
    return _STRAY_MARKS.sub("", _MARK.sub(_shown, "\n".join(piece for piece in pieces if piece)))


def _shown(mark: re.Match[str]) -> str:
    """The names that the page shows for an entity, a product, a list, a video or a link; nothing for a citation."""
    kind, (_, *fields) = mark[1], mark[2].split("\ue202")
    names = [] if kind in _CITATIONS else [name for field in fields for name in _names(kind, field)]
    shown = ", ".join(names if kind == "products" else names[:1])
    return f"{mark[0][0] if mark[0][0].isspace() else ''}{shown}" if shown else ""


def _names(kind: str, field: str) -> list[str]:
    """The names in a field: a text, a list of reference or kind, name and more, or a choice of such lists."""
    try:
        value = json.loads(field)
    except (ValueError, RecursionError):
        value = field
    if isinstance(value, dict):
        return [name for each in as_list(value.get("selections")) for name in _texts(as_list(each))]
    return _texts(value[1:] if kind == "entity" else value) if isinstance(value, list) else _texts([field])


def _texts(values: list[Any]) -> list[str]:
    return [text for value in values if (text := as_text(value)) and not _REFERENCE.fullmatch(text)][:1]


def _part_text(part: Any) -> str | None:
    return as_text(part) or as_text(as_object(part).get("text"))


def _files(content: Json, metadata: Json) -> list[Any]:
    """References to images and recordings, and the attachments; the export's other files hold their bytes. An uploaded
    image is both, and is one file here."""
    pointers = [part for part in as_list(content.get("parts")) if as_object(part).get("asset_pointer")]
    attached = [each for each in as_list(metadata.get("attachments")) if isinstance(each, dict)]
    names = {as_text(each.get("id")): each for each in attached}
    shown = [(part, names.get(str(part["asset_pointer"]).rpartition("/")[2])) for part in pointers]
    used = [each for _, each in shown if each is not None]
    return [{**part, **(each or {})} for part, each in shown] + [each for each in attached if each not in used]
