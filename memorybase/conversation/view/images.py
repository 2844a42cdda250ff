"""The image budget: images are kept newest first, the others become a line of text that names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memorybase.conversation.view.files import url_label
from memorybase.conversation.view.records import Record, parts_of, plain, text_part
from memorybase.conversation.view.tokens import IMAGE_TYPES


def keep_newest_images(records: Sequence[Record], budget: int) -> list[Record]:
    """The records with at most `budget` image parts among them; no message goes, and of one the last images stay."""
    left = budget
    kept: list[Record] = []
    for record in reversed(records):
        parts: list[dict[str, Any]] = []
        stubbed = False
        for part in reversed(parts_of(record.content)):
            if part.get("type") not in IMAGE_TYPES:
                parts.append(part)
            elif left > 0:
                left -= 1
                parts.append(part)
            else:
                stubbed = True
                parts.append(text_part(f"[image: {_image_name(part)}]"))
        kept.append(record.with_content(plain(parts[::-1])) if stubbed else record)
    kept.reverse()
    return kept


def _image_name(part: dict[str, Any]) -> str:
    if part.get("name"):
        return str(part["name"])
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    return url_label(url) if isinstance(url, str) else "file"
