"""Reads questions and the messages that answer them from JSON lines; errors name the line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memorybase.core import errors
from memorybase.core.models import ID_LENGTH
from memorybase.core.validation import why_unstorable

MAX_QUESTIONS = 10_000
MAX_QUESTION_CHARS = 8_000  # the default limit of a search
MAX_EVIDENCE = 100
MAX_CATEGORY_CHARS = 100
PROBLEMS_NAMED = 5

UNCATEGORIZED = "uncategorized"
FIELDS = ("question", "evidence", "wrong", "category", "session_id", "end_user_id")


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence`: the caller's ids of the messages that answer the question. `wrong`: of messages that somebody judged
    and that do not. With neither, no message answers it."""

    line: int
    text: str
    evidence: tuple[str, ...]
    category: str = UNCATEGORIZED
    session_id: str | None = None
    end_user_id: str | None = None
    wrong: tuple[str, ...] = ()


def read_questions(text: str) -> list[Question]:
    """The questions of a file; raises InvalidRequest with its first problems: line, field, value and bound."""
    problems: list[str] = []
    found: list[Question] = []
    # Only at line feeds: a JSON string may contain other separators.
    for number, line in enumerate(text.removeprefix("\N{BYTE ORDER MARK}").split("\n"), start=1):
        if line.strip():
            line_problems, question = _read(number, line)
            problems += [f"line {number}: {problem}" for problem in line_problems]
            if question is not None:
                found.append(question)
    if problems:
        raise problems_found(problems)
    if not 1 <= len(found) <= MAX_QUESTIONS:
        raise errors.InvalidRequest(f"The file must hold 1 to {MAX_QUESTIONS} questions (got {len(found)}).")
    return found


def problems_found(problems: list[str]) -> errors.InvalidRequest:
    """One error for all problems, with the first few in its message."""
    more = len(problems) - PROBLEMS_NAMED
    named = "; ".join(problems[:PROBLEMS_NAMED]) + (f"; and {more} more" if more > 0 else "")
    count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    return errors.InvalidRequest(f"The questions have {count}: {named}")


def _read(number: int, line: str) -> tuple[list[str], Question | None]:
    """A line's problems, or its question."""
    try:
        fields = json.loads(line)
        problems = list(_problems(fields))
    except (ValueError, RecursionError):
        return [f"it must be a JSON object (got {_shown(line)})"], None
    if problems:
        return problems, None
    return [], Question(
        line=number,
        text=fields["question"],
        evidence=tuple(dict.fromkeys(fields["evidence"])),
        category=fields.get("category") or UNCATEGORIZED,
        session_id=fields.get("session_id"),
        end_user_id=fields.get("end_user_id"),
        wrong=tuple(dict.fromkeys(fields.get("wrong") or ())),
    )


def _problems(fields: Any) -> Iterator[str]:
    if not isinstance(fields, dict):
        yield f"it must be a JSON object (got {_shown(fields)})"
        return
    for name in fields.keys() - set(FIELDS):
        yield f"{_shown(name)} is an unknown field; the fields are {', '.join(FIELDS)}"
    for name, limit in (
        ("question", MAX_QUESTION_CHARS),
        ("category", MAX_CATEGORY_CHARS),
        ("session_id", ID_LENGTH),
        ("end_user_id", ID_LENGTH),
    ):
        value = fields.get(name)
        if name == "question" or value is not None:
            yield from _text_problem(name, value, limit)
    yield from _evidence_problems(fields)
    if fields.get("wrong") is not None:
        yield from _ids_problems("wrong", fields["wrong"])


def _text_problem(name: str, value: Any, limit: int) -> Iterator[str]:
    if not isinstance(value, str) or not value.strip():
        yield f"{name} must be a non-empty string (got {_shown(value)})"
    elif len(value) > limit:
        yield f"{name} must have at most {limit} characters (got {len(value)})"
    elif (reason := why_unstorable(value)) is not None:
        yield f"{name}: {reason}"


def _evidence_problems(fields: dict[str, Any]) -> Iterator[str]:
    if "evidence" not in fields:
        yield "evidence is missing; it must be a list of message ids, empty if nothing answers the question"
        return
    yield from _ids_problems("evidence", fields["evidence"])


def _ids_problems(name: str, ids: Any) -> Iterator[str]:
    if not isinstance(ids, list):
        yield f"{name} must be a list of message ids (got {_shown(ids)})"
        return
    if len(ids) > MAX_EVIDENCE:
        yield f"{name} must have at most {MAX_EVIDENCE} message ids (got {len(ids)})"
    for message_id in ids:
        if not isinstance(message_id, str) or not 1 <= len(message_id) <= ID_LENGTH:
            yield f"{name} must be message ids of 1 to {ID_LENGTH} characters (got {_shown(message_id)})"
        elif (reason := why_unstorable(message_id)) is not None:
            yield f"{name}: {reason}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."
