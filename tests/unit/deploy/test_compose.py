"""docker-compose.yml bounds what a container takes of its machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
# They grow with the data, so that any default would be wrong for somebody.
UNLIMITED = frozenset({"postgres", "chroma"})
UNITS = {"m": 1, "g": 1024}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))[
        "services"
    ]
    assert len(found) >= 7
    return found


def default(value: str) -> str:
    """A value without its variable: `${API_MEMORY:-2g}` is 2g."""
    return value.removeprefix("${").removesuffix("}").rpartition(":-")[2]


def megabytes(limit: str) -> int:
    return int(limit[:-1]) * UNITS[limit[-1]]


def test_each_container_has_a_limit_of_memory_or_a_variable_for_one(services: dict[str, dict[str, Any]]) -> None:
    limits = {name: default(service["mem_limit"]) for name, service in services.items()}
    assert {name for name, limit in limits.items() if limit == "0"} == UNLIMITED
    for name in UNLIMITED:
        assert services[name]["mem_limit"] == f"${{{name.upper()}_MEMORY:-0}}"


def test_the_limits_are_those_of_the_helm_chart(services: dict[str, dict[str, Any]]) -> None:
    values = yaml.safe_load((ROOT / "deploy/helm/memorybase/values.yaml").read_text(encoding="utf-8"))
    for name, part in {"api": "api", "worker": "worker", "sweeper": "sweeper", "migrate": "migrations"}.items():
        limit = values[part]["resources"]["limits"]["memory"].removesuffix("i").lower()
        assert megabytes(default(services[name]["mem_limit"])) == megabytes(limit), name


def test_no_default_overrides_a_line_of_memorybase_env(services: dict[str, dict[str, Any]]) -> None:
    """Compose lets `environment` win over the file, also with an empty default."""
    reading = {name: service["environment"] for name, service in services.items() if "env_file" in service}
    assert {"api", "worker", "sweeper"} <= reading.keys()
    assert not [value for environment in reading.values() for value in environment.values() if ":-" in str(value)]


def test_the_logs_of_each_container_are_rotated(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        options = service["logging"]["options"]
        assert {"max-size", "max-file"} <= options.keys(), name
        assert isinstance(options["max-file"], str), "Docker refuses a number"
