"""The Helm chart, rendered by Helm: see tests/deploy/helm.py."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "memorybase"
HELM = (ROOT / ".venv-deploy" / "bin" / "python", ROOT / "tests" / "deploy" / "helm.py")

# What the chart cannot choose for an operator.
REQUIRED: Mapping[str, Any] = {
    "apiKey": {"existingSecret": "memorybase-api"},
    "database": {"existingSecret": "memorybase-db"},
    "redis": {"existingSecret": "memorybase-redis"},
    "chroma": {"url": "http://chroma:8000"},
}


def values_of(*changes: Mapping[str, Any]) -> dict[str, Any]:
    """The chart's values with these changes, checked against its schema; raises jsonschema.ValidationError."""
    values: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    for each in changes:
        values = merged(values, each)
    jsonschema.validate(values, json.loads((CHART / "values.schema.json").read_text(encoding="utf-8")))
    return values


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """As Helm merges: objects by key, everything else replaced."""
    both = dict(values)
    for name, value in changes.items():
        old = both.get(name)
        both[name] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both


def chart() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    return read


def render(*changes: Mapping[str, Any], release: str = "mem") -> list[dict[str, Any]]:
    """The objects that `helm template` would print, without empty documents."""
    texts = rendered(*changes, release=release)
    return [
        each for name in sorted(texts) if name.endswith(".yaml") for each in yaml.safe_load_all(texts[name]) if each
    ]


def rendered(*changes: Mapping[str, Any], release: str = "mem") -> dict[str, str]:
    """Each template's text."""
    texts: dict[str, str] = by_helm(CHART, *changes, release=release)["rendered"]
    return texts


def by_helm(chart: Path, *changes: Mapping[str, Any], release: str = "mem") -> dict[str, Any]:
    """What Helm says of a chart's folder or archive."""
    asked = {"chart": str(chart), "values": values_of(*changes), "release": release}
    done = subprocess.run(HELM, input=json.dumps(asked), check=False, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
