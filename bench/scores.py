"""Measures the calibration of scores in stores of different sizes, and for questions of one word.

    python bench/scores.py FILE [FILE ...] [--large MESSAGES] [--each QUESTIONS] [--json FILE] [--data-dir DIR]

Each FILE is in LoCoMo's format or a list of chats with messages and questions. Each question is searched in five
messages that include its answer, in its whole conversation, and in one large flow: all conversations of the files,
filled up with generated ones to --large messages. Each is also searched in a store of that size without the answer
("elsewhere"). It prints for each store: how many results of a score are right, the best score with and without an
answer in the store, and the false alarms and misses of each min_score.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count, pairwise
from typing import Any

import made
from recalling import command, corpora
from recalling.corpora import Conversation, Corpus, Question
from recalling.loading import Loaded

from memorybase.evaluation.calibration import Scored, bands, best_scores, calibration_error, cuts
from memorybase.keyword_index.analyzer import analyzer

FEW = 5
LARGE = "large"  # the flow with all conversations
FILL_SEED = 1_000  # no other benchmark uses conversations by rule from this seed on
SHORTEST_WORD = 5  # letters


def few_messages(conversation: Conversation, question: Question) -> Conversation | None:
    """Five messages around the answering one, as a conversation; None if several messages answer."""
    messages = list(conversation.messages)
    indices = [index for index, message in enumerate(messages) if message["id"] in question.evidence]
    if len(indices) != 1 or len(messages) < FEW:
        return None
    first = min(max(0, indices[0] - FEW // 2), len(messages) - FEW)
    name = f"few: {messages[indices[0]]['id']}"
    kept = [{**message, "id": f"{name}: {message['id']}"} for message in messages[first : first + FEW]]
    own = frozenset({f"{name}: {messages[indices[0]]['id']}"})
    run = {"session_id": name, "run_id": name, "messages": kept}
    return Conversation(conversation.corpus, name, [run], [replace(question, evidence=own)])


def one_word(conversation: Conversation) -> list[Question]:
    """Questions of one word that occurs in only one message, in whatever form."""
    english = analyzer("english")
    words_by_id = {
        str(message["id"]): {
            word: stem for word in english.words(str(message["content"])) for stem in english.terms(word)
        }
        for message in conversation.messages
    }
    messages_with = Counter(stem for words in words_by_id.values() for stem in set(words.values()))
    return [
        Question(word, "one word", frozenset({id_}))
        for id_, words in words_by_id.items()
        for word in sorted(words)
        if messages_with[words[word]] == 1 and len(word) >= SHORTEST_WORD and word.isalpha()
    ]


def filling(messages: int) -> Iterator[Conversation]:
    """Generated conversations with about this many messages in total."""
    for number in count(FILL_SEED):
        if messages <= 0:
            return
        kind = made.KINDS_BY_RULE[number % len(made.KINDS_BY_RULE)]
        conversation = corpora.chat("filling", made.by_rule(number, kind))
        messages -= len(list(conversation.messages))
        yield conversation


def load_large(loaded: Loaded, found: Sequence[Corpus], messages: int) -> None:
    """Load everything into one flow, with ids of its own: equal ids would be the same messages."""
    own = [conversation for corpus in found for conversation in corpus.conversations]
    rest = messages - sum(len(list(conversation.messages)) for conversation in own)
    runs: list[Mapping[str, Any]] = []
    for conversation in (*own, *filling(rest)):
        for run in conversation.runs:
            renamed = [{**message, "id": f"{LARGE}: {message['id']}"} for message in run["messages"]]
            runs.append({"session_id": run["session_id"], "run_id": f"{LARGE}: {run['run_id']}", "messages": renamed})
    loaded.load(Conversation(LARGE, LARGE, runs, []))


def scored(loaded: Loaded, where: str, question: Question, evidence: frozenset[str], prefix: str = "") -> Scored:
    path = f"/memories/{loaded.memories[where]}/search"
    results = loaded.client.call("POST", path, json={"query": question.text})["results"]
    names = {prefix + id_ for id_ in evidence}
    ids = loaded.ids_of(where)
    return Scored(frozenset(names), [(ids[hit["message_id"]], hit["score"]) for hit in results])


def report(name: str, questions: Sequence[Scored]) -> dict[str, Any]:
    answered = [question for question in questions if question.evidence]
    elsewhere = [question for question in questions if not question.evidence]
    found = {
        "bands": [asdict(band) for band in bands(answered)],
        "calibration_error": round(calibration_error(answered), 3),
        "answered": best_scores(answered),
        "elsewhere": best_scores(elsewhere),
        "cuts": [asdict(cut) for cut in cuts(questions)],
    }
    print(f"{name}: {len(answered)} questions answered, {len(elsewhere)} elsewhere, error {found['calibration_error']}")
    for band in bands(answered):
        if band.results:
            print(f"  {band.low:.1f} to {band.high:.1f}: {band.right / band.results:.2f} of {band.results} right")
    for label, best in (("answered", found["answered"]), ("elsewhere", found["elsewhere"])):
        if best is not None:
            print(f"  best score, {label}: p5 {best.p5:.2f}, p50 {best.p50:.2f}, p95 {best.p95:.2f}")
    for cut in cuts(questions):
        alarms = "-" if cut.false_alarms is None else f"{cut.false_alarms:.2f}"
        print(f"  min_score {cut.min_score}: false alarms {alarms}, missed {cut.missed:.2f}")
    return {key: asdict(value) if hasattr(value, "p50") else value for key, value in found.items()}


def measure(loaded: Loaded, found: Sequence[Corpus], chosen: argparse.Namespace) -> dict[str, Any]:
    rng = random.Random(1)
    asked = [(chat, question) for corpus in found for chat in corpus.conversations for question in chat.questions]
    drawn = rng.sample([(chat, question) for chat, question in asked if question.evidence], chosen.each)
    words = [(chat, question) for corpus in found for chat in corpus.conversations for question in one_word(chat)]
    drawn_words = rng.sample(words, chosen.each)
    few = [(few_messages(chat, question), question) for chat, question in drawn]
    stores = [(store, question) for store, question in few if store is not None]
    for store in {store.name: store for store, _ in stores}.values():
        loaded.load(store)
    for conversation in {chat.name: chat for chat, _ in (*drawn, *drawn_words)}.values():
        loaded.load(conversation)
    load_large(loaded, found, chosen.large)
    none: frozenset[str] = frozenset()
    others = [store for store, _ in stores[1:]] + [stores[0][0]]
    return {
        "5 messages": report(
            "5 messages",
            [scored(loaded, store.name, question, store.questions[0].evidence) for store, question in stores]
            + [scored(loaded, other.name, question, none) for other, (_, question) in zip(others, stores, strict=True)],
        ),
        "conversation": report(
            "conversation",
            [scored(loaded, chat.name, question, question.evidence) for chat, question in drawn]
            + [
                scored(loaded, other.name, question, none)
                for (chat, question), (other, _) in pairwise(drawn)
                if other.name != chat.name
            ],
        ),
        "one word": report(
            "one word",
            [scored(loaded, chat.name, question, question.evidence) for chat, question in drawn_words],
        ),
        f"{chosen.large} messages": report(
            f"{chosen.large} messages",
            [scored(loaded, LARGE, question, question.evidence, f"{LARGE}: ") for _, question in drawn],
        ),
    }


def main() -> None:
    arguments = command.parser(__doc__)
    arguments.add_argument("--large", type=int, default=100_000, help="messages of the large flow")
    arguments.add_argument("--each", type=int, default=200, help="questions asked of each store")
    chosen = arguments.parse_args()
    found = [corpora.read(file) for file in chosen.data]
    command.run(chosen, lambda client, _: measure(Loaded(client), found, chosen))


if __name__ == "__main__":
    main()
