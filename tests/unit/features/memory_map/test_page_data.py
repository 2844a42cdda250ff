"""What the map's page loads: every point in columns, colors by what is frequent, and no more than a page may weigh."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest
from harness.rows import each_row

from api.web.rendering import STATIC
from memorybase.core import errors
from memorybase.features.memory_map import page_data
from memorybase.features.memory_map.read import MapClusterView, MapPointView, MapState, MapView

START = datetime(2026, 1, 1, tzinfo=UTC)
MAX_BYTES = 450_000


def view(count: int, *, sessions: int = 3, clusters: int = 2, **changes: Any) -> MapView:
    points = [
        MapPointView(
            message_id=uuid5(UUID(int=1), str(each)),
            x=each * 0.01,
            y=-each * 0.005,
            cluster=each % clusters,
            session_id=f"session-{each % sessions}",
            role="user",
            speaker="Anna",
            timestamp=START + timedelta(hours=each),
        )
        for each in range(count)
    ]
    values: dict[str, Any] = {
        "memory_base_id": UUID(int=2),
        "state": MapState.READY,
        "progress": None,
        "error": None,
        "failing_since": None,
        "messages": count,
        "min_messages": 20,
        "computed_at": START,
        "as_of": START,
        "mapped_messages": count,
        "added": 0,
        "removed": 0,
        "edited": 0,
        "explained": 0.2,
        "shown": count,
        "points": points,
        "question": None,
        "clusters": [MapClusterView(each, "berth, power", count // clusters) for each in range(clusters)],
    }
    return MapView(**values | changes)


def test_an_id_survives_being_shortened() -> None:
    id_ = uuid5(UUID(int=1), "x")
    assert len(page_data.short_id(id_)) == 22
    assert page_data.ids_of(f"{page_data.short_id(id_)},") == [id_]


@each_row("text", ["x", "!" * 22, "a" * 23, "ü" * 22])
def test_another_id_is_invalid(text: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="ids of a map"):
        page_data.ids_of(text)


def test_each_point_has_a_place_and_a_color_in_each_coloring() -> None:
    drawn = page_data.drawn(view(30))
    assert len(drawn["ids"]) == 30 * 22
    assert (min(drawn["x"]), max(drawn["x"])) == (0, page_data.SCALE)
    assert drawn["y"][0] > drawn["y"][-1], "one scale for both axes, and upwards is more"
    assert max(drawn["y"]) - min(drawn["y"]) == pytest.approx(page_data.SCALE / 2, abs=1)
    assert set(drawn["colorings"]) == set(page_data.COLORINGS)
    for coloring in drawn["colorings"].values():
        assert len(coloring["of"]) == 30
        assert sum(entry["count"] for entry in coloring["legend"]) == 30


def test_of_many_sessions_the_most_frequent_have_colors_and_the_rest_share_one() -> None:
    of_one = page_data.drawn(view(300, sessions=8))["colorings"]["session"]
    assert [entry["color"] for entry in of_one["legend"]] == list(range(8))
    of_many = page_data.drawn(view(300, sessions=100))["colorings"]["session"]
    assert [entry["color"] for entry in of_many["legend"]] == [0, 1, 2, 3, 4, 5, 6, 8]
    assert of_many["legend"][-1]["label"] == "93 others"


def test_time_has_steps_of_about_as_many_points() -> None:
    legend = page_data.drawn(view(100))["colorings"]["time"]["legend"]
    assert [entry["count"] for entry in legend] == [20] * 5
    assert legend[0]["from"] == START.isoformat()
    assert legend[0]["to"] == legend[1]["from"]
    assert len(page_data.drawn(view(1))["colorings"]["time"]["legend"]) == 1


def test_clusters_with_the_same_words_have_different_names() -> None:
    legend = page_data.drawn(view(30, clusters=3))["colorings"]["cluster"]["legend"]
    assert sorted(entry["label"] for entry in legend) == ["berth, power", "berth, power (2)", "berth, power (3)"]


def test_a_map_without_points_has_none() -> None:
    drawn = page_data.drawn(view(0))
    assert (drawn["ids"], drawn["x"], drawn["box"]) == ("", [], [0.0, 0.0, 1.0])


def test_the_page_of_the_largest_map_weighs_little() -> None:
    """Scripts and points as they are compressed on the wire; the font is compressed already."""
    points = json.dumps(page_data.drawn(view(5_000, sessions=500, clusters=8)), separators=(",", ":")).encode()
    files = [each.read_bytes() for each in STATIC.iterdir() if each.suffix in {".js", ".css", ".svg"}]
    font = next(STATIC.glob("*.woff2")).stat().st_size
    assert len(points) < 250_000
    assert sum(len(gzip.compress(each)) for each in [points, *files]) + font < MAX_BYTES


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@each_row("mode", [0, 1], ids=["light", "dark"])
def test_each_color_of_the_map_stands_out_from_the_card(mode: int) -> None:
    tokens = (STATIC / "tokens.css").read_text()
    pairs = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", tokens))
    surface = _luminance(pairs["surface"].split(", ")[mode])
    for name, both in pairs.items():
        if re.fullmatch(r"(map|time)-\d|kind", name):
            light, dark = sorted((_luminance(both.split(", ")[mode]), surface), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, name
