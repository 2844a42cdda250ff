"""What `evaluate` and `tune` share: a file of questions, its message ids looked up, and each question asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memorybase import errors
from memorybase.cli.options import progress
from memorybase.client import Client, Json

if TYPE_CHECKING:
    from memorybase.evaluation import Question

NAMED = 5  # message ids in a warning


@dataclass(frozen=True, slots=True)
class Known:
    """A question whose evidence was looked up: the messages' UUIDs, and the session of the first."""

    question: Question
    evidence: frozenset[str]
    session_id: str | None

    @property
    def filters(self) -> dict[str, str]:
        given = {"session_id": self.question.session_id, "end_user_id": self.question.end_user_id}
        return {name: value for name, value in given.items() if value is not None}


def load(client: Client, memory: Json, file: Path) -> list[Known]:
    """The questions of the file; raises InvalidRequest naming lines and message ids that do not fit."""
    from memorybase.evaluation.questions import problems_found, read_questions

    questions = read_questions(_text(file))
    found = _look_up(client, questions)
    problems = []
    for each in questions:
        for name in each.evidence:
            message = found[name]
            if message is None:
                problems.append(f"line {each.line}: there is no message {name}")
            elif message["flow_id"] != memory["flow_id"]:
                problems.append(f"line {each.line}: the message {name} is in another flow than the memory base")
    if problems:
        raise problems_found(problems)
    messages = {name: message for name, message in found.items() if message is not None}
    _warn_of_uncounted(memory, messages)
    return [_known(each, messages) for each in questions]


def ask_all(
    client: Client, memory: Json, known: Sequence[Known], what: str, **body: Any
) -> Iterator[tuple[Known, Json]]:
    """Each question with the whole answer of its search; raises naming the line of a question that is refused."""
    with progress() as bar:
        for each in bar.track(known, description=what):
            try:
                answer = client.ask(memory["id"], query=each.question.text, **each.filters, **body)
            except errors.CallerError as exc:
                raise errors.InvalidRequest(f"line {each.question.line}: {exc.message}", field=exc.field) from exc
            yield each, answer


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise errors.InvalidRequest(f"{file} cannot be read: {reason}.") from exc


def _look_up(client: Client, questions: Sequence[Question]) -> dict[str, Json | None]:
    names = list(dict.fromkeys(name for each in questions for name in each.evidence))
    with progress(stays=False) as bar:
        return {name: client.message(name) for name in bar.track(names, description="looking up message ids")}


def _known(question: Question, messages: dict[str, Json]) -> Known:
    evidence = [messages[name] for name in question.evidence]
    session = evidence[0]["session_id"] if evidence else None
    return Known(question, frozenset(each["id"] for each in evidence), session)


def _warn_of_uncounted(memory: Json, messages: dict[str, Json]) -> None:
    """Messages that this memory base never holds: no search of it finds them."""
    everything = memory["capture"] == "all"
    missing = [
        name
        for name, each in messages.items()
        if not (each["role"] in {"user", "assistant"} if everything else each["is_output"])
    ]
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        typer.echo(
            f"warning: this memory base has capture {memory['capture']} and does not hold {len(missing)} of the "
            f"{len(messages)} evidence messages: {', '.join(missing[:NAMED])}{more}. No search of it finds them.",
            err=True,
        )
