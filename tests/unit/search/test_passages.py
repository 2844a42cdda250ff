"""Passages: whole sentences with the question's terms, for any text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st

from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.search.passages import (
    READ_CHARS,
    Passage,
    PassageTerms,
    Reader,
    Span,
    best_passage,
    rarities,
    sentences,
)

ENGLISH = analyzer("english")
FILLER = "Nothing of the kind is said here at all. "
WORDS = (
    "zebra",
    "berth",
    "harbour",
    "the",
    "Dr.",
    "e.g.",
    "3.5",
    "```",
    "- item",
    "1. one",
    "\n",
    "。",
    "猫が好き",
    "?!",
    ".",
)
TEXTS = st.one_of(st.text(max_size=400), st.lists(st.sampled_from(WORDS), max_size=120).map(" ".join))


def sought(*terms: str) -> PassageTerms:
    return PassageTerms(terms, {}, ENGLISH)


def best(text: str, *terms: str, max_chars: int = 120, matched: Span | None = None) -> str:
    passage = best_passage(text, dict.fromkeys(terms, 1.0), sought(*terms), max_chars=max_chars, matched=matched)
    return "" if passage is None else passage.of(text)


def split(text: str, max_chars: int = 200) -> list[str]:
    return [text[start:end] for start, end in sentences(text, max_chars)]


class TestSentences:
    @each_row(
        ("text", "expected"),
        [
            ("One. Two! Three?  Four", ["One.", "Two!", "Three?", "Four"]),
            ('He said "No." She left.', ['He said "No."', "She left."]),
            (
                "Ask Dr. Smith at 3.5 km, e.g. tomorrow. Then go.",
                ["Ask Dr. Smith at 3.5 km, e.g. tomorrow.", "Then go."],
            ),
            ("- one. two.\n- three\n\n1. four. five", ["- one. two.", "- three", "1. four. five"]),
            (
                "See:\n```py\nx = a. b\n\ny = 1\n```\nEnd. Done.",
                ["See:", "```py", "x = a. b", "y = 1", "```", "End.", "Done."],
            ),
            ("猫が好き。犬も好き!鳥は\uff1f空", ["猫が好き。", "犬も好き!鳥は\uff1f", "空"]),
            ("", []),
            (" \n\t\n", []),
        ],
    )
    def test_rules_find_sentences(self, text: str, expected: list[str]) -> None:
        assert split(text) == expected

    def test_a_long_sentence_is_cut_between_words_or_anywhere_without_spaces(self) -> None:
        assert split("aaa bbb ccc ddd", 8) == ["aaa bbb", "ccc ddd"]
        assert split("猫" * 25, 10) == ["猫" * 10, "猫" * 10, "猫" * 5]

    @given(TEXTS, st.integers(1, 80))
    def test_sentences_lose_only_white_space(self, text: str, max_chars: int) -> None:
        found = sentences(text, max_chars)
        assert all(0 < end - start <= max_chars and text[start:end].strip() for start, end in found)
        assert all(one.end <= other.start for one, other in pairwise(found))
        assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())


class TestBestPassage:
    def test_a_short_text_is_one_passage(self) -> None:
        assert best("  A zebra. A berth. ", "berth") == "A zebra. A berth."
        assert best(" \n ") == ""

    def test_a_passage_is_whole_sentences_around_the_terms(self) -> None:
        text = FILLER * 20 + "The Albatross lies in berth 12. It is blue. " + FILLER * 20
        found = best(text, "berth", "albatross")
        assert "The Albatross lies in berth 12. It is blue." in found
        assert found[0].isupper()
        assert found.endswith(".")

    def test_more_and_rarer_terms_win(self) -> None:
        text = (
            f"{FILLER * 5}A boat and a boat. {FILLER * 5}The harbour. {FILLER * 5}A boat in the harbour. {FILLER * 5}"
        )
        assert "A boat in the harbour." in best(text, "boat", "harbour", max_chars=50)
        weights = {"boat": 0.1, "harbour": 2.0}
        lone = f"{FILLER * 5}A boat. {FILLER * 5}The harbour. {FILLER * 5}"
        passage = best_passage(lone, weights, sought(*weights), max_chars=50)
        assert passage is not None
        assert "harbour" in passage.of(lone)

    def test_on_ties_the_passage_of_the_matched_chunk_wins(self) -> None:
        text = f"The zebra sleeps. {FILLER * 10}The zebra eats. {FILLER * 10}"
        position = text.index("The zebra eats")
        assert "sleeps" in best(text, "zebra", max_chars=60)
        assert "eats" in best(text, "zebra", max_chars=60, matched=Span(position - 50, position + 60))

    def test_without_terms_the_passage_starts_the_chunk_or_the_text(self) -> None:
        text = "First of all. " + FILLER * 20 + "Here it begins. " + FILLER * 20
        position = text.index("Here it begins")
        assert best(text, "zebra").startswith("First of all.")
        assert "Here it begins." in best(text, "zebra", matched=Span(position, position + 50))

    def test_list_items_and_lines_of_code_stay_whole(self) -> None:
        items = "\n".join(f"- item {n}: do this. Then that." for n in range(40))
        assert best(items.replace("item 20:", "zebra:"), "zebra", max_chars=30) == "- zebra: do this. Then that."
        code = "```\n" + "\n".join(f"value_{n} = {n}. + 1" for n in range(90)) + "\nzebra = 1. + 2\n```"
        assert "zebra = 1. + 2" in best(code, "zebra", max_chars=40).splitlines()

    def test_scripts_without_spaces(self) -> None:
        text = "今日は天気がいい。" * 40 + "猫の名前はミンカです。" + "明日は雨が降る。" * 40
        assert "猫の名前はミンカです。" in best(text, *ENGLISH.terms("猫の名前"), max_chars=60)

    @each_row(
        ("query", "sentence"),
        [("1,649 €", "The sofa was 1649 euros."), ("Munoz", "Dr. Muñoz called."), ("Müller", "Mr Mueller called.")],
    )
    def test_a_passage_has_other_forms_of_the_terms(self, query: str, sentence: str) -> None:
        text = "It rained all day long. " * 20 + sentence + " It rained all day long." * 20
        asked = ENGLISH.asked(query)
        reader = Reader(text, PassageTerms(asked.terms, asked.others, ENGLISH), max_chars=60)
        passage = reader.next_passage(dict.fromkeys(asked.terms, 1.0))
        assert passage is not None
        assert sentence in passage.of(text)

    @given(
        TEXTS, st.integers(1, 90), st.integers(0, 300), st.integers(0, 300), st.sampled_from(["zebra", "berth", "猫が"])
    )
    def test_every_passage_is_part_of_the_text_and_within_the_bound(
        self, text: str, max_chars: int, start: int, length: int, term: str
    ) -> None:
        matched = Span(start, start + length)
        reader = Reader(text, sought(term), max_chars=max_chars, matched=matched)
        taken: list[Passage] = []
        while (passage := reader.next_passage({term: 1.0}, rest=True)) is not None:
            taken.append(passage)
        assert bool(taken) == bool(text.strip())
        for each in taken:
            assert 0 <= each.start < each.end <= len(text)
            assert each.end - each.start <= max_chars
            assert each.of(text) == each.of(text).strip()
        in_order = sorted(taken, key=lambda each: each.start)
        assert all(one.end <= other.start for one, other in pairwise(in_order))
        assert "".join("".join(each.of(text).split()) for each in in_order) == "".join(text.split())
        again = Reader(text, sought(term), max_chars=max_chars, matched=matched).next_passage({term: 1.0})
        assert again == (taken[0] if taken else None)

    @each_row("filler", [FILLER, "x", "猫", "no end\n", ". "])
    def test_of_a_megabyte_only_the_best_part_is_analyzed(self, filler: str, monkeypatch: pytest.MonkeyPatch) -> None:
        text = filler * (500_000 // len(filler)) + " The zebra sleeps. " + filler * (500_000 // len(filler))
        analyzed: list[str] = []
        monkeypatch.setattr(ENGLISH, "terms", lambda part, terms=ENGLISH.terms: analyzed.append(part) or terms(part))
        assert "zebra" in best(text, "zebra", max_chars=400)
        assert sum(map(len, analyzed)) <= READ_CHARS + 2 * 400

    def test_further_passages_have_terms(self) -> None:
        text = f"The zebra. {FILLER * 5}A berth. {FILLER * 5}"
        reader = Reader(text, sought("zebra", "berth"), max_chars=45)
        weights = {"zebra": 2.0, "berth": 1.0}
        first, second = reader.next_passage(weights), reader.next_passage(weights)
        assert first is not None
        assert second is not None
        assert ("zebra" in first.of(text), "berth" in second.of(text)) == (True, True)
        assert reader.next_passage(weights) is None


def test_rare_terms_weigh_more() -> None:
    found = rarities(["a", "b", "c"], [{"a"}, {"a", "b"}, {"a"}])
    assert found["a"] < found["b"] < found["c"]
