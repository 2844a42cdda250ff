"""Every rule recognizes what people ask and say: none is without support, and few sentences are judged wrongly."""

from __future__ import annotations

import rules
from harness.rows import each_row

from memorybase.core.keyword_index.languages import LANGUAGES

LANGUAGE_RULES = rules.judge_languages()
FORMS = rules.judge_standing()


def test_every_rule_recognizes_a_sentence_in_every_language() -> None:
    for name in LANGUAGES:
        assert [rule for rule, judged in rules.judge_languages([name]).items() if not judged.right] == []


@each_row("name", LANGUAGE_RULES)
def test_the_words_of_the_languages_are_right(name: str) -> None:
    judged = LANGUAGE_RULES[name]
    assert judged.precision >= 0.8, judged.wrong
    assert judged.recall >= 0.85, judged.missed


@each_row("name", FORMS)
def test_every_form_of_a_standing_statement_has_support(name: str) -> None:
    judged = FORMS[name]
    assert judged.precision >= 0.66, judged.wrong
    assert judged.recall >= 0.5, judged.missed


def test_the_pairs_of_the_corpus_are_valid() -> None:
    pairs = list(rules.correction_pairs())
    other = [name for name in LANGUAGES if name != "english"]
    assert all("corrections" in rules.sections(rules.RULES / f"{name}.txt") for name in other)
    assert all(len(texts) >= 2 for *_, texts in pairs)
    assert {is_change for _, _, is_change, _ in pairs} == {True, False}
