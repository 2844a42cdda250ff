"""Commands by declaration: the options of those that go through a running stack, and how a list is printed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, get_type_hints

import typer

from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, print_table

if TYPE_CHECKING:
    from memorybase_client import Client

P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The stack that a command goes through."""

    data_dir: DataDirOption = None
    url: UrlOption = None
    key: KeyOption = None


def through_stack(command: Callable[Concatenate[Client, P], None]) -> Callable[..., None]:
    """The command with the options of Connection in place of its first parameter, a client of that stack. A parameter
    whose type is a dataclass becomes an option for each of its fields."""
    hints = get_type_hints(command, localns={"Client": object}, include_extras=True)
    _, *own = inspect.signature(command).parameters.values()
    groups = {each.name: hints[each.name] for each in own if is_dataclass(hints[each.name])}
    options: list[inspect.Parameter] = []
    for each in own:
        one = each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name])
        options += _options(groups[each.name]) if each.name in groups else [one]
    options += _options(Connection)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        connection = _taken(Connection, given)
        taken = {name: _taken(group, given) for name, group in groups.items()}
        with connect(connection.data_dir, connection.url, connection.key) as client:
            command(client, **given, **taken)  # type: ignore[call-arg]

    vars(run)["__signature__"] = inspect.Signature(options)  # which typer reads
    run.__annotations__ = {each.name: each.annotation for each in options}
    return run


def _options(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(group)
    ]


def _taken(group: type[Any], given: dict[str, Any]) -> Any:
    """The group with its fields, which are no longer among the given ones."""
    return group(**{each.name: given.pop(each.name) for each in fields(group)})


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedList:
    """How a list is printed. A column is a field of the items, or what computes a cell of an item."""

    columns: Mapping[str, str | Callable[[Any], object]]
    empty: str = ""  # without it, the heads of the columns are printed
    whole: Collection[str] = ("id",)  # columns that are never broken
    missing: str = ""
    times: str = "%Y-%m-%d %H:%M:%S"
    shown: int | None = None  # items, of a list that may be long

    def show(self, items: Iterable[object]) -> None:
        """Print the items, or that there are none."""
        cells = [attrgetter(column) if isinstance(column, str) else column for column in self.columns.values()]
        rows = [[self._text(cell(item)) for cell in cells] for item in islice(items, self.shown)]
        if rows or not self.empty:
            print_table(tuple(self.columns), rows, whole=self.whole)
        else:
            typer.echo(self.empty)

    def _text(self, value: object) -> str:
        if value is None:
            return self.missing
        return f"{value:{self.times}}" if isinstance(value, datetime) else str(value)
