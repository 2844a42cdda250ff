"""Our reading of the harness's base class, as far as a provider without an LLM needs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from ..models import Document


class MemoryProvider(ABC):
    name: ClassVar[str]
    description: ClassVar[str]
    kind: ClassVar[str]
    provider: ClassVar[str | None] = None
    link: ClassVar[str | None] = None
    concurrency: ClassVar[int] = 4

    def initialize(self) -> None:
        """Called once, before everything else."""

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None, reset: bool = True) -> None:
        """Called before documents are ingested; without `reset` those of the last run are kept."""

    @abstractmethod
    def ingest(self, documents: list[Document]) -> None: ...

    @abstractmethod
    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Document], dict[str, Any] | None]:
        """The documents that fit best, and the answer as it came."""

    def cleanup(self) -> None:
        """Called after the run."""
