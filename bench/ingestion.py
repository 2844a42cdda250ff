"""How fast are memories captured and ingested, and how close is that to what the parts can do at all?

    python bench/ingestion.py [--messages 2000] [--sessions 20] [--json FILE]

Starts its own embedded stack in a temporary directory. Captures runs of two messages over HTTP, measures each
acknowledgement, flushes, and waits until everything is ingested. Then the same texts go straight through the same
embedder and into the same Chroma server, in calls of 250, with nothing around it: that is the limit of the parts, and
the ratio is what the guarantees cost.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from memorybase import __version__
from memorybase.client import Client
from memorybase.embedding import Embedders
from memorybase.settings import Settings
from memorybase.stack.child import StackChild
from memorybase.stack.state import DataDir
from memorybase.vectors import ChromaStore, VectorRecord

WORDS = (  # noqa: SIM905 - a list of words is read as words
    "harbour boat berth winter engine oil rope captain ticket island ferry coffee market letter garden doctor school"
    " train bicycle piano lesson recipe flour oven birthday cousin wedding photograph museum river bridge storm"
).split()
WORDS_A_MESSAGE = 26  # about 34 tokens, as in recorded conversations
FLOW = "benchmark"


def texts(count: int) -> list[str]:
    """Messages that differ, the same in every run of the benchmark."""
    dice = random.Random(17)
    return [f"{n}: " + " ".join(dice.choices(WORDS, k=WORDS_A_MESSAGE)) for n in range(count)]


def through_memorybase(client: Client, messages: list[str], sessions: int) -> dict[str, float]:
    client.put_flow(FLOW)
    base = client.call("POST", "/memories", json={"name": FLOW, "flow_id": FLOW, "capture": "all", "threshold": 100})
    acknowledged = []
    began = time.perf_counter()
    for place in range(0, len(messages), 2):
        run = {
            "session_id": f"session {place // 2 % sessions}",
            "run_id": f"run {place}",
            "messages": [
                {"role": role, "content": text}
                for role, text in zip(("user", "assistant"), messages[place : place + 2], strict=False)
            ],
        }
        sent = time.perf_counter()
        client.post_run(FLOW, run)
        acknowledged.append(time.perf_counter() - sent)
    captured = time.perf_counter() - began
    client.settle(base["id"], lambda _: None)
    total = time.perf_counter() - began
    milliseconds = statistics.quantiles([1000 * seconds for seconds in acknowledged], n=100)
    return {
        "capture_p50_ms": round(milliseconds[49], 2),
        "capture_p95_ms": round(milliseconds[94], 2),
        "captured_per_second": round(len(messages) / captured, 1),
        "captured_and_ingested_per_second": round(len(messages) / total, 1),
    }


def through_the_parts(chroma_url: str, data: DataDir, messages: list[str]) -> dict[str, float]:
    """Embed and upsert, nothing else; the stack stands by idle."""
    embedder = Embedders(Settings(data_dir=data.path)).get()
    store = ChromaStore(chroma_url, timeout_seconds=60)
    ref = store.create_collection(f"bench-{uuid4()}", {"benchmark": True})
    embedder.embed(messages[:32])  # the model is loaded and warm
    began = time.perf_counter()
    for place in range(0, len(messages), 250):
        page = messages[place : place + 250]
        records = [
            VectorRecord(id=f"{place}:{n}", vector=vector, text=text, metadata={"n": n})
            for n, (text, vector) in enumerate(zip(page, embedder.embed(page), strict=True))
        ]
        store.upsert(ref, records)
    seconds = time.perf_counter() - began
    store.delete_collection(ref.name)
    store.close()
    return {"embedded_and_upserted_per_second": round(len(messages) / seconds, 1)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--messages", type=int, default=2000)
    arguments.add_argument("--sessions", type=int, default=20)
    arguments.add_argument("--json", type=Path)
    chosen = arguments.parse_args()
    messages = texts(chosen.messages)
    with tempfile.TemporaryDirectory(prefix="memorybase-bench-") as directory:
        data = DataDir(Path(directory))
        with StackChild(data, lambda line: print(f"  stack: {line}")) as stack:
            key = data.known_api_key(stack.settings) or ""
            with Client(stack.url, key) as client:
                flow = through_memorybase(client, messages, chosen.sessions)
                parts = through_the_parts(stack.chroma_url, data, messages)
    ratio = flow["captured_and_ingested_per_second"] / parts["embedded_and_upserted_per_second"]
    report: dict[str, Any] = {
        "memorybase": __version__,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "messages": chosen.messages,
        "sessions": chosen.sessions,
        **flow,
        **parts,
        "ratio_to_the_parts": round(ratio, 3),
    }
    for name, value in report.items():
        print(f"{name:34} {value}")
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
