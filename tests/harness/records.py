"""Conversations written shortly: "u1 a1 A1[t1,t2] T1 T2 a1" are user and assistant messages, a call and its results."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memorybase.core.conversation import Record

ROLES = {"u": "user", "a": "assistant", "A": "assistant", "T": "tool", "s": "system"}
_WORD = re.compile(r"(\w+)(?:\[([\w,]*)\])?")


def record(word: str, seq: int) -> Record:
    """`m7` is a user message where the number is odd; `A1[t1,t2]` calls tools, and `Tn` is the result of `tn`."""
    match = _WORD.fullmatch(word)
    assert match, word
    name, calls = match.groups()
    role = ("assistant", "user")[int(name[1:]) % 2] if name[0] == "m" else ROLES[name[0]]
    return Record(
        id=name,
        seq=seq,
        role=role,  # type: ignore[arg-type]
        content=name,
        tool_calls=[tool_call(call) for call in calls.split(",")] if calls else (),
        tool_call_id=f"t{name[1:]}" if name[0] == "T" else None,
    )


def tool_call(identity: str, name: str = "search") -> dict[str, object]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": '{"q": 1}'}}


def log(words: str) -> list[Record]:
    return [record(word, seq) for seq, word in enumerate(words.split(), start=1)]


def numbered(count: int) -> list[Record]:
    """m1 to m<count>: questions are odd, answers even."""
    return log(" ".join(f"m{number}" for number in range(1, count + 1)))


def ids(records: Iterable[Record]) -> str:
    return " ".join(record.id for record in records)


class Flat:
    """Every message costs the same, or what its content says where that is a number."""

    name = "flat"

    def __init__(self, tokens: int = 10) -> None:
        self.tokens = tokens

    def count(self, record: Record) -> int:
        said = str(record.content)
        return int(said) if said.isdigit() else self.tokens
