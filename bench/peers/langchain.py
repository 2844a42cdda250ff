"""LangChain: `index()` with a SQLRecordManager, HuggingFaceEmbeddings and Chroma, all in the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peering import Found, Memory, Message, spoken


class LangChain(Memory):
    """A document for each message, split if it is long, its person the source by which the record manager groups."""

    PACKAGES = ("langchain-core", "langchain-classic", "langchain-chroma", "langchain-huggingface", "chromadb", "torch")
    NEEDS = "a library; torch"

    def __init__(self, directory: Path, model: str) -> None:
        from langchain_chroma import Chroma
        from langchain_classic.indexes import SQLRecordManager
        from langchain_huggingface import HuggingFaceEmbeddings
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        self._splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
        embeddings = HuggingFaceEmbeddings(model_name=model)
        embeddings.embed_query("the first call is slower")
        self._chroma = Chroma("messages", embeddings, persist_directory=str(directory / "chroma"))
        self._records = SQLRecordManager("chroma/messages", db_url=f"sqlite:///{directory / 'records.db'}")
        self._records.create_schema()

    def add(self, person: str, session: str, messages: Sequence[Message], key: str) -> None:  # noqa: ARG002 - it knows texts by their hash
        from langchain_core.documents import Document
        from langchain_core.indexing import index

        documents = [
            Document(spoken(each), metadata={"person": person, "session": session, **_metadata(each)})
            for each in messages
        ]
        chunks = self._splitter.split_documents(documents)
        index(chunks, self._records, self._chroma, cleanup=None, source_id_key="person", key_encoder="sha256")

    def search(self, person: str, question: str, limit: int) -> list[Found]:
        found = self._chroma.similarity_search(question, k=limit, filter={"person": person})
        return [{"text": each.page_content, "ids": [each.metadata["id"]]} for each in found]

    def context(self, person: str, question: str, tokens: int) -> list[Found]:  # noqa: ARG002 - it has no budget
        found = self._chroma.as_retriever(search_kwargs={"filter": {"person": person}}).invoke(question)
        return [{"text": each.page_content, "ids": [each.metadata["id"]]} for each in found]

    def texts(self) -> list[str]:
        return list(self._chroma.get(include=["documents"])["documents"])

    def delete(self, person: str) -> None:
        keys = self._records.list_keys(group_ids=[person])
        self._chroma.delete(ids=keys)
        self._records.delete_keys(keys)


def _metadata(message: Message) -> dict[str, str]:
    return {name: message[name] for name in ("id", "role", "timestamp") if name in message}
