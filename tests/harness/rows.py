"""One test for a whole table: it goes on after a row that fails, and names all such rows at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType

import pytest


@dataclass
class EveryRow:
    """`with EveryRow() as row:`, then `with row(name):` around the assertions about each row."""

    problems: list[str] = field(default_factory=list)
    tried: int = 0

    def __call__(self, *names: object) -> Row:
        self.tried += 1
        return Row(self, " ".join(map(str, names)))

    def __enter__(self) -> EveryRow:
        return self

    def __exit__(self, _: object, other: BaseException | None, __: object) -> None:
        __tracebackhide__ = True
        found = f"{len(self.problems)} of {self.tried} rows failed:\n" + "\n".join(self.problems)
        if other is not None:
            if self.problems:
                other.add_note(found)
            return
        assert self.tried, "the table has no rows"
        assert not self.problems, found


@dataclass
class Row:
    table: EveryRow
    name: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, problem: BaseException | None, traceback: TracebackType | None) -> bool:
        if traceback is None or not isinstance(problem, (Exception, pytest.fail.Exception)):
            return False
        kind = "" if isinstance(problem, (AssertionError, pytest.fail.Exception)) else f"{type(problem).__name__}: "
        said = f"- {self.name} (line {traceback.tb_lineno}): {kind}{problem}"
        self.table.problems.append(said.replace("\n", "\n    "))
        return True
