"""Near words of a misspelled one."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.core.search import slips


@each_row(
    ("word", "meant", "group"),
    [
        ("recieve", "receive", 0),
        ("antibiotik", "antibiotic", 0),
        ("alergic", "allergic", 0),
        ("consultent", "consultant", 0),
        ("tihs", "this", 0),
        ("resturant", "restaurant", 1),
        ("guitat", "guitar", 1),
        ("diabetc", "diabetic", 1),
        ("spacr", "spacer", 1),
        ("appointmwnt", "appointment", 1),
        ("definatly", "definitely", 2),
        ("neccessery", "necessary", 2),
        ("tommorow", "tomorrow", 2),
        ("partikels", "particles", 2),
        ("\u0434\u0430\u043d\u0442\u0438\u0441\u0442", "\u0434\u0435\u043d\u0442\u0438\u0441\u0442", 0),
        ("\u03b3\u03b9\u03b1\u03c4\u03c1\u03c3\u03bf\u03c2", "\u03b3\u03b9\u03b1\u03c4\u03c1\u03bf\u03c2", 1),
    ],
)
def test_the_word_that_was_meant_is_near(word: str, meant: str, group: int) -> None:
    groups = slips.near(word)
    assert [meant in each for each in groups].index(True) == group


@each_row(
    ("word", "other"),
    [("talk", "walk"), ("rent", "went"), ("settle", "kettle"), ("live", "love"), ("team", "term"), ("whose", "whole")],
)
def test_other_short_words_are_not_near(word: str, other: str) -> None:
    assert all(other not in group for group in slips.near(word))


@each_row(
    "word",
    ["cat", "b12", "hhml2094", "1649", "\u732b\u306e\u540d\u524d", "na\u00efvety", "x" * 21, "\u0627\u0644\u0642"],
)
def test_what_is_short_or_no_word_of_an_alphabet_has_no_near_words(word: str) -> None:
    assert slips.near(word) == []


@each_row("word", ["abcde", "accommodation", "e" * slips.LONGEST, "qwertzuiopasdfghjkly"])
def test_near_words_are_bounded(word: str) -> None:
    assert sum(map(len, slips.near(word))) < slips.MOST_OF_TWO + 70 * slips.LONGEST
