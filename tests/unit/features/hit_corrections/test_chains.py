"""Which value of a sentence holds."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.features.hit_corrections.chains import current
from memorybase.features.hit_corrections.statements import statements


@each_row(
    ("language", "text", "key"),
    [
        ("english", "It lies at berth 12 again instead of 31", "12"),
        ("english", "It moved from berth 12 to 31", "31"),
        ("english", "Berth 12 again instead of 3, until the 13th of May", "12"),  # the 3 of another value
        ("german", "berth １２ again instead of ３１", "12"),  # noqa: RUF001 - compared in normal form
    ],
)
def test_the_last_value_holds_unless_it_is_the_former_one(language: str, text: str, key: str) -> None:
    [statement] = statements(text, analyzer(language), ("number",))
    assert current(statement, "number") == key
