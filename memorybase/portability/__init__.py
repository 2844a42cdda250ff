"""What is captured, out as JSON lines and in again. SQL only: every store is made again from it."""

from __future__ import annotations

from memorybase.portability.reading import FORMAT, ExportScope, export, resolve_scope
from memorybase.portability.writing import ImportAnswer, MessageTally, import_lines

__all__ = [
    "FORMAT",
    "ExportScope",
    "ImportAnswer",
    "MessageTally",
    "export",
    "import_lines",
    "resolve_scope",
]
