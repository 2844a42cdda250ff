"""Measures what a score means, and what a min_score keeps from a model: in small and large stores, by kind of request.

    python bench/scores.py FILE [FILE ...] [--each STORES] [--large MESSAGES] [--fit] [--json FILE] [--data-dir DIR]
        [--results FOLDER]

Each FILE is in LoCoMo's format, a list of chats with messages and questions, or the history of one person as
bench/lives.py reads it; the hand-written conversations of
bench/ are measured too. Questions are searched in stores of 1, 3, 10 and 50 messages around the answering one, --each
of a size and file, and in the whole conversation, as are single words that occur in one of its messages only. Each
store is also asked for what it does not know: questions about another conversation of the file ("elsewhere") and about
other files, small talk and general knowledge, and single words that it does not contain.

For each min_score it prints how many of these requests still recall something, and how many right first results are
lost; then how many results of a score are right, by store, also in one flow with --large messages: all conversations,
filled up with generated ones. --fit fits the weights of Evidence (memorybase/core/search/scoring.py) again, and prints
how often a store seems to answer with the weights of today, the fitted ones, and those fitted without the question's
conversation, of questions that it answers and of others. It changes nothing.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID

import made
import runs
from memorybase_client import Client
from recalling import command, corpora, evidence
from recalling.corpora import Conversation, Corpus, Question
from recalling.loading import Loaded
from runs import Run

from memorybase import wiring
from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.features.lab.calibration import Scored, bands, best_scores, calibration_error, cuts
from memorybase.stack.state import settings_in_use

SIZES = (1, 3, 10, 50)
WHOLE, LARGE = "conversation", "large"  # the flow with all conversations
ANSWERED, ONE_WORD = "answered", "one word"
ELSEWHERE, OTHER_FILES, SMALL_TALK, UNKNOWN_WORD = "elsewhere", "other files", "small talk", "unknown word"
REQUESTS = {ELSEWHERE: 3, OTHER_FILES: 2, SMALL_TALK: 4, UNKNOWN_WORD: 1}  # of each store
IN_WHOLE = 8  # times as many of each conversation, and questions and words that it answers
MIN_SCORES = (0.0, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
FILL_SEED = 1_000  # no other benchmark uses conversations by rule from this seed on
SHORTEST_WORD = 5  # letters
TALK = (
    "hi",
    "hello",
    "Hey there!",
    "Good morning",
    "thanks",
    "Thank you very much!",
    "ok",
    "yes",
    "no",
    "bye",
    "nice",
    "How are you?",
    "What's up?",
    "test",
    "lol",
    "hmm",
    "great",
    "go on",
    "Please continue.",
    "Sure, sounds good.",
    "Ok, let's start.",
    "Can you help me?",
    "Who are you?",
    "Tell me a joke.",
    "What is the capital of France?",
    "What time is it in Tokyo?",
    "Translate good night into Spanish.",
    "Write a haiku about autumn leaves.",
    "How far is the moon?",
    "Who won the world cup in 1998?",
)
WORDS = (
    "zeppelin",
    "quasar",
    "umbrella",
    "parliament",
    "cactus",
    "volcano",
    "accordion",
    "penguin",
    "glacier",
    "mustard",
    "trombone",
    "submarine",
    "harpsichord",
    "marzipan",
    "falcon",
)


class Store(NamedTuple):
    """Where a request is asked: a flow with a conversation, a part of one, or all of them."""

    corpus: str
    label: str
    flow: str
    conversation: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a store with its results. `shown`: what Evidence reads of it, for a fit."""

    corpus: str
    store: str
    kind: str
    conversation: str  # that the store is of
    scored: Scored
    shown: evidence.Values | None = None


def small_store(conversation: Conversation, question: Question, size: int) -> Conversation | None:
    """So many messages around the answering one, as a conversation; None if several messages answer."""
    messages = list(conversation.messages)
    indices = [index for index, message in enumerate(messages) if message["id"] in question.evidence]
    if len(indices) != 1 or len(messages) < size:
        return None
    first = min(max(0, indices[0] - size // 2), len(messages) - size)
    name = f"{size}: {messages[indices[0]]['id']}"
    kept = [{**message, "id": f"{name}: {message['id']}"} for message in messages[first : first + size]]
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
        Question(word, ONE_WORD, frozenset({id_}))
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


class Asking:
    """Asks the stores of a stack, and with its services in this process for what Evidence reads."""

    def __init__(self, loaded: Loaded, found: Sequence[Corpus], services: Services | None, kept: Run) -> None:
        self._loaded, self._services, self._kept = loaded, services, kept
        self._questions = [
            (corpus.name, chat.name, question)
            for corpus in found
            for chat in corpus.conversations
            for question in chat.questions
        ]
        self._rng = random.Random(1)
        self.asked: list[Asked] = []

    def sample(self, items: Sequence[Any], most: int) -> list[Any]:
        return self._rng.sample(items, min(most, len(items)))

    def ask(self, store: Store, kind: str, text: str, answers: frozenset[str] = frozenset()) -> None:
        base_id = self._loaded.memories[store.flow]
        results = self._loaded.client.search_memory_base(base_id, query=text).results
        ids = self._loaded.ids_of(store.flow)
        scored = Scored(answers, [(ids[str(hit.message_id)], hit.score) for hit in results])
        shown = None if self._services is None else evidence.shown(self._services, UUID(str(base_id)), text)
        self.asked.append(Asked(store.corpus, store.label, kind, store.conversation, scored, shown))
        line = {"corpus": store.corpus, "conversation": store.conversation, "store": store.label, "category": kind}
        line |= runs.asked(text, ours=kind in {SMALL_TALK, UNKNOWN_WORD}) | {"evidence": sorted(answers)}
        ids_found, scores = [id_ for id_, _ in scored.results], [score for _, score in scored.results]
        self._kept.add(**line, **runs.found(ids_found, scores))

    def ask_what_is_unknown(self, store: Store, conversation: Conversation, times: int = 1) -> None:
        """Requests that this store, a part of the conversation, does not answer."""
        text = " ".join(str(message["content"]) for message in conversation.messages).casefold()
        asked = self._questions
        requests: Mapping[str, Sequence[str]] = {
            ELSEWHERE: [each.text for file, chat, each in asked if file == store.corpus and chat != conversation.name],
            OTHER_FILES: [each.text for file, _, each in asked if file != store.corpus],
            SMALL_TALK: TALK,
            UNKNOWN_WORD: [word for word in WORDS if word not in text],
        }
        for kind, texts in requests.items():
            for each in self.sample(texts, times * REQUESTS[kind]):
                self.ask(store, kind, each)


def ask_small_stores(asking: Asking, loaded: Loaded, corpus: Corpus, size: int, each: int) -> None:
    pairs = [(chat, question) for chat in corpus.conversations for question in chat.questions if question.evidence]
    parts = ((chat, small_store(chat, question, size)) for chat, question in asking.sample(pairs, len(pairs)))
    made_stores = {part.name: (chat, part) for chat, part in parts if part is not None}
    for chat, part in list(made_stores.values())[:each]:
        loaded.load(part)
        (question,) = part.questions
        store = Store(corpus.name, f"{size} messages", part.name, chat.name)
        asking.ask(store, ANSWERED, question.text, question.evidence)
        asking.ask_what_is_unknown(store, chat)


def ask_whole(asking: Asking, loaded: Loaded, corpus: Corpus) -> None:
    for chat in corpus.conversations:
        loaded.load(chat)
        store = Store(corpus.name, WHOLE, chat.name, chat.name)
        answered = [question for question in chat.questions if question.evidence]
        for kind, questions in ((ANSWERED, answered), (ONE_WORD, one_word(chat))):
            for question in asking.sample(questions, IN_WHOLE * (4 if kind == ANSWERED else 1)):
                asking.ask(store, kind, question.text, question.evidence)
        asking.ask_what_is_unknown(store, chat, IN_WHOLE)


def ask_large(asking: Asking, loaded: Loaded, found: Sequence[Corpus], messages: int, each: int) -> None:
    load_large(loaded, found, messages)
    label = f"{messages} messages"
    pairs = [(corpus, question) for corpus in found for chat in corpus.conversations for question in chat.questions]
    for corpus, question in asking.sample([pair for pair in pairs if pair[1].evidence], 5 * each):
        answers = frozenset(f"{LARGE}: {id_}" for id_ in question.evidence)
        asking.ask(Store(corpus.name, label, LARGE, LARGE), ANSWERED, question.text, answers)
    for text in (*TALK, *WORDS):
        asking.ask(Store("all", label, LARGE, LARGE), SMALL_TALK if text in TALK else UNKNOWN_WORD, text)


def curve(name: str, asked: Sequence[Asked]) -> dict[str, Any]:
    """What each min_score recalls of unanswerable requests, and loses of right first results."""
    found = cuts([each.scored for each in asked], MIN_SCORES)
    answered = sum(bool(each.scored.evidence) for each in asked)
    print(f"  {name}: {len(asked) - answered} without an answer, {answered} with one")
    for label, shares in (
        ("still recalls", [cut.false_alarms for cut in found]),
        ("lost", [cut.lost for cut in found]),
    ):
        cells = " ".join("     -" if share is None else f"{share:6.3f}" for share in shares)
        print(f"    {label:14} {cells}")
    return {"cuts": [asdict(cut) for cut in found]}


def report(asked: Sequence[Asked]) -> dict[str, Any]:
    print("min_score          " + " ".join(f"{at:6g}" for at in MIN_SCORES))
    found = {"all": curve("all", asked)}
    for key in ("store", "kind", "corpus"):
        for name in dict.fromkeys(getattr(each, key) for each in asked):
            found[f"{key}: {name}"] = curve(f"{key} {name}", [each for each in asked if getattr(each, key) == name])
    for store in dict.fromkeys(each.store for each in asked):
        answered = [each.scored for each in asked if each.store == store and each.scored.evidence]
        found[f"results: {store}"] = right_by_score(store, answered)
    return found


def right_by_score(name: str, answered: Sequence[Scored]) -> dict[str, Any]:
    error = round(calibration_error(answered), 3)
    print(f"{name}: {len(answered)} questions answered, error {error}")
    for band in bands(answered):
        if band.results:
            print(f"  {band.low:.1f} to {band.high:.1f}: {band.right / band.results:.2f} of {band.results} right")
    best = best_scores(answered)
    return {
        "bands": [asdict(band) for band in bands(answered)],
        "calibration_error": error,
        "best": None if best is None else asdict(best),
    }


def measure(
    loaded: Loaded,
    found: Sequence[Corpus],
    chosen: argparse.Namespace,
    kept: Run,
    services: Services | None = None,
) -> dict[str, Any]:
    asking = Asking(loaded, found, services, kept)
    for corpus in found:
        for size in SIZES:
            ask_small_stores(asking, loaded, corpus, size, chosen.each)
        ask_whole(asking, loaded, corpus)
    if chosen.large:
        ask_large(asking, loaded, found, chosen.large, chosen.each)
    found_report = report(asking.asked)
    if services is not None:
        found_report["evidence"] = fitted(asking.asked)
    return found_report


def fitted(asked: Sequence[Asked]) -> dict[str, Any]:
    """The fit to all questions but those whose first result is wrong: whatever the evidence, they recall no answer."""
    found = evidence.report(
        [
            evidence.Asked(each.shown, bool(each.scored.evidence), f"{each.corpus} {each.store}", each.conversation)
            for each in asked
            if each.shown is not None and (not each.scored.evidence or each.scored.first_is_right)
        ]
    )
    print("Evidence: " + ", ".join(f"{name} {weight:g}" for name, weight in found["weights"].items()))
    for name in ("today", "fitted", "left out"):
        answered, others = found[name]["answered"], found[name]["not answered"]
        print(f"  {name}: seems to answer {answered:.3f} of what it does, {others:.3f} of others")
    return found


def main() -> None:
    arguments = command.parser(__doc__)
    arguments.add_argument("--large", type=int, default=0, help="messages of the large flow; 0: none")
    arguments.add_argument("--each", type=int, default=30, help="small stores of each size and file")
    arguments.add_argument("--fit", action="store_true", help="fit the weights of Evidence")
    chosen = arguments.parse_args()
    by_hand = Corpus("made by hand", [corpora.chat("made by hand", document) for document in made.by_hand()])
    found = [*command.corpora(chosen), by_hand]

    def measured(client: Client, settings: Settings, kept: Run) -> dict[str, Any]:
        if not chosen.fit:
            return measure(Loaded(client), found, chosen, kept)
        services = wiring.build(settings_in_use(settings.data_dir))
        try:
            return measure(Loaded(client), found, chosen, kept, services)
        finally:
            wiring.close(services)

    command.run(chosen, measured)


if __name__ == "__main__":
    main()
