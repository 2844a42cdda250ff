"""The words that identifiers are made of, and paths of files as one term. Pure."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import pairwise

MAX_CHARS = 40  # of an identifier
MAX_PATH_CHARS = 200

# In getUserById and HTTPServer, of user_id, and of Persian words that a joiner without width holds together.
_LOWER, _UPPER = "a-z\u00df-\u00f6\u00f8-\u00ff\u0430-\u044f", "A-Z\u00c0-\u00d6\u00d8-\u00de\u0410-\u042f"
_HUMP = re.compile(rf"[{_UPPER}](?:(?<=[{_LOWER}\d].)|(?<=[{_UPPER}].)(?=[{_LOWER}]{{2}}))")
_SNAKE = re.compile(r"(?<![^\W_])[^\W_]+(?:_+[^\W_]+)+")
# Where the name of a file ends, in ASCII: prose of other scripts stands beside it without spaces.
_EXTENSION = re.compile(r"\.(?<=[A-Za-z0-9_-]\.)[a-z][a-z0-9]{0,9}(?!\.?[A-Za-z0-9_/\-])")
_OF_PATHS = frozenset(string.ascii_letters + string.digits + "_-+@~./")
_JOINED = re.compile("(?<![\u0600-\u06ff])[\u0600-\u06ff]+(?:\u200c[\u0600-\u06ff]+)+")


def parts(text: str) -> Iterator[str]:
    """The words that getUserById and user_id are made of; for user_id also what both are when written together."""
    end = 0
    for hump in _HUMP.finditer(text):
        start = hump.start()
        if start < end:
            continue
        while start and text[start - 1].isalnum() and hump.start() - start < MAX_CHARS:
            start -= 1
        end = hump.end()
        while end < len(text) and text[end].isalnum() and end - start <= MAX_CHARS:
            end += 1
        if end - start <= MAX_CHARS:
            cuts = [start, *(each.start() for each in _HUMP.finditer(text, start + 1, end)), end]
            yield from (text[left:right] for left, right in pairwise(cuts) if right - left > 1)
    if "_" in text:
        yield from (word.replace("_", "") for word in _SNAKE.findall(text) if len(word) <= MAX_CHARS)
    if "\u200c" in text:
        yield from (part for word in _JOINED.findall(text) for part in word.split("\u200c"))


def paths(text: str) -> Iterator[tuple[str, ...]]:
    """Paths of files, folded: src/worker/queue.py, and as people name it too, worker/queue.py and queue.py."""
    for extension in _EXTENSION.finditer(text):
        start = extension.start()
        while start and text[start - 1] in _OF_PATHS and extension.end() - start < MAX_PATH_CHARS:
            start -= 1
        parts = [part for part in text[start : extension.end()].casefold().split("/") if part.strip(".")]
        if len(parts[-1]) > extension.end() - extension.start() + 1:  # of one letter: e.g, a.m
            yield tuple(dict.fromkeys("/".join(parts[-most:]) for most in (len(parts), 2, 1)))
