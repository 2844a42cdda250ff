"""Python runs this first where its folder is on PYTHONPATH: harness.constants gives constants other values."""

from __future__ import annotations

import json
import os
import pkgutil
from datetime import timedelta
from typing import Any


def found(path: str, value: float) -> tuple[Any, str, Any]:
    """The owner of the constant, its name, and the value as the constant has it: durations are given in seconds."""
    owner_path, _, name = path.rpartition(".")
    owner = pkgutil.resolve_name(owner_path)
    is_duration = isinstance(getattr(owner, name), timedelta)
    return owner, name, timedelta(seconds=value) if is_duration else value


for _path, _value in json.loads(os.environ.get("TEST_CONSTANTS", "{}")).items():
    setattr(*found(_path, _value))
