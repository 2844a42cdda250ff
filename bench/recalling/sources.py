"""The documents of a data set's file or folder: JSON objects, each with what one conversation needs.

A file has one object, a list of them, or one in each line. Some data sets are folders, whose files are put together
here. Files are read piece by piece: LongMemEval M has 2.7 GB.
"""

from __future__ import annotations

import ast
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

CHARACTERS = 1 << 20  # of a file, read at once
BETWEEN = " \t\r\n,[]"  # objects of a list, or of lines
HISTORIES = ("chat_history_128k_link", "chat_history_32k_link")  # PersonaMem's columns, the longest first

Document = Mapping[str, Any]


def documents(path: Path) -> Iterator[Document]:
    """Raises ValueError where a file is not JSON, or a folder is none of a known data set."""
    if path.suffix == ".csv":
        return persona_mem(path)
    if not path.is_dir():
        return objects(path)
    for pattern, read in FOLDERS.items():
        if next(path.glob(pattern), None) is not None:
            return read(path)
    raise ValueError(f"{path} must be a file, or a folder with one of {', '.join(FOLDERS)}")


def objects(file: Path) -> Iterator[Document]:
    """The JSON objects of a file: one, a list, or lines."""
    with file.open(encoding="utf-8") as text:
        yield from _objects(text, file)


def _objects(text: TextIO, file: Path) -> Iterator[Document]:
    decoder, waiting, is_over = json.JSONDecoder(), "", False
    while True:
        waiting = waiting.lstrip(BETWEEN)
        if waiting and waiting[0] != "{":
            raise ValueError(f"{file} must hold JSON objects (got {waiting[:40]!r})")
        try:
            document, end = decoder.raw_decode(waiting)
        except json.JSONDecodeError as error:
            if is_over and not waiting:
                return
            if is_over:
                raise ValueError(f"{file} must hold JSON objects: {error}") from error
            # As much again as is there already, so that a long object is not parsed from its start too often.
            more = text.read(max(CHARACTERS, len(waiting)))
            waiting, is_over = waiting + more, not more
        else:
            yield document
            waiting = waiting[end:]


def literal(value: Any) -> Any:
    """What a column holds as JSON or as a literal of Python; any other text as it is."""
    if not isinstance(value, str):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError):
            continue
    return value


def beam(folder: Path) -> Iterator[Document]:
    """The chats of one size in BEAM's repository, `chats/100K`, as the rows of its data set. As in its own scripts, a
    truncated chat, whose file is spelled so, is taken instead of the whole one."""
    for file in sorted(folder.glob("*/chat.json"), key=lambda each: (len(each.parent.name), each.parent.name)):
        truncated = file.with_name("chat_trunecated.json")
        chat = truncated if truncated.is_file() else file
        asked = file.parent / "probing_questions" / "probing_questions.json"
        yield {
            "conversation_id": file.parent.name,
            "chat": json.loads(chat.read_text(encoding="utf-8")),
            "probing_questions": json.loads(asked.read_text(encoding="utf-8")),
        }


def realtalk(folder: Path) -> Iterator[Document]:
    for file in sorted(folder.glob("Chat_*.json")):
        yield {"chat_id": file.stem, **json.loads(file.read_text(encoding="utf-8"))}


def persona_mem(file: Path) -> Iterator[Document]:
    """The questions of a table by their history, of the longest kind whose files are there."""
    csv.field_size_limit(sys.maxsize)
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    columns = [name for name in HISTORIES if rows and rows[0].get(name)]
    if not columns or "related_conversation_snippet" not in rows[0]:
        columns_needed = f"related_conversation_snippet and one of {', '.join(HISTORIES)}"
        raise ValueError(
            f"{file} must have the columns {columns_needed}: PersonaMem's first version does not say "
            "which messages answer; its second does, in benchmark/text/benchmark.csv"
        )
    found = ((name, root) for name in columns for root in file.parents if (root / rows[0][name]).is_file())
    column, root = next(found, (None, None))
    if column is None or root is None:
        raise ValueError(f"{rows[0][columns[0]]}, which {file} names, must be in a folder above it")
    asked: dict[str, list[Document]] = defaultdict(list)
    for row in rows:
        asked[row[column]].append(row)
    for link, of_history in asked.items():
        history = json.loads((root / link).read_text(encoding="utf-8"))
        messages = history if isinstance(history, list) else history["chat_history"]
        yield {"persona_id": Path(link).stem, "chat_history": messages, "rows": of_history}


def lmeb(folder: Path) -> Iterator[Document]:
    """The scenes of one of LMEB's data sets. Its tasks share a corpus, or have one each."""
    for place in [folder, *sorted(each for each in folder.iterdir() if each.is_dir())]:
        if (place / "candidates.jsonl").is_file():
            yield from _scenes(place, "" if place == folder else f"{place.name}-")


def _scenes(place: Path, prefix: str) -> Iterator[Document]:
    candidates = {str(each["scene_id"]): each["candidate_doc_ids"] for each in objects(place / "candidates.jsonl")}
    asked: dict[str, list[Document]] = defaultdict(list)
    for file in sorted(place.rglob("queries.jsonl")):
        relevant = _relevant(file.with_name("qrels.tsv"))
        for query in objects(file):
            scene = "_".join(str(query["id"]).split("_")[:2])
            if scene not in candidates:
                raise ValueError(f"{file}: the id of a query must begin with a scene_id (got {query['id']!r})")
            relevance = relevant.get(str(query["id"]), [])
            asked[scene].append({"text": query["text"], "task": file.parent.name, "relevant": relevance})
    needed = {id_ for scene in asked for id_ in candidates[scene]}
    texts = {each["id"]: each for each in objects(place / "corpus.jsonl") if each["id"] in needed}
    for scene, queries in asked.items():
        yield {"scene_id": prefix + scene, "documents": [texts[id_] for id_ in candidates[scene]], "queries": queries}


def _relevant(file: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        query, document, score = line.split("\t")
        if score.isdecimal() and int(score) > 0:  # the first line may name the columns
            found[query].append(document)
    return found


# By what is in them.
FOLDERS: Mapping[str, Callable[[Path], Iterator[Document]]] = {
    "*/chat.json": beam,
    "Chat_*.json": realtalk,
    "candidates.jsonl": lmeb,
    "*/candidates.jsonl": lmeb,
}
