"""The token estimate against the real tokenizer, and the counters that are used without being named."""

from __future__ import annotations

import pytest
from harness.rows import each_row
from made.token_texts import CLOSE, texts_by_kind

from memorybase.core.conversation import ESTIMATE, Record
from memorybase.core.conversation.view import token_counters
from memorybase.core.conversation.view.token_counters import counter_for, counter_named, default_counter
from memorybase.core.conversation.view.token_estimate import estimated_tokens
from memorybase.core.conversation.view.tokens import ESTIMATE_1, TextCounter, stored_counter
from memorybase.core.settings import Settings

TEXTS = texts_by_kind()


def exact_tokens(text: str, counter: str = "openai:o200k_base") -> int:
    empty = Record(id="", seq=0, role="user", content="")
    exact = counter_named(counter)
    return exact.count(empty.with_content(text)) - exact.count(empty)


@each_row("kind", TEXTS)
def test_a_budget_in_estimated_tokens_is_never_far_exceeded(kind: str) -> None:
    ratio = estimated_tokens(TEXTS[kind]) / exact_tokens(TEXTS[kind])
    assert 0.9 <= ratio <= (1.1 if kind in CLOSE else 1.4), f"the estimate is {ratio:.2f} of the tokens"


@each_row("kind", CLOSE)
def test_a_part_of_a_text_is_estimated_like_the_whole(kind: str) -> None:
    parts = [TEXTS[kind][start : start + 2_000] for start in range(0, 20_000, 2_000)]
    for part in parts:
        assert 0.85 <= estimated_tokens(part) / exact_tokens(part) <= 1.2


@each_row(
    "text",
    [
        "",
        " ",
        "\n\n",
        "a",
        "\ud800",
        "\x00",
        "a" * 100_000,
        "A" * 100_000,
        " " * 100_000,
        "-" * 100_000,
        "字" * 50_000,
        "\u0301" * 1_000,
        "👨‍👩‍👧‍👦" * 100,
        "=\n" * 10_000,
        "aB" * 50_000,
    ],
)
def test_any_text_has_an_estimate(text: str) -> None:
    assert estimated_tokens(text) >= (1 if text else 0)


def test_exact_counts_accept_texts_of_any_length_and_characters() -> None:
    assert exact_tokens("ab " * 300_000) >= 300_000
    assert exact_tokens("\ud800") == 1
    assert exact_tokens("<|endoftext|>") > 1  # text of a message, never a special token
    assert exact_tokens("antidisestablishmentarianism") != 0
    assert exact_tokens("你好世界", "openai:cl100k_base") > exact_tokens("你好世界")


@each_row(
    ("model", "name"),
    [
        (None, "openai:o200k_base"),
        ("gpt-4o-mini", "openai:o200k_base"),
        ("gpt-4.1", "openai:o200k_base"),
        ("gpt-5", "openai:o200k_base"),
        ("gpt-4", "openai:cl100k_base"),
        ("gpt-4-turbo", "openai:cl100k_base"),
        ("gpt-3.5-turbo", "openai:cl100k_base"),
        ("claude-opus-4", "openai:o200k_base"),
    ],
)
def test_exact_counts_are_used_where_the_package_is_installed(model: str | None, name: str) -> None:
    assert counter_for(Settings(), model).name == default_counter(model).name == name


def test_without_the_package_tokens_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_counters, "find_spec", lambda _: None)
    assert counter_for(Settings(), "gpt-4o") is ESTIMATE


def test_the_setting_chooses_the_counter_of_a_model_and_of_all_others() -> None:
    settings = Settings(token_counters={"llama": "hf:all-MiniLM-L6-v2", "": "estimate"})
    assert counter_for(settings, "llama").name == "hf:all-MiniLM-L6-v2"
    assert counter_for(settings, "gpt-4o") is counter_for(settings) is ESTIMATE


def test_stored_counts_name_the_version_that_counted_them() -> None:
    assert stored_counter("estimate-1") is ESTIMATE_1
    assert stored_counter(ESTIMATE.name) is ESTIMATE
    assert ESTIMATE_1.count(Record(id="", seq=0, role="user", content="word word")) == 3 + 3


def test_views_of_one_request_count_a_message_once() -> None:
    counted: list[str] = []
    counter = TextCounter("mine", lambda text: counted.append(text) or 7)  # type: ignore[func-returns-value]
    for _ in range(3):  # other records of the same text
        assert counter.count(Record(id="", seq=0, role="user", content="long " * 100)) == 3 + 7
    assert len(counted) == 1
