"""How a session is indexed, in the column `keyword_language`: the analyzer's label, for example "english". Pure.

Under the setting "detect" the label is "detect" and the codes of languages that occur in the session: "detect de fr".
"english detect" has messages from before, which were all indexed as English; None: messages indexed in several ways.
"""

from __future__ import annotations

from memorybase.keyword_index.analyzer import DETECT, ENGLISH
from memorybase.keyword_index.languages import OF_CODE

MAX_CHARS = 32  # of the column; codes that do not fit are left out
AS_ENGLISH = f"{ENGLISH} {DETECT}"


def joined(label: str | None, other: str, code: str) -> str | None:
    """The label of a session after a document with the `other` label, in the language of this code."""
    if label is None or DETECT not in (words := {*label.split(), *other.split()}):
        return label if label == other else None
    codes = words - {ENGLISH, DETECT}
    if not codes <= OF_CODE.keys():
        return None
    found = AS_ENGLISH if ENGLISH in words else DETECT
    for each in sorted({*codes, code} - {""}):
        if len(found) + len(each) < MAX_CHARS:
            found += f" {each}"
    return found


def only(label: str | None, analyzer_label: str) -> str:
    """The label of a session that was indexed again."""
    if analyzer_label != DETECT:
        return analyzer_label
    return " ".join([DETECT, *sorted(spoken(label))])


def spoken(label: str | None) -> set[str]:
    """The languages that the label tells, as codes."""
    return set() if label is None or DETECT not in label else set(label.split()) & OF_CODE.keys()
