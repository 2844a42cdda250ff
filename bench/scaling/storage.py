"""Bytes of each table and index, memory and disk of each process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa
from ingesting.footprint import MEGABYTE

from scaling.stage import Stage

Figures = dict[str, Any]

SQLITE_BYTES = "SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name"
POSTGRESQL_BYTES = """
SELECT CASE WHEN n.nspname = 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END,
       pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'i') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
"""
SMALL = 0.5  # bytes a message: below, an object is left out


def bytes_a_message(stage: Stage) -> dict[str, float]:
    """Of each table and index, largest first; an index and a table are objects of their own. And of Chroma's folder."""
    sizes = _sizes(stage)
    if stage.chroma is not None:
        sizes["Chroma"] = folder_bytes(stage.chroma.data)
    found = {name: round(size / stage.messages, 1) for name, size in sizes.items()}
    return {name: each for name, each in sorted(found.items(), key=lambda item: -item[1]) if each >= SMALL}


def _sizes(stage: Stage) -> dict[str, int]:
    database = stage.services.database
    with database.engine.connect() as connection:
        if database.is_sqlite:
            return {row[0]: row[1] for row in connection.exec_driver_sql(SQLITE_BYTES)}
        return {row[0]: row[1] for row in connection.execute(sa.text(POSTGRESQL_BYTES))}


def processes(stage: Stage) -> dict[str, Figures]:
    """Memory with shared pages counted once, and the size of each one's folder."""
    found = {"this process": {"memory_mb": _memory([psutil.Process()])}}
    for name, server in stage.servers.items():
        parent = psutil.Process(server.pid)
        folder = Path(getattr(server, "data", server.directory))
        found[name] = {
            "memory_mb": _memory([parent, *parent.children(recursive=True)]),
            "disk_mb": round(folder_bytes(folder) / MEGABYTE, 1),
        }
    if stage.services.database.is_sqlite:
        path = Path(stage.services.database.url.database or "")
        found["this process"]["disk_mb"] = round(path.stat().st_size / MEGABYTE, 1)
    return found


def folder_bytes(folder: Path) -> int:
    """The bytes of all files below it."""
    return sum((Path(where) / name).lstat().st_size for where, _, names in os.walk(folder) for name in names)


def _memory(found: list[psutil.Process]) -> float:
    total = 0
    for process in found:
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return round(total / MEGABYTE, 1)
