"""What a posted message tells by itself: found before the transaction, so that no lock waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from memorybase.core.extension import OfMessages, of_messages
from memorybase.core.ids import CallerId
from memorybase.core.keyword_index import index
from memorybase.core.keyword_index.analyzer import Document
from memorybase.core.messages import STORED_AS_SENT, NewMessage, text_bytes
from memorybase.core.screening import ScreenedMessages
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message of a capture. `key`: the id that the caller sent, else its number among the messages without one."""

    message: NewMessage
    key: CallerId | int
    run: CallerId | None  # None: the request names no run
    fingerprint: bytes  # by which a repetition is known
    is_screened: bool  # parts of it were, or with another setting would be, replaced
    document: Document
    derived: Mapping[str, tuple[Any, Sequence[Any]]]  # by field: what a feature finds in it, and what its copy carried
    columns: dict[str, Any]  # of its row, if it is new


def prepare_all(services: Services, screened: ScreenedMessages, runs: Iterable[CallerId | None]) -> list[Prepared]:
    """The messages of a capture, each with its run."""
    numbers, of_features = count(), of_messages(services)
    return [
        Prepared(
            message=message,
            key=next(numbers) if message.id is None else message.id,
            run=run,
            fingerprint=fingerprint,
            is_screened=index in screened.found,
            **_found(services, of_features, message, fingerprint),
        )
        for index, (message, fingerprint, run) in enumerate(
            zip(screened.messages, screened.fingerprints, runs, strict=True)
        )
    ]


def _found(
    services: Services, of_features: Sequence[OfMessages], message: NewMessage, fingerprint: bytes
) -> dict[str, Any]:
    document = index.analyze(services, message.role, message.content)
    columns = {
        **{name: getattr(message, name) for name in STORED_AS_SENT},
        "is_dialogue": message.is_dialogue,
        "text_bytes": text_bytes(message.content),
        **index.columns(document),
        "fingerprint": fingerprint,
        "edited_at": None,
        "muted": message.muted,
        "pinned": message.pinned,
    }
    derived = {
        each.field: (
            each.find(services, message.role, message.content, message.is_dialogue),
            message.of_features.get(each.field, ()),
        )
        for each in of_features
    }
    return {"document": document, "derived": derived, "columns": columns}
