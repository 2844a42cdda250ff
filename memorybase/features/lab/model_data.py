"""Messages and questions to compare models on: an export, JSON lines, or a LoCoMo file with its own questions. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorybase.core import errors
from memorybase.core.import_export.conversation_files import checked_message, read_runs
from memorybase.core.messages import message_text
from memorybase.features.lab.questions import PROBLEMS_NAMED, Question, problems_found, read_questions

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True, slots=True)
class StoredText:
    """A message that a memory base would hold, with every id that a question may name."""

    ids: frozenset[str]
    session_id: str
    end_user_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages that are searched together, and the questions about them that have evidence."""

    texts: Sequence[StoredText]
    questions: Sequence[Question]

    def candidates(self, question: Question) -> list[int]:
        """The positions of the messages that a search for this question may find."""
        return [
            position
            for position, text in enumerate(self.texts)
            if question.session_id in (None, text.session_id) and question.end_user_id in (None, text.end_user_id)
        ]

    def evidence(self, question: Question) -> frozenset[int]:
        return frozenset(position for position, text in enumerate(self.texts) if text.ids & set(question.evidence))


def read_data(data: str, questions: str | None) -> list[Conversation]:
    """The conversations of the file. Raises InvalidRequest that names the line, the field, or what is missing."""
    if questions is None:
        found = _locomo(data)
    else:
        texts = list(_exported(data)) if _is_export(data) else list(_posted(read_runs(data, namespace="data")))
        found = [Conversation(texts, [each for each in read_questions(questions) if each.evidence])]
        _check_evidence(found[0])
    if not any(conversation.questions for conversation in found):
        raise errors.InvalidRequest("At least one question must have evidence, because only those are measured.")
    return found


def _check_evidence(conversation: Conversation) -> None:
    known = frozenset().union(*(text.ids for text in conversation.texts))
    problems = [
        f"line {question.line}: the data has no message {name} with text from a user or an assistant"
        for question in conversation.questions
        for name in question.evidence
        if name not in known
    ]
    if problems:
        raise problems_found(problems)


# Exports


def _is_export(data: str) -> bool:
    first = data.partition("\n")[0]
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and line.get("type") == "export"


def _exported(data: str) -> Iterator[StoredText]:
    for number, text in enumerate(data.split("\n"), start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            if line["type"] == "message":
                yield from _counted(line, line["session_id"], line.get("end_user_id"), line.get("external_id"))
        except (ValueError, LookupError, TypeError, RecursionError, errors.InvalidRequest) as exc:
            raise errors.InvalidRequest(f"Line {number} is no line of an export.", field=f"line {number}") from exc


# JSON lines and LoCoMo


def _posted(runs: Sequence[Any]) -> Iterator[StoredText]:
    for run in runs:
        for message in run.messages:
            yield from _counted(message, run.session_id, run.end_user_id)


def _locomo(data: str) -> list[Conversation]:
    try:
        documents = json.loads(data)
    except (ValueError, RecursionError):
        documents = None
    documents = documents if isinstance(documents, list) else [documents]
    if not all(isinstance(each, dict) and isinstance(each.get("qa"), list) for each in documents):
        raise errors.InvalidRequest("--questions must name a file, unless the data is a LoCoMo file with its own.")
    return [_locomo_conversation(document) for document in documents]


def _locomo_conversation(document: Mapping[str, Any]) -> Conversation:
    texts = list(_posted(read_runs(json.dumps(document), namespace="data")))
    known = frozenset().union(*(text.ids for text in texts))
    name = document.get("sample_id", "conversation-0")
    questions, problems = [], []
    for number, item in enumerate(document["qa"]):
        try:
            evidence = tuple(f"{name}:{each}" for each in item["evidence"])
            category = LOCOMO_CATEGORIES.get(item["category"], str(item["category"]))
            question = Question(number, str(item["question"]), evidence, category)
        except (LookupError, TypeError):
            problems.append(f"qa[{number}] must have question, category and evidence")
            continue
        # The data set names some turns that it does not have; such a question cannot be judged.
        if evidence and category != "adversarial" and known.issuperset(evidence):
            questions.append(question)
    if problems:
        raise errors.InvalidRequest("; ".join(problems[:PROBLEMS_NAMED]))
    return Conversation(texts, questions)


def _counted(
    message: dict[str, Any], session_id: str, end_user_id: str | None, external_id: str | None = None
) -> Iterator[StoredText]:
    """The message in any accepted format, unless a memory base holds no such message. Raises InvalidRequest."""
    checked, _ = checked_message(message)
    text = message_text(checked.content)
    if checked.is_dialogue and text.strip() and not message.get("muted"):
        names = (checked.id and checked.id.sent, external_id)
        yield StoredText(frozenset(name for name in names if name), session_id, end_user_id, text)
