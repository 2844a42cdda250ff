from __future__ import annotations

import json
import zipfile
from pathlib import Path

from harness import exports
from harness.exports import write_json
from memorybase_client.importers.recognise import recognise
from memorybase_client.importers.records import Report

LINE = json.dumps({"session_id": "s", "role": "user", "content": "x"})
EXPORT = json.dumps({"type": "export", "format": 1})
LOCOMO = {"sample_id": "c", "conversation": {"session_1": []}}


def archive(folder: Path, name: str, **members: object) -> Path:
    file = folder / name
    with zipfile.ZipFile(file, "w") as opened:
        for member, value in members.items():
            opened.writestr(f"{member}.json", json.dumps(value))
    return file


def text(folder: Path, name: str, content: str) -> Path:
    file = folder / name
    file.write_text(content)
    return file


def test_every_format_is_recognised_by_its_content_whatever_its_name(tmp_path: Path) -> None:
    files = {
        "chatgpt": [
            write_json(tmp_path, "a.txt", exports.chatgpt()),
            archive(tmp_path, "c.zip", chat=[{"id": "u"}], conversations=exports.chatgpt(), user={"id": "u"}),
        ],
        "claude": [
            write_json(tmp_path, "b.json", exports.claude()),
            archive(tmp_path, "d.zip", conversations=exports.claude(), projects=[{"uuid": "p"}], users=[{"uuid": "u"}]),
        ],
        "langchain": [exports.langchain(tmp_path), write_json(tmp_path, "l.json", exports.langchain_messages())],
        "langflow": [exports.langflow(tmp_path), write_json(tmp_path, "m.json", exports.langflow_rows())],
        "mem0": [write_json(tmp_path, "mem.json", exports.mem0())],
        "letta": [write_json(tmp_path, "agent.af", exports.letta())],
        "zep": [exports.zep(tmp_path)],
        "agent-memory-server": [exports.agent_memory_server(tmp_path)],
        "jsonl": [
            text(tmp_path, "own", LINE),
            text(tmp_path, "two", f"{LINE}\n{LINE}\n"),
            text(tmp_path, "list", f"[{LINE}]"),
            text(tmp_path, "broken.jsonl", f"{LINE}\n{{"),
        ],
        "locomo": [write_json(tmp_path, "one.json", LOCOMO), write_json(tmp_path, "all.json", [LOCOMO])],
        "export": [text(tmp_path, "e.jsonl", f"{EXPORT}\n{EXPORT}")],
        None: [
            text(tmp_path, name, content)
            for name, content in (
                ("empty", ""),
                ("none", "[]"),
                ("hello", '{"hello": 1}'),
                ("42", "42"),
                ("csv", "a,b\n1,2"),
            )
        ],
    }
    found = {file: recognise(str(file), Report()) for each in files.values() for file in each}
    assert found == {file: name for name, each in files.items() for file in each}
