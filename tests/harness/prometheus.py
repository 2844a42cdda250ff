"""Prometheus, of Debian's package, scraping one API with the alerts of deploy/."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.dashboards import ALERTS
from harness.process import PortServer


class PrometheusServer(PortServer):
    name = "prometheus"

    def __init__(self, directory: Path, api_url: str) -> None:
        super().__init__(directory)
        self._program = shutil.which("prometheus")
        if self._program is None:
            pytest.skip("needs prometheus: apt-get install prometheus")
        target = {"targets": [api_url.removeprefix("http://")]}
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(ALERTS)],
            "scrape_configs": [{"job_name": "memorybase", "static_configs": [target]}],
        }
        (directory / "prometheus.yml").write_text(json.dumps(config))

    def command(self) -> list[str]:
        assert self._program is not None
        return [
            self._program,
            f"--config.file={self.directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.directory / 'series'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]

    def answers(self) -> bool:
        try:
            return self._get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that the expression is now."""
        answer = self._get("/api/v1/query", query=expression).raise_for_status().json()
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def firing(self) -> set[str]:
        """The alerts that are pending or firing."""
        answer = self._get("/api/v1/alerts").raise_for_status().json()
        return {alert["labels"]["alertname"] for alert in answer["data"]["alerts"]}

    def _get(self, path: str, **parameters: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", params=parameters, timeout=10, trust_env=False)
