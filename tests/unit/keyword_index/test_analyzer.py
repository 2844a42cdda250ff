"""Text to terms."""

from __future__ import annotations

from uuid import UUID

from harness.rows import each_row
from hypothesis import example, given
from hypothesis import strategies as st

from memorybase.core.keyword_index import analyzer as keywords
from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.analyzer import (
    MAX_CHARS,
    MAX_COUNT,
    MAX_TERM_CHARS,
    MAX_TERMS,
    Traits,
    analyzer,
    term_key,
)

ENGLISH = analyzer("english")


@each_row(
    ("text", "terms"),
    [
        ("The cats were running", ["cat", "run"]),
        ("Caroline's agencies weren't", ["carolin", "agenc", "werent"]),
        ("caf\u00e9 CAF\u00c9 cafe\u0301", ["caf\u00e9"] * 3),
        ("5 July, 2023", ["5", "juli", "2023"]),
        ("snake_case e-mail", ["snake", "case", "e", "mail"]),
        ("\u6211\u7231\u5317\u4eac", ["\u6211\u7231", "\u7231\u5317", "\u5317\u4eac"]),
        ("\u732b", ["\u732b"]),
        ("\u732b and dogs", ["\u732b", "dog"]),
        ("\U0001f600 ?! \u0000", []),
        ("", []),
        ("what did you do", []),
    ],
)
def test_text_becomes_stems_without_stop_words(text: str, terms: list[str]) -> None:
    assert ENGLISH.terms(text) == terms


def test_each_language_has_its_stemmer_and_none_has_no_stemmer() -> None:
    assert analyzer("german").terms("die H\u00e4user") == ["haus"]
    assert analyzer("swedish").terms("det \u00e4r bilarna") == ["det", "\u00e4r", "bil"]
    assert analyzer("none").terms("The Houses") == ["the", "houses"]


def test_a_document_that_a_word_finds_has_a_length() -> None:
    """Deletion takes what has a length out of the session's counts."""
    texts = ["The cats were running", "what did you do", "Will!", "I saw Will", "\U0001f600 ?!", "", "it_is", "TheyAre"]
    for each in (ENGLISH, analyzer("german"), analyzer("none")):
        found = [(text, each.document(text)) for text in texts]
        assert [text for text, document in found if bool(document.counts) != bool(document.length)] == [], each.language


def test_a_document_counts_terms_up_to_the_bounds() -> None:
    document = ENGLISH.document("tea tea cake " + "sugar " * 300)
    assert document.counts == {"tea": 2, "cake": 1, "sugar": MAX_COUNT}
    assert document.length == 303
    many = ENGLISH.document(" ".join(f"word{n}" for n in range(MAX_TERMS + 5)) + " " + "x" * 100_000)
    assert (len(many.counts), many.length) == (MAX_TERMS, MAX_TERMS + 6)
    assert max(map(len, ENGLISH.terms("y" * 500))) == MAX_TERM_CHARS


@given(st.text())
@example("ก0ก")
def test_terms_of_any_text_are_within_bounds(text: str) -> None:
    terms = analyzer("none").terms(text)
    assert all(term and len(term) <= MAX_TERM_CHARS for term in terms)
    length, counted = ENGLISH.document(text).length, len(ENGLISH.terms(text))
    # In scripts without spaces several terms are parts of one word.
    assert length <= counted if scripts.has_unspaced(text) else length == counted


@each_row(
    ("text", "traits"),
    [
        ("Do you like it?", Traits.ASKS | Traits.ENDS_IN_QUESTION),
        ("Really? I do.", Traits.ASKS),
        ("Do you?\n[image: a cat]", Traits.ASKS | Traits.ENDS_IN_QUESTION),
        ("\u662f\u5417\uff1f", Traits.ASKS | Traits.ENDS_IN_QUESTION),
        ("I went last week", Traits.TELLS_TIME),
        ("It was in 2022", Traits.TELLS_TIME | Traits.TELLS_NUMBER),
        ("three kids", Traits.TELLS_NUMBER),
        ("nothing of the kind", Traits(0)),
    ],
)
def test_traits_are_recognized(text: str, traits: Traits) -> None:
    assert ENGLISH.document(text).traits == traits


def test_a_key_depends_on_the_flow_and_fits_a_signed_column() -> None:
    one, other = UUID(int=1), UUID(int=2)
    keys = {term_key(flow, f"term{n}") for flow in (one, other) for n in range(500)}
    assert len(keys) == 1_000
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert min(keys) < 0 < max(keys)
    assert term_key(one, "cat") == term_key(one, "cat")


def test_names_are_words_of_more_than_one_letter() -> None:
    assert keywords.name_words("Ada M. Lovelace") == {"ada", "lovelace"}
    assert keywords.name_words(None) == set()


def test_wishes_are_recognized_only_in_english() -> None:
    text = "From now on I want Paris, not London, on our list."
    assert Traits.STATES_WISH in ENGLISH.document(text).traits
    assert Traits.STATES_WISH not in analyzer("german").document(text).traits


def test_a_long_text_is_analyzed_up_to_a_bound_before_and_after_normalization() -> None:
    assert ENGLISH.document("tea " + " " * MAX_CHARS + "cake").counts == {"tea": 1}
    assert len(scripts.normal("\ufdfa" * MAX_CHARS)) == MAX_CHARS  # one character becomes eighteen
    assert len(scripts.normal("a" + "\u0315\u0300" * 1_000)) <= 2 * scripts.MAX_MARKS  # sorting them is quadratic


@each_row(
    ("text", "found"),
    [
        ("Files: core/Queue/run.py, README.md.", {"core/queue/run.py", "queue/run.py", "run.py", "readme.md"}),
        ("\u8bf7\u6539worker/queue.py\u5427", {"worker/queue.py", "queue.py"}),
        ("see ./src/App.test.tsx:12", {"src/app.test.tsx", "app.test.tsx"}),
        ("e.g. at 5 p.m. and/or 3.5kg on 12/05/2024 ... v1.2.3", set()),
    ],
)
def test_a_path_is_one_term_and_so_are_its_ends(text: str, found: set[str]) -> None:
    for language in ("english", "detect"):
        assert {term for term in analyzer(language).document(text).counts if "." in term} == found
        assert {term for term in analyzer(language).found_by(text) if "." in term} == found


def test_a_question_asks_for_a_path_and_less_for_its_ends() -> None:
    asked = analyzer("detect").asked("when did we change core/worker/queue.py?")

    assert asked.terms == ("chang", "core", "worker", "queue", "py", "core/worker/queue.py")
    assert asked.others["core/worker/queue.py"] == ("worker/queue.py", "queue.py")
    assert asked.weak == {"worker/queue.py", "queue.py"}
    assert asked.names == {"core/worker/queue.py"}
    assert "core/worker/queue.py" not in asked.words  # so that no near word is looked for
