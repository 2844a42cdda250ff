"""Measures corrections and questions about the order in time: what they change, and what they cost.

    python bench/corrections.py [FILE ...] [--show] [--json FILE] [--data-dir DIR] [--results FOLDER]

Each FILE is in LoCoMo's format or a list of chats with messages and questions. Generated conversations are measured
too: by hand, by rule, and with events that happen several times. The benchmark starts its own embedded stack, posts
each conversation as its own flow with a memory base over all turns, and asks every answerable question through POST
/memories/{id}/search, with `corrections` false and true one after the other. It reports for each corpus:

    latest first   of the questions about an update with several answering messages, those whose latest comes first
    marked         results that name a correction, by how many of its two messages answer the question
    NDCG@10        of all questions, without and with corrections
    ms             median of a search, and the median of the differences where statements were compared

For pairs that change something, and for traps: how many later messages are named as superseding the earlier one, and
how many come before it. A trap is wrong if it is named; `others` counts wrong pairs with the turns around.

For events: NDCG@10 of questions for the first and the latest, without and with their signals. --show prints every
correction, to be judged by a person.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import made
import numpy as np
import runs
from made import changes, in_time
from memorybase_client import Client
from memorybase_client.models import CorrectionOf
from recalling import command, corpora
from recalling.corpora import Conversation, Corpus, Question
from recalling.loading import Loaded
from runs import Run

from memorybase.core.search.part_weights import KIND
from memorybase.features.lab.metrics import Judged, judge, summarize

UPDATES = ("update", "knowledge_update", "contradiction_resolution")
SEEDS = (1, 2)
WITH, WITHOUT = "with corrections", "without corrections"
TOP = 10


def made_corpora() -> list[Corpus]:
    by_hand = [corpora.chat("made by hand", document) for document in made.by_hand()]
    by_rule = [corpora.chat("made by rule", made.by_rule(seed, made.LONG_ANSWERS)) for seed in SEEDS]
    return [Corpus("made by hand", by_hand), Corpus("made by rule", by_rule)]


class Measured:
    """What one way of searching brought."""

    def __init__(self) -> None:
        self.judged: list[Judged] = []
        self.latest_first: dict[str, list[bool]] = defaultdict(list)
        self.took_ms: list[float] = []

    def add(self, question: Question, found: Sequence[str], took_ms: float, times: dict[str, Any]) -> None:
        self.judged.append(judge(question.category, found, question.evidence))
        self.took_ms.append(took_ms)
        answering = [id_ for id_ in found if id_ in question.evidence]
        if question.category in UPDATES and len(question.evidence) > 1 and answering:
            latest = max(question.evidence, key=lambda id_: times[id_])
            self.latest_first[question.category].append(answering[0] == latest)

    def as_dict(self) -> dict[str, Any]:
        summary = summarize(self.judged)
        return {
            "ndcg": round(summary.macro_ndcg, 4),
            "latest_first": {name: f"{sum(each)} of {len(each)}" for name, each in sorted(self.latest_first.items())},
            "took_ms_p50": round(float(np.median(self.took_ms)), 1),
        }


def measure(loaded: Loaded, corpus: Corpus, kept: Run, *, show: bool) -> dict[str, Any]:
    measured = {False: Measured(), True: Measured()}
    marked: Counter[str] = Counter()
    longer: list[float] = []
    for conversation in corpus.conversations:
        times = times_of(conversation)
        for question in (each for each in conversation.questions if each.evidence):
            took = {}
            for corrections, each in measured.items():
                answer = loaded.client.search_memory_base(
                    loaded.memories[conversation.name], query=question.text, top_k=TOP, corrections=corrections
                )
                hits = {hit.message_id: loaded.own_id(conversation, str(hit.message_id)) for hit in answer.results}
                each.add(question, list(hits.values()), answer.took_ms, times)
                line = corpus.line(conversation, question) | {"method": WITH if corrections else WITHOUT}
                line |= runs.found([*hits.values()], [hit.score for hit in answer.results])
                marks = {hits[hit.message_id]: _written(hit.corrected_by) for hit in answer.results if hit.corrected_by}
                kept.add(**line, corrected=marks, ms=round(answer.took_ms, 1))
                took[corrections] = answer.took_ms
            found = [
                (hits.get(hit.corrected_by.message_id), hits[hit.message_id], hit.corrected_by)
                for hit in answer.results
                if hit.corrected_by
            ]
            if found:
                longer.append(took[True] - took[False])
            for newer, older, correction in found:
                marked[f"{len({newer, older} & question.evidence)} of 2"] += 1
                if show:
                    print(f"    {question.text}\n        {older} -> {newer}: {_written(correction)}")
    return {
        "without": measured[False].as_dict(),
        "with": measured[True].as_dict(),
        "marked": dict(sorted(marked.items())),
        "longer_ms_p50": round(float(np.median(longer)), 1) if longer else None,
    }


def _written(correction: CorrectionOf) -> str:
    return "denial" if correction.kind == "denial" else f"was {correction.was}, now {correction.now}"


def times_of(conversation: Conversation) -> dict[str, Any]:
    """The position of each message: the conversations of a file are in order."""
    return {message["id"]: number for number, message in enumerate(conversation.messages)}


def measure_events(loaded: Loaded, kept: Run) -> dict[str, dict[str, float]]:
    """NDCG@10 of questions for the first and the latest, with their signals and with a factor of 0 for their part."""
    judged: dict[str, list[Judged]] = {"without": [], "with": []}
    for conversation in (corpora.chat("in time", document) for document in in_time.conversations(SEEDS)):
        loaded.load(conversation)
        for question in conversation.questions:
            for label, weights in (("without", {KIND: 0}), ("with", None)):
                answer = loaded.client.search_memory_base(
                    loaded.memories[conversation.name], query=question.text, top_k=TOP, weights=weights
                )
                found = [loaded.own_id(conversation, str(hit.message_id)) for hit in answer.results]
                judged[label].append(judge(question.category, found, question.evidence))
                line = {"corpus": "in time", "conversation": conversation.name, "category": question.category}
                line |= runs.asked(question.text, ours=True) | {"evidence": sorted(question.evidence)}
                kept.add(**line, method=f"{label} signals of time", **runs.found(found))
    return {
        label: {name: round(each.ndcg, 3) for name, each in summarize(found).categories.items()}
        for label, found in judged.items()
    }


def measure_changes(
    loaded: Loaded, name: str, pairs: Sequence[changes.Pair], kept: Run, *, show: bool
) -> dict[str, Any]:
    """How many pairs are marked: of the changes that should be, and of the traps that should not."""
    counted = {each: dict.fromkeys(("pairs", "marked", "later_first"), 0) for each in ("changes", "traps")}
    others, took = 0, []
    for number, pair in enumerate(pairs):
        conversation = corpora.chat("changes", changes.conversation(f"{name}{number}", pair))
        loaded.load(conversation)
        answer = loaded.client.search_memory_base(loaded.memories[conversation.name], query=pair.question, top_k=TOP)
        took.append(answer.took_ms)
        hits = [(loaded.own_id(conversation, str(hit.message_id)).partition(":")[2], hit) for hit in answer.results]
        names = {str(hit.message_id): name for name, hit in hits}
        marks = {
            (name, names.get(str(hit.corrected_by.message_id)))
            for name, hit in hits
            if hit.corrected_by and hit.corrected_by.kind != "denial"
        }
        marked = ("earlier", "later") in marks
        order = [name for name, _ in hits if name in {"earlier", "later"}]
        others += len(marks - {("earlier", "later")})
        counts = counted["changes" if pair.changed else "traps"]
        counts["pairs"] += 1
        counts["marked"] += marked
        counts["later_first"] += order[:1] == ["later"]
        line = {"corpus": name, "category": pair.kind, **runs.asked(pair.question, ours=True)}
        kept.add(**line, changed=pair.changed, found=order, marked=marked, ms=round(answer.took_ms, 1))
        if show and (marked != pair.changed or marks - {("earlier", "later")}):
            print(f"    {'missed' if pair.changed and not marked else 'wrong'}: {pair.kind}: {pair.later} {marks}")
    return {**counted, "others": others, "took_ms_p50": round(float(np.median(took)), 1)}


def report(client: Client, chosen: argparse.Namespace, kept: Run) -> dict[str, Any]:
    loaded = Loaded(client)
    figures: dict[str, Any] = {}
    for corpus in [*command.corpora(chosen), *([] if chosen.only_changes else made_corpora())]:
        for conversation in corpus.conversations:
            loaded.load(conversation)
        figures[corpus.name] = measure(loaded, corpus, kept, show=chosen.show)
        print(f"{corpus.name}: {figures[corpus.name]}", flush=True)
    for name, pairs in (("pairs", changes.pairs()), ("unseen-pairs", changes.unseen_pairs())):
        figures[name] = measure_changes(loaded, name, pairs, kept, show=chosen.show)
        print(f"{name}: {figures[name]}", flush=True)
    if chosen.only_changes:
        return figures
    figures["events"] = measure_events(loaded, kept)
    print(f"events: {figures['events']}")
    return figures


def main() -> None:
    arguments = command.parser(__doc__, files="*")
    arguments.add_argument("--show", action="store_true", help="print every correction")
    arguments.add_argument("--only-changes", action="store_true", help="of the made conversations, measure pairs alone")
    chosen = arguments.parse_args()
    command.run(chosen, lambda client, _, kept: report(client, chosen, kept))


if __name__ == "__main__":
    main()
