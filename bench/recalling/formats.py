"""The formats of the data sets that the benchmarks of search understand, and their readers.

A format is known by the keys of its documents. A reader makes a conversation of a document. It leaves out messages
without text, and questions of which the data do not say which messages answer, unless they say that none does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any

import runs

from memorybase.core.import_export import conversation_files
from recalling import corpora, sources
from recalling.corpora import BETWEEN_MESSAGES, Conversation, Corpus, Question
from recalling.sources import Document

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
REALTALK_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
ABSTENTION = "abstention"  # of questions that nothing answers, in BEAM and LongMemEval
LONGMEMEVAL_TIME = "%Y/%m/%d (%a) %H:%M"  # "2023/05/20 (Sat) 02:21"
REALTALK_TIME = "%d.%m.%Y, %H:%M:%S"
BEAM_TIMES = ("%B-%d-%Y", "%Y-%m-%d")  # "March-15-2024"
TURN = re.compile(r"D\d+:\d+")
MOST_IN_A_RUN = 500

Message = Mapping[str, Any]
Session = tuple[str, Iterable[Message]]  # its id, unique in the conversation, and its messages


@dataclass(frozen=True, slots=True)
class Format:
    """`keys` are in each of its documents. `people`: chats between people instead of with an assistant."""

    name: str
    keys: frozenset[str]
    read: Callable[[str, Document], Conversation]
    people: bool = False


def read(path: Path, most: int | None = None) -> Corpus:
    """The conversations of a file or folder, or its first ones. Raises ValueError for what no format fits."""
    documents = sources.documents(path)
    first = next(documents, None)
    if first is None:
        raise ValueError(f"{path} must hold at least one conversation")
    found = next((each for each in FORMATS if each.keys <= first.keys()), None)
    if found is None:
        known = "; ".join(f"{each.name}: {', '.join(sorted(each.keys))}" for each in FORMATS)
        raise ValueError(f"{path} must have the keys of a known format ({known}); got {', '.join(first)}")
    if path.is_dir():
        name = f"{found.name} {path.resolve().name}"
    else:
        name = path.stem if found is HISTORY else path.stem.partition("-")[0]
    conversations = [found.read(name, each) for each in islice(chain([first], documents), most)]
    return Corpus(name, conversations, runs.digest(path), found.people)


def _conversation(
    corpus: str, name: str, sessions: Iterable[Session], questions: Callable[[Mapping[str, str]], Iterable[Question]]
) -> Conversation:
    """Ids of messages and sessions get the conversation's name. `questions` gets the session of each message."""
    posted: list[dict[str, Any]] = []
    session_of: dict[str, str] = {}
    for number, (session, messages) in enumerate(sessions):
        session_id = f"{name}:{session}"
        said = [{**each, "id": f"{name}:{each['id']}"} for each in messages if str(each["content"]).strip()]
        session_of |= dict.fromkeys((each["id"] for each in said), session_id)
        for start in range(0, len(said), MOST_IN_A_RUN):
            of_run = said[start : start + MOST_IN_A_RUN]
            posted.append({"session_id": session_id, "run_id": f"{name}:run-{number}-{start}", "messages": of_run})
    return Conversation(corpus, name, posted, list(questions(session_of)))


def _said(id_: Any, role: str, content: str, at: datetime | None = None, **more: Any) -> Message:
    return {"id": id_, "role": role, "content": content, **more} | ({"timestamp": at.isoformat()} if at else {})


def _after(start: datetime | None, number: int) -> datetime | None:
    return None if start is None else start + number * BETWEEN_MESSAGES


def locomo(corpus: str, document: Document) -> Conversation:
    name = str(document["sample_id"])
    posted: list[dict[str, Any]] = [
        {"session_id": run.session_id, "run_id": run.run_id, "messages": list(run.messages)}
        for run in conversation_files.read_runs(json.dumps([document]), namespace=name)
    ]
    turns = {message["id"] for run in posted for message in run["messages"]}
    questions = _of_turns(name, document["qa"], turns, LOCOMO_CATEGORIES)
    return Conversation(corpus, name, posted, list(questions))


def realtalk(corpus: str, document: Document) -> Conversation:
    """Two people over three weeks; each message has its time."""
    numbers = sorted(int(key[8:]) for key in document if re.fullmatch(r"session_\d+", key))
    first = document["name"]["speaker_1"]

    def said(turn: Document) -> Message:
        content = "\n".join([turn["clean_text"], *(f"[image: {text}]" for text in [turn.get("blip_caption")] if text)])
        role = "user" if turn["speaker"] == first else "assistant"
        at = _time(turn.get("date_time"), REALTALK_TIME)
        return _said(turn["dia_id"], role, content, at, sender_name=turn["speaker"])

    sessions = [(f"session_{number}", map(said, document[f"session_{number}"])) for number in numbers]
    name = f"{corpus}-{document['chat_id']}" if "chat_id" in document else corpus
    asked = document["qa"]
    return _conversation(corpus, name, sessions, lambda turns: _of_turns(name, asked, turns, REALTALK_CATEGORIES))


def _of_turns(
    name: str, asked: Iterable[Document], turns: Iterable[str], categories: Mapping[int, str]
) -> Iterator[Question]:
    """Questions whose evidence names turns: a few name none, or none that exists, or two in one text."""
    known = set(turns)
    for each in asked:
        evidence = known & {f"{name}:{turn}" for turn in TURN.findall(str(each.get("evidence", "")))}
        if evidence:
            yield Question(each["question"], categories[int(each["category"])], frozenset(evidence))


def longmemeval(corpus: str, document: Document) -> Conversation:
    """A question with sessions of its own. Times are moved by whole weeks, so that "yesterday" is the day before the
    question's date; in which sessions the answer is, the data say."""
    name = f"{corpus}-{document['question_id']}"
    asked_at = _time(document.get("question_date"), LONGMEMEVAL_TIME)
    moved = timedelta() if asked_at is None else corpora.weeks_since(asked_at, datetime.now(UTC))
    ids, answering = list(_unique(document["haystack_session_ids"])), set[str]()
    sessions: list[Session] = []
    for session, date, turns in zip(ids, document["haystack_dates"], document["haystack_sessions"], strict=True):
        start = _time(date, LONGMEMEVAL_TIME)
        start = start and start + moved
        said = [(f"{session}_{number + 1}", number, turn) for number, turn in enumerate(turns)]
        answering |= {f"{name}:{id_}" for id_, _, turn in said if turn.get("has_answer")}
        messages = [_said(id_, turn["role"], turn["content"], _after(start, number)) for id_, number, turn in said]
        sessions.append((session, messages))
    in_sessions = frozenset(f"{name}:{session}" for session in document.get("answer_session_ids", ()))

    def questions(session_of: Mapping[str, str]) -> Iterator[Question]:
        evidence = frozenset(answering & session_of.keys())
        if document["question_id"].endswith("_abs"):
            yield Question(document["question"], ABSTENTION, frozenset())
        elif evidence:
            yield Question(document["question"], document["question_type"], evidence, sessions=in_sessions)

    return _conversation(corpus, name, sessions, questions)


def beam(corpus: str, document: Document) -> Conversation:
    """A row of BEAM or BEAM-10M. The ids of its messages repeat in long chats: a repeated one is no evidence."""
    name = f"{corpus}-{document['conversation_id']}"
    found = list(_beam_sessions(sources.literal(document["chat"])))
    counts = Counter(message["id"] for _, messages in found for message in messages)
    ids = _unique(message["id"] for _, messages in found for message in messages)
    sessions: list[Session] = []
    for number, (anchor, messages) in enumerate(found):
        start = _beam_time(anchor)
        said = [(next(ids), message) for message in messages]
        in_order = [
            _said(id_, message["role"], message["content"], _after(start, position))
            for position, (id_, message) in enumerate(said)
        ]
        sessions.append((f"session-{number}", in_order))

    def questions(session_of: Mapping[str, str]) -> Iterator[Question]:
        for category, asked in sources.literal(document["probing_questions"]).items():
            for each in asked:
                named = {id_ for id_ in _numbers(each.get("source_chat_ids")) if counts[id_] == 1}
                evidence = {f"{name}:{id_}" for id_ in named} & session_of.keys()
                if evidence or category == ABSTENTION:
                    answers = frozenset() if category == ABSTENTION else frozenset(evidence)
                    yield Question(each["question"], category, answers)

    return _conversation(corpus, name, sessions, questions)


def _beam_sessions(node: Any) -> Iterator[tuple[str | None, list[Message]]]:
    """Sessions with the text that dates them: lists of messages, batches of turns, or such batches by plan."""
    if isinstance(node, dict) and "turns" in node:
        messages = list(_messages(node["turns"]))
        yield node.get("time_anchor") or _anchor(messages), messages
    elif isinstance(node, dict):
        for plan in node.values():
            yield from _beam_sessions(plan)
    elif isinstance(node, list) and all(isinstance(each, dict) and "role" in each for each in node):
        if node:
            yield _anchor(node), node
    elif isinstance(node, list):
        for each in node:
            yield from _beam_sessions(each)


def _messages(node: Any) -> Iterator[Message]:
    if isinstance(node, dict):
        yield node
    else:
        for each in node:
            yield from _messages(each)


def _anchor(messages: Iterable[Message]) -> str | None:
    return next((each["time_anchor"] for each in messages if each.get("time_anchor")), None)


def _beam_time(anchor: str | None) -> datetime | None:
    return next((at for at in (_time(anchor, form) for form in BEAM_TIMES) if at), None)


def _numbers(node: Any) -> Iterator[int]:
    """The ids in a list, or in the lists of what was said at first and later."""
    if isinstance(node, int):
        yield node
    elif node:
        for each in node.values() if isinstance(node, dict) else node:
            yield from _numbers(each)


def persona_mem(corpus: str, document: Document) -> Conversation:
    """A person's history with an assistant, in one session. Its first message, the person's profile as the data were
    made from it, is left out: nobody said it."""
    name = f"{corpus}-{document['persona_id']}"
    said = [(f"m{number}", each) for number, each in enumerate(document["chat_history"]) if each["role"] != "system"]
    messages = [_said(id_, each["role"], each["content"]) for id_, each in said]

    def questions(session_of: Mapping[str, str]) -> Iterator[Question]:
        for row in document["rows"]:
            query, snippet = sources.literal(row["user_query"]), sources.literal(row["related_conversation_snippet"])
            text = query["content"] if isinstance(query, dict) else str(query)
            named = {(each["role"], each["content"]) for each in snippet if isinstance(each, dict)}
            evidence = {f"{name}:{id_}" for id_, each in said if (each["role"], each["content"]) in named}
            if answers := frozenset(evidence & session_of.keys()):
                yield Question(text, row.get("pref_type") or "preference", answers)

    return _conversation(corpus, name, [("history", messages)], questions)


def lmeb(corpus: str, document: Document) -> Conversation:
    """A scene: its candidates in one session, as the benchmark does not say who said what when."""
    name = f"{corpus}-{document['scene_id']}"
    messages = [
        _said(each["id"], "user", f"{each.get('title') or ''} {each['text']}".strip()) for each in document["documents"]
    ]

    def questions(session_of: Mapping[str, str]) -> Iterator[Question]:
        for query in document["queries"]:
            if evidence := {f"{name}:{id_}" for id_ in query["relevant"]} & session_of.keys():
                yield Question(query["text"], query["task"], frozenset(evidence))

    return _conversation(corpus, name, [("scene", messages)], questions)


def _history(corpus: str, document: Document) -> Conversation:
    return corpora.history(corpus, corpus, document, datetime.now(UTC))


def _unique(ids: Iterable[Any]) -> Iterator[str]:
    """The ids, with a number after a repeated one."""
    seen: Counter[str] = Counter()
    for id_ in map(str, ids):
        yield id_ if not seen[id_] else f"{id_}#{seen[id_] + 1}"
        seen[id_] += 1


def _time(text: Any, form: str) -> datetime | None:
    """None for what is no time: the message is captured without one."""
    try:
        return datetime.strptime(str(text), form).replace(tzinfo=UTC)
    except ValueError:
        return None


HISTORY = Format("history", frozenset({"today", "sessions"}), _history)
FORMATS: Sequence[Format] = (
    Format("LoCoMo", frozenset({"sample_id", "conversation", "qa"}), locomo, people=True),
    Format("chats", frozenset({"id", "messages", "questions"}), corpora.chat),
    HISTORY,
    Format("LongMemEval", frozenset({"question_id", "haystack_sessions"}), longmemeval),
    Format("BEAM", frozenset({"conversation_id", "chat", "probing_questions"}), beam),
    Format("REALTALK", frozenset({"name", "session_1", "qa"}), realtalk, people=True),
    Format("PersonaMem", frozenset({"chat_history", "rows"}), persona_mem),
    Format("LMEB", frozenset({"scene_id", "documents", "queries"}), lmeb),
)
