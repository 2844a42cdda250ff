"""What does a search find? NDCG@10 and Recall@10 of memorybase's own search on a LoCoMo-format file.

    python bench/recall.py DATA [--modes hybrid keyword dense] [--fit] [--json FILE] [--plot FILE]

Starts its own embedded stack in a temporary directory, posts each conversation as a flow of its own with a memory base
over all its turns, and asks every question that names its evidence through POST /memories/{id}/search. Relevant are the
evidence turns, candidates all turns of the conversation. Reported for each category and overall: the mean over the
categories (macro) and over all questions.

--fit takes the values of all signals from the answers (explain), fits their weights, listwise, with one conversation
left out each time, and prints what they give on the one left out, and the weights fitted on all. Nothing is changed by
it: memorybase/recall/fusion.py holds the weights in use.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import re
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from memorybase import __version__, importing
from memorybase.client import Client
from memorybase.recall.fusion import BIAS, SIGNALS
from memorybase.stack.child import StackChild
from memorybase.stack.state import DataDir

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TOP = 10
POOL = 100
PENALTY = 1e-3  # on the squares of the weights


@dataclass(frozen=True)
class Question:
    conversation: str
    text: str
    category: int
    evidence: frozenset[str]  # external ids


@dataclass(frozen=True)
class Asked:
    question: Question
    found: list[str]  # external ids, best first
    values: NDArray[np.float64]  # candidates x signals
    prior: float  # what the number of messages adds to the bias
    took_ms: float


def questions_of(document: Mapping[str, Any]) -> list[Question]:
    """Those whose evidence is among the turns; a few name none or cannot be read."""
    sample = str(document["sample_id"])
    conversation = document["conversation"]
    turns = {
        turn["dia_id"] for name, said in conversation.items() if re.fullmatch(r"session_\d+", name) for turn in said
    }
    questions = []
    for each in document["qa"]:
        named = {dia for text in each.get("evidence", []) for dia in re.findall(r"D\d+:\d+", text)}
        evidence = frozenset(f"{sample}:{dia}" for dia in named & turns)
        if evidence:
            questions.append(Question(sample, each["question"], each["category"], evidence))
    return questions


def load(client: Client, document: Mapping[str, Any]) -> str:
    """Post a conversation and ingest it; its memory base's id."""
    sample = str(document["sample_id"])
    client.put_flow(sample)
    memory = client.call(
        "POST", "/memories", json={"name": sample, "flow_id": sample, "capture": "all", "threshold": 10_000}
    )
    for run in importing.read_runs(json.dumps([document]), namespace=sample):
        body = {"session_id": run.session_id, "run_id": run.run_id, "messages": list(run.messages)}
        client.post_run(sample, body)
    client.settle(memory["id"], lambda _: None)
    identifier: str = memory["id"]
    return identifier


def ask(client: Client, memory: str, names: Mapping[str, str], question: Question, mode: str, *, pool: bool) -> Asked:
    body = {"query": question.text, "mode": mode, "top_k": POOL if pool else TOP, "explain": pool}
    answer = client.call("POST", f"/memories/{memory}/search", json=body)
    hits = answer["results"]
    values = [[hit["parts"]["signals"][name]["value"] for name in SIGNALS] for hit in hits] if pool else []
    prior = hits[0]["parts"]["bias"] - BIAS if pool and hits else 0.0
    found = [names[hit["message_id"]] for hit in hits]
    return Asked(question, found, np.array(values, dtype=np.float64), prior, answer["took_ms"])


def ndcg(found: Sequence[str], evidence: frozenset[str]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, each in enumerate(found[:TOP]) if each in evidence)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(TOP, len(evidence))))


def recall(found: Sequence[str], evidence: frozenset[str]) -> float:
    return len(evidence & set(found[:TOP])) / len(evidence)


def summary(answers: Sequence[tuple[Question, Sequence[str]]]) -> dict[str, Any]:
    by_category: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for question, found in answers:
        by_category[question.category].append((ndcg(found, question.evidence), recall(found, question.evidence)))
    categories = {
        CATEGORIES[category]: {
            "questions": len(values),
            "ndcg_at_10": round(statistics.fmean(value for value, _ in values), 4),
            "recall_at_10": round(statistics.fmean(value for _, value in values), 4),
        }
        for category, values in sorted(by_category.items())
    }
    every = [value for values in by_category.values() for value in values]
    return {
        "categories": categories,
        "macro_ndcg_at_10": round(statistics.fmean(each["ndcg_at_10"] for each in categories.values()), 4),
        "recall_at_10": round(statistics.fmean(value for _, value in every), 4),
        "ndcg_at_10": round(statistics.fmean(value for value, _ in every), 4),
        "questions": len(every),
    }


def fitted(asked: Sequence[Asked]) -> NDArray[np.float64]:
    """Weights that make evidence likely among a question's candidates (softmax over the list)."""
    usable = [each for each in asked if set(each.found) & each.question.evidence]
    relevant = [np.array([name in each.question.evidence for name in each.found], float) for each in usable]

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, slope = 0.0, np.zeros(len(SIGNALS))
        for each, hits in zip(usable, relevant, strict=True):
            scores = each.values @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            wanted = hits / hits.sum()
            total -= float(wanted @ np.log(chance + 1e-300))
            slope += each.values.T @ (chance - wanted)
        count = len(usable)
        return total / count + PENALTY * float(weights @ weights), slope / count + 2 * PENALTY * weights

    found: NDArray[np.float64] = minimize(loss, np.zeros(len(SIGNALS)), jac=True, method="L-BFGS-B").x
    return found


def calibrated(asked: Sequence[Asked], weights: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and offset that turn a sum into a chance, over all candidates of all questions."""
    sums = np.concatenate([each.values @ weights for each in asked])
    priors = np.concatenate([np.full(len(each.found), each.prior) for each in asked])
    hits = np.concatenate([[name in each.question.evidence for name in each.found] for each in asked]).astype(float)

    def loss(line: NDArray[np.float64]) -> float:
        logits = line[0] * sums + line[1] + priors
        return float(np.mean(np.logaddexp(0, logits) - hits * logits))

    slope, offset = minimize(loss, np.array([1.0, -float(np.mean(sums))]), method="Nelder-Mead").x
    return float(slope), float(offset)


def fit(asked: Sequence[Asked]) -> dict[str, Any]:
    """What weights give on each conversation that were fitted on the others, and the weights fitted on all."""
    conversations = sorted({each.question.conversation for each in asked})
    left_out: list[tuple[Question, Sequence[str]]] = []
    for conversation in conversations:
        weights = fitted([each for each in asked if each.question.conversation != conversation])
        for each in asked:
            if each.question.conversation == conversation:
                order = np.argsort(-(each.values @ weights), kind="stable")
                left_out.append((each.question, [each.found[place] for place in order]))
    weights = fitted(asked)
    slope, offset = calibrated(asked, weights)
    return {
        "left_out": summary(left_out),
        "weights": {name: round(float(slope * weight), 3) for name, weight in zip(SIGNALS, weights, strict=True)},
        "bias": round(offset, 3),
    }


def measure(
    client: Client, documents: Sequence[Mapping[str, Any]], modes: Sequence[str], *, fitting: bool
) -> dict[str, Any]:
    report: dict[str, Any] = {}
    memories, names = {}, {}
    for document in documents:
        began = time.perf_counter()
        sample = str(document["sample_id"])
        memories[sample] = load(client, document)
        flow = {each["id"]: each["external_id"] for each in client.pages("/messages", flow_id=sample)}
        names[sample] = flow
        print(f"{sample}: {len(flow)} turns in {time.perf_counter() - began:.1f} s")
    questions = [question for document in documents for question in questions_of(document)]
    for mode in modes:
        asked = [ask(client, memories[q.conversation], names[q.conversation], q, mode, pool=False) for q in questions]
        report[mode] = summary([(each.question, each.found) for each in asked])
        took = sorted(each.took_ms for each in asked)
        report[mode]["took_ms_p50"] = took[len(took) // 2]
        report[mode]["took_ms_p95"] = took[int(len(took) * 0.95)]
        show(mode, report[mode])
    if fitting:
        pool = [ask(client, memories[q.conversation], names[q.conversation], q, "hybrid", pool=True) for q in questions]
        report["fit"] = fit(pool)
        show("fitted, each conversation left out", report["fit"]["left_out"])
        print(f"  weights {report['fit']['weights']} bias {report['fit']['bias']}")
    return report


def show(name: str, result: Mapping[str, Any]) -> None:
    parts = ", ".join(f"{category} {each['ndcg_at_10']:.3f}" for category, each in result["categories"].items())
    print(f"{name}: macro NDCG@10 {result['macro_ndcg_at_10']:.3f} ({parts}); Recall@10 {result['recall_at_10']:.3f}")
    if "took_ms_p50" in result:
        print(
            f"  {result['questions']} questions, p50 {result['took_ms_p50']:.1f} ms, p95 {result['took_ms_p95']:.1f} ms"
        )


def plot(report: Mapping[str, Any], modes: Sequence[str], file: Path) -> None:
    from matplotlib import pyplot as plt

    columns = [*CATEGORIES.values(), "macro"]
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for number, mode in enumerate(modes):
        result = report[mode]
        heights = [result["categories"].get(name, {}).get("ndcg_at_10", 0) for name in columns[:-1]]
        places = np.arange(len(columns)) + (number - (len(modes) - 1) / 2) * 0.8 / len(modes)
        axes.bar(places, [*heights, result["macro_ndcg_at_10"]], 0.8 / len(modes), label=mode)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_ylabel("NDCG@10")
    axes.set_title("Recall by kind of question")
    axes.legend()
    figure.savefig(file)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, help="a file in LoCoMo's format")
    arguments.add_argument("--modes", nargs="+", default=["hybrid", "keyword", "dense"])
    arguments.add_argument("--fit", action="store_true")
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--plot", type=Path, help="needs matplotlib")
    chosen = arguments.parse_args()
    raw = chosen.data.read_bytes()
    documents = json.loads(raw)
    report: dict[str, Any] = {
        "memorybase": __version__,
        "data": chosen.data.name,
        "data_sha256": hashlib.sha256(raw).hexdigest(),
        "conversations": len(documents),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }
    with tempfile.TemporaryDirectory(prefix="memorybase-bench-") as directory:
        data = DataDir(Path(directory))
        with StackChild(data, lambda line: print(f"  stack: {line}")) as stack:
            report["model"] = stack.settings.embedding_model
            with Client(stack.url, data.known_api_key(stack.settings) or "") as client:
                report |= measure(client, documents, chosen.modes, fitting=chosen.fit)
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")
    if chosen.plot:
        plot(report, chosen.modes, chosen.plot)


if __name__ == "__main__":
    main()
