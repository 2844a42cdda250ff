"""What the map's script draws, as small as it can be: one character says a point's color.

Addresses and JSON hold a message's id as 22 characters, since 5,000 UUIDs are half of what a page may weigh.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar
from uuid import UUID

from api.web.rendering import speaker
from memorybase.core import errors
from memorybase.features.memory_map.read import MapPointView, MapView

Key = TypeVar("Key", bound=Hashable)

COLORS = 8  # of categories; what has none of its own is "others"
TIME_STEPS = 5
SCALE = 9_999  # coordinates are whole numbers up to this one
COLORINGS = ("session", "speaker", "time", "cluster")


def short_id(id_: UUID) -> str:
    return base64.urlsafe_b64encode(id_.bytes).decode().rstrip("=")


def long_id(text: str) -> UUID:
    """Raises InvalidRequest."""
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except (ValueError, binascii.Error):
        raise errors.InvalidRequest("ids must be ids of a map", field="ids", value=text) from None


def drawn(view: MapView) -> dict[str, Any]:
    """The points in columns, and for each coloring the points' colors and the legend."""
    place = _placing(view.points)
    return {
        "ids": "".join(short_id(point.message_id) for point in view.points),
        "x": [place(point)[0] for point in view.points],
        "y": [place(point)[1] for point in view.points],
        "box": _box(view.points),
        "colorings": {
            "session": _by(view.points, lambda point: point.session_id, lambda name: name),
            "speaker": _by(view.points, lambda point: point.speaker, speaker),
            "time": _by_time(view.points),
            "cluster": _by(view.points, lambda point: point.cluster, _naming_clusters(view)),
        },
    }


def _box(points: Sequence[MapPointView]) -> list[float]:
    """Left, lower edge, and the length of its sides: one for both, so that distances stay true."""
    if not points:
        return [0.0, 0.0, 1.0]
    left, low = min(point.x for point in points), min(point.y for point in points)
    width, height = max(point.x for point in points) - left, max(point.y for point in points) - low
    side = max(width, height) or 1.0
    return [left - (side - width) / 2, low - (side - height) / 2, side]


def _placing(points: Sequence[MapPointView]) -> Callable[[MapPointView], tuple[int, int]]:
    left, low, side = _box(points)
    return lambda point: (round((point.x - left) / side * SCALE), round((point.y - low) / side * SCALE))


def _by(
    points: Sequence[MapPointView], key_of: Callable[[MapPointView], Key], name_of: Callable[[Key], str]
) -> dict[str, Any]:
    """A color for each of the most frequent keys. Of many keys the last color is that of the others."""
    counts = Counter(key_of(point) for point in points)
    ranked = sorted(counts, key=lambda key: (-counts[key], str(key)))
    named = ranked if len(ranked) <= COLORS else ranked[: COLORS - 1]
    color = {key: index for index, key in enumerate(named)}
    legend = [{"label": name_of(key), "count": counts[key], "color": color[key]} for key in named]
    if len(ranked) > len(named):
        rest = sum(counts[key] for key in ranked[len(named) :])
        legend.append({"label": f"{len(ranked) - len(named):,} others", "count": rest, "color": COLORS})
    return {"of": "".join(str(color.get(key_of(point), COLORS)) for point in points), "legend": legend}


def _by_time(points: Sequence[MapPointView]) -> dict[str, Any]:
    """Steps with about as many points each, the oldest first."""
    times = sorted(point.timestamp for point in points)
    if not times:
        return {"of": "", "legend": []}
    edges = sorted({times[index * len(times) // TIME_STEPS] for index in range(TIME_STEPS)})
    of = [sum(edge <= point.timestamp for edge in edges) - 1 for point in points]
    counts = Counter(of)
    ends = [*(after for _, after in pairwise(edges)), times[-1]]
    legend = [
        {"from": edge.isoformat(), "to": end.isoformat(), "count": counts[index], "color": index}
        for index, (edge, end) in enumerate(zip(edges, ends, strict=True))
    ]
    return {"of": "".join(map(str, of)), "legend": legend}


def _naming_clusters(view: MapView) -> Callable[[int], str]:
    """By their words; clusters without any, or with those of a larger one, also by number."""
    names: dict[int, str] = {}
    for each in view.clusters:
        number = each.cluster + 1
        is_new = each.label and each.label not in names.values()
        names[each.cluster] = each.label if is_new else f"{each.label or 'cluster'} ({number})"
    return names.__getitem__


def ids_of(text: str) -> list[UUID]:
    """The ids in an address. Raises InvalidRequest."""
    return [long_id(each) for each in _parts(text)]


def _parts(text: str) -> Iterable[str]:
    return filter(None, text.split(","))
