"""Logging: static event names with fields beside them, for people or for a log collector, always on standard error.

Never logged: message text, API keys, credentials in URLs. A traceback therefore carries the frames and the first
line of each error only, since databases and stores like to quote the offending row on the lines below.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from memorybase.settings import Settings

Logger = structlog.stdlib.BoundLogger

ERROR_LINE_CHARS = 300
# Fields that would carry a message's text or a secret. Nobody logs them; a slip must not reach a disk.
WITHHELD_FIELDS = frozenset({
    "api_key", "args", "authorization", "body", "content", "document", "kwargs", "messages", "password", "query",
    "secret", "snippet", "text", "texts", "token",
})  # fmt: skip
WITHHELD = "[withheld]"
# Libraries that log every request or statement at INFO, or a task's arguments at DEBUG.
CHATTY = ("alembic", "celery.pool", "chromadb", "httpcore", "httpx", "kombu", "sentence_transformers", "urllib3")
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")


class _Handler(logging.StreamHandler[TextIO]):
    """Ours, so that configuring again finds it."""


def configure(settings: Settings, *, stream: TextIO | None = None) -> None:
    """Route structlog and the standard library's logging through one handler; calling it again replaces that."""
    _configure_structlog()
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_shared_processors(), structlog.stdlib.ExtraAdder(), _withhold],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(settings.log_format, colors=handler.stream.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        if type(old) in {_Handler, logging.StreamHandler}:  # not the handlers of a host such as a test runner
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.log_level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)


def get_logger(name: str = "memorybase") -> Logger:
    """A logger for a module; usable before `configure`, when only warnings are shown."""
    logger: Logger = structlog.stdlib.get_logger(name)
    return logger


def bound(**fields: Any) -> AbstractContextManager[None]:
    """Every log line inside the block, of whatever module in this thread, carries these fields."""
    return structlog.contextvars.bound_contextvars(**fields)


def describe_error(error: BaseException) -> str:
    """Its type and the first line of its message, cut short and without credentials: fit for a log or a table."""
    lines = str(error).splitlines()
    line = _URL_CREDENTIALS.sub("", lines[0] if lines else "")
    if len(line) > ERROR_LINE_CHARS:
        line = line[:ERROR_LINE_CHARS] + "…"
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _configure_structlog() -> None:
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_shared_processors(),
            _withhold,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,  # configure() may come after a module made its logger
    )


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(_render_chain),
    ]


def _rendering(log_format: str, *, colors: bool) -> list[Processor]:
    if log_format == "json":
        return [structlog.processors.JSONRenderer(default=str)]
    # plain_traceback, as rich's prints local variables, which hold what must not be logged.
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


def _withhold(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for field in WITHHELD_FIELDS & event.keys():
        if not isinstance(event[field], int | float | None):  # counts are welcome
            event[field] = WITHHELD
    return event


def _render_chain(exc_info: ExcInfo) -> str:
    """The error and what caused it, outermost first: a line each, then its frames."""
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


if not structlog.is_configured():
    # Without this, a library user who never calls configure() would find log lines on standard output.
    _configure_structlog()
