"""Python runs this first where its folder is on PYTHONPATH: harness.constants gives constants other values."""

from __future__ import annotations

import json
import os
import pkgutil
from dataclasses import astuple, is_dataclass
from datetime import timedelta
from typing import Any


def found(path: str, value: float) -> tuple[Any, str, Any]:
    """The owner of the constant, its name, and the value as the constant has it: durations are given in seconds, and of
    several numbers how many times as much each is."""
    owner_path, _, name = path.rpartition(".")
    owner = pkgutil.resolve_name(owner_path)
    usual = getattr(owner, name)
    if isinstance(usual, timedelta):
        return owner, name, timedelta(seconds=value)
    if is_dataclass(usual) and not isinstance(usual, type):
        return owner, name, type(usual)(*(value * each for each in astuple(usual)))
    return owner, name, value


for _path, _value in json.loads(os.environ.get("TEST_CONSTANTS", "{}")).items():
    setattr(*found(_path, _value))
