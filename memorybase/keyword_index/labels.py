"""How a session is indexed, in the column `keyword_language`: the analyzer's label, for example "english 3". Pure.

Under the setting "detect" the codes of languages that occur in the session follow: "detect 3 de fr". None: its messages
are indexed in several ways, with several languages or by several versions.
"""

from __future__ import annotations

from collections.abc import Iterable

from memorybase.keyword_index.languages import OF_CODE

MAX_CHARS = 32  # of the column; codes that do not fit are left out


def joined(label: str | None, other: str, code: str) -> str | None:
    """The label of a session after a document with the `other` label, in the language of this code or in none."""
    if label is None or not is_of(label, other):
        return None
    return of(other, {*spoken(label), code} - {""})


def of(analyzer_label: str, codes: Iterable[str]) -> str:
    """The label of a session that this analyzer has indexed, with the languages that occur."""
    label = analyzer_label
    for code in sorted(codes):
        if len(label) + len(code) < MAX_CHARS:
            label += f" {code}"
    return label


def is_of(label: str, analyzer_label: str) -> bool:
    """Whether this analyzer has indexed the session."""
    return f"{label} ".startswith(f"{analyzer_label} ")


def spoken(label: str | None) -> set[str]:
    """The languages that the label tells, as codes."""
    return set((label or "").split()) & OF_CODE.keys()
