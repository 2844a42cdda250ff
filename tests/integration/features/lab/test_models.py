"""`memorybase models`: what is checked before a model is used, what is listed, and how two are compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from harness.doubles import FakeEmbedder
from harness.embedding_endpoint import KEY, EmbeddingEndpoint, serving_embeddings
from typer.testing import CliRunner

from memorybase import cli
from memorybase.core import errors
from memorybase.core.embedding import registry, usage
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source
from memorybase.core.settings import Settings

ENDPOINT = "openai:some-model"


@pytest.fixture(autouse=True)
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBASE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingEndpoint]:
    with serving_embeddings(FakeEmbedder()) as found:
        monkeypatch.setenv("MEMORYBASE_EMBEDDING_URL", found.url)
        monkeypatch.setenv("MEMORYBASE_EMBEDDING_KEY", KEY)
        yield found
    usage.OF_THIS_PROCESS.take()


class MadeEmbedder(FakeEmbedder):
    """Vectors with which every known question finds its answer, because the model takes both for one text."""

    def __init__(self, model: str = "made") -> None:
        super().__init__(model)
        from memorybase.core.embedding.probe import PAIRS

        self.same = dict(PAIRS)

    def _vector(self, text: str) -> Any:
        return super()._vector(self.same.get(text, text))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model's files; what is loaded from it is made, so that no test exports a model."""
    folder = tmp_path / "my-e5-small"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").symlink_to(find_source(DEFAULT_MODEL).folder / "tokenizer.json")
    (folder / "README.md").write_text("---\nlicense: mit\nlanguage: en\n---\nA model.\n")
    monkeypatch.setattr(registry, "load", lambda _settings, model: MadeEmbedder(model))
    return folder


def run(*words: object, fails: bool = False) -> Result:
    result = CliRunner().invoke(cli.app, ["models", *(str(word) for word in words)])
    assert (result.exception is not None) == fails, result.output
    return result


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_model_is_described_and_what_to_set_is_said(folder: Path) -> None:
    found = run("add", folder).output
    for line in (
        f"checksum       {find_source(str(folder)).revision} (2 files)",
        "licence        mit",
        "dimension      32 (128 bytes a vector)",
        "reads          254 tokens",
        "prefixes       none",
        f"token vectors  int2x32/{folder}",
        "probe          8 of 8 known questions answered",
        "warning: the model's card or name tells of prefixes that its configuration lacks.",
        f'set: MEMORYBASE_EMBEDDING_PROMPTS=\'{{"{folder}": {{"query": "query: ", "passage": "passage: "}}}}\'',
        f"set: MEMORYBASE_ALLOWED_EMBEDDING_MODELS='[\"{folder}\"]'",
    ):
        assert line in found


def test_a_list_says_whether_files_have_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBASE_ALLOWED_EMBEDDING_MODELS", json.dumps([str(folder), "nobody/nothing"]))
    run("add", folder)
    assert row(run("list"), folder)[1:] == ["allowed", "32", "254", "none", "yes", "mit", "as added"]
    assert row(run("list"), "nobody/nothing")[-1] == "not added"
    assert row(run("list"), DEFAULT_MODEL)[1] == "default"
    (folder / "model.safetensors").write_bytes(b"other weights")
    (folder / "README.md").write_text("Another readme changes no vector.")
    assert row(run("list"), folder)[-1] == "changed: model.safetensors"
    shutil.rmtree(folder)
    assert row(run("list"), folder)[-1] == "missing"


def test_a_list_shows_words_as_they_are_and_below_their_headings(folder: Path) -> None:
    run("add", folder, "--query-prompt", "[query] ")
    header, *lines = run("list").output.splitlines()
    (line,) = [line for line in lines if line.startswith(f"{folder} ")]
    for heading, cell in {"use": "added", "prefixes": "'[query] ', ''", "licence": "mit", "files": "as added"}.items():
        start = header.index(f"  {heading}") + 2
        assert line[start:].startswith(cell)


def row(listed: Result, name: object) -> list[str]:
    (line,) = [line for line in listed.output.splitlines() if line.startswith(f"{name} ")]
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


class Damaged(MadeEmbedder):
    def _vector(self, text: str) -> Any:
        return np.roll(FakeEmbedder("noise")._vector(text), len(text))


class LongVectors(MadeEmbedder):
    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts) * 2


class OfTheBatch(MadeEmbedder):
    def embed(self, texts: Sequence[str]) -> Any:
        vectors = super().embed(texts)
        mixed = vectors + 0.5 * vectors.mean(axis=0)
        return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (Damaged, "find the answer of at least 6 of 8 known questions"),
        (LongVectors, "its vectors must have length 1"),
        (OfTheBatch, "the same vector alone and among others"),
    ],
)
def test_a_damaged_model_is_not_added(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: type[MadeEmbedder], problem: str
) -> None:
    monkeypatch.setattr(registry, "load", lambda _settings, model: made(model))
    failure = run("add", folder, fails=True).exception
    assert isinstance(failure, errors.ModelUnavailable)
    assert problem in failure.message
    assert not list(tmp_path.rglob("*.json.part")) + list(tmp_path.rglob("known/*"))


def test_a_model_behind_an_endpoint_is_added_without_files(endpoint: EmbeddingEndpoint) -> None:
    endpoint.embedder = MadeEmbedder()
    found = run("add", ENDPOINT).output
    for line in ("checksum       no files", "licence        not stated", "token vectors  none"):
        assert line in found
    assert KEY not in found
    endpoint.requests.clear()
    assert row(run("list"), ENDPOINT)[1:] == ["added", "32", "8189", "none", "no", "not stated", "endpoint"]
    assert endpoint.requests == []


def test_neither_adding_a_folder_nor_listing_reaches_for_a_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    calls: list[dict[str, Any]] = []

    def refuse(name: str, **options: Any) -> str:
        calls.append({"name": name} | options)
        raise OSError("no network here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    run("add", folder)
    assert calls == []
    monkeypatch.setenv("MEMORYBASE_ALLOWED_EMBEDDING_MODELS", '["someone/some-model"]')
    record = json.loads(next(folder.parent.rglob("known/*.json")).read_text())
    (folder.parent / "models" / "known" / "hub.json").write_text(json.dumps(record | {"name": "someone/some-model"}))
    assert row(run("list"), "someone/some-model")[-1] == "missing"
    assert [call["local_files_only"] for call in calls] == [True]


class TestCompare:
    """The first model knows all words; the second takes all numbers for one."""

    @pytest.fixture(autouse=True)
    def _models(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Coarse(FakeEmbedder):
            def _vector(self, text: str) -> Any:
                return super()._vector("".join(c for c in text if not c.isdigit()))

        made = {"fine": FakeEmbedder, "coarse": Coarse}
        monkeypatch.setattr(registry, "load", lambda _settings, model: made[model](model))

    @pytest.fixture
    def questions(self, tmp_path: Path) -> Path:
        return written(
            tmp_path / "questions.jsonl",
            *({"question": f"berth {n}", "evidence": [f"m{n}"]} for n in range(40)),
            {"question": "what nobody said", "evidence": []},
        )

    @pytest.fixture
    def lines(self, tmp_path: Path) -> Path:
        messages = [
            {"id": f"m{n}", "session_id": f"s{n % 4}", "role": "user", "content": f"The boat is at berth {n}"}
            for n in range(40)
        ]
        return written(tmp_path / "lines.jsonl", *messages, messages[0] | {"id": "t", "role": "tool"})

    def test_a_gain_has_an_interval(self, lines: Path, questions: Path, tmp_path: Path) -> None:
        report = tmp_path / "report.json"
        shown = run("compare", "coarse", "fine", "--data", lines, "--questions", questions, "--json", report).output
        assert "40 messages, 40 questions with evidence" in shown
        figures = json.loads(report.read_text())
        assert figures["models"]["fine"]["MRR"] == 1
        assert figures["models"]["coarse"]["Recall@10"] < 0.4
        assert figures["models"]["fine"]["vector_bytes"] == 128
        gain = figures["gain_of_second"]["MRR"]
        assert 0 < gain["low"] < gain["mean"] < gain["high"] < 1
        assert f"fine gains {gain['mean']:+.3f} [{gain['low']:+.3f}, {gain['high']:+.3f}] MRR over coarse." in shown

    def test_a_question_in_a_session_finds_only_its_messages(self, lines: Path, tmp_path: Path) -> None:
        asked = written(tmp_path / "questions.jsonl", {"question": "berth 1", "session_id": "s1", "evidence": ["m1"]})
        report = tmp_path / "report.json"
        shown = run("compare", "coarse", "fine", "--data", lines, "--questions", asked, "--json", report).output
        assert json.loads(report.read_text())["models"]["coarse"]["Recall@10"] == 1, "ten messages are in the session"
        assert "hint: only 1 question; with 30 or more the intervals are narrower." in shown

    def test_lines_are_read_as_a_capture_reads_them(self, tmp_path: Path) -> None:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        lines = written(
            tmp_path / "lines.jsonl",
            {"id": "m1", "session_id": "s", "sender": "User", "text": "The boat is red"},
            {"id": "m2", "session_id": "s", "type": "ai", "content": ["It is"]},
            {"session_id": "s", "type": "human", "data": {"id": "m3", "content": "The boat is blue"}},
            {"id": "m4", "session_id": "s", "role": "assistant", "tool_calls": [call]},
            {"id": "m5", "session_id": "s", "role": "assistant", "content": "Oh", "status": "failed"},
            {"id": "m6", "session_id": "s", "role": "user", "content": "Why", "status": "failed", "is_output": True},
        )
        asked = written(
            tmp_path / "questions.jsonl",
            *({"question": "the boat", "evidence": [name]} for name in ("m1", "m2", "m3", "m6")),
        )
        shown = run("compare", "coarse", "fine", "--data", lines, "--questions", asked).output
        assert "4 messages, 4 questions with evidence" in shown

    @pytest.mark.parametrize("line", ["[" * 100_000, '{"type": "message", "session_id": "s", "role": "user"}'])
    def test_a_damaged_export_is_refused_by_its_line(self, tmp_path: Path, questions: Path, line: str) -> None:
        export = tmp_path / "export.jsonl"
        export.write_text(f'{{"type": "export", "format": 1}}\n{line}\n')
        failure = run("compare", "coarse", "fine", "--data", export, "--questions", questions, fails=True).exception
        assert isinstance(failure, errors.InvalidRequest)
        assert failure.message == "Line 2 is no line of an export."

    def test_an_export_is_read_by_both_ids(self, tmp_path: Path) -> None:
        common = {"type": "message", "session_id": "s", "end_user_id": "ada"}
        export = written(
            tmp_path / "export.jsonl",
            {"type": "export", "format": 1},
            {"type": "session", "session_id": "s"},
            common | {"id": "0b0f", "external_id": "mine", "role": "user", "content": "The boat is red"},
            common
            | {"id": "0b10", "external_id": None, "role": "assistant", "content": [{"type": "text", "text": "Ok"}]},
            common | {"id": "0b11", "role": "user", "content": "The boat is blue", "muted": True},
            common | {"id": "0b12", "role": "assistant", "content": "The boat", "status": "failed", "is_output": False},
            {"type": "end"},
        )
        asked = written(
            tmp_path / "questions.jsonl",
            {"question": "the boat", "evidence": ["mine"], "end_user_id": "ada"},
            {"question": "Ok", "evidence": ["0b10"]},
        )
        shown = run("compare", "coarse", "fine", "--data", export, "--questions", asked).output
        assert "2 messages, 2 questions with evidence" in shown
        wrong = written(tmp_path / "wrong.jsonl", {"question": "the boat", "evidence": ["0b11", "absent"]})
        failure = run("compare", "coarse", "fine", "--data", export, "--questions", wrong, fails=True).exception
        assert isinstance(failure, errors.InvalidRequest)
        assert "line 1: the data has no message 0b11" in failure.message
        assert "line 1: the data has no message absent" in failure.message

    def test_a_locomo_file_has_its_own_questions(self, tmp_path: Path, lines: Path) -> None:
        said = [{"speaker": "Ada", "dia_id": f"D1:{n}", "text": f"The boat is at berth {n}"} for n in range(20)]
        document = {
            "sample_id": "conv-1",
            "conversation": {"speaker_a": "Ada", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": said},
            "qa": [
                {"question": "berth 7", "evidence": ["D1:7"], "category": 4},
                {"question": "berth 9", "evidence": ["D9:9"], "category": 4},
                {"question": "berth 8", "evidence": ["D1:8"], "category": 5},
            ],
        }
        file = tmp_path / "locomo.json"
        file.write_text(json.dumps([document, document | {"sample_id": "conv-2"}]))
        shown = run("compare", "coarse", "fine", "--data", file).output
        assert "40 messages, 2 questions with evidence" in shown
        failure = run("compare", "coarse", "fine", "--data", lines, fails=True).exception
        assert "--questions must name a file" in str(failure)

    @pytest.mark.usefixtures("endpoint")
    def test_an_endpoints_tokens_are_counted(
        self, lines: Path, questions: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fakes = registry.load
        monkeypatch.setattr(
            registry,
            "load",
            lambda settings, model: (
                registry.load_from_endpoint(settings, model) if model == ENDPOINT else fakes(settings, model)
            ),
        )
        shown = run("compare", "fine", ENDPOINT, "--data", lines, "--questions", questions).output
        tokens = 5 + 40 * 6 + 40 * 2  # the first text, messages, questions
        (line,) = [line for line in shown.splitlines() if line.startswith(f"{ENDPOINT}  ")]
        assert line.split()[-1] == str(tokens)


def test_prefixes_of_the_command_win_over_those_of_the_settings() -> None:
    from memorybase.features.lab.commands.models import _with_prompts

    settings = Settings(embedding_prompts={DEFAULT_MODEL: {"query": "q: ", "passage": "p: "}})
    found = registry.prompts_of(_with_prompts(settings, DEFAULT_MODEL, "query: ", None), DEFAULT_MODEL)
    assert (found.query, found.passage) == ("query: ", "p: ")
