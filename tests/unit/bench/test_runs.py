"""What benchmarks leave behind, and the figures of the docs, which are made of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import runs
import tables
from chaos.cluster import Plan
from chaos.run import Report
from made.in_languages import in_languages
from recalling.corpora import Conversation, Corpus, Question
from runs import Run

from memorybase.core.settings import Settings

FOLDERS = sorted(path.parent for path in tables.RESULTS.rglob(runs.RUN))
OWN = {"made by hand", "made by rule", *in_languages()}  # the corpora of this repository
BEGINS = re.compile(r"<!-- results: [a-z]")
MOST_BYTES = 5_000_000  # of all results together


def test_the_docs_have_the_figures_of_the_results() -> None:
    differing = [str(page) for page in tables.PAGES if tables.filled(page.read_text()) != page.read_text()]
    assert not differing, f"make tables: it makes the figures of {differing} anew"
    marks = [match for page in tables.PAGES for match in tables.MARKED.findall(page.read_text())]
    assert len(marks) == sum(len(BEGINS.findall(page.read_text())) for page in tables.PAGES), "a mark is not closed"
    assert marks


def test_the_digest_of_a_folder_is_that_of_its_files_and_their_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x").write_text("1")
    one = runs.digest(tmp_path)
    assert runs.digest(tmp_path / "b" / "x") == hashlib.sha256(b"1").hexdigest()
    (tmp_path / "b" / "x").rename(tmp_path / "b" / "y")
    two = runs.digest(tmp_path)
    (tmp_path / "b" / "y").write_text("2")
    assert len({one, two, runs.digest(tmp_path)}) == 3


def test_a_changed_figure_is_seen() -> None:
    page = tables.ROOT / "bench" / "recall.md"
    text = page.read_text(encoding="utf-8")
    match = tables.MARKED.search(text)
    assert match is not None
    wrong = text[: match.start(3)] + "1" + text[match.end(3) :]
    assert tables.filled(wrong) == text
    with pytest.raises(SystemExit, match=r"a mark must name one of found.locomo, .* \(got 'recal'\)"):
        tables.filled("<!-- results: recal -->1<!-- /results -->")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_results_say_what_was_run_and_hold_no_text_of_others(folder: Path) -> None:
    run = Run.read(folder)
    about = run.report["about"]
    assert re.fullmatch(r"[0-9a-f]{40}", about["commit"]), "run it on a commit without changes"
    assert about["command"].startswith("python bench/")
    assert "chromadb" in about["versions"]
    assert run.lines or "peers" in run.report, "only faults and deletion of a comparison ask nothing"
    for line in run.lines:
        assert ("question" in line) <= (line.get("corpus") in OWN), line
    everything = json.dumps([run.report, run.lines])
    assert not re.search(r"/(home|root|tmp|work|Users)/", everything)


def test_all_results_are_small() -> None:
    assert sum(path.stat().st_size for path in tables.RESULTS.rglob("*") if path.is_file()) < MOST_BYTES


def test_a_run_is_read_as_it_was_written_and_the_same_lines_are_the_same_bytes(tmp_path: Path) -> None:
    run = Run({"about": {"at": "now"}})
    run.add(**runs.asked("Où?", ours=True), **runs.found(["a", "b"], [0.123456, 0.1]))
    run.add(**runs.asked("Où?", ours=False), **runs.found([]))
    run.write(tmp_path / "new" / "one")
    run.write(tmp_path / "two")
    assert Run.read(tmp_path / "new" / "one") == run
    assert run.lines == [
        {"question": "Où?", "found": ["a", "b"], "scores": [0.1235, 0.1]},
        {"question_sha256": "eb583e1c0f2affac", "found": []},
    ]
    one, two = (folder / runs.RESULTS for folder in (tmp_path / "new" / "one", tmp_path / "two"))
    assert one.read_bytes() == two.read_bytes()
    assert len(gzip.decompress(one.read_bytes()).splitlines()) == 2


def test_what_is_said_of_a_run_names_no_folder_address_or_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "locomo.json"
    data.write_text("[]")
    script = str(tables.ROOT / "bench" / "recall.py")
    monkeypatch.setattr(sys, "argv", [script, str(data), f"--json={tmp_path / 'out.json'}", "--modes", "hybrid"])
    settings = Settings(
        data_dir=tmp_path,
        database_url="postgresql://me:secret@host/db",
        api_key="a" * 40,
        embedding_threads=3,
        vector_store="pgvector",
    )
    about = runs.about(settings, [data])
    assert about["command"] == "python bench/recall.py locomo.json --json=out.json --modes hybrid"
    assert about["data_sha256"] == {"locomo.json": "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"}
    assert about["settings"] == {"embedding_threads": 3, "vector_store": "pgvector"}
    assert not re.search(f"secret|{tmp_path}|{'a' * 40}", json.dumps(about))


def test_texts_of_a_file_are_left_out_of_the_results() -> None:
    question = Question("Where?", "fact", frozenset({"b", "a"}))
    conversation = Conversation("one", "one", [], [question])
    ours, read = Corpus("one", [conversation]), Corpus("one", [conversation], sha256="0f")
    assert ours.line(conversation, question)["question"] == "Where?"
    line = read.line(conversation, question)
    assert "question" not in line
    assert (line["evidence"], line["category"], line["corpus"]) == (["a", "b"], "fact", "one")


def test_runs_with_faults_become_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    for name, plan in {"1": Plan(7, 60), "2": Plan(8, 60, "postgresql", vectors="pgvector")}.items():
        report = Report(asdict(plan), faults={"kill_worker": 3}, acknowledged=1_200, log=["    1.50 kill_worker a"])
        report.kept({"at": "now"}).write(tmp_path / f"faults-{name}")
        assert Run.read(tmp_path / f"faults-{name}").lines == [{"at": 1.5, "what": "kill_worker a"}]
    head, _, first, *_ = tables.faults().splitlines()
    assert head == "| | SQLite | PostgreSQL, pgvector |"
    assert first == "| seconds, seed, rate | 60, 7, 50 | 60, 8, 50 |"
    made = "<!-- results: faults.acknowledged --><!-- /results -->"
    assert tables.filled(made) == "<!-- results: faults.acknowledged -->2,400<!-- /results -->"


def test_figures_of_speed_become_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    waited = {"p50_ms": 12.6, "p95_ms": 34.4}
    rates = {"one_process": 421.4, "langchain": 99.1, "mem0": 46.6}
    peers = {name: {"messages_per_second": rate} for name, rate in rates.items()}
    reached: dict[str, Any] = {"messages_per_second": 474.2, "limit_per_second": 513.0} | peers
    searchable = {name: {"from_answer": waited} for name in ("paced", "20_messages_per_second")}
    found = {"bulk": reached, "tens": reached, "capture": waited, "postgresql": waited, "searchable": searchable}
    Run(found).write(tmp_path / "speed")
    assert "| in bulk | 474 | 421 | 513 | 99 | 47 |" in tables.throughput()
    assert "| the same on PostgreSQL | 13 ms | 34 ms |" in tables.waits()
