"""What a feature adds to the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import typer


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Commands and groups of commands by name, for a panel of --help."""

    panel: str
    commands: Mapping[str, Callable[..., object] | typer.Typer]
