"""Input and output of the readers of foreign formats, and the report of the data that did not fit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from memorybase_client import errors

Json = dict[str, Any]

ROLES = ("user", "assistant", "system", "tool")

ProblemKind = Literal["lost", "skipped", "changed"]

EXAMPLES = 3  # of each problem, kept for the summary
MAX_PROBLEMS = 200  # kinds of problems; a file of anything else than this system's data has more
MAX_VALUE = 80
NO_CONTENT = "the message has no content"
MAX_EPOCH_SECONDS = 253_402_300_799  # the year 9999

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a database, and the columns that order it. `flows`: the table with the names of flow_id, if it
    exists."""

    name: str
    order: Sequence[str]
    flows: str | None = None


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One element of a file or row of a table. `where` names it for a person; `source` is the file without extension,
    or the table."""

    where: str
    value: Any
    source: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A message of another system, in one of the formats that the API accepts, with an id that is unique in its flow.

    `run` names its run within the session, or `run_id` within the flow; without either a run begins at each user
    message. `dropped`: not a message itself, but others may name it as their parent."""

    where: str
    session_id: str
    message: Json
    flow: str | None = None
    flow_name: str | None = None
    end_user_id: str | None = None
    run: str | None = None
    run_id: str | None = None
    session_metadata: Json = field(default_factory=dict)
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Data that could not be imported (`lost`), is never imported (`skipped`), or was imported with a difference
    (`changed`), and the reason."""

    kind: ProblemKind
    where: str
    reason: str
    field: str | None = None
    value: Any = None
    limit: Any = None

    def shown(self) -> str:
        """The place with field, value and bound, in one line."""
        bounds = {"field": self.field, "value": self.value, "limit": self.limit}
        details = ", ".join(f"{name}: {value}" for name, value in bounds.items() if value is not None)
        return f"{self.where} ({details})" if details else self.where


class Report:
    """Counts problems by reason, with a few examples of each. `each` is called with every one."""

    def __init__(self, each: Callable[[Problem], None] | None = None) -> None:
        self._each = each
        self.counts: dict[tuple[str, str], int] = {}
        self.examples: dict[tuple[str, str], list[Problem]] = {}
        self.broken: str | None = None  # why reading ended early

    def lose(self, where: str, reason: str, **bounds: Any) -> None:
        """A record or message cannot be imported; the import is then no success."""
        self._add(Problem("lost", where, reason, **_shortened(bounds)))

    def skip(self, where: str, reason: str, **bounds: Any) -> None:
        """A record or message is left out on purpose."""
        self._add(Problem("skipped", where, reason, **_shortened(bounds)))

    def change(self, where: str, reason: str, **bounds: Any) -> None:
        """A message is imported with a difference."""
        self._add(Problem("changed", where, reason, **_shortened(bounds)))

    def end_early(self, reason: str) -> None:
        """Nothing after this can be read."""
        self.broken = reason

    def total(self, kind: ProblemKind) -> int:
        return sum(count for (each, _), count in self.counts.items() if each == kind)

    def _add(self, problem: Problem) -> None:
        if self._each is not None:
            self._each(problem)
        key = (problem.kind, _INDEX.sub("[]", problem.reason))
        if key not in self.counts and len(self.counts) >= MAX_PROBLEMS:
            key = (problem.kind, "other reasons")
        self.counts[key] = self.counts.get(key, 0) + 1
        examples = self.examples.setdefault(key, [])
        if len(examples) < EXAMPLES:
            examples.append(problem)


def _shortened(bounds: Json) -> Json:
    value = bounds.get("value")
    if isinstance(value, str):
        value = value.encode(errors="replace").decode()
    elif value is not None and not isinstance(value, int | float):
        value = str(value)
    if isinstance(value, str) and len(value) > MAX_VALUE:
        value = f"{value[:MAX_VALUE]}..."
    return {**bounds, "value": value}


def as_object(value: Any) -> Json:
    """The object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The string if it has more than white space; None for anything else."""
    return value if isinstance(value, str) and value.strip() else None


def given(**fields: Any) -> Json:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def items_of(record: RawRecord, names: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """The items of an answer, whose list has one of these names, or the record itself, each with its place."""
    value = as_object(record.value)
    name = next((name for name in names if isinstance(value.get(name), list)), None)
    if name is None:
        yield record.where, value
        return
    for index, item in enumerate(value[name]):
        yield f"{record.where}.{name}[{index}]", as_object(item)


def json_column(value: Any) -> Any:
    """The value of a JSON column, which some databases give as text, and some writers as a text of that text; None if
    it is not JSON."""
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return json_column(read) if isinstance(read, str) and read.startswith(("{", "[")) else read


def uuid_column(value: Any) -> str | None:
    """A UUID, which SQLite keeps without hyphens; None for anything else."""
    try:
        return str(UUID(str(value)))
    except ValueError:
        return None


def read_time(value: Any) -> datetime | None:
    """A message's time, which the API reads in the same way: in ISO 8601 or seconds since 1970, and in UTC if it names
    no zone. Raises InvalidRequest."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value.strip().removesuffix(" UTC"))
            return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_EPOCH_SECONDS:
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as exc:  # OSError: Windows knows no time after the year 3000
        raise errors.InvalidRequest("timestamp must be a time in ISO 8601") from exc
    raise errors.InvalidRequest("timestamp must be a time in ISO 8601 or seconds since 1970")
