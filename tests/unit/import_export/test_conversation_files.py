from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st
from memorybase_client.importers.runs import Part

from memorybase.core import errors
from memorybase.core.import_export.conversation_files import read_runs
from memorybase.core.models import ID_LENGTH


def lines(*messages: dict[str, Any]) -> str:
    return "".join(json.dumps(message) + "\n" for message in messages)


def message(role: str = "user", content: str = "hello", session_id: str = "s1", **more: Any) -> dict[str, Any]:
    return {"session_id": session_id, "role": role, "content": content, **more}


def contents(run: Part) -> list[str]:
    return [message["content"] for message in run.messages]


class TestJsonLines:
    def test_a_run_is_one_user_message_and_what_follows_it(self) -> None:
        text = lines(
            message("assistant", "welcome"),
            message("user", "q1"),
            message("assistant", "a1"),
            message("tool", "t1"),
            message("user", "q2"),
        )
        assert [contents(run) for run in read_runs(text, namespace="f")] == [["welcome"], ["q1", "a1", "t1"], ["q2"]]

    def test_given_runs_are_kept_with_their_id(self) -> None:
        text = lines(message(content="q1", run_id="r1"), message(content="q2", run_id="r1"), message(run_id="r2"))
        runs = read_runs(text, namespace="f")
        assert [(run.run_id, len(run.messages)) for run in runs] == [("r1", 2), ("r2", 1)]

    def test_alternating_sessions_are_separated(self) -> None:
        text = lines(message(session_id="a"), message(session_id="b"), message(session_id="a"))
        runs = read_runs(text, namespace="f")
        assert [run.session_id for run in runs] == ["a", "b", "a"]
        assert len({run.run_id for run in runs}) == 3
        assert len({run.messages[0]["id"] for run in runs}) == 3

    def test_other_fields_of_a_line_are_passed_on(self) -> None:
        (run,) = read_runs(lines(message(id="m1", timestamp="2026-01-01T00:00:00Z", name="n")), namespace="f")
        assert run.messages == (
            {"id": "m1", "role": "user", "content": "hello", "timestamp": "2026-01-01T00:00:00Z", "name": "n"},
        )

    def test_ids_are_the_same_at_every_reading_but_differ_between_namespaces(self) -> None:
        text = lines(message(), message("assistant"))
        assert read_runs(text, namespace="f") == read_runs(text, namespace="f")
        ids = {found["id"] for name in ("f", "g") for run in read_runs(text, namespace=name) for found in run.messages}
        assert len(ids) == 4

    def test_appended_lines_do_not_change_earlier_ids(self) -> None:
        before = read_runs(lines(message(content="one")), namespace="f")
        after = read_runs(lines(message(content="one"), message(content="two")), namespace="f")
        assert after[: len(before)] == before

    def test_long_names_give_ids_that_the_api_accepts(self) -> None:
        (run,) = read_runs(lines(message(session_id="s" * 128)), namespace="f" * 128)
        assert len(run.run_id) <= ID_LENGTH
        assert len(run.messages[0]["id"]) <= ID_LENGTH

    def test_a_line_separator_inside_a_string_does_not_end_the_line(self) -> None:
        (run,) = read_runs(json.dumps(message(content="one\u2028two"), ensure_ascii=False), namespace="f")
        assert contents(run) == ["one\u2028two"]

    @each_row(
        ("line", "field"),
        [
            ("{not json", None),
            ("17", None),
            ("[" * 100_000, None),
            ('{"role": "user"}', "session_id"),
            ('{"session_id": "", "role": "user", "content": "x"}', "session_id"),
            ('{"session_id": "s", "run_id": 3, "role": "user", "content": "x"}', "run_id"),
            ('{"session_id": "s", "end_user_id": " ", "role": "user", "content": "x"}', "end_user_id"),
            ('{"session_id": "s", "role": "boss", "content": "x"}', "role"),
            ('{"session_id": "s", "role": "user", "content": 42}', "content"),
            ('{"session_id": "s", "role": "user", "content": "x", "timestamp": "soon"}', "timestamp"),
            (lines(message(content="x" * 5_000_000)), None),
        ],
    )
    def test_an_error_names_the_file_and_the_line(self, line: str, field: str | None) -> None:
        with pytest.raises(errors.InvalidRequest) as caught:
            read_runs(f"{lines(message())}\n{line}", namespace="f", source="talk.jsonl")
        assert caught.value.message.startswith("talk.jsonl line 3: ")
        assert caught.value.field == field

    def test_a_json_list_of_messages_is_read_like_lines(self) -> None:
        found = [message(content="q1"), message("assistant", "a1"), message(content="q2")]
        (first, second) = read_runs(json.dumps(found), namespace="f", source="talk.json")
        assert (contents(first), contents(second)) == (["q1", "a1"], ["q2"])
        assert second.places == ("talk.json[2]",)

    def test_a_line_may_name_the_end_user(self) -> None:
        (run,) = read_runs(lines(message(end_user_id="ada")), namespace="f")
        assert (run.end_user_id, "end_user_id" in run.messages[0]) == ("ada", False)

    def test_an_empty_file_has_no_runs(self) -> None:
        assert read_runs("\n\n", namespace="f") == []

    @given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["user", "assistant", "system"]))))
    def test_no_message_is_lost_doubled_or_moved(self, turns: list[tuple[str, str]]) -> None:
        text = lines(*(message(role, str(n), session) for n, (session, role) in enumerate(turns)))
        runs = read_runs(text, namespace="f")
        assert [content for run in runs for content in contents(run)] == [str(n) for n in range(len(turns))]
        assert all(run.messages for run in runs)
        ids = [found["id"] for run in runs for found in run.messages]
        assert len(set(ids)) == len(ids)


def locomo(**changes: Any) -> str:
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "later"}],
        "session_2_date_time": "1:05 am on 9 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "hi"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "look", "blip_caption": "a red boat"},
            {"speaker": "Ben", "dia_id": "D1:3", "text": "nice"},
            {"speaker": "Ann", "dia_id": "D1:4", "text": "bye"},
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        **changes,
    }
    return json.dumps([{"sample_id": "c1", "conversation": conversation, "qa": []}])


class TestLocomo:
    def test_sessions_come_in_order_and_runs_begin_with_the_first_speaker(self) -> None:
        runs = read_runs(locomo(), namespace="ignored")
        assert [(run.session_id, run.run_id) for run in runs] == [
            ("c1/session_1", "c1/session_1#run-1"),
            ("c1/session_1", "c1/session_1#run-2"),
            ("c1/session_2", "c1/session_2#run-1"),
        ]
        assert [len(run.messages) for run in runs] == [3, 1, 1]

    def test_a_turn_becomes_a_message(self) -> None:
        (first, second, *_) = read_runs(locomo(), namespace="ignored")[0].messages
        assert first == {
            "id": "c1:D1:1",
            "role": "user",
            "sender_name": "Ann",
            "content": "hi",
            "timestamp": "2023-05-08T13:56:00+00:00",
        }
        assert second["role"] == "assistant"
        assert second["content"] == "look\n[image: a red boat]"
        assert second["timestamp"] == "2023-05-08T13:56:01+00:00"

    def test_a_single_conversation_is_accepted(self) -> None:
        assert read_runs(json.dumps(json.loads(locomo())[0]), namespace="x") == read_runs(locomo(), namespace="x")

    def test_an_invalid_date_is_named(self) -> None:
        with pytest.raises(errors.InvalidRequest, match="session_2_date_time"):
            read_runs(locomo(session_2_date_time="yesterday"), namespace="x")

    def test_a_turn_without_text_is_named(self) -> None:
        with pytest.raises(errors.InvalidRequest, match=r"session_1\[0\]"):
            read_runs(locomo(session_1=[{"speaker": "Ann", "dia_id": "D1:1"}]), namespace="x")

    @each_row("text", ["[1, 2]", '[{"a": 1}]', "[", "17"])
    def test_another_document_is_refused(self, text: str) -> None:
        with pytest.raises(errors.InvalidRequest):
            read_runs(text, namespace="x")


class TestSample:
    """The sample conversation of the demo."""

    sample = files("memorybase").joinpath("samples", "conversation.jsonl").read_text(encoding="utf-8")
    questions = json.loads(files("memorybase").joinpath("samples", "questions.json").read_text(encoding="utf-8"))

    def test_it_has_four_sessions_of_alternating_turns(self) -> None:
        runs = read_runs(self.sample, namespace="demo")
        assert len({run.session_id for run in runs}) == 4
        assert sum(len(run.messages) for run in runs) >= 64
        for run in runs:
            assert [found["role"] for found in run.messages] == ["user", "assistant"]

    def test_each_answer_is_only_in_the_session_of_its_question(self) -> None:
        runs = read_runs(self.sample, namespace="demo")
        assert len(self.questions) == 5
        for question in self.questions:
            told = {run.session_id for run in runs for text in contents(run) if question["expected"] in text}
            assert told == {question["session"]}
