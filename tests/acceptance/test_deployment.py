"""Dockerfile, compose files, units and Helm chart, each checked by its own tool.

`make check-deploy` installs the tools and runs these tests; nothing here is downloaded. Neither a container nor a
cluster is started: what the processes do without torch, capabilities and a writable file system is in
test_slim_installation.py.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from harness.charts import CHART, REQUIRED, by_helm, chart, render, rendered, values_of
from harness.process import run

from memorybase import __version__
from memorybase.core.settings import ENVIRONMENT_PREFIX, Settings

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-deploy" / "bin"
UNITS = ROOT / "deploy" / "systemd"
# From the oldest supported version on; see kubeVersion in Chart.yaml.
KUBERNETES = ("1.27", "1.32", "1.37")
MAX_EXPOSURE = 2.0  # of 10, by systemd-analyze security
COMPOSE = ("docker-compose.yml", "docker-compose.pgvector.yml")

INGRESS = {"enabled": True, "className": "nginx", "host": "memory.example.com", "tlsSecret": "tls"}
SETTINGS = {"MEMORYBASE_LOG_LEVEL": "DEBUG", "MEMORYBASE_MAX_BODY_BYTES": 1048576}
SETTINGS |= {"MEMORYBASE_WEB": False, "MEMORYBASE_LEASE_SECONDS": 0.5}
EVERYTHING: Mapping[str, Any] = {
    "image": {"repository": "registry.example.com/memorybase", "digest": f"sha256:{'a' * 64}", "pullSecrets": ["pull"]},
    "database": {"directKey": "direct"},
    "vectorStore": "pgvector",
    "broker": {"existingSecret": "rabbitmq"},
    "chroma": {"existingSecret": "token"},
    "pgvector": {"existingSecret": "vectors"},
    "settings": SETTINGS,
    "env": [
        {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0.1"},
        {"name": "MEMORYBASE_EMBEDDING_KEY", "valueFrom": {"secretKeyRef": {"name": "models", "key": "embedding"}}},
    ],
    "api": {"ingress": INGRESS | {"annotations": {"a": "b"}}},
    "worker": {"autoscaling": {"enabled": True, "metricSelector": {"namespace": "default"}}},
    "networkPolicy": {"apiFrom": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
    "serviceMonitor": {"enabled": True, "existingSecret": "metrics", "labels": {"release": "prometheus"}},
    "podAnnotations": {"c": "d"},
    "podLabels": {"team": "memory"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}
VARIANTS: dict[str, tuple[Mapping[str, Any], ...]] = {"smallest": (REQUIRED,), "everything": (REQUIRED, EVERYTHING)}


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    assert (ROOT / ".venv-deploy" / ".installed").exists(), "run: make check-deploy"


# Docker


def test_hadolint_finds_nothing_in_the_dockerfile(tmp_path: Path) -> None:
    assert run(TOOLS / "hadolint", "Dockerfile") == ""
    broken = tmp_path / "Dockerfile"
    broken.write_text("FROM python:latest\nRUN cd /tmp\n")
    assert subprocess.run([TOOLS / "hadolint", broken], check=False, capture_output=True).returncode != 0


def test_each_path_that_the_dockerfile_copies_is_in_the_context() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = [
        path
        for line in re.findall(r"^COPY (?!--from)(.*)", text, flags=re.MULTILINE)
        for path in line.split()[:-1]
        if not path.startswith("--")
    ]
    assert copied
    assert [path for path in copied if not (ROOT / path).exists() or path.split("/")[0] in ignored] == []


@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_file_follows_the_specification(name: str, tmp_path: Path) -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")
    run(TOOLS / "check-jsonschema", *schema, name)
    text = (ROOT / name).read_text(encoding="utf-8").replace("services:", "services:\n  typo: {imagee: x}\n", 1)
    (tmp_path / name).write_text(text)
    broken = [TOOLS / "check-jsonschema", *schema, tmp_path / name]
    assert subprocess.run(broken, check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("names", [COMPOSE[:1], COMPOSE])
def test_compose_accepts_the_files(names: tuple[str, ...]) -> None:
    files = [word for name in names for word in ("--file", name)]
    secrets = {"MEMORYBASE_API_KEY": "a", "POSTGRES_PASSWORD": "b", "REDIS_PASSWORD": "c"}
    printed = run(TOOLS / "docker-compose", *files, "config", "--format", "json", env=secrets)
    assert {"api", "backup", "worker"} <= json.loads(printed)["services"].keys()


@pytest.mark.parametrize("name", COMPOSE)
def test_an_image_of_another_project_has_a_version(name: str) -> None:
    services = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["services"]
    images = [service["image"] for service in services.values() if "image" in service and "build" not in service]
    assert images
    assert [image for image in images if not re.search(r":[a-z]*\d", image)] == []


# systemd


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a machine on which the units are installed as the guide says."""
    assert shutil.which("systemd-analyze"), "install systemd: apt-get install systemd"
    root = tmp_path_factory.mktemp("machine")
    shutil.copytree("/usr/lib/systemd/system", root / "usr/lib/systemd/system", symlinks=True)
    shutil.copytree(UNITS, root / "etc/systemd/system")
    programs = root / "opt/memorybase/bin"
    programs.mkdir(parents=True)
    for name in ("python", "celery", "memorybase"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    return root


SERVICES = tuple(f"memorybase-{name}.service" for name in ("api", "worker@1", "sweeper", "migrate"))


def test_systemd_accepts_the_units(machine: Path) -> None:
    verify = ("systemd-analyze", "verify", f"--root={machine}")
    assert run(*verify, *SERVICES, "memorybase.target", cwd=machine) == ""
    wrong = machine / "etc/systemd/system/wrong.service"
    wrong.write_text("[Service]\nExecStart=/opt/memorybase/bin/python\nRestrat=always\n")
    assert "Restrat" in run(*verify, "wrong.service", cwd=machine)


@pytest.mark.parametrize("unit", SERVICES)
def test_a_service_is_confined(machine: Path, unit: str) -> None:
    printed = run("systemd-analyze", "security", "--offline=true", f"--root={machine}", unit)
    found = re.search(r"Overall exposure level for .*: ([\d.]+)", printed)
    assert found is not None, printed
    assert float(found[1]) <= MAX_EXPOSURE
    assert re.search(r"✓ UMask=", printed), "files of the service must be private"


# Helm


def objects(kind: str, *changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The rendered objects of a kind by name."""
    return {each["metadata"]["name"]: each for each in render(*(changes or (REQUIRED,))) if each["kind"] == kind}


def pods(*changes: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for each in render(*changes):
        if each["kind"] in {"Deployment", "Job"}:
            yield each["metadata"]["name"], each["spec"]["template"]["spec"]


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_kubernetes_accepts_what_the_chart_renders(variant: str, version: str, tmp_path: Path) -> None:
    files = []
    for position, each in enumerate(render(*VARIANTS[variant])):
        if each["apiVersion"] == "monitoring.coreos.com/v1":
            continue  # of the Prometheus operator, whose schema is not among Kubernetes' own
        files.append(tmp_path / f"{position}.yaml")
        files[-1].write_text(yaml.safe_dump(each))
    assert len(files) >= 10
    run(TOOLS / "kubernetes-validate", "--strict", "-k", version, *files)


def test_an_unknown_field_would_be_found(tmp_path: Path) -> None:
    (job,) = objects("Job").values()
    job["spec"]["template"]["spec"]["restartPolicies"] = "Never"
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    validate = [TOOLS / "kubernetes-validate", "--strict", "-k", KUBERNETES[-1], tmp_path / "job.yaml"]
    assert subprocess.run(validate, check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_helm_finds_nothing_in_the_chart(variant: str) -> None:
    found = by_helm(CHART, *VARIANTS[variant])["lint"]
    assert found["total_charts_linted"] == 1
    assert [each["error"] for each in found["messages"]] == ["icon is recommended"]
    assert found["errors"] == []


def test_helm_finds_an_error_in_a_chart(tmp_path: Path) -> None:
    broken = shutil.copytree(CHART, tmp_path / "memorybase")
    (broken / "Chart.yaml").write_text((CHART / "Chart.yaml").read_text(encoding="utf-8").replace("0.1.0", "x.y"))
    with pytest.raises(AssertionError, match="version"):
        by_helm(broken, REQUIRED)


def test_migrations_run_before_the_pods_of_an_installation_and_of_an_upgrade() -> None:
    (job,) = objects("Job").values()
    annotations = job["metadata"]["annotations"]
    assert set(annotations["helm.sh/hook"].split(",")) == {"pre-install", "pre-upgrade"}
    assert "before-hook-creation" in annotations["helm.sh/hook-delete-policy"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["memorybase", "migrate"]
    # A hook runs before the release's other objects exist.
    names = {name for each in render(REQUIRED, EVERYTHING) if each is not job for name in [each["metadata"]["name"]]}
    text = json.dumps(job["spec"])
    assert not [name for name in names if f'"{name}"' in text]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_pod_is_confined_and_bounded(variant: str) -> None:
    found = dict(pods(*VARIANTS[variant]))
    assert len(found) == 4
    for name, pod in found.items():
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["automountServiceAccountToken"] is False, name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]
        assert {each["mountPath"] for each in container["volumeMounts"]} == {"/data", "/tmp"}


def test_a_worker_gets_less_of_the_processor_than_an_api() -> None:
    shares = {name: pod["containers"][0]["resources"]["requests"]["cpu"] for name, pod in pods(REQUIRED)}
    assert int(shares["mem-memorybase-worker"][:-1]) < int(shares["mem-memorybase-api"][:-1])


def test_secrets_come_from_existing_secrets_alone() -> None:
    assert not objects("Secret", REQUIRED, EVERYTHING)
    for _, pod in pods(REQUIRED, EVERYTHING):
        variables = {each["name"]: each for container in pod["containers"] for each in container["env"]}
        databases = "DATABASE_URL DATABASE_DIRECT_URL REDIS_URL BROKER_URL PGVECTOR_URL"
        for name in f"API_KEY CHROMA_TOKEN EMBEDDING_KEY {databases}".split():
            assert "secretKeyRef" in variables[f"{ENVIRONMENT_PREFIX}{name}"]["valueFrom"]
        settings = {name for name in variables if name.startswith(ENVIRONMENT_PREFIX)}
        known = {f"{ENVIRONMENT_PREFIX}{name.upper()}" for name in Settings.model_fields}
        assert settings <= known
        assert variables["MEMORYBASE_MAX_BODY_BYTES"]["value"] == "1048576"
        assert variables["MEMORYBASE_LEASE_SECONDS"]["value"] == "0.5"
        assert variables["MEMORYBASE_WEB"]["value"] == "false"
        assert variables["OTEL_TRACES_SAMPLER_ARG"]["value"] == "0.1"


def test_prometheus_gets_a_key_of_its_own() -> None:
    (monitor,) = objects("ServiceMonitor", REQUIRED, EVERYTHING).values()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": "metrics", "key": "api-key"}


def test_probes_of_the_api_restart_it_only_if_it_does_not_answer() -> None:
    (container,) = objects("Deployment")["mem-memorybase-api"]["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health/live", "port": "http"}
    assert container["readinessProbe"]["httpGet"]["path"] == "/health/live"
    chosen = objects("Deployment", REQUIRED, {"api": {"readinessPath": "/health/ready"}})["mem-memorybase-api"]
    (container,) = chosen["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"


def test_workers_scale_by_the_age_of_the_oldest_pending_message() -> None:
    assert objects("HorizontalPodAutoscaler") == {}
    (scaler,) = objects("HorizontalPodAutoscaler", REQUIRED, EVERYTHING).values()
    (metric,) = scaler["spec"]["metrics"]
    name = metric["external"]["metric"]["name"]
    assert f"`{name}`" in (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    worker = objects("Deployment", REQUIRED, EVERYTHING)[scaler["spec"]["scaleTargetRef"]["name"]]
    assert "replicas" not in worker["spec"], "an upgrade would undo what the autoscaler chose"


def test_selectors_choose_the_pods_of_their_component() -> None:
    found = render(REQUIRED, EVERYTHING)
    templates = {each["metadata"]["name"]: each["spec"]["template"] for each in found if each["kind"] == "Deployment"}
    (service,) = [each for each in found if each["kind"] == "Service"]
    assert service["spec"]["selector"].items() <= templates["mem-memorybase-api"]["metadata"]["labels"].items()
    budgets = [each for each in found if each["kind"] == "PodDisruptionBudget"]
    assert len(budgets) == len(templates) == 3
    for budget in budgets:
        labels = templates[budget["metadata"]["name"]]["metadata"]["labels"]
        assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_notes_name_the_api() -> None:
    notes = rendered(REQUIRED)["templates/NOTES.txt"]
    assert "exec deploy/mem-memorybase-api -- memorybase doctor" in notes


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "existingSecret"),
        ({**REQUIRED, "image": {"tag": "latest"}}, "tag"),
        ({**REQUIRED, "image": {"digest": "sha256:short"}}, "digest"),
        ({**REQUIRED, "chroma": {"url": ""}}, "url"),
        ({**REQUIRED, "settings": {"MEMORYBASE_API_KEY": "secret"}}, "settings"),
        ({**REQUIRED, "settings": {"LOG_LEVEL": "DEBUG"}}, "settings"),
        ({**REQUIRED, "env": [{"name": "MEMORYBASE_REDIS_URL", "value": "redis://redis"}]}, "env"),
        ({**REQUIRED, "env": [{"value": "x"}]}, "env"),
        ({**REQUIRED, "serviceMonitor": {"enabled": True}}, "serviceMonitor"),
        ({**REQUIRED, "workers": {}}, ""),
        ({**REQUIRED, "api": {"ingress": {"enabled": True}}}, "ingress"),
        ({**REQUIRED, "api": {"replicas": 0}}, "replicas"),
    ],
)
def test_the_schema_refuses_values_that_would_not_work(changes: Mapping[str, Any], field: str) -> None:
    with pytest.raises(jsonschema.ValidationError) as refused:
        values_of(changes)
    assert field in "/".join(map(str, refused.value.absolute_path)) or not field


def test_the_chart_has_the_version_of_memorybase() -> None:
    assert chart()["version"] == chart()["appVersion"] == __version__
