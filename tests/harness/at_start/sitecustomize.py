"""Python runs this first where its folder is on PYTHONPATH: harness.constants gives constants other values, and
harness.gates holds threads."""

from __future__ import annotations

import fcntl
import json
import os
import pkgutil
import sqlite3.dbapi2
from collections.abc import Callable
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


def pass_gate(name: str) -> None:
    """Wait as long as a test holds the file of this name, after a byte has told it so."""
    try:
        descriptor = os.open(f"{os.environ['TEST_GATES']}/{name}", os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        os.write(descriptor, b".")
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def gated(path: str) -> tuple[Any, str, Callable[..., Any]]:
    """The owner of the function, its name, and the function behind a gate of the name `path`."""
    owner_path, _, name = path.rpartition(".")
    owner = pkgutil.resolve_name(owner_path)
    function = getattr(owner, name)

    def waiting(*args: Any, **kwargs: Any) -> Any:
        pass_gate(path)
        return function(*args, **kwargs)

    return owner, name, waiting


def connecting(connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
    """Connections whose triggers can wait at a gate."""

    def connected(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.create_function("pass_gate", 1, pass_gate)
        return connection

    return connected


for _path, _value in json.loads(os.environ.get("TEST_CONSTANTS", "{}")).items():
    setattr(*found(_path, _value))
if "TEST_GATES" in os.environ:
    sqlite3.dbapi2.connect = connecting(sqlite3.dbapi2.connect)
    for _path in json.loads(os.environ["TEST_GATED"]):
        setattr(*gated(_path))
