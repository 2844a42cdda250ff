"""LangChain: `index()`, SQLRecordManager, HuggingFaceEmbeddings and Chroma. See peering.py for its input and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from peering import Message, Store, serve

PACKAGES = ("langchain-core", "langchain-classic", "langchain-chroma", "langchain-huggingface", "chromadb", "torch")


class Indexed:
    """Documents with a record manager, which stores no text twice."""

    def __init__(self, directory: Path, embeddings: Any) -> None:
        from langchain_chroma import Chroma
        from langchain_classic.indexes import SQLRecordManager

        directory.mkdir(exist_ok=True)
        self._chroma = Chroma(directory.name + "-messages", embeddings, persist_directory=str(directory / "chroma"))
        self._records = SQLRecordManager(directory.name, db_url=f"sqlite:///{directory / 'records.db'}")
        self._records.create_schema()

    def add(self, messages: Sequence[Message]) -> None:
        from langchain_core.documents import Document
        from langchain_core.indexing import index

        documents = [Document(each["content"], metadata={"role": each["role"]}) for each in messages]
        index(documents, self._records, self._chroma, cleanup=None, key_encoder="sha256")

    def count(self) -> int:
        return len(self._chroma.get(include=[])["ids"])

    def search(self, question: str) -> None:
        self._chroma.similarity_search(question, k=10)

    def texts(self) -> list[str]:
        return list(self._chroma.get(include=["documents"])["documents"])


def opener(model: str) -> Callable[[Path], Store]:
    from langchain_huggingface import HuggingFaceEmbeddings

    embeddings = HuggingFaceEmbeddings(model_name=model)
    return lambda directory: Indexed(directory, embeddings)


if __name__ == "__main__":
    serve(PACKAGES, opener)
