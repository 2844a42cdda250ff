"""memorybase's provider for memorybench: compiled against its interface, and driven by Node against a whole stack.

`make check-typescript` installs what it needs and runs this.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from harness.process import run

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
SAID = ("My boat lies at berth twelve.", "The dentist moved my appointment to Friday.", "Minka is a grey cat.")


def test_what_answers_is_found_and_a_cleared_container_is_empty(tmp_path: Path) -> None:
    """The command ends with an error if a cleared container has results."""
    said = [{"id": str(n), "session": str(n), "role": "user", "content": text} for n, text in enumerate(SAID)]
    asked = [{"question": "Which berth is my boat at?", "category": "fact", "evidence": ["0"]}]
    data, report = tmp_path / "boat.json", tmp_path / "report.json"
    data.write_text(json.dumps([{"id": "boat", "messages": said, "questions": asked}]))
    run(
        sys.executable,
        "bench/harness_runs.py",
        data,
        "--only",
        "memorybench",
        "--json",
        report,
        cwd=ROOT,
    )
    assert json.loads(report.read_text())["boat"]["memorybench"] == {"questions": 1, "evidence": 1.0}
