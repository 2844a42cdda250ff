"""The dashboards and alerts of deploy/, and the expressions in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
DASHBOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"


class Expression(NamedTuple):
    """An expression in PromQL or TraceQL, and where it is."""

    where: str
    text: str

    def in_prometheus(self, interval: str = "5m") -> str:
        """With values for Grafana's variables."""
        return self.text.replace("$__rate_interval", interval).replace("$job", ".*")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def panels(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["panels"]
    return found


def panel_expressions() -> list[Expression]:
    return [
        Expression(f"{path.stem}: {panel['title']}", target["expr"])
        for path in DASHBOARDS
        for panel in panels(path)
        for target in panel["targets"]
        if "expr" in target
    ]


def trace_queries() -> list[Expression]:
    """The queries of traces, in TraceQL."""
    return [
        Expression(f"{path.stem}: {panel['title']}", target["query"])
        for path in DASHBOARDS
        for panel in panels(path)
        for target in panel["targets"]
        if "expr" not in target
    ]


def expressions() -> list[Expression]:
    return [*panel_expressions(), *(Expression(rule["alert"], rule["expr"]) for rule in rules())]
