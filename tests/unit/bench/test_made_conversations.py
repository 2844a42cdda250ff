"""The made conversations of the benchmark: the files are valid, and what a seed makes is valid and always the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import made
import pytest
from harness.rows import each_row

from memorybase.core.keyword_index.analyzer import analyzer

pytestmark = pytest.mark.slow  # It tests a benchmark.

CATEGORIES = {"fact", "you-said", "update", "temporal", "preference", "multi", "keyword", "abstention"}
MESSAGE_KEYS = {"id", "session", "role", "sender_name", "content", "timestamp"}
BY_HAND = {conversation["id"]: conversation for conversation in made.by_hand()}
BY_RULE = {f"{kind} {seed}": made.by_rule(seed, kind) for kind in made.KINDS_BY_RULE for seed in (1, 2, 3)}
ALL = BY_HAND | BY_RULE


def roles_of(conversation: Mapping[str, Any]) -> dict[str, str]:
    return {message["id"]: message["role"] for message in conversation["messages"]}


class TestConversations:
    @each_row("name", ALL)
    def test_messages_are_valid_and_in_order_of_time(self, name: str) -> None:
        messages: Sequence[Mapping[str, Any]] = ALL[name]["messages"]
        assert len(roles_of(ALL[name])) == len(messages) > 40
        for message in messages:
            assert set(message) <= MESSAGE_KEYS
            assert message["role"] in {"user", "assistant"}
            assert message["content"].strip()
            assert message["timestamp"].endswith("Z")
        assert all(one["timestamp"] < other["timestamp"] for one, other in pairwise(messages))
        sessions = [session for session, _ in groupby(messages, key=lambda message: message["session"])]
        assert len(sessions) == len(set(sessions)) > 1

    @each_row("name", ALL)
    def test_questions_name_messages_that_exist(self, name: str) -> None:
        roles = roles_of(ALL[name])
        questions = ALL[name]["questions"]
        assert len({each["question"] for each in questions}) == len(questions) >= 20
        for each in questions:
            assert set(each) == {"question", "category", "evidence"}
            assert each["category"] in CATEGORIES
            assert len(set(each["evidence"])) == len(each["evidence"])
            assert set(each["evidence"]) <= set(roles), each
            assert bool(each["evidence"]) == (each["category"] != "abstention"), each
            if each["category"] == "you-said":
                assert {roles[id_] for id_ in each["evidence"]} == {"assistant"}, each
            if each["category"] in {"update", "multi"}:
                assert len(each["evidence"]) > 1, each
            if each["category"] == "keyword":
                assert len(each["question"].split()) <= 3, each

    def test_the_files_have_names_of_their_own(self) -> None:
        files = list(made.FOLDER.glob("*.json"))
        assert {file.stem for file in files} == set(BY_HAND) >= {"team", "short-sessions"}

    @each_row("name", ["team", "short-sessions"])
    def test_a_file_has_questions_of_all_categories(self, name: str) -> None:
        counts = Counter(each["category"] for each in BY_HAND[name]["questions"])
        assert set(counts) == CATEGORIES
        assert min(counts.values()) >= 4


class TestKnownItems:
    @each_row("name", ALL)
    @each_row("role", ["assistant", "user"])
    def test_a_question_holds_half_of_the_words_of_one_sentence(self, name: str, role: str) -> None:
        messages = ALL[name]["messages"]
        texts = {message["id"]: message["content"] for message in messages}
        questions = made.known_items(messages, seed=3, count=20, roles={role})
        assert questions == made.known_items(messages, seed=3, count=20, roles={role})
        for each in questions:
            (id_,) = each["evidence"]
            assert roles_of(ALL[name])[id_] == role
            assert set(each) == {"question", "category", "evidence"}
            words = each["question"].removesuffix("?")
            for said in ("What did you say about ", "What did you recommend about "):
                words = words.removeprefix(said)
            assert len(words.split()) >= made.QUESTION_WORDS // 2
            assert set(words.split()) <= set(analyzer("english").words(texts[id_]))
        counts = Counter(each["category"] for each in questions)
        assert counts["known-said"] == (counts["known-bare"] if role == "assistant" else 0)
        assert counts["known-bare"] <= 20

    def test_code_short_sentences_and_what_several_messages_say_are_left_out(self) -> None:
        said = "Carry the brass lantern across the frozen courtyard tonight."
        messages = [
            {"id": "a", "role": "assistant", "content": said},
            {"id": "b", "role": "user", "content": said},
            {"id": "c", "role": "assistant", "content": "Too short a sentence."},
            {
                "id": "d",
                "role": "assistant",
                "content": "```\ngather every wooden spoon beneath the marble staircase quickly\n```",
            },
        ]
        assert made.known_items(messages, seed=1, count=5, roles={"assistant", "user"}) == []
        (bare,) = made.known_items(messages[1:], seed=1, count=5, roles={"assistant", "user"})
        assert (bare["category"], bare["evidence"]) == ("known-bare", ["b"])
