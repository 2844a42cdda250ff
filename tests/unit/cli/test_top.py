"""What `memorybase top` computes from two looks, and how it fits a terminal."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import UUID

import pytest
from memorybase_client import errors as client_errors
from memorybase_client import models
from rich.console import Console

from memorybase.cli.top_figures import BASES_SHOWN, CaptureRate, Look, State, Watch, ingested_per_second, parse_metrics
from memorybase.cli.top_screen import screen

URL = "http://127.0.0.1:8000"
PARTS = {"database": "ok", "worker": "ok"}
METRICS = """# HELP memorybase_jobs Active jobs.
# TYPE memorybase_jobs gauge
memorybase_jobs{state="queued"} 3.0
memorybase_jobs{state="running"} 1.0
memorybase_pending_messages 12.0
memorybase_oldest_pending_message_age_seconds 75.0
memorybase_dead_letters 0.0
memorybase_part_up{part="chroma"} 1.0
memorybase_http_requests_total{method="GET",route="/flows/{flow_id}",status="200"} 4.0
"""


def base(number: int = 1, **fields: Any) -> models.MemoryBaseView:
    known = {
        "id": UUID(int=number),
        "name": f"notes {number}",
        "flow_id": UUID(int=9),
        "user_id": UUID(int=8),
        "kb_name": "notes",
        "threshold": 50,
        "auto_capture": True,
        "capture": "all",
        "idle_after": 600,
        "embedding_model": "m",
        "vector_store": "chroma",
        "created_at": "2026-01-01T00:00:00Z",
        "status": "pending",
        "pending_messages": 0,
        "pending_capped": False,
        "total_processed": 100,
        "sessions": 1,
        "dead_letters": 0,
        "sessions_near_threshold": 0,
        "condition": "ok",
    }
    return models.MemoryBaseView.model_validate(known | fields)


def look(*bases: models.MemoryBaseView, at: float = 0.0, total: int | None = None) -> Look:
    return Look(at, list(bases), len(bases) if total is None else total, [], parse_metrics(METRICS))


def text_of(state: State, *, now: float = 100.0, width: int = 120, rows: int | None = None) -> str:
    console = Console(width=width, color_system=None, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(screen(state, URL, now, width=width, rows=rows))
    return captured.get()


def test_metrics_are_read_by_name_and_first_label() -> None:
    metrics = parse_metrics(METRICS)
    assert metrics["memorybase_jobs", "queued"] == 3
    assert metrics["memorybase_pending_messages", ""] == 12
    assert metrics["memorybase_http_requests_total", "GET"] == 4


def test_captures_of_several_processes_are_added_up() -> None:
    def counted(process: float, count: float) -> dict[tuple[str, str], float]:
        return {
            ("memorybase_messages_captured_created", ""): process,
            ("memorybase_messages_captured_total", ""): count,
        }

    rate = CaptureRate()
    assert rate.of(counted(1, 1_000), 0) is None
    assert rate.of(counted(2, 10), 1) is None  # another process: no rate of the difference
    assert rate.of(counted(1, 1_020), 2) == 10
    assert rate.of(counted(2, 20), 3) == 15
    assert rate.of(counted(3, 0), 4) == 15
    assert rate.of(counted(3, 6), 70) == pytest.approx(6 / 66)  # the others have not answered for a minute
    assert rate.of({}, 71) is None


def test_ingestion_counts_no_deletions_and_no_memory_base_that_is_new() -> None:
    before = look(base(1, total_processed=100), base(2, total_processed=50), at=0)
    after = look(base(1, total_processed=120), base(2, total_processed=10), base(3, total_processed=7), at=10)
    assert ingested_per_second(before, after) == {UUID(int=1): 2.0, UUID(int=2): 0.0}
    assert ingested_per_second(None, after) == {}


class _Client:
    """Answers, or fails with `error`."""

    url = URL

    def __init__(self) -> None:
        self.error: client_errors.MemorybaseError | None = None
        self.unready: client_errors.MemorybaseError | None = None

    def health_ready(self) -> models.Readiness:
        if self.unready:
            raise self.unready
        return models.Readiness(status="ready", parts=PARTS, reason=None)

    def list_memory_bases(self, **_: Any) -> Any:
        if self.error:
            raise self.error
        return self

    def list_all_jobs(self, **_: Any) -> Any:
        return self

    def page(self) -> Any:
        return models.Page[Any](items=[], total=0, page=1, size=50)

    def get_metrics(self) -> str:
        return METRICS


def test_an_outage_shows_the_last_figures_and_their_age_and_never_zeros() -> None:
    client, now = _Client(), [10.0]
    watch = Watch(client, clock=lambda: now[0])  # type: ignore[arg-type]
    assert "12 messages due, the oldest 1 min" in text_of(watch.look(), now=10)
    client.error = client_errors.DatabaseUnavailable("The database does not answer")
    client.unready = client_errors.NotReady("Not ready: database", details={"failing": ["database"]})
    now[0] = 40.0
    watch.look()
    now[0] = 50.0
    text = text_of(watch.look(), now=55)
    assert "OUTAGE: no figures for 15 s: The database does not answer" in text
    assert "The figures below are 45 s old." in text
    assert "12 messages due" in text
    assert "database FAILING" in text
    assert "- messages captured, - ingested" in text
    client.unready = client_errors.ConnectionFailed("No answer")
    assert "parts      unknown" in text_of(watch.look(), now=55)
    client.error = client.unready = None
    assert "OUTAGE" not in text_of(watch.look())


def test_an_outage_before_the_first_figures_shows_none() -> None:
    client = _Client()
    client.unready = client_errors.ConnectionFailed("Connection refused")
    text = text_of(Watch(client).look())  # type: ignore[arg-type]
    assert "OUTAGE: no answer" in text
    assert "pending" not in text


def test_it_fits_every_terminal(subtests: pytest.Subtests) -> None:
    many = [base(n, name=f"n{n} of a customer with a long name", pending_messages=n) for n in range(1, 60)]
    for width, rows in itertools.product((20, 40, 63, 64, 99, 100, 200), (5, 24, None)):
        with subtests.test(f"{width} wide, {rows} high"):
            text = text_of(State(look(*many), parts=PARTS), width=width, rows=rows)
            assert max(len(line) for line in text.splitlines()) <= width
            if rows == 24:
                assert len(text.splitlines()) <= 24
            if width >= 64:
                assert text.index("n59") < (text.index("n58") if "n58" in text else len(text))


def test_a_page_of_the_memory_bases_says_that_there_are_more() -> None:
    text = text_of(State(look(base(), total=1_234), parts=PARTS))
    assert f"(the {BASES_SHOWN} used last of 1234)" in text


def test_paused_memory_bases_and_maintenance_are_named() -> None:
    paused = {"paused_at": "2026-01-01T00:00:00Z"}
    assert "paused     1 of 2 memory bases\n" in text_of(State(look(base(1, **paused), base(2)), parts=PARTS))
    assert "1 of 1 memory base: maintenance" in text_of(State(look(base(1, **paused)), parts=PARTS))


def test_names_cannot_control_the_terminal() -> None:
    text = text_of(State(look(base(name="\x1b]0;title\x07[red]x\u202e")), parts=PARTS))
    assert "\x1b" not in text
    assert "?]0;title?[red]x?" in text
