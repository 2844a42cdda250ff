"""What `evaluate` and `tune` share: reading a file of questions, fetching its messages, searching for each question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memorybase import errors
from memorybase.cli.options import progress, read_text
from memorybase.client import Client, Json

if TYPE_CHECKING:
    from memorybase.evaluation import Question

MAX_NAMED = 5  # message ids in a warning


@dataclass(frozen=True, slots=True)
class ResolvedQuestion:
    """A question with the UUIDs of its evidence, and the session of the first."""

    question: Question
    evidence: frozenset[str]
    session_id: str | None

    @property
    def filters(self) -> dict[str, str]:
        filters = {"session_id": self.question.session_id, "end_user_id": self.question.end_user_id}
        return {name: value for name, value in filters.items() if value is not None}


def load(client: Client, memory: Json, file: Path) -> list[ResolvedQuestion]:
    """The questions of the file. Raises InvalidRequest that names invalid lines and message ids."""
    from memorybase.evaluation.questions import problems_found, read_questions

    questions = read_questions(read_text(file))
    found = _fetch_evidence(client, memory, questions)
    problems = []
    for question in questions:
        for name in question.evidence:
            message = found[name]
            if message is None:
                problems.append(f"line {question.line}: the memory base's flow has no message {name}")
    if problems:
        raise problems_found(problems)
    messages = {name: message for name, message in found.items() if message is not None}
    _warn_of_uncounted(memory, messages)
    return [_resolve(question, messages) for question in questions]


def ask_all(
    client: Client, memory: Json, questions: Sequence[ResolvedQuestion], description: str, **body: Any
) -> Iterator[tuple[ResolvedQuestion, Json]]:
    """Each question with the answer of its search. Raises InvalidRequest with the line of a refused question."""
    with progress() as bar:
        for resolved in bar.track(questions, description=description):
            question = resolved.question
            try:
                answer = client.ask(memory["id"], query=question.text, **resolved.filters, **body)
            except errors.CallerError as exc:
                raise errors.InvalidRequest(f"line {question.line}: {exc.message}", field=exc.field) from exc
            yield resolved, answer


def _fetch_evidence(client: Client, memory: Json, questions: Sequence[Question]) -> dict[str, Json | None]:
    names = list(dict.fromkeys(name for each in questions for name in each.evidence))
    with progress(keep=False) as bar:
        return {
            name: client.message(name, flow_id=memory["flow_id"])
            for name in bar.track(names, description="reading evidence")
        }


def _resolve(question: Question, messages: dict[str, Json]) -> ResolvedQuestion:
    evidence = [messages[name] for name in question.evidence]
    session = evidence[0]["session_id"] if evidence else None
    return ResolvedQuestion(question, frozenset(message["id"] for message in evidence), session)


def _warn_of_uncounted(memory: Json, messages: dict[str, Json]) -> None:
    """Warn of evidence that this memory base does not count, so that no search of it finds it."""
    counts_all = memory["capture"] == "all"
    missing = [
        name
        for name, message in messages.items()
        if not (message["role"] in {"user", "assistant"} if counts_all else message["is_output"])
    ]
    if missing:
        more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        typer.echo(
            f"warning: this memory base has capture {memory['capture']} and does not hold {len(missing)} of the "
            f"{len(messages)} evidence messages: {', '.join(missing[:MAX_NAMED])}{more}. No search of it finds them.",
            err=True,
        )
