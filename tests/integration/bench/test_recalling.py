"""The benchmarks of recall on a small made history, through the API."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import context
import lives
import pytest
import recall
import scores
from harness.api import Api
from harness.clients import client_of
from memorybase_client import Client
from recalling import corpora, counting, evidence, formats
from recalling.corpora import Corpus
from recalling.loading import Loaded
from runs import Run

from memorybase.core.search.scoring import EVIDENCE
from memorybase.core.search.search import SearchRequest, search
from memorybase.features.lab.metrics import judge

SAID = (
    ("My cat is called Minka and she is grey.", "A grey cat called Minka: noted."),
    ("We moved the boat to berth twelve yesterday.", "Berth twelve is close to the crane."),
    ("The dentist moved my appointment to Friday.", "Friday it is."),
)


def session(number: int, said: str, answered: str) -> dict[str, Any]:
    question = {"id": f"m{number}", "role": "user", "content": said}
    messages = [question, {"id": f"a{number}", "role": "assistant", "content": answered}]
    return {"session_id": f"s{number}", "start": f"2026-03-0{number + 1}T10:00:00+00:00", "messages": messages}


HISTORY = {
    "about": "a made person",
    "today": "2026-03-10",
    "sessions": [session(number, *pair) for number, pair in enumerate(SAID)],
    "questions": [
        {"kind": "about me", "question": "What is my grey cat called?", "answers": ["m0", "a0"], "pattern": "Minka"},
        {"kind": "number", "question": "Which berth is the boat moved to?", "answers": ["m1"], "pattern": "twelve"},
        {"kind": "small talk", "question": "thanks a lot", "answers": []},
        {"kind": "no answer", "question": "zeppelin quasar trombone", "answers": []},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "life-9.json"
    written.write_text(json.dumps(HISTORY))
    return written


@pytest.fixture
def client(api: Api, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of the test's API, of which this process is the worker."""
    opened = client_of(api)

    def ingest(base_id: UUID, **_: Any) -> None:
        api.post(f"/memories/{base_id}/flush", expect=(200, 202))
        api.work()

    monkeypatch.setattr(opened, "wait_until_searchable", ingest)
    return opened


def test_a_history_is_searched_and_recalled(client: Client, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    life = lives.read(file, datetime.now(UTC))
    kept = Run()
    report = lives.measure(client, [life], argparse.Namespace(budget=1_000, questions=True), kept)
    everything = report["all"]
    assert everything["all but other language"] == everything["all but other language"] | {
        "questions": 2,
        "first": 2,
        "in five": 2,
        "context": 2,
        "recalled": 2,
    }
    assert (everything["nothing answers"]["questions"], everything["nothing answers"]["recalled"]) == (2, 0)
    assert "context" not in everything["small talk"]
    assert report["life-9"]["sha256"] == life.sha256
    assert "rank" not in capsys.readouterr().out, "nothing was missed"
    assert [line["found"][:1] for line in kept.lines[:2]] == [["m0"], ["m1"]]
    assert [(line["category"], bool(line["recalled"])) for line in kept.lines[1:3]] == [
        ("number", True),
        ("small talk", False),
    ]
    assert "Minka" not in str(kept.lines), "the texts of a file stay out of its results"


def test_the_results_of_searches_and_contexts_give_their_figures_again(client: Client, file: Path) -> None:
    corpus, loaded = formats.read(file), Loaded(client)
    loaded.load(corpus.conversations[0])
    searched, shown = Run(), Run()
    judged, _ = recall.judge_mode(recall.ask(loaded, corpus, "hybrid", searched))
    assert len(searched.lines) == len(HISTORY["questions"]), "also those that nothing answers"
    answered = [line for line in searched.lines if line["evidence"]]
    assert [judge(line["category"], line["found"], line["evidence"]) for line in answered] == judged
    assert all(len(line["scores"]) == len(line["found"]) for line in searched.lines)
    chosen = argparse.Namespace(every=1, fitting=False)
    measured = context.measure_context(loaded, corpus, 1_000, chosen, shown)
    brought = [len({*line["evidence"]} & {*line["found"]}) / len(line["evidence"]) for line in shown.lines]
    assert (brought, [line["tokens"] / 1_000 for line in shown.lines]) == (measured.brought, measured.used)
    assert "Minka" not in str([searched.lines, shown.lines])


def test_messages_and_sessions_are_counted_at_several_ranks(client: Client, file: Path) -> None:
    corpus, loaded, kept = formats.read(file), Loaded(client), Run()
    loaded.load(corpus.conversations[0])
    asked = recall.ask(loaded, corpus, "hybrid", kept, sessions=True)
    counted = recall.count_cuts(asked, corpus, sessions=True)
    assert set(counted) == {counting.TURN, counting.SESSION}
    by_turn, by_session = counted[counting.TURN], counted[counting.SESSION]
    assert by_turn["recall@1"] == 0.75, "one of two messages, and the other question's only one"
    assert (by_turn["recall_any@1"], by_turn["recall_all@1"]) == (1, 0.5)
    assert {by_session[f"{name}@1"] for name in ("recall", "recall_all", "ndcg", "ndcg_any")} == {1}
    assert [line["sessions"][:1] for line in kept.lines[:2]] == [["s0"], ["s1"]]
    alone = recall.count_cuts(recall.ask(loaded, corpus, "hybrid", Run()), corpus, sessions=False)
    assert alone == {counting.TURN: by_turn}


def test_scores_are_measured_on_a_history_and_the_evidence_is_fitted(api: Api, client: Client, file: Path) -> None:
    other = {**HISTORY, "questions": [{"kind": "number", "question": "Who repaired the roof?", "answers": ["b"]}]}
    other["sessions"] = [
        {
            "session_id": "r",
            "start": "2026-03-01T10:00:00+00:00",
            "messages": [{"id": "b", "role": "user", "content": "The roof was repaired by Bo."}],
        }
    ]
    now = datetime.now(UTC)
    found = [formats.read(file), Corpus("other", [corpora.history("other", "other", other, now)])]
    assert [(corpus.name, corpus.people) for corpus in found] == [("life-9", False), ("other", False)]
    chosen = argparse.Namespace(each=1, large=0)
    kept = Run()
    report = scores.measure(Loaded(client), found, chosen, kept, api.services)
    assert {line["store"] for line in kept.lines} >= {"1 messages", "conversation"}
    assert report["evidence"]["weights"].keys() == set(evidence.NAMES)
    assert report["evidence"]["fitted"]["answered"] > report["evidence"]["fitted"]["not answered"]
    assert report["all"]["cuts"]
    assert "evidence" not in scores.measure(Loaded(client), found, chosen, Run())


def test_what_is_fitted_is_what_a_search_reads(api: Api, client: Client, file: Path) -> None:
    loaded = Loaded(client)
    loaded.load(formats.read(file).conversations[0])
    base_id = UUID(str(loaded.memories["life-9"]))
    for query in ("What is my grey cat called?", "Which berth is the boat moved to?", "zeppelin"):
        request = SearchRequest(memory_base_id=base_id, query=query, explain=True)
        parts = search(api.services, api.user_id, request).results[0].parts
        shown = evidence.shown(api.services, base_id, query)
        assert parts is not None
        assert shown is not None
        assert evidence.chance(EVIDENCE, shown) == pytest.approx(parts["evidence"], abs=1e-5)
    assert evidence.shown(api.services, base_id, "thanks a lot") is None
