"""What a hit says of a message that it corrects, or that corrects it: the kinds of values, and texts."""

from __future__ import annotations

from typing import Literal, Protocol

Kind = Literal["date", "time", "percent", "number", "name"]  # of values

OPPOSITE = "Another message says the opposite"


class Values(Protocol):
    """Both values of a correction, as they were written; a denial has none."""

    @property
    def kind(self) -> str: ...
    @property
    def was(self) -> str | None: ...
    @property
    def now(self) -> str | None: ...


def text_of_later(correction: Values) -> str:
    """For the message that states the later value."""
    return OPPOSITE if correction.kind == "denial" else f"Now {correction.now}, was {correction.was}"


def text_of_earlier(correction: Values) -> str:
    """For the message that states the earlier value."""
    if correction.kind == "denial":
        return OPPOSITE
    return f"Corrected later: was {correction.was}, now {correction.now}"


def text_for_model(correction: Values | None) -> str:
    """The text that a model needs when it reads the earlier message alone; empty if nothing corrects it."""
    if correction is None:
        return ""
    if correction.kind == "denial":
        return "a later message says the opposite"
    return f"corrected later: was {correction.was}, now {correction.now}"
