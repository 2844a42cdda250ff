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

from memorybase import metrics
from memorybase.embedding import usage
from memorybase.operations import heartbeats

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
STEADY = "x90"
FIRES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "MemorybaseAbsent": ({"other": f"1{STEADY}"}, {"memorybase_database_up": f"1{STEADY}"}),
    "MemorybaseDatabaseAway": (
        {"memorybase_database_up": f"0{STEADY}"},
        {'memorybase_database_up{instance="a"}': f"0{STEADY}", 'memorybase_database_up{instance="b"}': f"1{STEADY}"},
    ),
    "MemorybasePartDown": (
        {'memorybase_part_up{part="redis"}': f"0{STEADY}"},
        {'memorybase_part_up{part="redis"}': f"1{STEADY}", 'memorybase_part_up{part="worker"}': f"0{STEADY}"},
    ),
    "MemorybaseNoProcess": (
        {'memorybase_processes{kind="sweeper"}': f"0{STEADY}", 'memorybase_processes{kind="worker"}': f"3{STEADY}"},
        {'memorybase_processes{kind="sweeper"}': f"1{STEADY}", 'memorybase_processes{kind="worker"}': f"1{STEADY}"},
    ),
    "MemorybaseQueueStalled": ({"memorybase_queue_stalled": f"1{STEADY}"}, {"memorybase_queue_stalled": f"0{STEADY}"}),
    "MemorybaseIngestionLags": (
        {"memorybase_oldest_pending_message_age_seconds": "0+60x90"},
        {"memorybase_oldest_pending_message_age_seconds": f"120{STEADY}"},
    ),
    "MemorybaseMessageNotIngested": (
        {"memorybase_oldest_uningested_message_age_seconds": "86400+60x90"},
        {"memorybase_oldest_uningested_message_age_seconds": "0+60x90"},
    ),
    "MemorybaseJobsWithoutProgress": (
        {"memorybase_jobs_without_progress": f"1{STEADY}"},
        {"memorybase_jobs_without_progress": "0 1 0 1 0 0x90"},
    ),
    "MemorybaseNewDeadLetters": ({"memorybase_dead_letters": "5x80 7x10"}, {"memorybase_dead_letters": f"7{STEADY}"}),
    "MemorybaseStoreDiffers": (
        {"memorybase_mismatched_memory_bases": f"1{STEADY}"},
        {"memorybase_mismatched_memory_bases": "1 1 0x90"},
    ),
    "MemorybaseWebhookFails": (
        {'memorybase_webhooks{state="failing"}': f"1{STEADY}", 'memorybase_webhooks{state="working"}': f"5{STEADY}"},
        {
            'memorybase_webhooks{state="failing"}': "1x40 0x5 1x45",
            'memorybase_webhooks{state="working"}': f"5{STEADY}",
            'memorybase_webhooks{state="disabled"}': f"1{STEADY}",
        },
    ),
    "MemorybaseQuotaUsedUp": (
        {'memorybase_quota_refusals_total{quota="messages_per_day",whose="key"}': "0x80 1+1x9"},
        {
            'memorybase_quota_refusals_total{quota="messages_per_day",whose="key"}': f"3{STEADY}",
            'memorybase_quota_refusals_total{quota="searches_per_minute",whose="key"}': "0+1x90",
        },
    ),
    "MemorybaseQuotaUnchecked": (
        {'memorybase_quota_unchecked_total{quota="messages_per_day"}': "_x80 1+1x9"},
        {'memorybase_quota_unchecked_total{quota="messages_per_day"}': f"3{STEADY}"},
    ),
    "MemorybaseStoreTooLarge": (
        {
            'memorybase_store_disk_bytes{store="chroma"}': f"3e9{STEADY}",
            'memorybase_store_vector_bytes{store="chroma"}': f"1e8{STEADY}",
        },
        {
            'memorybase_store_disk_bytes{store="chroma"}': f"3e9{STEADY}",
            'memorybase_store_vector_bytes{store="chroma"}': f"1e9{STEADY}",
            'memorybase_store_disk_bytes{store="pgvector"}': f"1e6{STEADY}",
            'memorybase_store_vector_bytes{store="pgvector"}': f"1{STEADY}",
        },
    ),
    "MemorybaseRequestsFail": (
        {
            'memorybase_http_requests_total{status="200"}': "0+60x90",
            'memorybase_http_requests_total{status="503"}': "0+2x90",
        },
        {
            'memorybase_http_requests_total{status="200"}': "0+6000x90",
            'memorybase_http_requests_total{status="404"}': "0+600x90",
            'memorybase_http_requests_total{status="500"}': "0+2x90",
        },
    ),
    "MemorybaseCapturesSlow": (
        {
            'memorybase_capture_seconds_bucket{le="1.0"}': "0+90x90",
            'memorybase_capture_seconds_bucket{le="2.5"}': "0+100x90",
            'memorybase_capture_seconds_bucket{le="+Inf"}': "0+100x90",
        },
        {
            'memorybase_capture_seconds_bucket{le="1.0"}': "0+99x90",
            'memorybase_capture_seconds_bucket{le="+Inf"}': "0+100x90",
        },
    ),
}


@needs_promtool
@each_row("rule", rules(), ids=[str(rule["alert"]) for rule in rules()])
def test_each_alert_fires_when_it_should_and_only_then(rule: dict[str, Any], tmp_path: Path) -> None:
    """By promtool's own tests: whether the rule's expression holds, at the end, for as long as it waits."""
    fires, rests = FIRES[rule["alert"]]
    waits = rule.get("for", "0m")
    always = f"count_over_time(({' '.join(rule['expr'].split())})[{waits}:1m])" if waits != "0m" else rule["expr"]
    minutes = {"0m": None, "1h": 60}.get(waits, int(waits.rstrip("mh")))
    held = f"count({always} >= {minutes})" if minutes else f"count({always})"
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": held,
                    "eval_time": "90m",
                    "exp_samples": [{"labels": "{}", "value": 1}] if series is fires else [],
                }
            ],
        }
        for series in (fires, rests)
    ]
    path = tmp_path / "test.yml"
    path.write_text(json.dumps({"rule_files": [str(ALERTS)], "tests": tests}))
    run_promtool("test", "rules", path)
