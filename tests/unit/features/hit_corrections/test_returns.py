# ruff: noqa: RUF001 - the texts are in many languages
"""Values that return, and telephone numbers, in all languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from harness.rows import each_row

from memorybase.core.keyword_index.analyzer import DETECT, analyzer
from memorybase.features.hit_corrections.pairs import Correction, Said, find, sought_by, stated
from memorybase.features.hit_corrections.statements import statements
from memorybase.features.hit_corrections.values import is_same

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def corrections(query: str, *texts: str, likeness: float = 0.5) -> list[Correction]:
    messages = [Said("ada", (START + timedelta(days=number), 1), text) for number, text in enumerate(texts)]
    sought, own = sought_by(query, analyzer(DETECT)), analyzer(DETECT).of(query)
    return find(messages, stated(messages, query, sought, own), query, lambda _one, _other: likeness, own)


@each_row(
    ("query", "older", "newer", "was", "now"),
    [
        (
            "What is my phone number?",
            "My phone number is 040 5550123.",
            "My number is now 0171 2345678.",
            *["040 5550123", "0171 2345678"],
        ),
        (
            "What is Mia's phone number?",
            "Mia's phone number is 555-1234.",
            "Mia's phone number is 555-9876 now.",
            "555-1234",
            "555-9876",
        ),
        (
            "What is the clinic's number?",
            "The clinic's number is (212) 555-0101.",
            "The clinic's number changed to +1 646 555 0199.",
            "(212) 555-0101",
            "+1 646 555 0199",
        ),
        (
            "Wie ist die Nummer der Praxis?",
            "Die Nummer der Praxis ist 0761/55501-0.",
            "Die Praxis hat jetzt die Nummer 0761/55512.",
            "0761/55501-0",
            "0761/55512",
        ),
        (
            "Quel est le numéro de la mairie ?",
            "Le numéro de la mairie est le 03 20 55 51 12.",
            "Le numéro de la mairie est maintenant le 03.20.55.54.40.",
            "03 20 55 51 12",
            "03.20.55.54.40",
        ),
        (
            "Какой номер телефона у клиники?",
            "Номер телефона клиники +7 495 555-01-12.",
            "Номер клиники теперь 8 495 555-09-90.",
            "+7 495 555-01-12",
            "8 495 555-09-90",
        ),
        (
            "诊所的电话号码是多少？",
            "诊所的电话号码是010-5555-1234。",
            "诊所的电话号码改为010-5555-9876。",
            "010-5555-1234",
            "010-5555-9876",
        ),
    ],
)
def test_telephone_numbers_are_values(query: str, older: str, newer: str, was: str, now: str) -> None:
    (found,) = corrections(query, older, newer)
    assert (found.kind, found.was, found.now) == ("number", was, now)


@each_row(
    ("text", "shown"),
    [
        ("The invoice of 03.12.2026 is over 1,200 euros.", ["1,200"]),
        ("It took 0.125 seconds, from 08:30 on.", ["0.125"]),
        ("We had 120 300 and 12 guests.", ["120", "300", "12"]),
        ("Version 0171 and order 4711.", ["0171", "4711"]),
        ("The build of 2026-12-10 has 555 tests.", ["555"]),
        ("Call +49 171 2345678, please.", ["+49 171 2345678"]),
        ("Call (040) 555 01 23.", ["(040) 555 01 23"]),
    ],
)
def test_dates_times_and_amounts_are_no_telephone_numbers(text: str, shown: list[str]) -> None:
    assert [
        value.shown for each in statements(text, analyzer("english"), ("number",)) for value in each.values
    ] == shown


@each_row(
    ("one", "other", "same"),
    [
        ("on 3 December", "on December 3rd", True),
        ("on 3 December", "on 2026-12-03", True),
        ("on 3 December", "on 03.12.2026", True),
        ("on the 3rd", "on 3 December", True),
        ("on 3 December 2025", "on 3 December 2026", False),
        ("on 3 December", "on 3 November", False),
        ("at 10:00", "at 10 am", True),
        ("at 2 pm", "at 14:00", True),
        ("at 2 pm", "at 2:00", True),
        ("at 2 pm", "at 2 am", False),
        ("on Friday", "on Fridays", True),
        ("on Friday", "on Thursday", False),
    ],
)
def test_the_same_day_or_time_in_other_words_is_the_same_value(one: str, other: str, same: bool) -> None:
    keys = [
        value.key
        for text in (one, other)
        for each in statements(f"It is {text}", analyzer("english"), ("date", "time"))
        for value in each.values
    ]
    assert len(keys) == 2
    assert is_same(*keys) == same
