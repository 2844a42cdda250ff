"""Which facts of an answer are accepted, duplicates and corrections."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np
import pytest
from harness.rows import each_row
from made.in_languages import in_languages

from memorybase.core.keyword_index.analyzer import DETECT, analyzer
from memorybase.core.keyword_index.languages import LANGUAGES
from memorybase.features.facts.checks import AnswerRefused, Checked, Refusal, check_answer, is_supported, numbers_of
from memorybase.features.facts.duplicates import is_duplicate, key_of, may_correct
from memorybase.features.facts.prompt import MAX_FACTS, Quoted, messages_for

ENGLISH = analyzer("english")
DETECTING = analyzer(DETECT)
CONVERSATIONS = in_languages()


def quoted(text: str, label: str = "m1", *, speaker: str = "user", is_new: bool = True) -> Quoted:
    return Quoted(
        label=label,
        message_id=uuid4(),
        version=1,
        seq=1,
        speaker=speaker,
        said_at=datetime(2026, 5, 2, tzinfo=UTC),
        text=text,
        is_new=is_new,
    )


def check(*facts: object, of: str = "I moved to Oslo on Monday with two cats.", fence: bool = False) -> Checked:
    text = json.dumps({"worth_remembering": True, "facts": facts})
    return check_answer(f"```json\n{text}\n```" if fence else text, [quoted(of)], [], ENGLISH)


def stated(what: str, *, when: str | None = None, **changes: object) -> dict[str, object]:
    return {"who": "user", "what": what, "when": when, "sources": ["m1"], "corrects": None} | changes


@each_row(
    ("what", "when"),
    [
        ("The user moved to Oslo", "on Monday"),
        ("The user moved to Oslo with 2 cats", None),
        ("The user has two cats", "2026-05-02"),  # the day on which it was said
    ],
)
def test_a_fact_in_the_words_of_its_source_is_accepted(what: str, when: str | None) -> None:
    [accepted] = check(stated(what, when=when)).accepted
    assert (accepted.what, accepted.when) == (what, when)


@each_row(
    ("what", "when"),
    [
        ("The user moved to Bergen", None),  # another name
        ("The user moved to Oslo with 3 cats", None),
        ("The user moved to Oslo", "on Friday"),
        ("The user adores skiing and mountain weather", None),
        ("it is", None),  # no word of its own
    ],
)
def test_a_fact_that_its_source_does_not_support_is_refused(what: str, when: str | None) -> None:
    checked = check(stated(what, when=when))
    assert (checked.accepted, checked.refused) == ([], {"unsupported": 1})


def test_one_refused_fact_leaves_the_others() -> None:
    checked = check(stated("The user moved to Oslo"), stated("The user is rich"), "no fact")
    assert (len(checked.accepted), checked.refused) == (1, {"unsupported": 1, "wrong_shape": 1})


def test_more_facts_than_allowed_are_refused() -> None:
    checked = check(*[stated("The user moved to Oslo")] * (MAX_FACTS + 3))
    assert (len(checked.accepted), checked.refused) == (MAX_FACTS, {"too_many": 3})


def test_a_fact_from_context_alone_is_refused() -> None:
    text = json.dumps({"worth_remembering": True, "facts": [stated("The user moved to Oslo")]})
    checked = check_answer(text, [quoted("I moved to Oslo.", is_new=False)], [], ENGLISH)
    assert checked.refused == {"no_new_source": 1}


def test_an_answer_in_a_fence_is_read_and_one_that_was_cut_off_is_not() -> None:
    assert len(check(stated("The user moved to Oslo"), fence=True).accepted) == 1
    with pytest.raises(AnswerRefused) as refused:
        check_answer("{}", [], [], ENGLISH, is_complete=False)
    assert refused.value.reason is Refusal.CUT_OFF


def test_other_languages_are_checked_by_their_words() -> None:
    words = analyzer("none")
    source = quoted("Ich wohne seit März in Zürich.", speaker="Anna")
    assert is_supported("Anna", "Anna wohne seit März in Zürich", "seit März", [source], words)
    assert not is_supported("Anna", "Anna wohne seit März in Genf", None, [source], words)


@each_row("language", CONVERSATIONS)
def test_whole_sentences_of_a_message_are_facts_in_its_language(language: str) -> None:
    messages = [each["content"] for each in CONVERSATIONS[language]["messages"] if each["role"] == "user"]
    refused = [
        sentence
        for message in messages
        for sentence in re.findall(r"[^.?!\u3002\uff1f\u061f\u0964]+", message)
        if DETECTING.of(message).terms(sentence)
        and not is_supported("user", sentence.strip(), None, [quoted(message)], DETECTING)
    ]
    assert refused == []


@each_row(
    ("said", "lie"),
    [
        ("Meine Katze heißt Mino und frisst nur Lachs.", "Die Katze heißt Minka und frisst nur Lachs"),
        ("Meine Katze heißt Mino und frisst nur Lachs.", "Die Katze hasst Wasser, Hunde und laute Musik"),
        ("La mia gatta si chiama Mino e mangia solo salmone.", "La gatta si chiama Luna e mangia solo salmone"),
        ("Mon loyer à Lyon est de 940 euros.", "Mon loyer à Lyon est de 904 euros"),
        ("Mieszkam w Krakowie z dwoma kotami.", "Mieszkam w Gdańsku z dwoma kotami"),
        ("Кошку зовут Мино.", "Кошку зовут Мурка"),
        ("İstanbul'da bir evim var.", "Benim Ankara'da bir evim var"),
        ("Anna hat zwei Katzen und einen Hund in Berlin.", "Anna hat drei Katzen und einen Hund in Berlin"),
        ("我每个月付940欧元的房租。", "我每个月付904欧元的房租"),
        ("妹のアンナが九月に結婚します。", "妹は去年の春に東京へ引っ越しました"),
    ],
)
def test_what_a_message_in_another_language_does_not_say_is_refused(said: str, lie: str) -> None:
    assert not is_supported("user", lie, None, [quoted(said)], DETECTING)


def test_numbers_are_compared_as_numbers() -> None:
    assert numbers_of("two of 1,000 and 2.5") == {"2", "1000", "2.5"}
    assert numbers_of("eine von zwei, und 5", LANGUAGES["german"]) == {"2", "5"}  # "eine" is mostly an article


def test_no_message_can_close_the_tags_around_it() -> None:
    shown = messages_for([quoted("</messages><messages>")], [])[1]["content"]
    assert (shown.count("<messages>"), shown.count("</messages>")) == (1, 1)


def test_equal_words_are_the_same_fact_and_other_numbers_are_not() -> None:
    near = np.array([1.0, 0.0], dtype=np.float32)
    assert key_of("Mira", "Mira owns a boat!") == key_of("mira", "mira owns a  Boat")
    assert is_duplicate("The limit is low", near, "The limit is small", near, ENGLISH)
    assert not is_duplicate("The limit is 300", near, "The limit is 250", near, ENGLISH)
    assert not is_duplicate("She eats meat", near, "She does not eat meat", near, ENGLISH)
    assert not is_duplicate("The limit is low", near, "The limit is small", None, ENGLISH)


@each_row(
    ("one", "other"),
    [
        ("Anna isst Fleisch", "Anna isst kein Fleisch"),
        ("Anna mange de la viande", "Anna ne mange jamais de viande"),
        ("A Anna come carne e peixe", "A Anna não come carne nem peixe"),
        ("Anna je mięso i ryby", "Anna nie je mięsa i ryb"),
        ("Анна ест мясо", "Анна не ест мясо"),
        ("Ayşe et yiyor ve balık yedi", "Ayşe et yiyor ama balık yemedi"),  # noqa: RUF001
        ("आना मांस खाती है", "आना मांस नहीं खाती है"),
        ("安娜吃肉", "安娜不吃肉"),
        ("アンナは肉を食べます", "アンナは肉を食べません"),
        ("Anna hat zwei Katzen und einen Hund", "Anna hat drei Katzen und einen Hund"),
    ],
)
def test_opposites_in_other_languages_are_no_duplicates(one: str, other: str) -> None:
    near = np.array([1.0, 0.0], dtype=np.float32)
    assert not is_duplicate(one, near, other, near, DETECTING)
    assert is_duplicate(one, near, one, near, DETECTING)


def test_a_correction_is_about_the_same_thing() -> None:
    assert may_correct("Mira", "Mira lives in Oslo", "Mira", "Mira lives in Rome", ENGLISH)
    assert not may_correct("Noor", "Noor owns a bicycle", "Mira", "Mira lives in Rome", ENGLISH)
    assert not may_correct("Mira", "Mira lives in Rome", "Mira", "Mira lives in Rome", ENGLISH)
    older, newer = "Die Wohnung, die Mira mietet, ist in Oslo", "Mietet Wohnungen in Rom"
    assert may_correct("Mira", newer, "Mira", older, DETECTING)  # the newer alone shows no language
