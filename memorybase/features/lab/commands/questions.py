"""Shared by `evaluate` and `tune`: read a file of questions, fetch its messages, search for each question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from memorybase_client import errors as client_errors

from memorybase.cli.options import progress, read_text
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client, models

    from memorybase.features.lab.questions import Question

MAX_NAMED = 5  # message ids in a warning


@dataclass(frozen=True, slots=True)
class ResolvedQuestion:
    """A question with the UUIDs of its evidence, the session of the first, and the UUIDs of what is wrong."""

    question: Question
    evidence: frozenset[str]
    session_id: str | None
    wrong: frozenset[str] = frozenset()

    @property
    def has_no_answer(self) -> bool:
        """Whether no message answers it; of a question with only wrong messages nobody has said that."""
        return not self.evidence and not self.wrong

    @property
    def filters(self) -> dict[str, Any]:
        filters = {"session_id": self.question.session_id, "end_user_id": self.question.end_user_id}
        return {name: value for name, value in filters.items() if value is not None}


def load(client: Client, memory: models.MemoryBaseView, file: Path) -> list[ResolvedQuestion]:
    """The questions of the file. Raises InvalidRequest that names invalid lines and message ids."""
    return resolve(client, memory, read_text(file))


def resolve(client: Client, memory: models.MemoryBaseView, text: str) -> list[ResolvedQuestion]:
    """The questions of a text with one JSON object on each line. Raises InvalidRequest like `load`."""
    from memorybase.features.lab.questions import problems_found, read_questions

    questions = read_questions(text)
    found = _fetch_evidence(client, memory, questions)
    problems = []
    for question in questions:
        for name in (*question.evidence, *question.wrong):
            message = found[name]
            if message is None:
                problems.append(f"line {question.line}: the memory base's flow has no message {name}")
    if problems:
        raise problems_found(problems)
    messages = {name: message for name, message in found.items() if message is not None}
    _warn_of_uncounted(memory, messages)
    return [_resolve(question, messages) for question in questions]


def ask_all(
    client: Client, memory: models.MemoryBaseView, questions: Sequence[ResolvedQuestion], description: str, **body: Any
) -> Iterator[tuple[ResolvedQuestion, models.SearchAnswer]]:
    """Each question with the answer of its search. Raises InvalidRequest with the line of a refused question."""
    with progress() as bar:
        for resolved in bar.track(questions, description=description):
            question = resolved.question
            try:
                # As for a model: for people a message with the question's own text would be first.
                answer = client.search_memory_base(
                    memory.id, query=question.text, min_score=0.0, **resolved.filters, **body
                )
            except client_errors.CallerError as exc:
                text = f"line {question.line}: {exc.message}"
                raise errors.InvalidRequest(text, field=exc.field, value=exc.value, limit=exc.limit) from exc
            yield resolved, answer


def _fetch_evidence(
    client: Client, memory: models.MemoryBaseView, questions: Sequence[Question]
) -> dict[str, models.MessageView | None]:
    """The messages by the ids in the questions; None where the flow has none."""
    found: dict[str, models.MessageView | None] = {}
    names = list(dict.fromkeys(name for each in questions for name in (*each.evidence, *each.wrong)))
    with progress(keep=False) as bar:
        for name in bar.track(names, description="reading evidence"):
            try:
                found[name] = client.get_message(name, flow_id=memory.flow_id)
            except client_errors.NotFound:
                found[name] = None
    return found


def _resolve(question: Question, messages: dict[str, models.MessageView]) -> ResolvedQuestion:
    evidence = [messages[name] for name in question.evidence]
    session = evidence[0].session_id if evidence else None
    wrong = frozenset(str(messages[name].id) for name in question.wrong)
    return ResolvedQuestion(question, frozenset(str(message.id) for message in evidence), session, wrong)


def _warn_of_uncounted(memory: models.MemoryBaseView, messages: dict[str, models.MessageView]) -> None:
    """Warn of evidence that this memory base does not count, so that no search of it finds it."""
    from memorybase.core.messages import is_dialogue

    counts_all = memory.capture == "all"
    missing = [
        name
        for name, message in messages.items()
        if not (
            is_dialogue(message.role, message.status, is_output=message.is_output) if counts_all else message.is_output
        )
    ]
    if missing:
        more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        typer.echo(
            f"warning: this memory base has capture {memory.capture} and does not hold {len(missing)} of the "
            f"{len(messages)} evidence messages: {', '.join(missing[:MAX_NAMED])}{more}. No search of it finds them.",
            err=True,
        )
