"""Validates what no caller may send: text that PostgreSQL cannot store, and booleans as numbers."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationInfo, field_validator
from pydantic_core import PydanticKnownError

from memorybase.core import errors

_NUMBERS: dict[Any, Literal["int_type", "float_type"]] = {int: "int_type", float: "float_type"}


class Sent(BaseModel):
    """Refuses true and false as a number: Python's bool is an int, so Pydantic would read them as 1 and 0."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_boolean_number(cls, value: Any, info: ValidationInfo) -> Any:
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
        if info.field_name is not None and any(isinstance(each, bool) for each in values):
            types = _leaves(cls.model_fields[info.field_name].annotation)
            number = next((each for each in types if each in _NUMBERS), None)
            if number is not None and bool not in types:
                raise PydanticKnownError(_NUMBERS[number])
        return value


def _leaves(annotation: Any) -> list[Any]:
    """int and None for `Annotated[int, Field(ge=0)] | None`; str and float for `dict[str, float]`."""
    below = get_args(annotation)
    return [leaf for each in below for leaf in _leaves(each)] if below else [annotation]


def why_unstorable(value: str) -> str | None:
    """Why PostgreSQL cannot store the string (NUL, lone surrogate), or None if it can."""
    if "\x00" in value:
        return "Text must not contain a NUL character"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "Text must not contain a lone surrogate"
    return None


def storable(value: str) -> str:
    """A string that nobody can correct, such as a model's answer, without what PostgreSQL cannot store."""
    return value.replace("\x00", "").encode(errors="replace").decode()


def check_text(value: str, field: str) -> None:
    """Raises InvalidRequest if PostgreSQL cannot store the text."""
    reason = why_unstorable(value)
    if reason is not None:
        raise errors.InvalidRequest(reason, field=field)
