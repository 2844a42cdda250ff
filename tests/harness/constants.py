"""Constants with other values, here and in the processes that a test starts: there is no setting for them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.at_start.sitecustomize import found

AT_START = Path(__file__).parent / "at_start"
VARIABLE = "TEST_CONSTANTS"
SWEEP = "memorybase.core.settings.Settings.sweep_seconds"
LOCK = "memorybase.core.settings.Settings.lock_seconds"
PAGES = "api.web.deadlines.USUAL"
PATIENT = {PAGES: 40.0}  # a busy machine is no part that hangs: a search on the page may take a minute


def with_constants(environment: Mapping[str, str], values: Mapping[str, float]) -> dict[str, str]:
    """The environment of a process in which the constants have these values, by their dotted paths."""
    if not values:
        return dict(environment)
    path = os.pathsep.join(filter(None, (str(AT_START), environment.get("PYTHONPATH"))))
    return {**environment, "PYTHONPATH": path, VARIABLE: json.dumps(dict(values))}


@contextmanager
def constants(values: Mapping[str, float]) -> Iterator[None]:
    """In this process, and in those that inherit its environment meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        for path, value in values.items():
            patch.setattr(*found(path, value))
        for name, text in with_constants(os.environ, values).items():
            patch.setenv(name, text)
        yield
