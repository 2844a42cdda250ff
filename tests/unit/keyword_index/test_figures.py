"""Numbers, dates, codes and accents: a question finds every form that a message may have."""

from __future__ import annotations

from uuid import UUID

import pytest
from harness.rows import each_row

from memorybase.core.keyword_index import figures
from memorybase.core.keyword_index.analyzer import analyzer, term_key, term_keys

DETECTING, ENGLISH = analyzer("detect"), analyzer("english")
FLOW = UUID(int=1)

AMOUNTS = (
    "1649",
    "1,649 €",
    "1.649,00",
    "1 649",
    "1'649",
    "€1649",
    "1\u00a0649 €",
    "\u0661\u0666\u0664\u0669",
    "\u0661\u066c\u0666\u0664\u0669",
    "१६४९",
    "\uff11\uff0c\uff16\uff14\uff19",
)
THOUSANDS = ("25k", "25,000", "25 000", "25.000,00 €", "25000")
PHONES = ("040 55501234", "+49 40 5550 1234", "(040) 555-01234", "04055501234", "0049-40-5550-1234", "040/55501234")
ACCOUNTS = ("DE02 1203 0000 0000 2020 51", "de02120300000000202051", "DE02-1203-0000-0000-2020-51")
LETTERED = ("GB29 NWBK 6016 1331 9268 19", "GB29NWBK60161331926819")
ORDERS = ("88120447", "8812-0447", "8812 0447")
TICKETS = ("FIN-3391", "FIN3391", "fin 3391")
SPEEDS = ("500 Mbit", "500mbit", "500-Mbit")
SIZES = ("3x4", "3 x 4", "3\u00d74")
DATES = ("03.12.2026", "3.12.", "3. Dezember", "2026-12-03", "3 December", "December 3rd")
UNAMBIGUOUS = ("25/12/2026", "12/25/2026", "December 25", "25.12.")


def found(query: str, text: str) -> bool:
    """Whether the message has every term of the question, or what stands for it; a year may be left out."""
    asked = DETECTING.asked(query, lambda: ["de"])
    keys = {term_key(FLOW, term) for term in DETECTING.document(text).counts}
    return all(term == "2026" or keys & {*term_keys(FLOW, term, asked)} for term in asked.terms)


@each_row("forms", [AMOUNTS, THOUSANDS, PHONES, ACCOUNTS, LETTERED, ORDERS, TICKETS, SPEEDS, SIZES, DATES, UNAMBIGUOUS])
def test_each_form_finds_every_other(forms: tuple[str, ...]) -> None:
    missed = [(one, other) for one in forms for other in forms if not found(one, f"it said {other} on the bill")]
    assert not missed


@each_row(
    ("query", "text"),
    [
        ("+44 7700 900-584", "07700 900584"),
        ("0655501934", "+31 6 5550 1934"),
        ("+1 555 123 4567", "(555) 123-4567"),
        ("qx7 rm2", "the code is QX7RM2"),
        ("ZW44108835", "ZW-4410-8835"),
        ("hhml2094", "room HHML 2094"),
        ("773041882", "7730-41882"),
        ("12480", "12.480,50"),
        ("12.480,50", "12480,50"),
        ("1,00,000", "100000 rupees"),
        ("2,500", "about 2.5k"),
        ("3 de diciembre", "2026-12-03"),
        ("12月3日", "12月3日に会う"),
        ("4,111.00", "4111"),
        ("5 km", "a 5km run"),
        ("1649", "1649eur"),
        ("3.12.", "2026-12-03T10:00:00Z"),
        ("3.12.", "03.12.26"),
        ("1649", "1,649円"),
        ("1649", "the rest (1,649 €)"),
        ("0655501934", "电话06-5550 1934"),
        ("1649", "价格1,649欧元"),
        ("2026-12-03", "日期3.12.2026。"),
    ],
)
def test_a_question_finds_another_form(query: str, text: str) -> None:
    if query.startswith("3 de"):
        asked = DETECTING.asked(query, lambda: ["es"])
        assert all("12-03" in asked.others[term] for term in asked.terms)
    else:
        assert found(query, text)


@each_row(
    "text",
    [
        "1, 2, 3",
        "10 20 30 40",
        "100, 200, 300",
        "1.5 and 0.125",
        "version 2.3.1 of it",
        "v2.3.12",
        "192.168.1.10 or 192.168.100.200/24",
        "from 2023-2024, 10:00-12:00",
        "2019 2020 2021",
        "1/2 cup and 3/4 cup",
        "12/03/2026",
        "99.99.2026 and 2026-13-40",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha 9f41c0e12abc345",
        "the 1st, 2nd, 3rd and 5th",
        "30 2 * * *",
    ],
)
def test_what_is_no_figure_in_several_forms_has_no_further_terms(text: str) -> None:
    assert figures.terms(ENGLISH.folded(text)) == []


@each_row(
    ("query", "text"),
    [
        ("Cafe", "we met at the Café Luitpold"),
        ("Café", "we met at the Cafe Luitpold"),
        ("Munoz", "Dr. Muñoz called"),
        ("Soren", "Søren came"),
        ("Kobenhavn", "a trip to København"),
        ("zazolc gesla jazn", "zażółć gęślą jaźń"),
        ("pho bo", "quán phở bò ngon"),
        ("Da Nang", "đi Đà Nẵng"),
        ("Orleans", "Orléans is nice"),
        ("Malaga", "vuelo a Málaga"),
        ("Łódź", "we stay in Lodz"),
        ("Muller", "Herr Müller kam"),
        ("Müller", "Mr Muller came"),
        ("Müller", "Mr Mueller came"),
        ("Lodz", "we stay in Łódź"),
        ("Mueller", "Herr Müller kam gestern nicht zur Arbeit"),
        ("resume", "my résumé is attached"),
    ],
)
def test_latin_letters_are_found_without_accents(query: str, text: str) -> None:
    assert found(query, text)


def test_what_a_text_is_found_by_contains_its_terms_in_every_form() -> None:
    text = "The Café took 1,649 € on 03.12.2026"
    assert {term.removeprefix("~") for term in ENGLISH.document(text).counts} == ENGLISH.found_by(text)
    assert {"cafe", "café", "1649", "12-03"} <= ENGLISH.found_by(text)


@each_row(("query", "text"), [("má", "mà thôi"), ("péché", "la pêche"), ("Müller", "Møller came")])
def test_words_with_other_accents_are_told_apart(query: str, text: str) -> None:
    assert not found(query, text)


def test_a_word_with_accents_is_counted_without_them_too() -> None:
    assert ENGLISH.document("cafe, café, café").counts == {"cafe": 1, "café": 2, "~cafe": 2}


@pytest.mark.parametrize(
    "text", ["1" * 50_000, "1 " * 30_000, "1,234" * 9_000, "+(1-" * 9_000, "1.1." * 9_000, "a1 " * 20_000]
)
def test_figures_are_read_in_linear_time(text: str) -> None:
    figures.terms(text)
    figures.alternatives(text[:5_000], ("english", "german"))


def test_a_long_question_is_looked_up_by_few_keys() -> None:
    log = " ".join(f"2026-11-{day:02} worker-{day} took {day}13ms, code E{day}31" for day in range(1, 29)) * 20
    asked = DETECTING.asked(log, lambda: ["de", "fr"])
    assert sum(len(term_keys(FLOW, term, asked)) for term in asked.terms) < 6 * len(asked.terms)
