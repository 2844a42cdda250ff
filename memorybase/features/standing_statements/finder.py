"""Find the statements in a user's message that hold beyond it: instructions and preferences. Pure, English only.

The form of a clause decides, without a language model: an imperative with always or never, a first person with prefer,
words such as "from now on". Questions, code, quotations and pasted material are passed over, and so are requests that
are done with their answer. A statement that this misses is still found by search; one that it finds wrongly would be in
every context, so a form that is often a request of the moment counts only where nothing else is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from memorybase.features.standing_statements.forms import (
    ASKED_ABOUT,
    CLAUSE_END,
    CLAUSE_START,
    CONDITION,
    CUES,
    FROM_NOW_ON,
    INSTRUCTIONS,
    NAMES_ANSWERS,
    OF_THE_MOMENT,
    OPENING,
    POLITE_REQUESTS,
    PREFERENCES,
    PRONOUN_OBJECT,
    REQUEST,
    Form,
)

Kind = Literal["instruction", "preference"]

MAX_STATEMENTS = 8  # of one message
MAX_CHARS = 300  # of a statement; a longer one is cut after a word
MAX_TEXT = 8_000  # characters; a longer message is material with a remark before or after it
EDGE = 1_500  # characters at either end of such a message that are read

# Material, masked by characters that no form contains, so that positions stay.
MASK = "\x00"
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<(code|pre|quote|blockquote)>.*?(?:</\1>|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*(?:>|\|).*$", re.MULTILINE)
_QUOTATION = re.compile(r"(?:(?<=[\s(:,])|^)(?:\"[^\"\n]{8,}\"|\u201c[^\u201d\n]{8,}\u201d|'[^'\n]{8,}'(?!\w))")
# A line that introduces material, unless it introduces rules for the assistant.
_INTRODUCTION = re.compile(
    r"^[^\n]*(?::|\b(?:following|below)\b[^\n]*)[ \t]*$"
    r"|^[^\n]*\b(?:translat|summari[sz]|proofread|paraphras|rewrit|rephras)\w*\b[^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_INTRODUCES_RULES = re.compile(
    r"\b(?:my (?:\w+ )?(?:preferences?|rules|wishes|style)|rules for you|your answers|how (?:to|you should) answer"
    r"|remember|keep in mind|from now on|going forward|instructions for you|always)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|vs)\.(?= )|[^.!?\n]|[.!?](?=[^\s.!?\"')\]]))+[.!?]*")
_OPENING = re.compile(rf"\s*{OPENING}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, verbatim, and the form by which it was found."""

    kind: Kind
    text: str
    form: str = field(default="", compare=False)


class _Sentence(NamedTuple):
    """A sentence in the masked text, and whether another one of the message asks for something."""

    text: str
    start: int
    others_ask: bool

    @property
    def is_question(self) -> bool:
        return self.text.rstrip().endswith("?")


def find(text: str) -> list[Statement]:
    """The statements of one message of a user, in order, each once."""
    plain = text.replace("\u2019", "'").replace(MASK, " ")
    if not _has_cue(plain):
        return []
    if len(plain) > MAX_TEXT:
        plain = plain[:EDGE].rpartition("\n")[0] + "\n\n" + plain[-EDGE:].partition("\n")[2]
    found: dict[str, Statement] = {}
    for sentence in _sentences(masked(plain)):
        if not _has_cue(sentence.text):
            continue
        for kind, form, start, end in _in_sentence(sentence):
            said = _tidy(plain[sentence.start + start : sentence.start + end])
            if len(said.split()) > 1:
                found.setdefault(said.casefold(), Statement(kind, said, form))
    return list(found.values())[:MAX_STATEMENTS]


def is_conditional(text: str) -> bool:
    """Whether a statement holds in some case only, such as "when I ask about prices"."""
    return CONDITION.search(text) is not None


def _has_cue(text: str) -> bool:
    folded = text.casefold()
    return any(cue in folded for cue in CUES)


def masked(text: str) -> str:
    """The text with code, quotations and pasted material replaced by MASK, so that positions stay."""
    for material in (_CODE, _QUOTED_LINE, _QUOTATION):
        text = material.sub(lambda match: _blank(match[0]), text)
    for introduction in _INTRODUCTION.finditer(text):
        rest = text[introduction.end() :]
        is_masked = rest.lstrip().startswith(MASK)  # it is a block, which has an end
        if rest.strip() and not is_masked and not _INTRODUCES_RULES.search(introduction[0]):
            return text[: introduction.end()] + _blank(rest)
    return text


def _blank(material: str) -> str:
    return re.sub(r"[^\n]", MASK, material)


def _sentences(masked: str) -> Iterator[_Sentence]:
    matches = [match for match in _SENTENCE.finditer(masked) if match[0].strip(" \t\x00.!?")]
    asks = [match[0].rstrip().endswith("?") or REQUEST.match(match[0]) is not None for match in matches]
    for match, itself in zip(matches, asks, strict=True):
        yield _Sentence(match[0], match.start(), sum(asks) > itself)


def _in_sentence(sentence: _Sentence) -> Iterator[tuple[Kind, str, int, int]]:
    """The statements of a sentence: kind, form, start and end."""
    opening = _OPENING.match(sentence.text)
    start = 0 if opening is None else opening.end()
    forms = POLITE_REQUESTS if sentence.is_question else INSTRUCTIONS
    matching = (form for form in forms if form.pattern.match(sentence.text, start))
    found = next((form for form in matching if _counts(form, sentence, sentence.text[start:])), None)
    if found is not None:
        yield "instruction", found.name, start, len(sentence.text)
    else:
        yield from _preferences(sentence)


def _counts(form: Form, sentence: _Sentence, said: str) -> bool:
    """Whether a matched form is a statement here."""
    if form.timeless and OF_THE_MOMENT.search(FROM_NOW_ON.sub("", said)):
        return False
    return not (form.unasked and sentence.others_ask) or NAMES_ANSWERS.search(said) is not None


def _preferences(sentence: _Sentence) -> Iterator[tuple[Kind, str, int, int]]:
    text, taken = sentence.text, 0
    for form in PREFERENCES:
        match = form.pattern.search(text, taken)
        if match is None:
            continue
        before = text[: match.start()]
        if ASKED_ABOUT.search(before) or not CLAUSE_START.search(before.rstrip(MASK)):
            continue
        ending = CLAUSE_END.search(text, match.end())
        end = len(text) if ending is None else ending.start()
        said = text[match.start() : end]
        is_whole = not before.strip(" \t\x00")
        if sentence.is_question and (form.unasked or (ending is None and is_whole)):
            continue  # "I always get this, don't I?"
        if PRONOUN_OBJECT.search(said):
            if is_whole:
                continue  # what it is about stands in an earlier sentence
            yield "preference", form.name, 0, end
        elif _counts(form, sentence, said):
            yield "preference", form.name, match.start(), end
        else:
            continue
        taken = end


def _tidy(text: str) -> str:
    said = " ".join(text.split()).strip(" ,;:-*\u2022\x00").removesuffix("?").rstrip()
    return said if len(said) <= MAX_CHARS else said[:MAX_CHARS].rpartition(" ")[0] + " \u2026"
