"""Finds secrets in texts and in JSON.

A text with none of the literal words of the rules costs one search for each of them, and no pattern runs.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any, NamedTuple

from memorybase.features.secret_redaction import names
from memorybase.features.secret_redaction.rules import RULES, Rule

MARK = "[redacted "  # how each placeholder begins
PRIVATE_OPEN, PRIVATE_CLOSE = "<private>", "</private>"
_KEY_BEGIN, _KEY_END = "-----BEGIN ", "-----END "
_MOST_BLOCK = 32_000  # characters of the text of a private key
_LEAST_IN_KEY = 12  # characters of a key of JSON with a secret, so that most keys are not searched
_PLACEHOLDER = re.compile(r"\[redacted [a-z-]{1,40} [0-9a-f]{1,64}\]")
# By a character of the literal, so that a text without that character is not searched for any of them.
_LITERALS: dict[str, list[tuple[str, Rule]]] = {}
for _rule in RULES:
    for _literal in _rule.literals:
        _seldom = next((each for each in "_:/=-." if each in _literal), "")
        _LITERALS.setdefault(_seldom, []).append((_literal, _rule))
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class Find(NamedTuple):
    """A secret in a text."""

    kind: str
    start: int
    end: int


Found = Callable[[str, str, str, int], str]
"""Called with kind, secret, field and position in its string; returns what takes the secret's place."""


def find(text: str) -> list[Find]:
    """The secrets in a text, in their order; none overlaps another."""
    lower = _lowered(text)
    found = [*_private(text, lower), *_blocks(text), *_shapes(text)]
    found += (Find(*each) for each in names.find(text, lower))
    return list(_apart(text, found)) if found else []


def replace(value: Any, field: str, found: Found) -> Any:
    """The JSON with each secret replaced; the same object if it has none."""
    return _replace(value, field, "", found)


def _replace(value: Any, field: str, name: str, found: Found) -> Any:
    if isinstance(value, str):
        return _in_text(value, field, name, found)
    if isinstance(value, list):
        new = [_replace(item, f"{field}[{index}]", name, found) for index, item in enumerate(value)]
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    if isinstance(value, dict):
        keys = [_in_key(key, field, found) for key in value]
        named = zip(keys, value.items(), strict=True)
        new = [_replace(item, f"{field}.{key}", name, found) for key, (name, item) in named]
        is_same = all(map(is_, keys, value)) and all(map(is_, new, value.values()))
        return value if is_same else dict(zip(keys, new, strict=True))
    return value


def _in_key(key: str, field: str, found: Found) -> str:
    return key if len(key) < _LEAST_IN_KEY else _in_text(key, f"a key of {field}", "", found)


def _in_text(text: str, field: str, name: str, found: Found) -> str:
    if len(text) < 4:
        return text
    if name and not text.startswith(MARK) and (kind := names.kind_of(name, text)) is not None:
        inside = find(text)
        whole = inside[0].kind if len(inside) == 1 and inside[0][1:] == (0, len(text)) else kind
        return found(whole, text, field, 0)
    finds = find(text)
    if not finds:
        return text
    parts, at = [], 0
    for each in finds:
        parts += [text[at : each.start], found(each.kind, text[each.start : each.end], field, each.start)]
        at = each.end
    return "".join([*parts, text[at:]])


def _lowered(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def _shapes(text: str) -> Iterator[Find]:
    present = {
        id(rule): rule
        for seldom, literals in _LITERALS.items()
        if seldom in text
        for literal, rule in literals
        if literal in text
    }
    for rule in present.values():
        group = "s" if "s" in rule.pattern.groupindex else 0
        for match in rule.pattern.finditer(text):
            if rule.accepts(match[group]) and not names.is_stand_in(match[group]):
                yield Find(rule.kind, match.start(group), match.end(group))


def _private(text: str, lower: str) -> Iterator[Find]:
    """What a person has put between <private> and </private>, without the tags."""
    start = lower.find(PRIVATE_OPEN)
    while start >= 0:
        start += len(PRIVATE_OPEN)
        end = lower.find(PRIVATE_CLOSE, start)
        if end < 0:
            return
        if end > start and not text.startswith(MARK, start):
            yield Find("private", start, end)
        start = lower.find(PRIVATE_OPEN, end)


def _blocks(text: str) -> Iterator[Find]:
    """Private keys in PEM (RFC 7468) and OpenPGP's armor (RFC 9580), also with escaped line ends, as in JSON."""
    start = text.find(_KEY_BEGIN)
    while start >= 0:
        label = text[start + len(_KEY_BEGIN) : start + 60].partition("-----")[0]
        begin = start + len(_KEY_BEGIN) + len(label) + 5
        next_one = text.find(_KEY_BEGIN, begin)
        if "PRIVATE KEY" in label:
            limit = min(len(text) if next_one < 0 else next_one, begin + _MOST_BLOCK)
            end = text.find(_KEY_END, begin, limit)
            end = end if end >= 0 else _end_of_base64(text, begin, limit)
            if end - begin > 40 and not text.startswith(MARK, begin):
                yield Find("private-key", begin, end)
        start = next_one


def _end_of_base64(text: str, at: int, limit: int) -> int:
    """Where a key ends that was cut off."""
    allowed = frozenset(string.ascii_letters + string.digits + "+/=\r\n\\: -,")
    while at < limit and text[at] in allowed:
        at += 1
    return at


def _apart(text: str, found: list[Find]) -> Iterator[Find]:
    """Without overlaps: the first of two stays, and of two that begin together the one that was found first, which has
    the more telling kind. Placeholders are no secrets."""
    marked = [each.span() for each in _PLACEHOLDER.finditer(text)] if MARK in text else []
    end = 0
    for each in sorted(found, key=lambda find: find.start):
        # The last placeholder that begins before the end of the secret is the only one that may overlap it.
        before = bisect_left(marked, (each.end, 0)) - 1
        is_apart = before < 0 or marked[before][1] <= each.start
        if each.start >= end and each.end > each.start and is_apart:
            yield each
            end = each.end
