"""Limits the connections that a server keeps open, in all and for one address.

A connection that waits for a request, because it is idle or has not sent all headers, gives way to a new one: half-sent
requests never lock out callers who send whole ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


class Connection(Protocol):
    """An open connection."""

    def give_way(self) -> None:
        """Close it now; it has no request in progress."""


@dataclass(slots=True, eq=False)
class _Group:
    """The connections of one address, or all of them."""

    most: int
    name: bytes | None = None
    size: int = 0
    waiting: dict[Connection, None] = field(default_factory=dict)  # in order: the first has waited longest


class Connections:
    """The open connections of one server. `name_of` is the name that an address counts under; None: it has no bound of
    its own, as a proxy has none."""

    def __init__(self, most: int, most_per_address: int, name_of: Callable[[str], bytes | None]) -> None:
        self._all = _Group(most)
        self._most_per_address = most_per_address
        self._name_of = name_of
        self._addresses: dict[bytes, _Group] = {}
        self._groups: dict[Connection, tuple[_Group, ...]] = {}

    def __len__(self) -> int:
        return self._all.size

    def admit(self, connection: Connection, address: str) -> bool:
        """Count a new connection, which waits for its first request. At a bound the connection that has waited longest
        is closed; if every other one has a request in progress, the answer is False and nothing is counted."""
        name = self._name_of(address)
        groups = [self._all]
        if name is not None:
            groups.insert(0, self._addresses.get(name) or _Group(self._most_per_address, name))
        for group in groups:
            if group.size >= group.most and not self._make_room(group):
                return False
        for group in groups:
            group.size += 1
            if group.name is not None:
                self._addresses[group.name] = group
        self._groups[connection] = tuple(groups)
        self.waits(connection)
        return True

    def _make_room(self, group: _Group) -> bool:
        oldest = next(iter(group.waiting), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.give_way()
        return True

    def waits(self, connection: Connection) -> None:
        """Count the connection as waiting for a request."""
        for group in self._groups.get(connection, ()):
            group.waiting[connection] = None

    def works(self, connection: Connection) -> None:
        """Count the connection as busy with a request."""
        for group in self._groups.get(connection, ()):
            group.waiting.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """Count a closed connection no longer; one that is not counted changes nothing."""
        for group in self._groups.pop(connection, ()):
            group.size -= 1
            group.waiting.pop(connection, None)
            if group.name is not None and not group.size:
                del self._addresses[group.name]
