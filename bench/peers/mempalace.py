"""MemPalace: the tools of its MCP server, in the process, on one palace with Chroma.

Its own model is downloaded, so it gets the same model as the others from an address like OpenAI's, which it supports.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from peering import Found, Memory, Message, spoken

from peers import embeddings

PAGE = 100  # of its lists
MOST_CHARS = 100_000  # of a drawer
FORBIDDEN = re.compile(r"[^\w .'-]")  # in names


class MemPalace(Memory):
    """A person is a wing, a session a room, a message a drawer."""

    PACKAGES = ("mempalace", "chromadb", "sentence-transformers", "torch")
    NEEDS = "a program, by its MCP server or command line; its own model is a download"

    def __init__(self, directory: Path, model: str) -> None:
        os.environ.update(
            HOME=str(directory),
            MEMPALACE_CONFIG_DIR=str(directory / "config"),
            MEMPALACE_PALACE_PATH=str(directory / "palace"),
            MEMPALACE_EMBEDDING_MODEL="openai-compat",
            MEMPALACE_EMBEDDING_API_URL=embeddings.serve(model),
            MEMPALACE_EMBEDDING_API_MODEL="all-MiniLM-L6-v2",
        )
        from mempalace import mcp_server

        self._tools = mcp_server

    def add(self, person: str, session: str, messages: Sequence[Message], key: str) -> None:  # noqa: ARG002 - a drawer's id is of its text
        for each in messages:
            room = FORBIDDEN.sub("-", session)
            _checked(self._tools.tool_add_drawer(wing=person, room=room, content=spoken(each)[:MOST_CHARS]))

    def search(self, person: str, question: str, limit: int) -> list[Found]:
        found = _checked(self._tools.tool_search(question, limit=limit, wing=person))
        return [{"text": each["text"]} for each in found["results"]]

    def context(self, person: str, question: str, tokens: int) -> list[Found]:  # noqa: ARG002 - it has no budget
        found = _checked(self._tools.tool_search(question, wing=person))
        return [{"text": each["text"]} for each in found["results"]]

    def texts(self) -> list[str]:
        from mempalace.palace import get_collection

        found = get_collection(os.environ["MEMPALACE_PALACE_PATH"]).get(include=["documents"])
        return list(found["documents"])

    def delete(self, person: str) -> None:
        drawers = list(self._drawers(person))
        for index in range(0, len(drawers), PAGE):
            _checked(self._tools.tool_delete_drawers(drawers[index : index + PAGE]))

    def _drawers(self, person: str) -> Iterator[str]:
        offset = 0
        while page := _checked(self._tools.tool_list_drawers(wing=person, limit=PAGE, offset=offset))["drawers"]:
            yield from (each["drawer_id"] for each in page)
            offset += len(page)


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """Its tools answer with an error instead of raising one."""
    if "error" in answer or answer.get("success") is False:
        raise RuntimeError(str(answer))
    return answer
