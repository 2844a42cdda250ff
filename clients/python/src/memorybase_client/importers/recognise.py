"""Which format a source has, by its content."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from memorybase_client.importers.files import is_database, read_records
from memorybase_client.importers.records import Json, Report, as_object
from memorybase_client.importers.systems import SYSTEMS

EXPORT, GIT, LINES, LOCOMO = "export", "git", "jsonl", "locomo"  # formats besides those of other systems
MEMBERS = ("*.json", "*.jsonl", "*.ndjson", "*.af")
LINE_SUFFIXES = (".jsonl", ".ndjson")
LOOKED_AT = 20  # records: an archive has other files besides the conversations


def recognise(source: str, report: Report) -> str | None:
    """The format's name; None if it is none of them, or an address, which is not contacted. The report gets what could
    not be read. Raises InvalidRequest if the source cannot be opened."""
    if "://" in source:
        return None
    if is_database(source):
        from memorybase_client.importers.queries import tables_of  # SQLAlchemy comes with an extra

        tables = tables_of(source)
        return next((name for name, each in SYSTEMS.items() if each.table and each.table.name in tables), None)
    records = read_records(Path(source), MEMBERS, report)
    return next((name for each in islice(records, LOOKED_AT) if (name := _format_of(as_object(each.value)))), None)


def _format_of(record: Json) -> str | None:
    if record.get("type") == "export":
        return EXPORT
    if isinstance(record.get("conversation"), dict):
        return LOCOMO
    system = next((name for name, each in SYSTEMS.items() if each.fits(record)), None)
    if system is None and ("session_id" in record or {"role", "content"} <= record.keys()):
        return LINES
    return system
