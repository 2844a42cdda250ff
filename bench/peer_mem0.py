"""mem0's `add(infer=False)` with its Hugging Face embedder and Chroma; see peering.py for its input and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from peering import Message, Store, serve

PACKAGES = ("mem0ai", "chromadb", "sentence-transformers", "torch")


class Remembered:
    """One memory of mem0. It requires a configured language model, but never calls it here."""

    def __init__(self, directory: Path, model: str) -> None:
        from mem0 import Memory

        directory.mkdir(exist_ok=True)
        store = {"collection_name": "messages", "path": str(directory / "chroma")}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "chroma", "config": store},
                "embedder": {"provider": "huggingface", "config": {"model": model}},
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": str(directory / "history.db"),
            }
        )

    def add(self, messages: Sequence[Message]) -> None:
        self._memory.add(list(messages), user_id="benchmark", infer=False)

    def count(self) -> int:
        return len(self.texts())

    def search(self, question: str) -> None:
        self._memory.search(question, filters={"user_id": "benchmark"}, top_k=10)

    def texts(self) -> list[str]:
        found = self._memory.get_all(filters={"user_id": "benchmark"}, top_k=100_000)["results"]
        return [each["memory"] for each in found]


def opener(model: str) -> Callable[[Path], Store]:
    return lambda directory: Remembered(directory, model)


if __name__ == "__main__":
    serve(PACKAGES, opener)
