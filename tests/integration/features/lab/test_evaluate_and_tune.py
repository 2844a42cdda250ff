"""`memorybase evaluate` and `tune`, from the command line through the API: figures, gains, what is stored, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from harness.api import Api
from harness.clients import client_of
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command
from memorybase.core import errors

pytestmark = pytest.mark.slow

SESSIONS = 24

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def filled(api: Api, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Sessions in which an opening message is the answer, and a later one has more of the question's words.

    The commands' client reaches this API without a network.
    """
    monkeypatch.setattr(command, "connect", lambda *_: client_of(api))
    api.memory(capture="all")
    for n in range(SESSIONS):
        texts = (f"topic{n} is what I decided, and I alone", "yes", "well", "no", f"topic{n} topic{n} topic{n}")
        messages = [
            {"id": f"m{n}/{position}", "role": "assistant", "content": text} for position, text in enumerate(texts)
        ]
        api.post("/flows/support/runs", {"session_id": f"s{n}", "messages": messages}, expect=201)
    return api


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Questions about the opening messages, and one without an answer."""
    return written(
        tmp_path,
        *(
            {"question": f"topic{n}", "evidence": [f"m{n}/0"], "category": "odd" if n % 2 else "even"}
            for n in range(SESSIONS)
        ),
        {"question": "something else", "evidence": []},
    )


def written(folder: Path, *lines: Json) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def run(*words: object, fails: bool = False) -> Result:
    result = CliRunner().invoke(cli.app, [str(word) for word in words] + ["--memory", "notes"])
    assert (result.exit_code == 0) != fails, result.output
    return result


def refused(*words: object) -> str:
    """The error message of a command that must fail with a caller's error."""
    exception = run(*words, fails=True).exception
    assert isinstance(exception, errors.CallerError)
    return exception.message


def weights(api: Api) -> Json:
    base = api.get("/memories")["items"][0]["id"]
    answer: Json = api.get(f"/memories/{base}/weights")
    return answer


class TestEvaluate:
    def test_the_output_has_tables_by_mode_and_category(self, questions: Path) -> None:
        said = run("evaluate", questions).output
        assert said.startswith("notes, the default weights: 25 questions, 24 with evidence, 1 without an answer")
        rows = {line.split()[0]: line.split() for line in said.splitlines() if line}
        assert {"hybrid", "keyword", "dense", "odd", "even"} <= rows.keys()
        assert 0.5 < float(rows["hybrid"][1]) < 0.7  # the answer comes second
        assert rows["odd"][1] == rows["even"][1] == "12"
        assert "hint: only 24 questions with evidence" in said
        assert "5th percentile" in said

    def test_the_file_has_every_figure_and_every_result(self, questions: Path, tmp_path: Path) -> None:
        report = tmp_path / "report.json"
        assert f"written to {report}" in run("evaluate", questions, "--mode", "keyword", "--json", report).output
        document = json.loads(report.read_text())
        (variant,) = document["variants"].values()
        assert (document["memory_base"]["name"], variant["mode"], len(variant["questions"])) == ("notes", "keyword", 25)
        assert variant["whole"]["recall"] == 1
        assert {"macro_ndcg", "macro_ndcg_interval", "took_ms_p95", "bands", "best_scores", "cuts"} <= variant.keys()
        first = variant["questions"][0]
        assert first["line"] == 1
        assert [each["evidence"] for each in first["results"]].count(True) == 1

    def test_a_hint_if_every_question_has_an_answer(self, tmp_path: Path) -> None:
        said = run("evaluate", written(tmp_path, {"question": "topic1", "evidence": ["m1/0"]})).output
        assert 'add questions without an answer ("evidence": [])' in said

    def test_filters_of_a_question_apply_to_its_search(self, tmp_path: Path) -> None:
        lines = [{"question": "topic1", "evidence": ["m1/0"], "session_id": session} for session in ("s1", "s2")]
        said = run("evaluate", written(tmp_path, *lines), "--mode", "keyword").output
        assert "keyword found no evidence for 1 of 2 questions: line 2." in said

    def test_unknown_message_ids_are_named_with_their_line(self, filled: Api, tmp_path: Path) -> None:
        filled.flow("other")
        message = {"id": "elsewhere", "role": "assistant", "content": "x"}
        filled.post("/flows/other/runs", {"session_id": "s", "messages": [message]}, expect=201)
        lines = [{"question": "q", "evidence": [name]} for name in ("m1/0", "m/404", "elsewhere")]
        assert refused("evaluate", written(tmp_path, *lines)) == (
            "The questions have 2 problems: line 2: the memory base's flow has no message m/404; "
            "line 3: the memory base's flow has no message elsewhere"
        )

    def test_evidence_that_the_memory_base_does_not_hold_is_a_warning(self, filled: Api, tmp_path: Path) -> None:
        message = {"id": "system", "role": "system", "content": "x"}
        filled.post("/flows/support/runs", {"session_id": "s", "messages": [message]}, expect=201)
        result = run("evaluate", written(tmp_path, {"question": "q", "evidence": ["system"]}))
        assert "does not hold 1 of the 1 evidence messages: system." in result.stderr

    def test_invalid_input_of_evaluate_is_refused(self, questions: Path, tmp_path: Path) -> None:
        assert "no weights of its own" in refused("evaluate", questions, "--default-weights")
        assert "folder does not exist" in refused("evaluate", questions, "--json", tmp_path / "a" / "b")
        assert "At least one question" in refused("evaluate", written(tmp_path, {"question": "q", "evidence": []}))
        assert "cannot be read" in refused("evaluate", tmp_path / "missing")

    def test_a_question_that_the_server_refuses_is_named(self, tmp_path: Path) -> None:
        lines = [{"question": text, "evidence": ["m1/0"]} for text in ("topic1", "no \0 in a query")]
        assert refused("evaluate", written(tmp_path, *lines)).startswith("line 2: ")


class TestTune:
    @pytest.mark.slow
    def test_a_significant_gain_is_stored_used_and_undone(self, filled: Api, questions: Path) -> None:
        defaults = weights(filled)["defaults"]["default"]
        said = run("tune", questions).output
        assert "Cross-validation in 5 parts by session" in said
        assert "NDCG@10: significant." in said
        assert "Undo: memorybase tune --memory notes --undo" in said
        stored = weights(filled)["stored"]
        assert stored["questions"] == 24
        assert stored["fitted_at"]
        assert "questions.jsonl: NDCG@10 +" in stored["note"]
        assert stored["sets"]["default"] != defaults

        both = run("evaluate", questions, "--default-weights", "--mode", "hybrid").output
        assert both.startswith("notes, its own weights")
        assert "hybrid, default weights" in both
        assert "own weights gain +" in both

        assert "notes now uses the default weights. Before: its own weights of" in run("tune", "--undo").output
        assert weights(filled) | {"defaults": None} == {"defaults": None, "stored": None, "previous": stored}
        assert "fitted on 24 questions. Before: the default weights" in run("tune", "--undo").output
        assert weights(filled)["stored"] == stored

    @pytest.mark.slow
    def test_a_dry_run_stores_nothing(self, filled: Api, questions: Path) -> None:
        assert "Nothing was stored: --dry-run." in run("tune", questions, "--dry-run").output
        assert weights(filled)["stored"] is None

    @pytest.mark.slow
    def test_a_gain_that_may_be_chance_is_stored_only_with_force(self, filled: Api, tmp_path: Path) -> None:
        lines = [{"question": f"topic{n}", "evidence": [f"m{n}/4"]} for n in range(SESSIONS)]
        file = written(tmp_path, *lines)  # each is first already
        said = run("tune", file).output
        assert "The gain is +0.000 [+0.000, +0.000] NDCG@10: it may be chance." in said
        assert "Nothing was stored. Add questions" in said
        assert weights(filled)["stored"] is None
        assert "Stored: searches of notes" in run("tune", file, "--force").output
        assert weights(filled)["stored"] is not None

    def test_invalid_input_of_tune_is_refused(self, questions: Path, tmp_path: Path) -> None:
        assert "nothing to undo" in refused("tune", "--undo")
        assert "FILE is required" in refused("tune")
        assert refused("tune", questions, "--undo") == "--undo takes no FILE, --dry-run or --force."
        lines = [{"question": f"topic{n}", "evidence": [f"m{n}/0"]} for n in range(5)]
        assert "at least 20 questions" in refused("tune", written(tmp_path, *lines))
        assert "(got 5, of 5 with evidence)" in refused("tune", written(tmp_path, *lines))
