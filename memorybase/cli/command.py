"""Commands by declaration: options in groups, those that find a running stack, and how a list is printed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The stack that a command goes through."""

    data_dir: DataDirOption = None
    url: UrlOption = None
    key: KeyOption = None

    def open(self) -> Client:
        """Raises NotReady or Unauthorized with what to do."""
        return connect(self.data_dir, self.url, self.key)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command. A parameter whose type is a dataclass becomes an option for each of its fields."""
    return _declared(command, _parameters(command))


def through_stack(command: Callable[Concatenate[Client, P], None]) -> Callable[..., None]:
    """`with_options`, with those of Connection in place of the command's first parameter, a client of that stack."""

    @functools.wraps(command)
    def run(*, connection: Connection, **given: Any) -> None:
        with connection.open() as client:
            command(client, **given)  # type: ignore[call-arg]

    _, *own = _parameters(command)
    return _declared(run, [*own, inspect.Parameter("connection", _KEYWORD, annotation=Connection)])


def _declared(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> Callable[..., None]:
    groups: dict[str, type[Any]] = {
        each.name: kind for each in parameters if isinstance(kind := each.annotation, type) and is_dataclass(kind)
    }
    options: list[inspect.Parameter] = []
    for each in parameters:
        options += _options(groups[each.name]) if each.name in groups else [each]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        taken = {name: _taken(group, given) for name, group in groups.items()}
        command(**given, **taken)

    vars(run)["__signature__"] = inspect.Signature(options)  # which typer reads
    run.__annotations__ = {each.name: each.annotation for each in options}
    return run


def _parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    hints = get_type_hints(command, localns={"Client": object}, include_extras=True)
    own = inspect.signature(command).parameters.values()
    return [each.replace(kind=_KEYWORD, annotation=hints[each.name]) for each in own]


def _options(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(each.name, _KEYWORD, default=each.default, annotation=hints[each.name])
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
