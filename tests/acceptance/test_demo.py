from __future__ import annotations

import json
import re
import shlex
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from harness.stack import EmbeddedStack, processes_of, run_memorybase

import memorybase

QUESTIONS = Path(memorybase.__file__).parent / "samples" / "questions.json"


@pytest.mark.slow
def test_the_demo_loses_nothing_and_its_memory_base_can_be_searched_again(tmp_path: Path) -> None:
    """One test, because a demo takes half a minute."""
    with closing(EmbeddedStack(tmp_path)) as stack:
        result = run_memorybase("demo", "--data-dir", str(stack.data))

        assert result.returncode == 0, result.stdout + result.stderr
        assert "captured 68, in the store 68, lost 0, doubled 0" in result.stdout
        assert re.search(r"kill -9 \d+: killed the worker during job", result.stdout)
        assert re.search(r"not ingested yet:.*\n.*pending", result.stdout)
        # Another worker has done the killed worker's job.
        assert re.search(r"done on attempt [2-9]", result.stdout)
        for question in json.loads(QUESTIONS.read_text(encoding="utf-8")):
            (first,) = re.findall(rf"{re.escape(question['question'])}\n +(.*)", result.stdout)
            assert question["expected"] in first
            assert float(first.split()[0]) > 0.2, "the answer stands out"
        assert "\x1b" not in result.stdout, "no terminal, no colours"
        assert processes_of(stack.data) == []

        lines = [line.strip() for line in result.stdout.splitlines()]
        up = next(line for line in lines if line.endswith(f"up --data-dir {stack.data}"))
        assert "memorybase" in up
        curl = next(line for line in lines if line.startswith("curl "))
        stack.start()
        results = _curl(curl.replace(":8000", f":{stack.port}"))
    assert any("Biscuit" in hit["content"] for hit in results)


def _curl(line: str) -> list[dict[str, str]]:
    """What the printed line does, without asking for a curl on this machine."""
    words = shlex.split(line)
    options = [(words[n], words[n + 1]) for n in range(len(words) - 1)]
    headers = dict(value.split(": ", 1) for name, value in options if name == "-H")
    key = re.fullmatch(r"Bearer \$\(cat (.+)\)", headers["Authorization"])
    assert key is not None
    headers["Authorization"] = f"Bearer {Path(shlex.split(key[1])[0]).read_text().strip()}"
    url = next(word for word in words if word.startswith("http"))
    body = json.loads(next(value for name, value in options if name == "-d"))
    answer = httpx.post(url, headers=headers, json=body, trust_env=False, timeout=60)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, str]] = answer.json()["results"]
    return results
