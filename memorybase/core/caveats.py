"""Warnings in answers that may hold less than the reader expects, with the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

MAX_QUERY_CHARS = 8_000
MAX_SHOWN_FIELDS = 20
MAX_SHOWN_FIELD = 100  # characters of its name


@dataclass(frozen=True, slots=True)
class Caveat:
    """An entry of an answer's `warnings`. Programs read the `code`."""

    code: Annotated[
        str,
        Field(
            description="What it is about: `outputs_only`, `no_memory_base`, `unknown_session`, "
            "`recalled_within_session`, `query_cut`, `setting_kept`, `kept_in_metadata` or `secrets_redacted`."
        ),
    ]
    message: Annotated[str, Field(description="For people; may change.")]


Redacted = Annotated[
    Sequence[Caveat],
    Field(exclude_if=lambda value: not value, description="Secrets that the request replaced; absent without any."),
]
OUTPUTS_ONLY = Caveat(
    "outputs_only",
    "This memory base remembers what the flow answers, and nothing that users say. "
    'With "capture": "all" it remembers both.',
)
NO_MEMORY_BASE = Caveat(
    "no_memory_base",
    "The flow has no memory base, so nothing is found in it. Create one: POST /v1/memories.",
)
UNKNOWN_SESSION = Caveat(
    "unknown_session",
    "The flow has no session of this id: nothing of it was captured, or it was deleted.",
)
WITHIN_SESSION = Caveat(
    "recalled_within_session",
    "Only this session was searched for memories: other sessions of the flow belong to end users, and this one names "
    'none. Name its end_user_id, or set "recall": {"scope": "flow"} to search everybody\'s sessions.',
)


def kept(name: str, value: object) -> Caveat:
    """The warning for a setting that was sent for something that exists with another value."""
    return Caveat("setting_kept", f"{name} is {'not set' if value is None else value}, as before: PATCH changes it.")


def in_metadata(fields: Iterable[str]) -> list[Caveat]:
    """A warning if messages had fields that no format of messages defines."""
    names = sorted({field[:MAX_SHOWN_FIELD] for field in fields})
    shown = ", ".join(names[:MAX_SHOWN_FIELDS]) + (", ..." if len(names) > MAX_SHOWN_FIELDS else "")
    text = f"These fields of messages are stored in their metadata, as messages have no such fields here: {shown}."
    return [Caveat("kept_in_metadata", text)] if names else []


def redacted(counts: Mapping[str, int]) -> list[Caveat]:
    """A warning if secrets were replaced, with their kinds and how many there were of each."""
    kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(counts.items()))
    text = (
        f"These were replaced and are stored nowhere: {kinds}. The flow's `secrets` decides that, or without it the "
        "setting MEMORYBASE_SECRETS."
    )
    return [Caveat("secrets_redacted", text)] if counts else []


def query_cut(query: str) -> list[Caveat]:
    """A warning if the query is longer than the limit: only its end is searched for."""
    text = f"The query has more than {MAX_QUERY_CHARS} characters: its last ones were searched for, and what it asks."
    return [Caveat("query_cut", text)] if len(query) > MAX_QUERY_CHARS else []
