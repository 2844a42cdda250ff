"""What `make dist` built, each file read by what will read it: `make check-dist` builds it and runs these tests."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from harness.charts import REQUIRED, by_helm
from harness.process import run

from memorybase import __version__

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
TOOLS = ROOT / ".venv-deploy" / "bin"
SHIPPED = {
    f"memorybase_server-{__version__}.tar.gz",
    f"memorybase_server-{__version__}-py3-none-any.whl",
    f"memorybase_client-{__version__}.tar.gz",
    f"memorybase_client-{__version__}-py3-none-any.whl",
    f"memorybase-client-{__version__}.tgz",
    f"n8n-nodes-memorybase-{__version__}.tgz",
    f"memorybase-{__version__}.tgz",
    f"memorybase-{__version__}.difypkg",
    f"memorybase-plugin-{__version__}.zip",
}
IMAGE = f"memorybase-image-{__version__}.tar"  # where Docker is
PROVENANCE = f"memorybase-{__version__}.provenance.json"
# Each of these must accept what is on its standard input.
STATEMENT = """
import sys
from google.protobuf.json_format import Parse, ParseDict, MessageToDict
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1.statement_pb2 import Statement
statement = Parse(sys.stdin.read(), Statement())
ParseDict(MessageToDict(statement.predicate), Provenance())
"""
BILL = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(str(JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read()) or "") or None)
"""


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    assert (DIST / "SHA256SUMS").exists(), "run: make check-dist"


def read_json(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DIST / name).read_text(encoding="utf-8"))
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def accepted(code: str, text: str) -> bool:
    done = subprocess.run([TOOLS / "python", "-c", code], input=text, check=False, text=True, capture_output=True)
    return done.returncode == 0


def test_each_file_has_a_bill_of_materials_and_all_have_checksums() -> None:
    found = {path.name for path in DIST.iterdir()} - {IMAGE}
    assert found == SHIPPED | {f"{name}.cdx.json" for name in SHIPPED} | {PROVENANCE, "SHA256SUMS"}
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=DIST)
    listed = {line.split()[1] for line in (DIST / "SHA256SUMS").read_text(encoding="utf-8").splitlines()}
    assert listed - {IMAGE} == found - {"SHA256SUMS"}


def test_pypi_accepts_the_distributions() -> None:
    files = sorted(DIST.glob("*.whl")) + sorted(DIST.glob("*.tar.gz"))
    assert run(TOOLS / "twine", "check", "--strict", *files).count("PASSED") == 4
    # W004: revisions of Alembic begin with a digit. W009: the server's processes are packages beside `memorybase`.
    run(TOOLS / "check-wheel-contents", "--ignore", "W004,W009", *DIST.glob("*.whl"))


@pytest.mark.parametrize("name", ["memorybase-client", "n8n-nodes-memorybase"])
def test_an_npm_package_has_what_its_manifest_names(name: str) -> None:
    with tarfile.open(DIST / f"{name}-{__version__}.tgz") as archive:
        files = {member.name.removeprefix("package/") for member in archive.getmembers()}
        manifest = json.load(archive.extractfile("package/package.json") or pytest.fail("no manifest"))
    assert (manifest["name"], manifest["version"]) == (name, __version__)
    assert {"README.md", "LICENSE"} <= files
    named = set(re.findall(r'"(?:\./)?(dist/[^"]+)"', json.dumps(manifest)))
    assert len(named) >= 3
    assert named <= files


def test_helm_loads_the_chart_with_each_of_its_files() -> None:
    archive = DIST / f"memorybase-{__version__}.tgz"
    found, of_the_folder = by_helm(archive, REQUIRED), by_helm(ROOT / "deploy/helm/memorybase", REQUIRED)
    assert (found["name"], found["version"]) == ("memorybase", __version__)
    assert found["rendered"] == of_the_folder["rendered"]
    with tarfile.open(archive) as packed:
        assert {member.name.partition("/")[0] for member in packed.getmembers()} == {"memorybase"}
        assert "memorybase/values.schema.json" in packed.getnames()


def test_the_plugin_has_the_files_that_its_manifests_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(DIST / f"memorybase-plugin-{__version__}.zip") as archive:
        archive.extractall(tmp_path)
    for manifest in (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json"):
        read = json.loads((tmp_path / manifest).read_text(encoding="utf-8"))
        assert read["version"] == __version__
        for name in ("hooks", "mcpServers", "skills"):
            if isinstance(read.get(name), str):
                assert (tmp_path / read[name]).exists(), f"{manifest}: {read[name]}"
    commands = run(
        "git", "grep", "-hoE", r"(CLAUDE_PLUGIN_ROOT|extensionPath)\}/[^\"]+\.py", "--", "clients/claude-code"
    )
    for command in commands.split():
        assert (tmp_path / command.partition("}/")[2]).exists(), command
    # What its first start installs.
    run(
        sys.executable, "-c", "import setuptools.build_meta as b; b.prepare_metadata_for_build_wheel('.')", cwd=tmp_path
    )


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_bill_of_materials_is_valid_and_of_its_file(name: str) -> None:
    bill = read_json(f"{name}.cdx.json")
    assert accepted(BILL, json.dumps(bill))
    assert bill["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": sha256(DIST / name)}]
    refs = {name, *(each["bom-ref"] for each in bill["components"])}
    assert {each["ref"] for each in bill["dependencies"]} <= refs
    assert {needed for each in bill["dependencies"] for needed in each["dependsOn"]} <= refs


def test_the_bill_of_the_server_lists_the_slim_installation() -> None:
    bill = read_json(f"memorybase_server-{__version__}-py3-none-any.whl.cdx.json")
    assert not accepted(BILL, json.dumps(bill | {"components": [{"name": 1}]}))
    found = {(re.sub(r"[-_.]+", "-", each["name"]).lower(), each["version"]) for each in bill["components"]}
    listed = (ROOT / "requirements-slim.txt").read_text(encoding="utf-8").splitlines()
    assert found == {tuple(line.split("==")) for line in listed if "==" in line}


def test_the_provenance_is_a_statement_of_this_commit_about_every_file() -> None:
    statement = read_json(PROVENANCE)
    assert accepted(STATEMENT, json.dumps(statement))
    assert not accepted(STATEMENT, json.dumps(statement | {"predicate": {"buildDefinition": 1}}))
    digests = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    files = [path for path in DIST.iterdir() if path.name not in {PROVENANCE, "SHA256SUMS"}]
    assert digests == {path.name: sha256(path) for path in files}
    (source, *locks) = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": run("git", "rev-parse", "HEAD").strip()}
    assert {each["name"]: each["digest"]["sha256"] for each in locks} == {
        each["name"]: sha256(ROOT / each["name"]) for each in locks
    }


def test_chart_plugins_bills_and_provenance_are_the_same_bytes_again(tmp_path: Path) -> None:
    for name in SHIPPED:
        if name.endswith((".tar.gz", ".whl")) or "-client-" in name or name.startswith("n8n-"):
            (tmp_path / name).write_bytes((DIST / name).read_bytes())
    for image in DIST.glob(IMAGE):
        (tmp_path / IMAGE).hardlink_to(image)
    run(sys.executable, "deploy/release.py", tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text(encoding="utf-8") == (DIST / "SHA256SUMS").read_text(encoding="utf-8")
