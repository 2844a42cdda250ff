"""What people made of a message's statements, in copies of the message: exports, and deleted messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from memorybase.core import errors
from memorybase.core.import_export.lines import Line
from memorybase.core.models import NAME_LENGTH
from memorybase.features.standing_statements.finder import MAX_CHARS, Kind

FIELD = "standing"
MAX_COPIED_CHARS = MAX_CHARS + 2  # a statement, and the mark of a cut one


def read(line: Line) -> list[dict[str, Any]]:
    """The changes of a line of an export. Raises InvalidRequest."""
    if line.values.get(FIELD) is None:
        return []
    return [_change(replace(line, values=change)) for change in line.objects(FIELD)]


def _change(line: Line) -> dict[str, Any]:
    kind = line.values.get("kind")
    if kind not in get_args(Kind):
        where = f"line {line.number}.{FIELD}.kind"
        raise errors.InvalidRequest(f"kind must be one of {', '.join(get_args(Kind))}", field=where, value=str(kind))

    def given(name: str) -> bool:
        return line.values.get(name) is not None

    return {
        "kind": kind,
        "found": line.text("found", MAX_COPIED_CHARS),
        "edited": line.text("edited", MAX_COPIED_CHARS) if given("edited") else None,
        "deleted_at": line.time("deleted_at").isoformat() if given("deleted_at") else None,
        "changed_by": line.text("changed_by", NAME_LENGTH) if given("changed_by") else None,
        "changed_at": line.time("changed_at").isoformat(),
    }
