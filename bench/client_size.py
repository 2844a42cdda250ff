"""Measures what a caller installs: the Python client in an empty environment, its size and the time of its import.

    python bench/client_size.py

The time is compared with that of its two requirements, imported in the same way in turns.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "clients" / "python"
REPEATS = 15

TIMED = "import time; started = time.perf_counter(); {code}; print(time.perf_counter() - started)"
IMPORTS = {
    "import memorybase_client": "import memorybase_client",
    "Client() made": "from memorybase_client import Client; Client(key='k')",
    "first answer parsed": "from memorybase_client import Client, models; Client(key='k'); models.Liveness",
    "import httpx, pydantic": "import httpx, pydantic",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        python = installed(Path(folder, "venv"))
        sizes = sizes_of(python)
        print("| what | MB |\n|---|---|")
        for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
            print(f"| {name} | {size / 1e6:.1f} |")
        print(f"| all | {sum(sizes.values()) / 1e6:.1f} |\n\n| what | ms |\n|---|---|")
        for name, seconds in import_times(python).items():
            print(f"| {name} | {seconds * 1e3:.0f} |")


def installed(folder: Path) -> Path:
    """The interpreter of a new environment that has the client."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(PROJECT)], check=True)
    return python


def sizes_of(python: Path) -> dict[str, int]:
    """Bytes of each distribution without its compiled bytecode, but pip's."""
    code = (
        "import json; from importlib.metadata import distributions\n"
        "print(json.dumps({each.name: sum(file.locate().stat().st_size for file in each.files or []"
        " if file.suffix != '.pyc' and file.locate().exists()) for each in distributions()}))"
    )
    sizes: dict[str, int] = json.loads(output_of(python, code))
    return {name: size for name, size in sizes.items() if name not in {"pip", "setuptools"}}


def import_times(python: Path) -> dict[str, float]:
    """Seconds in a new process: the median, after one that compiles."""
    times: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(REPEATS + 1):
        for name, code in IMPORTS.items():
            times[name].append(float(output_of(python, TIMED.format(code=code))))
    return {name: statistics.median(seconds[1:]) for name, seconds in times.items()}


def output_of(python: Path, code: str) -> str:
    return subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
