"""memorybase: the memory of LLM flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorybase.in_program import local, local_async

__version__ = "0.1.0"
__all__ = ["__version__", "local", "local_async"]


def __getattr__(name: str) -> Any:
    if name in {"local", "local_async"}:  # the whole server: nobody else of this package loads it
        from memorybase import in_program

        return getattr(in_program, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
