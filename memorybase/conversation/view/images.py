"""The image budget: the newest images stay, and a line of text replaces each other one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memorybase.conversation.view.files import url_label
from memorybase.conversation.view.records import Record, parts_of, plain, text_part
from memorybase.conversation.view.tokens import IMAGE_TYPES


def keep_newest_images(records: Sequence[Record], budget: int) -> list[Record]:
    """The records with the last `budget` image parts; stubs replace the others. No message is dropped."""
    left = budget
    kept: list[Record] = []
    for record in reversed(records):
        parts: list[dict[str, Any]] = []
        has_stub = False
        for part in reversed(parts_of(record.content)):
            if part.get("type") not in IMAGE_TYPES:
                parts.append(part)
            elif left > 0:
                left -= 1
                parts.append(part)
            else:
                has_stub = True
                parts.append(text_part(f"[image: {_image_name(part)}]"))
        kept.append(record.with_content(plain(parts[::-1])) if has_stub else record)
    kept.reverse()
    return kept


def _image_name(part: dict[str, Any]) -> str:
    if part.get("name"):
        return str(part["name"])
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    return url_label(url) if isinstance(url, str) else "file"
