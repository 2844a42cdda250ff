"""Measures search in fourteen languages: the made conversations of bench/conversations/languages, all in one flow.

    PYTHONPATH=tests python bench/languages.py [--modes keyword hybrid dense] [--model NAME]
        [--setting detect] [--answers-in LANGUAGE] [--misses] [--results FOLDER]

For each language: rows of the keyword index a message; and for each mode the share of ten questions whose answer is
first, is among the first five, NDCG@10, and the median time of a search in milliseconds. The search runs in this
process on SQLite, with vectors in memory; each question is asked once before it is timed. With --answers-in only the
conversation in that language is there, and the questions in all the others must find its messages.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import runs
import sqlalchemy as sa
from harness.world import World, build_world
from made.in_languages import in_languages
from runs import Run

from memorybase.core.embedding import Embedders
from memorybase.core.models import Message, Posting
from memorybase.core.search import search as answer
from memorybase.core.search.request import SearchRequest
from memorybase.core.settings import Settings
from memorybase.features.lab.metrics import judge, summarize


def load(world: World, documents: Mapping[str, Mapping[str, Any]]) -> tuple[UUID, dict[UUID, str]]:
    """Capture and ingest all of them in one flow; the memory base, and the messages' names by id."""
    base = world.new_base()
    names: dict[UUID, str] = {}
    for document in documents.values():
        for session in dict.fromkeys(each["session"] for each in document["messages"]):
            turns = [each for each in document["messages"] if each["session"] == session]
            fields = ("role", "content", "timestamp")
            raw = [world.message({name: turn[name] for name in fields}) for turn in turns]
            captured = world.capture(session, raw)
            names |= {message.id: turn["id"] for message, turn in zip(captured.messages, turns, strict=True)}
    world.flush(base)
    world.settle()
    return base, names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", default=["keyword", "hybrid", "dense"])
    parser.add_argument("--model", default="")
    parser.add_argument("--setting", default="")
    parser.add_argument("--answers-in", choices=in_languages(), default=None)
    parser.add_argument("--misses", action="store_true")
    runs.add_option(parser)
    arguments = parser.parse_args()
    kept = Run()
    documents = in_languages()
    known = documents
    if arguments.answers_in:
        known = {arguments.answers_in: documents[arguments.answers_in]}
        documents = {name: _about(document, documents[arguments.answers_in]) for name, document in documents.items()}
    with tempfile.TemporaryDirectory() as folder:
        world = _world(Path(folder), arguments.model, arguments.setting, with_model=arguments.modes != ["keyword"])
        kept.report = {"about": runs.about(world.services.settings)}
        base, names = load(world, known)
        rows = _rows_by_message(world)
        print(f"{'':12}{'rows':>7}" + "".join(f"{mode:>34}" for mode in arguments.modes))
        for language, document in documents.items():
            held = [rows[id_] for id_, name in names.items() if name in {each["id"] for each in document["messages"]}]
            figures = "".join(_row(world, base, names, document, mode, kept) for mode in arguments.modes)
            print(f"{language:12}{sum(held) / len(held):7.1f}{figures}")
            for mode in arguments.modes if arguments.misses else ():
                _print_misses(world, base, names, document, mode)
        world.close()
    if arguments.results:
        kept.write(arguments.results)


def _about(document: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The same questions about the other conversation, whose messages say the same in the same order."""
    same = {own["id"]: each["id"] for own, each in zip(document["messages"], other["messages"], strict=True)}
    questions = [{**each, "evidence": [same[id_] for id_ in each["evidence"]]} for each in document["questions"]]
    return {**document, "messages": other["messages"], "questions": questions}


def _world(folder: Path, model: str, setting: str, *, with_model: bool) -> World:
    world = build_world(f"sqlite:///{folder / 'memorybase.db'}", folder)
    models = Path(tempfile.gettempdir()) / f"memorybase-test-models-{os.getuid()}"  # those of the tests
    given = {name: value for name, value in (("embedding_model", model), ("keyword_language", setting)) if value}
    settings = Settings(data_dir=folder, model_dir=models).model_copy(update=given)
    embedders: Any = Embedders(settings) if with_model else world.embedders
    services = replace(world.services, settings=settings, embedders=embedders)
    return replace(world, services=services, embedders=embedders)


def _rows_by_message(world: World) -> dict[UUID, int]:
    """The number of postings of each message."""
    counted = sa.select(Message.id, sa.func.count()).join(Posting, Posting.position == Message.position)
    with world.services.database.reading() as db:
        return {row.id: row[1] for row in db.execute(counted.group_by(Message.id))}


def _found(world: World, base: UUID, names: Mapping[UUID, str], question: str, mode: Any) -> list[str]:
    return [names[hit.message_id] for hit in _search(world, base, question, mode).results]


def _row(world: World, base: UUID, names: Mapping[UUID, str], document: Mapping[str, Any], mode: str, kept: Run) -> str:
    asked = [(each["evidence"], _found(world, base, names, each["question"], mode)) for each in document["questions"]]
    first = sum(found[:1] == evidence for evidence, found in asked) / len(asked)
    of_five = sum(evidence[0] in found[:5] for evidence, found in asked) / len(asked)
    timed = [_search(world, base, each["question"], mode) for each in document["questions"]]
    for each, again in zip(document["questions"], timed, strict=True):
        ids, scores = [names[hit.message_id] for hit in again.results], [hit.score for hit in again.results]
        line = {"corpus": document["id"], **runs.asked(each["question"], ours=True), "evidence": each["evidence"]}
        kept.add(**line, method=mode, **runs.found(ids, scores), ms=round(again.took_ms, 1))
    took = [each.took_ms for each in timed]
    ndcg = summarize([judge("language", found, frozenset(evidence)) for evidence, found in asked]).macro_ndcg
    return f"{first:12.2f}{of_five:7.2f}{ndcg:7.2f}{np.median(took):8.1f}"


def _search(world: World, base: UUID, question: str, mode: Any) -> answer.SearchResults:
    request = SearchRequest(memory_base_id=base, query=question, mode=mode, top_k=10)
    return answer.search(world.services, world.user_id, request)


def _print_misses(world: World, base: UUID, names: Mapping[UUID, str], document: Mapping[str, Any], mode: str) -> None:
    contents = {each["id"]: each["content"] for each in document["messages"]}
    for each in document["questions"]:
        found: Sequence[str] = _found(world, base, names, each["question"], mode)
        if found[:1] != each["evidence"]:
            first = contents.get(found[0], found[0]) if found else "nothing"
            print(f"    {mode}: {each['question']} wants {contents[each['evidence'][0]]!r} and finds {first!r}")


if __name__ == "__main__":
    main()
