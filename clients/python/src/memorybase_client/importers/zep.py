"""Zep's threads, as its API answers: pages of messages, {items or messages: [...]}; or episodes of a graph, also of
Graphiti."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import httpx

from memorybase_client.importers.records import Found, Json, RawRecord, Report, as_object, as_text, given, items_of

_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "human": "user",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "norole": "user",
}


_LISTS = ("items", "messages", "episodes")
_OF_EPISODES = frozenset({"group_id", "graph_uuid", "graph_id", "valid_at"})
_SESSIONS = ("thread_uuid", "thread_id", "session_id", "group_id", "graph_uuid", "graph_id")


def fits(record: Json) -> bool:
    """Whether this is a message or an episode, or an answer with some."""
    return any({"uuid", "content"} <= item.keys() for _, item in items_of(RawRecord("", record), _LISTS))


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages and episodes, in the order of the answers."""
    for record in records:
        answer = as_object(record.value)
        # A message that is a record itself has its own uuid, not that of its thread.
        thread = answer if any(isinstance(answer.get(name), list) for name in _LISTS) else {}
        for where, item in items_of(record, _LISTS):
            message_id, text = _first(item, "uuid", "uuid_"), as_text(item.get("content"))
            if message_id is None or text is None:
                report.lose(where, "a message must have uuid and content", field="content", value=item.get("content"))
                continue
            is_episode = not _OF_EPISODES.isdisjoint(item)
            role: Any = item.get("role_type") or item.get("role") or ("user" if is_episode else None)
            known = _ROLES.get(role.lower()) if isinstance(role, str) else None
            if known is None:
                report.lose(where, f"role must be one of {', '.join(_ROLES)}", field="role", value=role)
                continue
            body = {"id": message_id, "role": known, "content": text, **_more(item, is_episode=is_episode)}
            session_id = _first(item, *_SESSIONS) or _first(thread, *_SESSIONS, "uuid") or record.source
            yield Found(where, session_id, body, end_user_id=_first(thread, "user_id"))


def links(url: httpx.URL, value: Any) -> list[httpx.URL]:
    """The next page."""
    cursor = as_text(as_object(value).get("next_cursor"))
    return [] if cursor is None else [url.copy_set_param("cursor", cursor)]


def _more(item: Json, *, is_episode: bool) -> Json:
    """The speaker, the time and the metadata."""
    # Where there is a role_type, the role is the speaker's name. An episode's name is its title.
    speaker = _first(item, "role_name") if is_episode else _first(item, "name")
    if speaker is None and item.get("role_type"):
        speaker = as_text(item.get("role"))
    of_episode = (
        {
            "source": item.get("source"),
            "source_description": item.get("source_description"),
            "episode": item.get("name"),
        }
        if is_episode
        else {}
    )
    return given(
        sender_name=speaker,
        timestamp=_first(item, "reference_time", "valid_at", "created_at"),
        metadata={**as_object(item.get("metadata")), **given(**of_episode)},
    )


def _first(item: Json, *names: str) -> str | None:
    return next((text for name in names if (text := as_text(item.get(name)))), None)
