"""The readers of published data sets, on made lines in their formats."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from recalling import command, counting, formats, sources
from recalling.corpora import Conversation

Write = Callable[[Path], Path]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lines(*documents: Mapping[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in documents)


def said(conversation: Conversation) -> dict[str, str]:
    """The text of each message, by its id without the conversation's name."""
    return {_own(conversation, each["id"]): each["content"] for each in conversation.messages}


def asked(conversation: Conversation) -> list[tuple[str, str, set[str]]]:
    own = [(each.text, each.category, each.evidence) for each in conversation.questions]
    return [(text, category, {_own(conversation, id_) for id_ in evidence}) for text, category, evidence in own]


def _own(conversation: Conversation, id_: str) -> str:
    assert id_.startswith(f"{conversation.name}:")
    return id_.removeprefix(f"{conversation.name}:")


# LongMemEval


def lme(question_id: str, **changed: Any) -> dict[str, Any]:
    turns = [
        {"role": "user", "content": "My boat is at berth twelve.", "has_answer": True},
        {"role": "assistant", "content": "Noted.", "has_answer": False},
    ]
    return {
        "question_id": question_id,
        "question_type": "single-session-user",
        "question": "Where is my boat?",
        "answer": "Berth twelve",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/29 (Mon) 10:00", "2023/05/29 (Mon) 11:00"],
        "haystack_session_ids": ["other_1", "answer_1", "other_1"],
        "haystack_sessions": [
            [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": ""}],
            turns,
            turns[1:],
        ],
        "answer_session_ids": ["answer_1"],
        **changed,
    }


def test_longmemeval_has_a_history_for_each_question(tmp_path: Path) -> None:
    unknown = lme("q3", haystack_sessions=[[{"role": "user", "content": "Hi."}]] * 3)
    file = write(tmp_path / "longmemeval_s_cleaned.json", [lme("q1"), lme("q2_abs"), unknown])
    corpus = formats.read(file)
    first, abstaining, without = corpus.conversations
    assert said(first) == {
        "other_1_1": "Hi.",
        "answer_1_1": "My boat is at berth twelve.",
        "answer_1_2": "Noted.",
        "other_1#2_1": "Noted.",
    }
    assert asked(first) == [("Where is my boat?", "single-session-user", {"answer_1_1"})]
    assert first.questions[0].sessions == {f"{first.name}:answer_1"}
    assert asked(abstaining) == [("Where is my boat?", "abstention", set())]
    assert asked(without) == [], "its data do not say which message answers"
    times = [datetime.fromisoformat(each["timestamp"]) for each in first.messages]
    assert times[1] - times[0] == timedelta(days=9, hours=7, minutes=39)
    yesterday = datetime.now(UTC) - times[1]
    assert timedelta(days=1) < yesterday < timedelta(days=9), "the question's date is in the past week"


# BEAM


def turn(id_: int, role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "role": role, "content": content, "index": f"1,{id_}", **more}


PAIR = [turn(0, "user", "I chose Flask.", time_anchor="March-15-2024"), turn(1, "assistant", "Good.")]
LATER = [turn(2, "user", "Now it is Django."), turn(3, "assistant", "")]
PROBING = {
    "abstention": [{"question": "Which dog?", "rubric": []}],
    "knowledge_update": [{"question": "Which framework?", "source_chat_ids": {"original": [0], "updated": [2, 3]}}],
    "summarization": [{"question": "Sum it up.", "conversation_references": ["plan"]}],
}
ROW = {"conversation_id": "7", "chat": [PAIR, LATER], "probing_questions": repr(PROBING)}
BATCHES = [{"batch_number": 1, "turns": [PAIR]}, {"batch_number": 2, "turns": [LATER[:1], LATER[1:]]}]


def beam_rows(folder: Path) -> Path:
    return write(folder / "beam.jsonl", lines(ROW))


def beam_repository(folder: Path) -> Path:
    write(folder / "100K" / "7" / "chat.json", [*BATCHES, *BATCHES])
    write(folder / "100K" / "7" / "chat_trunecated.json", BATCHES)
    write(folder / "100K" / "7" / "probing_questions" / "probing_questions.json", PROBING)
    return folder / "100K"


@pytest.mark.parametrize("written", [beam_rows, beam_repository])
def test_beam_is_read_as_rows_and_from_its_repository(written: Write, tmp_path: Path) -> None:
    corpus = formats.read(written(tmp_path))
    (conversation,) = corpus.conversations
    assert said(conversation) == {"0": "I chose Flask.", "1": "Good.", "2": "Now it is Django."}
    assert len({run["session_id"] for run in conversation.runs}) == 2
    assert asked(conversation) == [
        ("Which dog?", "abstention", set()),
        ("Which framework?", "knowledge_update", {"0", "2"}),
    ]
    assert [each.get("timestamp") for each in conversation.messages] == [
        "2024-03-15T00:00:00+00:00",
        "2024-03-15T00:02:00+00:00",
        None,
    ]


def test_a_repeated_id_of_beam_10m_is_no_evidence(tmp_path: Path) -> None:
    plans = [{"plan-1": BATCHES, "plan-2": None}, {"plan-1": None, "plan-2": BATCHES[:1]}]
    corpus = formats.read(write(tmp_path / "beam_10m.json", [{**ROW, "chat": plans}]))
    (conversation,) = corpus.conversations
    assert list(said(conversation)) == ["0", "1", "2", "0#2", "1#2"]
    assert asked(conversation)[1] == ("Which framework?", "knowledge_update", {"2"})


# REALTALK


def test_realtalk_is_read_from_its_folder(tmp_path: Path) -> None:
    chat = {
        "name": {"speaker_1": "Ann", "speaker_2": "Bo"},
        "session_10": [{"clean_text": "Later.", "speaker": "Ann", "date_time": "", "dia_id": "D10:1"}],
        "session_2": [
            {"clean_text": "I ran.", "speaker": "Ann", "date_time": "29.12.2023, 00:51:12", "dia_id": "D2:1"},
            {"clean_text": "Look", "speaker": "Bo", "date_time": "x", "dia_id": "D2:2", "blip_caption": "a road"},
        ],
        "session_1": [],
        "session_2_date_time": "29.12.2023, 00:51:12",
        "events_session_2": {},
        "qa": [
            {"question": "Who ran?", "answer": "Ann", "evidence": ["D2:1; D2:2"], "category": 1},
            {"question": "When?", "answer": "", "evidence": ["D9:9"], "category": 2},
        ],
    }
    write(tmp_path / "data" / "Chat_2_Ann_Bo.json", chat)
    corpus = formats.read(tmp_path / "data")
    (conversation,) = corpus.conversations
    assert (corpus.name, corpus.people) == ("REALTALK data", True)
    assert list(said(conversation).items()) == [
        ("D2:1", "I ran."),
        ("D2:2", "Look\n[image: a road]"),
        ("D10:1", "Later."),
    ]
    assert [each["role"] for each in conversation.messages] == ["user", "assistant", "user"]
    assert [each.get("timestamp") for each in conversation.messages] == ["2023-12-29T00:51:12+00:00", None, None]
    assert asked(conversation) == [("Who ran?", "multi-hop", {"D2:1", "D2:2"})]


# PersonaMem


def persona_mem(folder: Path, links: Sequence[str], row: Mapping[str, str]) -> Path:
    history = [
        {"role": "system", "content": "Ann likes jasmine tea."},
        {"role": "user", "content": "Jasmine tea again."},
        {"role": "assistant", "content": "Enjoy it."},
    ]
    for link in links:
        write(folder / link, {"metadata": {}, "chat_history": history})
    table = folder / "benchmark" / "text" / "benchmark.csv"
    table.parent.mkdir(parents=True)
    with table.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, [*row])
        writer.writeheader()
        writer.writerow(row)
    return table


def test_personamem_is_read_from_its_table(tmp_path: Path) -> None:
    link = "data/chat_history_32k/history_1.json"
    row = {
        "persona_id": "1",
        "chat_history_128k_link": "data/chat_history_128k/history_1.json",
        "chat_history_32k_link": link,
        "user_query": "{'role': 'user', 'content': \"What's my tea?\"}",
        "pref_type": "stereotypical_pref",
        "related_conversation_snippet": json.dumps([{"role": "user", "content": "Jasmine tea again."}]),
    }
    corpus = formats.read(persona_mem(tmp_path, [link], row))
    (conversation,) = corpus.conversations
    assert said(conversation) == {"m1": "Jasmine tea again.", "m2": "Enjoy it."}, "nobody said the profile"
    assert asked(conversation) == [("What's my tea?", "stereotypical_pref", {"m1"})]


def test_personamem_needs_a_table_that_names_the_answering_messages(tmp_path: Path) -> None:
    first_version = {"question_id": "1", "shared_context_id": "c", "all_options": "[]"}
    with pytest.raises(ValueError, match="does not say which messages answer"):
        formats.read(persona_mem(tmp_path / "first", [], first_version))
    row = {"chat_history_32k_link": "data/gone.json", "related_conversation_snippet": "[]"}
    with pytest.raises(ValueError, match=r"data/gone\.json.* must be in a folder above it"):
        formats.read(persona_mem(tmp_path / "second", [], row))


# LMEB

CORPUS = lines(
    {"id": "a", "title": "8 May", "text": "Ann paints."}, {"id": "b", "text": "Bo runs."}, {"id": "c", "text": "x"}
)
SCENES = lines(
    {"scene_id": "conv_1", "candidate_doc_ids": ["b", "a"]}, {"scene_id": "conv_2", "candidate_doc_ids": ["c"]}
)
QUERIES = lines({"id": "conv_1_0", "text": "Who paints?"}, {"id": "conv_1_1", "text": "Who flies?"})
QRELS = "query-id\tcorpus-id\tscore\nconv_1_0\ta\t1\nconv_1_0\tb\t0\n"


@pytest.mark.parametrize("shared", ["LoCoMo", "LoCoMo/single_hop"])
def test_lmeb_is_read_with_a_corpus_for_all_tasks_and_for_each(shared: str, tmp_path: Path) -> None:
    for name, content in (("corpus.jsonl", CORPUS), ("candidates.jsonl", SCENES)):
        write(tmp_path / shared / name, content)
    for name, content in (("queries.jsonl", QUERIES), ("qrels.tsv", QRELS)):
        write(tmp_path / "LoCoMo" / "single_hop" / name, content)
    corpus = formats.read(tmp_path / "LoCoMo")
    (conversation,) = corpus.conversations
    assert corpus.name == "LMEB LoCoMo"
    assert said(conversation) == {"b": "Bo runs.", "a": "8 May Ann paints."}
    assert asked(conversation) == [("Who paints?", "single_hop", {"a"})]
    assert not counting.has_sessions(corpus.conversations)


# What is no data set


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"LongMemEval: haystack_sessions, question_id.*; got text$"):
        formats.read(write(tmp_path / "x.json", [{"text": "x"}]))
    with pytest.raises(ValueError, match=r"x\.json must hold JSON objects \(got '\"a\"\]'\)"):
        formats.read(write(tmp_path / "x.json", ["a"]))
    with pytest.raises(ValueError, match=r"x\.json must hold JSON objects: "):
        formats.read(write(tmp_path / "x.json", '[{"id": 1'))
    with pytest.raises(ValueError, match="must hold at least one conversation"):
        formats.read(write(tmp_path / "x.json", "[]"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty must be a file, or a folder with one of \*/chat\.json, "):
        formats.read(tmp_path / "empty")
    chosen = argparse.Namespace(conversations=None, data=[tmp_path / "gone.json"])
    with pytest.raises(SystemExit, match=r"error: .*gone\.json"):
        command.corpora(chosen)
    chosen.conversations = 0
    with pytest.raises(SystemExit, match=r"--conversations must be at least 1 \(got 0\)"):
        command.corpora(chosen)


def test_a_long_list_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHARACTERS", 7)
    documents = [lme(f"q{number}") for number in range(3)]
    file = write(tmp_path / "m.json", json.dumps(documents, indent=1))
    assert list(sources.documents(file)) == documents
    assert [each.name for each in formats.read(file, 2).conversations] == ["m-q0", "m-q1"]


def test_a_long_session_is_posted_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_IN_A_RUN", 1)
    (conversation,) = formats.read(beam_rows(tmp_path)).conversations
    assert [len(run["messages"]) for run in conversation.runs] == [1, 1, 1]
    assert len({run["run_id"] for run in conversation.runs}) == 3
    assert len({run["session_id"] for run in conversation.runs}) == 2


# How others count


def test_figures_are_those_of_beir_and_of_longmemeval() -> None:
    found = counting.at_cuts(["x", "a", "y", "b"], {"a", "b", "c"})
    assert found["recall@1"] == found["ndcg@1"] == found["ndcg_any@1"] == found["recall_any@1"] == 0
    assert found["recall@5"] == pytest.approx(2 / 3)
    assert (found["recall_any@5"], found["recall_all@5"]) == (1, 0)
    # Gains at ranks 2 and 4: 1/log2(3) and 1/log2(5) of 1 + 1/log2(3) + 1/2; 1 and 1/2 of 1 + 1 + 1/log2(3).
    assert found["ndcg@5"] == pytest.approx((0.63093 + 0.43068) / (1 + 0.63093 + 0.5), abs=1e-5)
    assert found["ndcg_any@5"] == pytest.approx(1.5 / 2.63093, abs=1e-5)
    assert counting.at_cuts(["a", "b"], {"a", "b"})["recall_all@5"] == 1
    assert counting.means([{"a": 0.0}, {"a": 1.0}]) == {"a": 0.5}
    assert counting.shown(found).startswith("ndcg 0.000 0.498 0.498, recall 0.000 0.667 0.667, ndcg_any ")


def test_sessions_are_ranked_by_their_best_message(tmp_path: Path) -> None:
    (conversation,) = formats.read(write(tmp_path / "l.json", [lme("q1")])).conversations
    session_of = conversation.session_of
    ranked = [f"{conversation.name}:{id_}" for id_ in ("answer_1_2", "other_1_1", "answer_1_1")]
    assert counting.sessions(ranked, session_of) == [f"{conversation.name}:{id_}" for id_ in ("answer_1", "other_1")]
    (question,) = conversation.questions
    assert counting.answering_sessions(question, session_of) == {f"{conversation.name}:answer_1"}
    assert counting.has_sessions([conversation])
