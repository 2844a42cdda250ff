"""One conversation and ten questions about it in fourteen languages, written by hand, in bench/conversations/languages.

A user and an assistant talk about nine things in three sessions of six turns. The questions use other forms of the
words than the messages, so that stems are needed.
"""

from __future__ import annotations

import json
from typing import Any

from made.files import FOLDER

TURNS_IN_SESSION = 6


def in_languages() -> dict[str, dict[str, Any]]:
    """The conversations in the form of a made conversation, by language."""
    files = sorted((FOLDER / "languages").glob("*.json"))
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return {document["language"]: _conversation(document["language"], document) for document in documents}


def _conversation(language: str, document: dict[str, Any]) -> dict[str, Any]:
    messages = [
        {
            "id": f"{language}-{number}",
            "session": f"{language}-{(number - 1) // TURNS_IN_SESSION + 1}",
            "role": "user" if number % 2 else "assistant",
            "content": content,
            "timestamp": f"2026-01-{number:02}T10:00:00Z",
        }
        for number, content in enumerate(document["turns"], 1)
    ]
    questions = [
        {
            "question": each["question"],
            "category": "language",
            "evidence": [f"{language}-{n}" for n in each["evidence"]],
        }
        for each in document["questions"]
    ]
    return {"id": language, "kind": "languages", "messages": messages, "questions": questions}
