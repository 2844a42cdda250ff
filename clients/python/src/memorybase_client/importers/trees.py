"""The order of a conversation with branches: the thread that was last open comes last, so that a session continues
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def parents_of(named: Mapping[str, Any]) -> dict[str, str | None]:
    """The parent of each node, of what it names as such: not one that is missing, or below the node itself."""
    parents: dict[str, str | None] = {}
    for node_id, parent in named.items():
        parents[node_id] = parent if isinstance(parent, str) and parent in named else None
    safe: set[str] = set()
    for node_id in named:
        path: set[str] = set()
        at: str | None = node_id
        while at is not None and at not in safe:
            safe.add(at)
            path.add(at)
            above = parents[at]
            if above is not None and above in path:
                parents[at] = above = None
            at = above
    return parents


def in_order(parents: Mapping[str, str | None], current: Any) -> Iterator[str]:
    """Every node after its parent; of the children of one node, that on the current thread last."""
    children: dict[str | None, list[str]] = {}
    for node_id, parent in parents.items():
        children.setdefault(parent, []).append(node_id)
    on_thread: set[str] = set()
    above = current if isinstance(current, str) and current in parents else None
    while above is not None:
        on_thread.add(above)
        above = parents[above]
    # A stack: what is pushed first comes last.
    waiting = children.get(None, [])[::-1]
    while waiting:
        node_id = waiting.pop()
        yield node_id
        below = children.get(node_id, [])
        waiting += [child for child in below if child in on_thread]
        waiting += [child for child in reversed(below) if child not in on_thread]
