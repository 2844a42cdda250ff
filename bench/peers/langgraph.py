"""LangGraph: its long-term memory, a SqliteStore with an index over the text, in the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peering import Found, Memory, Message, spoken

ALL = 1_000_000


class LangGraph(Memory):
    """An item for each message, in a namespace for each person; the message's id is its key."""

    PACKAGES = ("langgraph-checkpoint-sqlite", "langgraph-checkpoint", "sqlite-vec", "pysqlite3-binary", "torch")
    NEEDS = "a library; torch"

    def __init__(self, directory: Path, model: str) -> None:
        import pysqlite3  # Python's own sqlite3 cannot load sqlite-vec where it was built without extensions
        from langchain_huggingface import HuggingFaceEmbeddings
        from langgraph.store.sqlite import SqliteStore

        embeddings = HuggingFaceEmbeddings(model_name=model)
        dimensions = len(embeddings.embed_query("the first call is slower"))
        index = {"dims": dimensions, "embed": embeddings}
        # As `from_conn_string` opens it.
        self._db = pysqlite3.connect(str(directory / "store.db"), check_same_thread=False, isolation_level=None)
        self._store = SqliteStore(self._db, index=index)
        self._store.setup()

    def add(self, person: str, session: str, messages: Sequence[Message], key: str) -> None:  # noqa: ARG002 - each item has its own key
        from langgraph.store.base import PutOp

        # `fields` of the index's configuration is documented, but 3.1.2 does not read it and embeds the value as JSON.
        self._store.batch(
            PutOp(
                ("memories", person),
                each["id"],
                {"text": spoken(each), "session": session, "role": each["role"], "time": each.get("timestamp")},
                index=["text"],
            )
            for each in messages
        )

    def search(self, person: str, question: str, limit: int) -> list[Found]:
        found = self._store.search(("memories", person), query=question, limit=limit)
        return [{"text": each.value["text"], "ids": [each.key]} for each in found]

    def context(self, person: str, question: str, tokens: int) -> list[Found]:  # noqa: ARG002 - it has no budget
        found = self._store.search(("memories", person), query=question)
        return [{"text": each.value["text"], "ids": [each.key]} for each in found]

    def texts(self) -> list[str]:
        return [each.value["text"] for each in self._store.search(("memories",), limit=ALL)]

    def delete(self, person: str) -> None:
        namespace = ("memories", person)
        for each in self._store.search(namespace, limit=ALL):
            self._store.delete(namespace, each.key)

    def close(self) -> None:
        self._db.close()
