"""Logging: static event names with fields, as text or JSON, always on standard error.

Message text, API keys and credentials in URLs are never logged. A traceback therefore has the frames and only the first
line of each error: databases and stores quote rows on the lines below.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from memorybase.core import tracing
from memorybase.core.settings import Settings

Logger = structlog.stdlib.BoundLogger

ERROR_LINE_CHARS = 300
# Fields that would hold message text or a secret. No code logs them; a mistake must not reach a disk.
WITHHELD_FIELDS = frozenset(
    {
        "api_key",
        "args",
        "authorization",
        "body",
        "content",
        "document",
        "kwargs",
        "messages",
        "password",
        "query",
        "secret",
        "snippet",
        "text",
        "texts",
        "token",
    }
)
WITHHELD = "[withheld]"
# Our packages, whose loggers are named after their modules.
OURS = ("api", "memorybase", "migrations", "worker")
# Libraries that log every request or statement at INFO, or a task's arguments at DEBUG.
CHATTY = ("alembic", "celery.pool", "chromadb", "httpcore", "httpx", "kombu", "mcp", "sentence_transformers", "urllib3")
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")


class _Handler(logging.StreamHandler[TextIO]):
    """Our handler: `configure` replaces it when called again."""


def configure(settings: Settings, *, stream: TextIO | None = None) -> None:
    """Send all of this process's logging through one handler; a second call replaces the handler."""
    handler = _handler(settings, stream or sys.stderr)
    root = logging.getLogger()
    for old in root.handlers[:]:
        if type(old) in {_Handler, logging.StreamHandler}:  # not the handlers of a host such as a test runner
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.log_level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)


def log_apart(settings: Settings, stream: TextIO) -> Callable[[], None]:
    """Send what our packages log to this stream, and nowhere else: the process is a program's, which has logging of its
    own. Returns what ends that."""
    handler = _handler(settings, stream)
    loggers = [logging.getLogger(name) for name in OURS]
    for each in loggers:
        each.addHandler(handler)
        each.setLevel(settings.log_level)
        each.propagate = False

    def end() -> None:
        for each in loggers:
            each.removeHandler(handler)
            if not any(isinstance(other, _Handler) for other in each.handlers):
                each.setLevel(logging.NOTSET)
                each.propagate = True

    return end


def _handler(settings: Settings, stream: TextIO) -> _Handler:
    handler = _Handler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_shared_processors(), structlog.stdlib.ExtraAdder(), _withhold],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(settings.log_format, colors=handler.stream.isatty()),
            ],
        )
    )
    return handler


def get_logger(name: str = "memorybase") -> Logger:
    """A logger for a module. Before `configure` it shows warnings and above. structlog's own configuration is not used
    and not changed: it is a program's, in which we may run."""
    logger: Logger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=PROCESSORS,
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=False,
    )
    return logger


def bound(**fields: Any) -> AbstractContextManager[None]:
    """Add these fields to every log line of this thread inside the block."""
    return structlog.contextvars.bound_contextvars(**fields)


def describe_error(error: BaseException) -> str:
    """The type and the first line of the message, truncated and without credentials: safe for a log or a table."""
    lines = str(error).splitlines()
    line = _URL_CREDENTIALS.sub("", lines[0] if lines else "")
    if len(line) > ERROR_LINE_CHARS:
        line = line[:ERROR_LINE_CHARS] + "…"
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        _add_trace,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(_render_chain),
    ]


def _rendering(log_format: str, *, colors: bool) -> list[Processor]:
    if log_format == "json":
        return [structlog.processors.JSONRenderer(default=str)]
    # Not rich's traceback: it prints local variables, which may hold secrets and message text.
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


def _add_trace(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    if trace_id := tracing.trace_id():
        event["trace_id"] = trace_id
    return event


def _withhold(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for field in WITHHELD_FIELDS & event.keys():
        if not isinstance(event[field], int | float | None):  # counts are allowed
            event[field] = WITHHELD
    return event


def _render_chain(exc_info: ExcInfo) -> str:
    """The error and its causes, outermost first: one line each, then its frames."""
    lines: list[str] = []
    error: BaseException | None = exc_info[1]
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        lines.append(("caused by " if lines else "") + describe_error(error))
        lines.extend(
            f"  {Path(frame.filename).name}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        )
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(lines)


PROCESSORS: list[Processor] = [
    structlog.stdlib.filter_by_level,
    *_shared_processors(),
    _withhold,
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]
