from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from harness.spans import recorded_spans

from memorybase.core import telemetry, tracing
from memorybase.core.settings import Settings


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    telemetry.configure(Settings(log_format="json"), stream=stream)
    return stream


def lines_of(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_an_event_with_its_fields(stream: io.StringIO) -> None:
    telemetry.get_logger("memorybase.jobs").info("job_ended", outcome="done", messages=3)

    (line,) = lines_of(stream)
    assert line["event"] == "job_ended"
    assert line["logger"] == "memorybase.jobs"
    assert line["level"] == "info"
    assert line["messages"] == 3
    assert line["timestamp"].endswith("Z")


def test_bound_fields_are_on_every_line_inside_the_block_and_on_none_after(stream: io.StringIO) -> None:
    with telemetry.bound(job_id="j1"):
        telemetry.get_logger().info("inside")
        logging.getLogger("a.library").warning("inside too")
    telemetry.get_logger().info("after")

    assert [line.get("job_id") for line in lines_of(stream)] == ["j1", "j1", None]


def test_lines_inside_a_span_name_its_trace(stream: io.StringIO) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    with recorded_spans():
        with tracing.within([tracing.begin("POST", "server", f"00-{trace_id}-b7ad6b7169203331-01")]):
            telemetry.get_logger().info("inside")
        telemetry.get_logger().info("outside")

    assert [line.get("trace_id") for line in lines_of(stream)] == [trace_id, None]


def test_fields_that_would_carry_text_or_secrets_are_withheld(stream: io.StringIO) -> None:
    telemetry.get_logger().info("captured", content="my diary", api_key="mb_secret", messages=["a"], seq=4)
    logging.getLogger("a.library").warning("stored", extra={"document": "my diary"})

    assert "diary" not in stream.getvalue()
    assert "mb_secret" not in stream.getvalue()
    assert lines_of(stream)[0]["content"] == "[withheld]"
    assert lines_of(stream)[0]["seq"] == 4


def test_a_traceback_carries_frames_and_first_lines_only(stream: io.StringIO) -> None:
    def refuse(text: str) -> None:
        raise ValueError(f"invalid input\nDETAIL: row ({text})")

    def write(text: str) -> None:
        try:
            refuse(text)
        except ValueError as exc:
            raise RuntimeError("the write failed") from exc

    text = "my diary"
    try:
        write(text)
    except RuntimeError:
        telemetry.get_logger().exception("write_failed")

    (line,) = lines_of(stream)
    assert "RuntimeError: the write failed" in line["exception"]
    assert "caused by ValueError: invalid input" in line["exception"]
    assert "test_telemetry.py" in line["exception"]
    assert text not in stream.getvalue()


def test_an_error_is_described_without_credentials_and_in_bounds() -> None:
    described = telemetry.describe_error(ConnectionError("redis://user:hunter2@host:6379/0 refused " + "x" * 1000))

    assert described.startswith("ConnectionError: redis://host:6379/0 refused")
    assert "hunter2" not in described
    assert len(described) < 400


def test_what_other_libraries_log_looks_the_same(stream: io.StringIO) -> None:
    logging.getLogger("celery.worker").warning("lost %s", "connection")

    (line,) = lines_of(stream)
    assert line["event"] == "lost connection"
    assert line["logger"] == "celery.worker"


def test_the_level_is_the_settings(stream: io.StringIO) -> None:
    telemetry.configure(Settings(log_format="json", log_level="WARNING"), stream=stream)

    telemetry.get_logger().info("quiet")
    logging.getLogger("a.library").info("quiet")
    telemetry.get_logger().warning("heard")

    assert [line["event"] for line in lines_of(stream)] == ["heard"]


def test_requests_of_http_clients_are_not_logged_at_info(stream: io.StringIO) -> None:
    logging.getLogger("httpx").info("HTTP Request: POST http://127.0.0.1/")

    assert stream.getvalue() == ""


def test_configuring_twice_writes_each_line_once(stream: io.StringIO) -> None:
    telemetry.configure(Settings(log_format="json"), stream=stream)

    telemetry.get_logger().info("once")

    assert len(lines_of(stream)) == 1


def test_the_console_shows_event_and_fields_and_no_local_variables() -> None:
    stream = io.StringIO()
    telemetry.configure(Settings(log_format="console"), stream=stream)
    diary = "my " + "diary"
    try:
        int("no number")
    except ValueError:
        telemetry.get_logger().exception("broke", job_id="j1")

    assert "broke" in stream.getvalue()
    assert "job_id=j1" in stream.getvalue()
    assert "test_telemetry.py" in stream.getvalue()
    assert diary not in stream.getvalue()
