"""Claude's export: conversations.json, a list of conversations, each with its chat_messages.

An answer that used tools becomes several messages: what was said before a call with the call, the tool's result, and
what was said after it, which keeps the answer's own id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from memorybase_client.importers.records import (
    NO_CONTENT,
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

_ROLES = {"human": "user", "assistant": "assistant"}


def fits(record: Json) -> bool:
    """Whether this is a conversation of the export."""
    return isinstance(record.get("chat_messages"), list)


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages of an export's conversations."""
    for record in records:
        conversation = as_object(record.value)
        session_id, messages = as_text(conversation.get("uuid")), conversation.get("chat_messages")
        if session_id is None or not isinstance(messages, list):
            report.lose(record.where, "a conversation must have uuid and chat_messages")
            continue
        yield from _messages(record.where, session_id, conversation, messages, report)


def _messages(where: str, session_id: str, conversation: Json, messages: list[Any], report: Report) -> Iterator[Found]:
    metadata = given(title=as_text(conversation.get("name")))
    # Older exports name no parents. A message whose parent is not in the conversation begins a thread.
    ids = {message_id for message in messages if (message_id := as_text(as_object(message).get("uuid")))}
    has_parents = any(_parent(message) in ids for message in messages)
    for index, message in _in_order(messages, conversation.get("current_leaf_message_uuid")):
        place = f"{where}.chat_messages[{index}]"
        message_id, sender = as_text(as_object(message).get("uuid")), as_object(message).get("sender")
        role = _ROLES.get(str(sender))
        if message_id is None or role is None:
            text = f"a message must have uuid, and a sender that is one of {', '.join(_ROLES)}"
            report.lose(place, text, field="sender", value=sender)
            continue
        parent = _parent(message)
        above = {"parent_message_id": parent if parent in ids else None} if has_parents else {}
        common = given(
            role=role,
            timestamp=message.get("created_at") or conversation.get("created_at"),
        )
        pieces = _pieces(place, message, report)
        if not pieces:
            if not any(_is_unknown(block) for block in as_list(as_object(message).get("content"))):
                report.skip(place, NO_CONTENT)
            yield Found(place, session_id, {"id": message_id, **above}, dropped=True)
        for number, piece in enumerate(pieces):
            is_last = number == len(pieces) - 1
            body = {**common, **piece, **above, "id": message_id if is_last else f"{message_id}#{number + 1}"}
            yield Found(place, session_id, body, session_metadata=metadata)
            above = {"parent_message_id": body["id"]} if has_parents else {}


def _in_order(messages: list[Any], leaf: Any) -> list[tuple[int, Any]]:
    """The messages with their places; if the export says which thread was open, that one comes last."""
    named = {as_text(as_object(message).get("uuid")) or f"#{index}": index for index, message in enumerate(messages)}
    if leaf not in named or len(named) < len(messages):
        return list(enumerate(messages))
    parents = parents_of({name: _parent(messages[index]) for name, index in named.items()})
    return [(named[name], messages[named[name]]) for name in in_order(parents, leaf)]


def _parent(message: Any) -> str | None:
    return as_text(as_object(message).get("parent_message_uuid"))


def _is_unknown(block: Any) -> bool:
    return as_object(block).get("type") not in ("text", "tool_use", "tool_result")


def _pieces(place: str, message: Json, report: Report) -> list[Json]:
    """The message split at the results of its tools; nothing if it is empty."""
    blocks = as_list(message.get("content")) or [{"type": "text", "text": message.get("text")}]
    files = [
        dict(each) for name in ("attachments", "files") for each in as_list(message.get(name)) if isinstance(each, dict)
    ]
    pieces: list[Json] = []
    texts: list[str] = []
    calls: list[Json] = []
    unanswered: list[str] = []

    def say() -> None:
        if texts or calls:
            more = {"tool_calls": list(calls), "is_output": False} if calls else {}
            # A message is found by its content, never by its calls.
            said = texts or [call["function"]["arguments"] for call in calls]
            pieces.append({"content": "\n".join(said), **more})
        texts.clear()
        calls.clear()

    for number, block in enumerate(blocks):
        kind = as_object(block).get("type")
        if kind == "text":
            texts += [text] if (text := as_text(block.get("text"))) else []
        elif kind == "tool_use":
            calls.append(_call(block, f"{message['uuid']}-{number}"))
        elif kind == "tool_result":
            unanswered += [call["id"] for call in calls]
            say()
            pieces.append(_result(block, unanswered))
        else:
            report.skip(f"{place}.content[{number}]", f"content of the type {str(kind)[:40]} is not imported")
    if not texts and not pieces and not calls and (text := as_text(message.get("text"))):
        texts.append(text)  # it is there besides blocks of unknown types
    say()
    if files:
        if not pieces or pieces[0].get("role") == "tool":
            pieces.insert(0, {"content": ""})
        # A long paste is an attachment: its text is what the user said, and found as such.
        said = [pieces[0]["content"], *(as_text(each.pop("extracted_content", None)) for each in files)]
        pieces[0] |= {"content": "\n\n".join(text for text in said if text), "files": files}
    return pieces


def _call(block: Json, call_id: str) -> Json:
    arguments = json.dumps(block.get("input"), ensure_ascii=False)
    function = {"name": str(block.get("name")), "arguments": arguments}
    return {"id": as_text(block.get("id")) or call_id, "type": "function", "function": function}


def _result(block: Json, unanswered: list[str]) -> Json:
    """A tool message. Without the id of its call it answers the oldest call that has no result."""
    content = block.get("content")
    if isinstance(content, list):
        texts = [as_text(as_object(part).get("text")) or json.dumps(part, ensure_ascii=False) for part in content]
        content = "\n".join(texts)
    elif not isinstance(content, str):
        content = json.dumps(content, ensure_ascii=False)
    failed = {"status": "failed"} if block.get("is_error") is True else {}
    called = as_text(block.get("tool_use_id")) or (unanswered[0] if unanswered else None)
    if called in unanswered:
        unanswered.remove(called)
    return {"role": "tool", "content": content, **given(tool_call_id=called, name=as_text(block.get("name"))), **failed}
