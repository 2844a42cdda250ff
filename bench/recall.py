"""Measures search: NDCG and recall of memorybase's own search on conversations with known answers.

    python bench/recall.py [DATA ...] [--modes hybrid keyword dense] [--naive] [--sessions] [--conversations N] [--fit]
        [--results FOLDER] [--json FILE] [--data-dir DIR]

DATA are files and folders of data sets, see bench/README.md. The generated conversations of bench/ and known items of
chats with an assistant are measured too. The benchmark starts its own embedded stack, posts each conversation as its
own flow with a memory base over all turns, and asks every answerable question through POST /memories/{id}/search. It
reports for each corpus: NDCG@10 as the mean over the categories (macro), Recall@10 over all questions, both with 95 %
bootstrap intervals; the means at 1, 5 and 10; for known items the share found among the first ten; and how often the
first result is a question that answers nothing.

--sessions also ranks sessions, each by its best message. It asks for 100 messages instead of ten, which takes longer
and may change the order.

--naive compares with plain BM25 and plain vector search. --fit reads the values of all signals from the responses
(explain), fits their weights with one conversation left out each time, and prints the quality on the one left out, the
gain of each signal, and the weights fitted on all. It changes nothing: memorybase/core/search/scoring.py has the
weights.
--results writes each question's result, --data-dir keeps the loaded data for the next run.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import made
import numpy as np
import runs
from memorybase_client import Client
from recalling import command, corpora, counting, naive
from recalling.corpora import Conversation, Corpus, Question
from recalling.loading import Loaded
from runs import Run

from memorybase.core.embedding import Embedders
from memorybase.core.search.scoring import SIGNALS
from memorybase.features.lab import fitting
from memorybase.features.lab.fitting import JudgedCandidates, cross_validate, fit
from memorybase.features.lab.metrics import Judged, Summary, difference, judge, summarize

Mode = Literal["hybrid", "dense", "keyword"]

QUESTION = re.compile(r"[?\uff1f\u061f]\W*$")
TOP = 10
POOL = 100
KNOWN, BY_HAND, BY_RULE = "known items", "made by hand", "made by rule"
KNOWN_ITEMS = 240  # from the files' chats, half from assistants' messages and half from users'
MADE_SEEDS = (1, 2)
PEOPLE, ASSISTANT = "people", "assistant"
# The share of each kind of corpus in a fit. Chats between people and with an assistant count alike; known items and
# conversations made by hand keep the fit from learning that an answer is never a long message.
SHARES = {PEOPLE: 0.5, ASSISTANT: 0.4, KNOWN: 0.1, BY_HAND: 0.1}


def made_corpora() -> list[Corpus]:
    """The generated conversations of bench/, by hand and by rule."""
    by_hand = [corpora.chat(BY_HAND, document) for document in made.by_hand()]
    by_rule = [corpora.chat(BY_RULE, made.by_rule(seed, kind)) for kind in made.KINDS_BY_RULE for seed in MADE_SEEDS]
    return [Corpus(BY_HAND, by_hand), Corpus(BY_RULE, by_rule)]


def known_items(corpus: Corpus) -> Corpus:
    """Questions for one sentence of one message of these chats, with half of its words."""
    conversations = []
    for seed, conversation in enumerate(corpus.conversations):
        messages = list(conversation.messages)
        count = KNOWN_ITEMS // 2 // len(corpus.conversations)
        found = [
            item
            for role in ("assistant", "user")
            for item in made.known_items(messages, seed=seed, count=count, roles={role})
        ]
        questions = [Question(item["question"], item["category"], frozenset(item["evidence"])) for item in found]
        conversations.append(Conversation(corpus.name, conversation.name, conversation.runs, questions))
    return Corpus(f"{KNOWN} of {corpus.name}", conversations, corpus.sha256)


def search(
    loaded: Loaded, conversation: Conversation, question: str, mode: Mode, *, top: int = TOP, explain: bool = False
) -> dict[str, Any]:
    """The response, with the conversation's ids of the hits as `found`."""
    answer = loaded.client.search_memory_base(
        loaded.memories[conversation.name], query=question, mode=mode, top_k=top, explain=explain
    ).model_dump(mode="json")
    return answer | {"found": [loaded.own_id(conversation, hit["message_id"]) for hit in answer["results"]]}


def questions_of(corpus: Corpus) -> Iterator[tuple[Conversation, Question]]:
    for conversation in corpus.conversations:
        for question in conversation.questions:
            if question.evidence:
                yield conversation, question


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what its search answered, with the sessions of all results. Of these the first ten are kept."""

    question: Question
    answer: Mapping[str, Any]
    sessions: Sequence[str] = ()
    answering: frozenset[str] = frozenset()  # sessions


def ask(loaded: Loaded, corpus: Corpus, mode: Mode, kept: Run, *, sessions: bool = False) -> list[Asked]:
    """Every question of the corpus, also those that nothing answers."""
    asked = []
    for conversation in corpus.conversations:
        session_of = conversation.session_of
        for question in conversation.questions:
            answer = search(loaded, conversation, question.text, mode, top=POOL if sessions else TOP)
            ranked = counting.sessions(answer["found"], session_of)[:TOP] if sessions else []
            answer |= {name: answer[name][:TOP] for name in ("found", "results")}
            asked.append(Asked(question, answer, ranked, counting.answering_sessions(question, session_of)))
            scores = [hit["score"] for hit in answer["results"]]
            line = corpus.line(conversation, question) | {"method": mode} | runs.found(answer["found"], scores)
            kept.add(**line, **({"sessions": ranked} if sessions else {}), ms=round(answer["took_ms"], 1))
    return asked


def judge_mode(asked: Sequence[Asked]) -> tuple[list[Judged], list[float]]:
    """The figures of the answerable questions, and their milliseconds."""
    answerable = [each for each in asked if each.question.evidence]
    judged = [judge(each.question.category, each.answer["found"], each.question.evidence) for each in answerable]
    return judged, [each.answer["took_ms"] for each in answerable]


def count_cuts(asked: Sequence[Asked], corpus: Corpus, *, sessions: bool) -> dict[str, counting.Figures]:
    """The means at 1, 5 and 10 over the answerable questions."""
    answerable = [each for each in asked if each.question.evidence]
    counted = {counting.TURN: [counting.at_cuts(each.answer["found"], each.question.evidence) for each in answerable]}
    if sessions and counting.has_sessions(corpus.conversations):
        counted[counting.SESSION] = [counting.at_cuts(each.sessions, each.answering) for each in answerable]
    return {name: counting.means(each) for name, each in counted.items()}


def measure_naive(corpus: Corpus, embedders: Embedders, kept: Run) -> dict[str, list[Judged]]:
    """Plain BM25 and plain vectors on the same questions."""
    judged: dict[str, list[Judged]] = {"plain BM25": [], "plain vectors": []}
    for conversation in corpus.conversations:
        messages = list(conversation.messages)
        searches: dict[str, naive.PlainBm25 | naive.PlainVectors] = {
            "plain BM25": naive.PlainBm25(messages),
            "plain vectors": naive.PlainVectors(messages, embedders.get()),
        }
        for question in conversation.questions:
            for name, search in searches.items() if question.evidence else ():
                ranked = search.ranked(question.text)[:TOP]
                judged[name].append(judge(question.category, ranked, question.evidence))
                kept.add(**corpus.line(conversation, question), method=name, **runs.found(ranked))
    return judged


def first_results(asked: Sequence[Asked]) -> dict[str, Any]:
    """Percentiles of the best score for answerable and unanswerable questions; and the share of answerable ones whose
    first result ends with a question and does not answer."""
    best: dict[bool, list[float]] = {True: [], False: []}
    asking: list[bool] = []
    for each in asked:
        evidence = each.question.evidence
        first: dict[str, Any] = next(iter(each.answer["results"]), {"score": 0.0, "snippet": ""})
        best[bool(evidence)].append(first["score"])
        if evidence:
            is_right = not evidence.isdisjoint(each.answer["found"][:1])
            asking.append(not is_right and QUESTION.search(first["snippet"]) is not None)
    scores = {
        name: {"questions": len(best[key]), **{f"p{p}": float(np.percentile(best[key], p)) for p in (5, 50, 95)}}
        for name, key in (("answered", True), ("nothing answers", False))
        if best[key]
    }
    return {"best_scores": scores, "first_asks": round(float(np.mean(asking)), 4)}


def pool_of(loaded: Loaded, corpus: Corpus) -> list[JudgedCandidates]:
    """Every question's candidates with the values of all signals."""
    asked = []
    for conversation, question in questions_of(corpus):
        answer = search(loaded, conversation, question.text, "hybrid", top=POOL, explain=True)
        hits = answer["results"]
        values = [[hit["parts"]["signals"][name]["value"] for name in SIGNALS] for hit in hits]
        asked.append(
            JudgedCandidates(
                corpus=corpus.name,
                group=conversation.name,
                category=question.category,
                evidence=question.evidence,
                found=answer["found"],
                values=np.array(values, dtype=np.float64).reshape(len(hits), len(SIGNALS)),
            )
        )
    return asked


def shares_of(found: Sequence[Corpus]) -> dict[str, float]:
    """Each corpus's share in a fit: files of one kind share equally; those made by rule are only reported."""
    kinds = {corpus.name: _kind_of(corpus) for corpus in found}
    alike = Counter(kinds.values())
    return {name: SHARES.get(kind, 0.0) / alike[kind] for name, kind in kinds.items()}


def _kind_of(corpus: Corpus) -> str:
    if corpus.name in {BY_HAND, BY_RULE}:
        return corpus.name
    return KNOWN if corpus.name.startswith(KNOWN) else PEOPLE if corpus.people else ASSISTANT


def fit_all(questions: Sequence[JudgedCandidates], shares: Mapping[str, float]) -> dict[str, Any]:
    """Weights fitted on all, the quality on conversations left out, and the gain of each signal there."""
    whole = fit(questions, shares)
    left_out = judge_ranked(questions, cross_validate(questions, shares))
    return {
        "left_out": {name: as_dict(summarize(judged)) for name, judged in left_out.items()},
        "weights": {name: round(float(weight), 3) for name, weight in zip(SIGNALS, whole.weights, strict=True)},
        "bias": round(whole.bias, 3),
        "pool": {
            name: pool_recall([question for question in questions if question.corpus == name])
            for name in sorted(shares)
        },
        "without": without_each(questions, shares, left_out),
    }


def without_each(
    questions: Sequence[JudgedCandidates], shares: Mapping[str, float], whole: Mapping[str, Sequence[Judged]]
) -> dict[str, dict[str, float]]:
    """The cost of leaving out each signal, per corpus: macro NDCG with all signals minus without it."""
    costs = {}
    for number, name in enumerate(SIGNALS):
        fewer = [_without(question, number) for question in questions]
        judged = judge_ranked(fewer, cross_validate(fewer, shares))
        costs[name] = {corpus: round(difference(whole[corpus], judged[corpus])[0], 4) for corpus in whole}
    return costs


def _without(question: JudgedCandidates, signal: int) -> JudgedCandidates:
    values = question.values.copy()
    values[:, signal] = 0
    return JudgedCandidates(
        question.corpus, question.group, question.category, question.evidence, question.found, values
    )


def judge_ranked(questions: Sequence[JudgedCandidates], ranked: Sequence[Sequence[str]]) -> dict[str, list[Judged]]:
    judged: dict[str, list[Judged]] = {}
    for question, found in zip(questions, ranked, strict=True):
        judged.setdefault(question.corpus, []).append(judge(question.category, found, question.evidence))
    return judged


def pool_recall(questions: Sequence[fitting.JudgedCandidates]) -> float:
    """The share of the evidence among the candidates."""
    return round(
        float(
            np.mean([len(question.evidence & set(question.found)) / len(question.evidence) for question in questions])
        ),
        4,
    )


def as_dict(summary: Summary) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(asdict(summary)), parse_float=lambda text: round(float(text), 4))
    return found


def show(name: str, judged: Sequence[Judged], took: Sequence[float] = ()) -> dict[str, Any]:
    """Print a line and return its part of the report."""
    result = summarize(judged)
    parts = ", ".join(f"{category} {each.ndcg:.3f}" for category, each in result.categories.items())
    low, high = result.macro_ndcg_interval
    print(
        f"{name}: NDCG@10 {result.macro_ndcg:.3f} [{low:.3f}, {high:.3f}], Recall@10 {result.whole.recall:.3f}, "
        f"{result.whole.questions} questions ({parts})",
        flush=True,
    )
    if not took:
        return as_dict(result)
    ordered = sorted(took)
    times = {"took_ms_p50": ordered[len(took) // 2], "took_ms_p95": ordered[int(len(took) * 0.95)]}
    print(f"  p50 {times['took_ms_p50']:.1f} ms, p95 {times['took_ms_p95']:.1f} ms")
    return as_dict(result) | times


def measure_corpus(
    loaded: Loaded, corpus: Corpus, chosen: argparse.Namespace, embedders: Embedders, kept: Run
) -> dict[str, Any]:
    report: dict[str, Any] = {"conversations": len(corpus.conversations), "sha256": corpus.sha256}
    asked = {mode: ask(loaded, corpus, mode, kept, sessions=chosen.sessions) for mode in chosen.modes}
    for mode, of_mode in asked.items():
        report[mode] = show(f"{corpus.name}, {mode}", *judge_mode(of_mode))
        report[mode]["at"] = count_cuts(of_mode, corpus, sessions=chosen.sessions)
        for by, figures in report[mode]["at"].items():
            print(f"  {by}, at 1, 5 and 10: {counting.shown(figures)}", flush=True)
    if chosen.naive:
        for name, judged in measure_naive(corpus, embedders, kept).items():
            report[name] = show(f"{corpus.name}, {name}", judged)
    if "hybrid" in asked:
        report |= first_results(asked["hybrid"])
        print(f"  best scores: {report['best_scores']}")
        print(f"  first results that ask and do not answer: {report['first_asks']}")
    return report


def measure(
    client: Client, chosen: argparse.Namespace, embedders: Embedders, found: Sequence[Corpus], kept: Run
) -> dict[str, Any]:
    loaded = Loaded(client)
    for corpus in found:
        for conversation in corpus.conversations:
            loaded.load(conversation)
    report = {corpus.name: measure_corpus(loaded, corpus, chosen, embedders, kept) for corpus in found}
    if chosen.fit:
        candidates = [each for corpus in found for each in pool_of(loaded, corpus)]
        report["fit"] = fit_all(candidates, shares_of(found))
        for name, summary in report["fit"]["left_out"].items():
            print(
                f"fitted, left out, {name}: NDCG@10 {summary['macro_ndcg']:.3f}, Recall@10 "
                f"{summary['whole']['recall']:.3f} (of {report['fit']['pool'][name]:.3f} among the candidates)"
            )
        for name, costs in report["fit"]["without"].items():
            print(f"  {name:13} {report['fit']['weights'][name]:7.3f}  gives {costs}")
        print(f"  bias {report['fit']['bias']}")
    return report


def main() -> None:
    arguments = command.parser(__doc__, files="*")
    arguments.add_argument("--modes", nargs="+", default=["hybrid", "keyword", "dense"])
    arguments.add_argument("--naive", action="store_true", help="compare with plain BM25 and plain vector search")
    arguments.add_argument("--sessions", action="store_true", help="also rank sessions, each by its best message")
    arguments.add_argument("--fit", action="store_true")
    chosen = arguments.parse_args()
    files = command.corpora(chosen)
    with_items = [corpus for corpus in files if not corpus.people and len(corpus.conversations) <= KNOWN_ITEMS // 2]
    found = [*files, *map(known_items, with_items), *made_corpora()]
    command.run(chosen, lambda client, settings, kept: measure(client, chosen, Embedders(settings), found, kept))


if __name__ == "__main__":
    main()
