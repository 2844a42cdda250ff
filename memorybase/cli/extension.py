"""What a feature adds to the command line, and to what `memorybase doctor` checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from memorybase.cli.doctor import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Commands and groups of commands by name, for a panel of --help."""

    panel: str
    commands: Mapping[str, Callable[..., object] | typer.Typer]
    checks: Sequence[Check] = ()
