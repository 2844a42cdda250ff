"""Dashboards and alerts: each expression names metrics, labels and values that there are, and each alert fires."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from harness.api import Api
from harness.dashboards import ALERTS, DASHBOARDS, ROOT, Expression, expressions, panel_expressions, panels, rules
from harness.rows import each_row
from prometheus_client.parser import text_string_to_metric_families

from memorybase.core import metrics
from memorybase.core.embedding import usage
from memorybase.core.operations import heartbeats

pytestmark = pytest.mark.slow

GUIDE = ROOT / "docs" / "howto" / "observe.md"
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="NOT TESTED: no promtool, of Debian's package prometheus")

OF_A_SCRAPE = {"job", "instance"}  # labels that Prometheus adds
CLOSED = {"state", "kind"}  # labels with few values, all of which are known
_SELECTOR = re.compile(r"\b(memorybase_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")


@pytest.fixture
def exposed(api: Api) -> dict[str, dict[str, set[str]]]:
    """Every metric that a scrape shows of a process that has done everything: the values of its labels."""
    for kind in ("worker", "sweeper"):
        heartbeats.beat(api.services, f"{kind}@1", kind)  # type: ignore[arg-type]
    (api.services.settings.data_dir / "chroma").mkdir()
    metrics.REPLICA_READS.labels("replica")
    metrics.QUOTA_REFUSALS.labels("messages_per_day", "key")
    metrics.QUOTA_UNCHECKED.labels("messages_per_day")
    usage.OF_THIS_PROCESS.add("some-model", usage.Usage(requests=1))
    api.flow()
    api.capture("a")
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for family in text_string_to_metric_families(api.call("GET", "/metrics").text):
        for sample in family.samples:
            for label, value in sample.labels.items():
                found[sample.name][label].add(value)
            found[sample.name].setdefault("", set())
    return found


def wrong(expression: Expression, exposed: dict[str, dict[str, set[str]]]) -> list[str]:
    """What the expression names and does not exist."""
    found: list[str] = []
    known = set(OF_A_SCRAPE)
    for name, matchers in _SELECTOR.findall(expression.text):
        labels = exposed.get(name)
        if labels is None:
            found.append(f"{expression.where}: no metric {name}")
            continue
        known |= labels.keys()
        for label, operator, value in _MATCHER.findall(matchers):
            if label not in labels.keys() | OF_A_SCRAPE:
                found.append(f"{expression.where}: {name} has no label {label}")
            elif label in CLOSED and operator in ("=", "!=") and value not in labels[label]:
                found.append(f"{expression.where}: no {label} of {name} is {value}")
    for group in _GROUPING.findall(expression.text):
        found += [
            f"{expression.where}: no metric of it has the label {label}"
            for label in re.split(r"\s*,\s*", group.strip())
            if label not in known
        ]
    return found


def test_each_panel_and_alert_names_what_there_is(exposed: dict[str, dict[str, set[str]]]) -> None:
    assert len(expressions()) > 50
    assert [problem for each in expressions() for problem in wrong(each, exposed)] == []


@each_row(
    "text",
    [
        "max(memorybase_pending_mesages)",
        'sum(memorybase_jobs{status="queued"})',
        'max(memorybase_processes{kind="sweper"})',
        "sum by (path) (memorybase_http_requests_total)",
        "rate(memorybase_capture_seconds[5m])",
    ],
)
def test_a_mistake_would_be_found(text: str, exposed: dict[str, dict[str, set[str]]]) -> None:
    assert len(wrong(Expression("a panel", text), exposed)) == 1


def test_each_metric_is_on_a_dashboard_or_in_an_alert(exposed: dict[str, dict[str, set[str]]]) -> None:
    shown = {name for each in expressions() for name, _ in _SELECTOR.findall(each.text)}
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in exposed}
    families -= {name.removesuffix("_total") for name in families if name.endswith("_total")}
    missing = sorted(name for name in families if not any(each.startswith(name) for each in shown))
    assert missing == []


@each_row("path", DASHBOARDS)
def test_panels_say_what_they_show_and_do_not_overlap(path: Path) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in panels(path):
        assert panel["description"], panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
    assert len({panel["id"] for panel in panels(path)}) == len(panels(path))


def test_the_guide_says_what_to_do_about_each_alert() -> None:
    rows = set(re.findall(r"^\| (Memorybase\w+) \| \S", GUIDE.read_text(), flags=re.MULTILINE))
    assert rows == {rule["alert"] for rule in rules()}


# With promtool


def run_promtool(*words: str | Path) -> None:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_prometheus_accepts_the_alerts() -> None:
    run_promtool("check", "rules", ALERTS)


@needs_promtool
def test_prometheus_accepts_the_expression_of_each_panel(tmp_path: Path) -> None:
    recorded = [
        {"record": f"panel:{number}", "expr": each.in_prometheus()} for number, each in enumerate(panel_expressions())
    ]
    path = tmp_path / "panels.yml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": recorded}]}))
    run_promtool("check", "rules", path)


# Of each alert: series over an hour and a half, a value a minute, with which it fires; and with which it must not.
# Without the beginning that all names of metrics have; a number stays the same.
FIRES: dict[str, tuple[dict[str, float | str], dict[str, float | str]]] = {
    "Absent": ({"other": 1}, {"database_up": 1}),
    "DatabaseAway": ({"database_up": 0}, {'database_up{instance="a"}': 0, 'database_up{instance="b"}': 1}),
    "PartDown": ({'part_up{part="redis"}': 0}, {'part_up{part="redis"}': 1, 'part_up{part="worker"}': 0}),
    "NoProcess": (
        {'processes{kind="sweeper"}': 0, 'processes{kind="worker"}': 3},
        {'processes{kind="sweeper"}': 1, 'processes{kind="worker"}': 1},
    ),
    "QueueStalled": ({"queue_stalled": 1}, {"queue_stalled": 0}),
    "IngestionLags": ({"oldest_pending_message_age_seconds": "0+60x90"}, {"oldest_pending_message_age_seconds": 120}),
    "MessageNotIngested": (
        {"oldest_uningested_message_age_seconds": "86400+60x90"},
        {"oldest_uningested_message_age_seconds": "0+60x90"},
    ),
    "JobsWithoutProgress": ({"jobs_without_progress": 1}, {"jobs_without_progress": "0 1 0 1 0 0x90"}),
    "NewDeadLetters": ({"dead_letters": "5x80 7x10"}, {"dead_letters": 7}),
    "StoreDiffers": ({"mismatched_memory_bases": 1}, {"mismatched_memory_bases": "1 1 0x90"}),
    "WebhookFails": (
        {'webhooks{state="failing"}': 1, 'webhooks{state="working"}': 5},
        {'webhooks{state="failing"}': "1x40 0x5 1x45", 'webhooks{state="working"}': 5, 'webhooks{state="disabled"}': 1},
    ),
    "QuotaUsedUp": (
        {'quota_refusals_total{quota="messages_per_day",whose="key"}': "0x80 1+1x9"},
        {
            'quota_refusals_total{quota="messages_per_day",whose="key"}': 3,
            'quota_refusals_total{quota="searches_per_minute",whose="key"}': "0+1x90",
        },
    ),
    "QuotaUnchecked": (
        {'quota_unchecked_total{quota="messages_per_day"}': "_x80 1+1x9"},
        {'quota_unchecked_total{quota="messages_per_day"}': 3},
    ),
    "StoreTooLarge": (
        {'store_disk_bytes{store="chroma"}': 3e9, 'store_vector_bytes{store="chroma"}': 1e8},
        {
            'store_disk_bytes{store="chroma"}': 3e9,
            'store_vector_bytes{store="chroma"}': 1e9,
            'store_disk_bytes{store="pgvector"}': 1e6,
            'store_vector_bytes{store="pgvector"}': 1,
        },
    ),
    "RequestsFail": (
        {'http_requests_total{status="200"}': "0+60x90", 'http_requests_total{status="503"}': "0+2x90"},
        {
            'http_requests_total{status="200"}': "0+6000x90",
            'http_requests_total{status="404"}': "0+600x90",
            'http_requests_total{status="500"}': "0+2x90",
        },
    ),
    "CapturesSlow": (
        {
            'capture_seconds_bucket{le="1.0"}': "0+90x90",
            'capture_seconds_bucket{le="2.5"}': "0+100x90",
            'capture_seconds_bucket{le="+Inf"}': "0+100x90",
        },
        {'capture_seconds_bucket{le="1.0"}': "0+99x90", 'capture_seconds_bucket{le="+Inf"}': "0+100x90"},
    ),
}


@needs_promtool
@each_row("rule", rules(), ids=[str(rule["alert"]) for rule in rules()])
def test_each_alert_fires_when_it_should_and_only_then(rule: dict[str, Any], tmp_path: Path) -> None:
    """By promtool's own tests: whether the rule's expression holds, at the end, for as long as it waits."""
    fires, rests = FIRES[rule["alert"].removeprefix("Memorybase")]
    waits = rule.get("for", "0m")
    always = f"count_over_time(({' '.join(rule['expr'].split())})[{waits}:1m])" if waits != "0m" else rule["expr"]
    minutes = {"0m": None, "1h": 60}.get(waits, int(waits.rstrip("mh")))
    held = f"count({always} >= {minutes})" if minutes else f"count({always})"

    def case(series: dict[str, float | str], found: list[dict[str, Any]]) -> dict[str, Any]:
        values = {name: value if isinstance(value, str) else f"{value}x90" for name, value in series.items()}
        sent = [{"series": f"memorybase_{name}", "values": each} for name, each in values.items()]
        expected = {"expr": held, "eval_time": "90m", "exp_samples": found}
        return {"interval": "1m", "input_series": sent, "promql_expr_test": [expected]}

    tests = [case(fires, [{"labels": "{}", "value": 1}]), case(rests, [])]
    path = tmp_path / "test.yml"
    path.write_text(json.dumps({"rule_files": [str(ALERTS)], "tests": tests}))
    run_promtool("test", "rules", path)
