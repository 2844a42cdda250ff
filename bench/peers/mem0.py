"""mem0: `add(infer=False)` with its Hugging Face embedder and Chroma, both in the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peering import Found, Memory, Message, spoken


class Mem0(Memory):
    """It requires a configured language model, but never calls it with `infer=False`."""

    PACKAGES = ("mem0ai", "chromadb", "sentence-transformers", "torch")
    NEEDS = "a library; torch"

    def __init__(self, directory: Path, model: str) -> None:
        from mem0 import Memory as Mem0Memory

        store = {"collection_name": "messages", "path": str(directory / "chroma")}
        self._memory = Mem0Memory.from_config(
            {
                "vector_store": {"provider": "chroma", "config": store},
                "embedder": {"provider": "huggingface", "config": {"model": model}},
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": str(directory / "history.db"),
            }
        )

    def add(self, person: str, session: str, messages: Sequence[Message], key: str) -> None:  # noqa: ARG002 - it takes no key
        # As in its own evaluation with LoCoMo, names are in the text. A call's metadata has no place for each id.
        turns = [{"role": each["role"], "content": spoken(each)} for each in messages]
        self._memory.add(turns, user_id=person, run_id=session, infer=False)

    def search(self, person: str, question: str, limit: int) -> list[Found]:
        return _found(self._memory.search(question, filters={"user_id": person}, top_k=limit))

    def context(self, person: str, question: str, tokens: int) -> list[Found]:  # noqa: ARG002 - it has no budget
        return _found(self._memory.search(question, filters={"user_id": person}))

    def texts(self) -> list[str]:
        found = self._memory.vector_store.list(top_k=1_000_000)[0]
        return [each.payload["data"] for each in found]

    def delete(self, person: str) -> None:
        self._memory.delete_all(user_id=person)


def _found(answer: dict[str, list[dict[str, str]]]) -> list[Found]:
    return [{"text": each["memory"]} for each in answer["results"]]
