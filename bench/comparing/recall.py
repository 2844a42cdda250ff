"""Whether a memory finds the messages that answer a question, and what it offers for a prompt."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence

import runs
from ingesting.figures import Figures
from recalling.corpora import Conversation, Corpus, Question
from runs import Run
from token_counts import tokens_of

from comparing.child import Child, Environments, Peer, empty_directory
from memorybase.core.conversation.view.token_counters import default_counter
from memorybase.core.messages import message_text

COUNTER = default_counter()
CALL = 50  # messages at most
LIMIT = 10
SHORTEST = 20  # characters of an entry that is recognized as a part of a message


class Texts:
    """Which messages of a conversation an entry shows. A memory that knows no ids is judged by its texts."""

    def __init__(self, conversation: Conversation) -> None:
        self._texts = {each["id"]: message_text(each["content"]) for each in conversation.messages}

    def ids(self, entry: Mapping[str, object]) -> list[str]:
        if "ids" in entry:
            return [str(id_) for id_ in entry["ids"]]  # type: ignore[attr-defined]
        shown = str(entry["text"])
        return [
            id_
            for id_, text in self._texts.items()
            if text and (text in shown or (len(shown) >= SHORTEST and shown in text))
        ]

    def all(self, entries: Iterable[Mapping[str, object]]) -> list[str]:
        return list(dict.fromkeys(id_ for entry in entries for id_ in self.ids(entry)))


def recall(
    environments: Environments, peer: Peer, corpora: Sequence[Corpus], kept: Run, *, every: int, budget: int
) -> Figures:
    """Load each conversation as a person, and ask its questions; a line for each in `kept`."""
    began = time.perf_counter()
    with empty_directory() as directory, Child(environments, peer, directory) as child:
        for corpus in corpora:
            for conversation in corpus.conversations:
                load(child, conversation)
        child.call("wait")
        loaded = time.perf_counter() - began
        for corpus in corpora:
            for conversation in corpus.conversations:
                shown = Texts(conversation)
                for question in conversation.questions[::every]:
                    line = ask(child, conversation, question, shown, budget)
                    kept.add(peer=peer.name, **corpus.line(conversation, question), **line)
    return {"budget": budget, "loading_seconds": round(loaded), "seconds": round(time.perf_counter() - began)}


def load(child: Child, conversation: Conversation) -> None:
    """In calls of a run's messages, or of fifty if it has more."""
    for run in conversation.runs:
        posted = [{**each, "content": message_text(each["content"])} for each in run["messages"]]
        for index in range(0, len(posted), CALL):
            child.call(
                "add",
                person=conversation.name,
                session=f"{conversation.name}-{run['session_id']}",
                messages=posted[index : index + CALL],
                key=f"{run['run_id']}-{index}",
            )


def ask(child: Child, conversation: Conversation, question: Question, shown: Texts, budget: int) -> runs.Line:
    """`has_context`: whether the answer's pattern occurs in what was offered, or, without one, evidence is shown."""
    ms, found = child.timed("search", person=conversation.name, question=question.text, limit=LIMIT)
    offered = child.call("context", person=conversation.name, question=question.text, tokens=budget)
    offered, spent = within(offered, budget)
    ids, pattern = shown.all(offered), question.pattern
    return {
        **runs.found(shown.all(found)),
        "found_tokens": sum(map(tokens, found)),
        "shown": ids,
        "offered": bool(offered),
        "has_context": any(re.search(pattern, each["text"]) for each in offered)
        if pattern
        else not question.evidence.isdisjoint(ids),
        "tokens": spent,
        "ms": round(ms, 1),
    }


def within(entries: Sequence[Mapping[str, str]], budget: int) -> tuple[list[Mapping[str, str]], int]:
    """The first of these that fit into so many tokens, and how many they take."""
    fitting, spent = [], 0
    for entry in entries:
        if spent + tokens(entry) <= budget:
            fitting.append(entry)
            spent += tokens(entry)
    return fitting, spent


def tokens(entry: Mapping[str, str]) -> int:
    """As a context of memorybase counts them by default."""
    return tokens_of(COUNTER, entry["text"])
