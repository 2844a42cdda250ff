"""`python deploy/release.py FOLDER`, where distributions and npm packages are: adds the Helm chart and the plugins, for
each file a bill of materials, and provenance and checksums of all; the same bytes for the same commit."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import runpy
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
CHART = "deploy/helm/memorybase"
# What installs the server from the plugin's folder, and what coding agents read.
PLUGIN = (
    ".claude-plugin",
    ".codex-plugin",
    "CHANGELOG.md",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "api",
    "clients/claude-code",
    "clients/codex",
    "clients/python/src",
    "constraints.txt",
    "gemini-extension.json",
    "memorybase",
    "migrations",
    "overrides.txt",
    "pyproject.toml",
    "skills",
    "worker",
)
# What the bytes of a release depend on besides the sources: the versions of everything that builds it.
LOCKS = ("constraints.txt", "clients/typescript/package-lock.json", "clients/n8n/package-lock.json")
CYCLONEDX = ROOT / ".venv-deploy" / "bin" / "cyclonedx-py"
BUILD = runpy.run_path(str(ROOT / "deploy" / "build.py"))
SLIM = runpy.run_path(str(ROOT / "deploy" / "slim_requirements.py"))
VERSION = runpy.run_path(str(ROOT / "memorybase" / "__init__.py"))["__version__"]
OWNER = tomllib.loads((ROOT / "deploy" / "publication.toml").read_text(encoding="utf-8"))["owner"]
REPOSITORY = f"https://github.com/{OWNER}/memorybase"

Bill = dict[str, Any]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python deploy/release.py FOLDER")
    folder = Path(sys.argv[1]).resolve()
    commit = clean_commit()
    epoch = BUILD["source_date_epoch"]()
    pack_chart(folder, epoch)
    pack_plugins(folder, epoch)
    files = sorted(path for path in folder.iterdir() if not path.name.endswith((".json", "SHA256SUMS")))
    for file, bill in bills(files).items():
        write_json(folder / f"{file.name}.cdx.json", bill)
    statement = folder / f"memorybase-{VERSION}.provenance.json"
    subjects = sorted(path for path in folder.iterdir() if path.name not in {statement.name, "SHA256SUMS"})
    write_json(statement, provenance(subjects, commit, epoch))
    sums = "".join(f"{sha256(path)}  {path.name}\n" for path in sorted([*subjects, statement]))
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    sys.stdout.write(sums)


def clean_commit() -> str:
    """The commit that the provenance names; what is not in it would make the statement false."""
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        sys.exit(f"error: a provenance names the commit that it is of. Commit or stash first:\n{changed}")
    return git("rev-parse", "HEAD").strip()


def git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tracked(*paths: str) -> list[str]:
    return sorted(git("ls-files", "--", *paths).splitlines())


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


# Chart and plugins


def pack_chart(folder: Path, epoch: int) -> None:
    """As `helm package`, which writes times of files and its own."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in tracked(CHART):
            content = (ROOT / name).read_bytes()
            member = tarfile.TarInfo(f"memorybase/{name.removeprefix(f'{CHART}/')}")
            member.size, member.mtime, member.mode = len(content), epoch, 0o644
            archive.addfile(member, io.BytesIO(content))
    target = folder / f"memorybase-{VERSION}.tgz"
    with target.open("wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=epoch) as packed:
        packed.write(plain.getvalue())


def pack_plugins(folder: Path, epoch: int) -> None:
    """Dify's by its own script; for coding agents, a folder that they take as a marketplace or an extension."""
    subprocess.run([sys.executable, ROOT / "clients" / "dify" / "package.py", folder], check=True, capture_output=True)
    with zipfile.ZipFile(folder / f"memorybase-plugin-{VERSION}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in tracked(*PLUGIN):
            member = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            member.external_attr, member.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(member, (ROOT / name).read_bytes())


# Bills of materials


def bills(files: Iterable[Path]) -> dict[Path, Bill]:
    """CycloneDX's document for each file. An image brings its own, in its archive."""
    packages = python_packages()
    contents: Mapping[str, Callable[[], Bill]] = {
        f"memorybase_server-{VERSION}": lambda: chosen(packages, SLIM["direct"](), SLIM["MODEL"]),
        f"memorybase_client-{VERSION}": lambda: chosen(packages, client_requirements()),
        f"memorybase-client-{VERSION}.tgz": lambda: npm_packages("clients/typescript"),
        f"n8n-nodes-memorybase-{VERSION}.tgz": lambda: npm_packages("clients/n8n"),
        f"memorybase-{VERSION}.tgz": lambda: {"components": [image()]},
        f"memorybase-{VERSION}.difypkg": lambda: {"components": dify_requirements()},
        f"memorybase-plugin-{VERSION}.zip": lambda: {"components": []},
    }
    found = {}
    for start, content in contents.items():
        of_this = [file for file in files if file.name.startswith(start)]
        if not of_this:
            sys.exit(f"error: there must be a file {start}...; run: make dist")
        made = content()
        found |= {file: document(file, made) for file in of_this}
    return found


def document(file: Path, content: Bill) -> Bill:
    root = {
        "bom-ref": file.name,
        "type": "file",
        "name": file.name,
        "version": VERSION,
        "hashes": [{"alg": "SHA-256", "content": sha256(file)}],
        "licenses": [{"license": {"id": "MIT" if file.name.startswith("n8n-") else "Apache-2.0"}}],
    }
    components = sorted(content["components"], key=lambda each: each["bom-ref"])
    edges = {each["ref"]: sorted(each.get("dependsOn", [])) for each in content.get("dependencies", [])}
    edges[file.name] = sorted(content.get("direct", [each["bom-ref"] for each in components]))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": needs} for ref, needs in sorted(edges.items())],
    }


def python_packages() -> Bill:
    """Every package of this environment, whose versions are those of constraints.txt."""
    command = [CYCLONEDX, "environment", "--output-reproducible", "--spec-version", "1.6", sys.executable]
    found: Bill = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return found


def chosen(packages: Bill, requirements: list[Requirement], *others: str) -> Bill:
    """What these require, without what a slim installation leaves out, and these packages without theirs."""
    names = {*SLIM["closure"](requirements), *others}
    direct = {*(canonicalize_name(each.name) for each in requirements), *others}
    components = {canonicalize_name(each["name"]): each for each in packages["components"]}
    if missing := names - components.keys():
        sys.exit(f"error: these must be installed, to be listed: {', '.join(sorted(missing))}")
    refs = {components[name]["bom-ref"] for name in names}
    return {
        "components": [components[name] for name in names],
        "direct": [components[name]["bom-ref"] for name in names & direct],
        "dependencies": [
            {"ref": each["ref"], "dependsOn": [ref for ref in each.get("dependsOn", []) if ref in refs]}
            for each in packages["dependencies"]
            if each["ref"] in refs
        ],
    }


def client_requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(text) for text in project["dependencies"]]


def npm_packages(project: str) -> Bill:
    """What the package brings when it is installed, by its lock file."""
    command = ["npm", "sbom", "--sbom-format=cyclonedx", "--package-lock-only"]
    command += ["--omit=dev", "--omit=optional", "--omit=peer"]
    found = json.loads(subprocess.run(command, cwd=ROOT / project, check=True, capture_output=True).stdout)
    edges = {each["ref"]: each for each in found["dependencies"]}
    direct = edges.pop(found["metadata"]["component"]["bom-ref"])["dependsOn"]
    return {"components": found["components"], "direct": direct, "dependencies": list(edges.values())}


def image() -> Bill:
    return {"bom-ref": "image", "type": "container", "name": f"ghcr.io/{OWNER}/memorybase", "version": VERSION}


def dify_requirements() -> list[Bill]:
    lines = (ROOT / "clients" / "dify" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [
        {
            "bom-ref": each.name,
            "type": "library",
            "name": each.name,
            "purl": f"pkg:pypi/{canonicalize_name(each.name)}",
            "properties": [{"name": "memorybase:versions", "value": str(each.specifier)}],  # Dify chooses one
        }
        for each in map(Requirement, lines)
    ]


# Provenance


def provenance(subjects: Iterable[Path], commit: str, epoch: int) -> dict[str, Any]:
    """A statement of in-toto with SLSA's predicate. Unsigned: whoever publishes signs it."""
    locks = [{"name": name, "digest": {"sha256": sha256(ROOT / name)}} for name in LOCKS]
    tools = {"python": platform.python_version(), "setuptools": installed("setuptools")}
    for name in ("node", "npm"):
        tools[name] = subprocess.run([name, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": sha256(path)}} for path in subjects],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{REPOSITORY}/blob/{VERSION}/docs/howto/release.md",
                "externalParameters": {"command": "make dist", "version": VERSION},
                "internalParameters": {"SOURCE_DATE_EPOCH": epoch},
                "resolvedDependencies": [{"uri": f"git+{REPOSITORY}", "digest": {"gitCommit": commit}}, *locks],
            },
            "runDetails": {
                "builder": {"id": os.environ.get("BUILDER_ID", f"{REPOSITORY}/maintainers"), "version": tools}
            },
        },
    }


if __name__ == "__main__":
    main()
