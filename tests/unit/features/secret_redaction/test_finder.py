"""Secrets in texts and in JSON. Values are drawn, so that no scanner finds one here."""

from __future__ import annotations

import random
from typing import Any

import redaction
from harness.rows import each_row
from made import keys

from memorybase.features.secret_redaction import finder
from memorybase.features.secret_redaction.placeholders import placeholder

KEY = b"k" * 32
HEX = "".join(random.Random(1).choices(keys.HEX, k=40))
TOKEN = "gh" + "p_" + "".join(random.Random(1).choices(keys.WORDS, k=36))


def redacted(value: Any) -> Any:
    return finder.replace(value, "content", lambda kind, secret, *_: placeholder(KEY, kind, secret))


def test_secrets_of_forty_kinds_are_found_and_what_looks_so_stays() -> None:
    """A seed that was used for nothing else; `bench/redaction.py` prints the table."""
    missed, mistaken, secrets, alike = redaction.measure(31, keys.TESTING)

    assert (len(keys.KINDS), secrets, alike) == (40, 400, 2_000)
    assert missed.total() <= 8, missed
    assert mistaken.total() <= 2, mistaken


FOUND = (
    (f"密钥是{TOKEN}请保存", "github-token"),
    ("postgres://bob:p@ss1@db/x", "connection-password"),
    (f"Authorization: Token {HEX}", "authorization"),
    (f"curl -u bob:{HEX} https://x.dev", "authorization"),
    ('{\\"password\\": \\"hunter22\\"}', "password"),
    ("<private>anything at all</private>", "private"),
    (f"password=[redacted password 00ff] token={HEX}", "token"),
)


@each_row("text, kind", FOUND)
def test_a_secret_becomes_its_kind(text: str, kind: str) -> None:
    found = finder.find(text)

    assert [each.kind for each in found] == [kind]
    assert text[found[0].start : found[0].end] not in redacted(text)


NONE = (
    "token_count: 4096, next_page_token: abcdef1234567890abcdef",
    "password = os.environ['DB_PASSWORD_2']",
    "PWD=/home/eva/project2",
    "`hf:all-MiniLM-L6-v2` is a tokenizer: `hf:all-MiniLM-L6-v2`",
    "postgres://user:password@localhost/db",
    "Authorization: Bearer <your-token-1>",
    "<private>",
)


@each_row("text", NONE)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) is text


def test_json_is_searched_by_its_names_and_keeps_its_form() -> None:
    value = {"env": {"password": "hunter22", "user": "bob"}, "list": [1, None, f"x {TOKEN}"], "note": "fine"}

    new = redacted(value)

    assert new == {
        "env": {"password": placeholder(KEY, "password", "hunter22"), "user": "bob"},
        "list": [1, None, f"x {placeholder(KEY, 'github-token', TOKEN)}"],
        "note": "fine",
    }
    assert redacted(new) is new  # a placeholder is no secret


def test_keys_of_json_are_searched_and_no_place_names_them() -> None:
    value = {"by_token": {TOKEN: {"uses": 3, "password": "hunter22"}}, "an ordinary name": 1}
    places: list[str] = []

    def found(kind: str, secret: str, field: str, _: int) -> str:
        places.append(field)
        return placeholder(KEY, kind, secret)

    new = finder.replace(value, "metadata", found)

    mark = placeholder(KEY, "github-token", TOKEN)
    inside = {"uses": 3, "password": placeholder(KEY, "password", "hunter22")}
    assert new == {"by_token": {mark: inside}, "an ordinary name": 1}
    assert places == ["a key of metadata.by_token", f"metadata.by_token.{mark}.password"]
    assert redacted(new) is new


def test_equal_secrets_have_equal_placeholders_and_others_have_not() -> None:
    first, again, other = (redacted(f"password: {each}") for each in ("hunter22", "hunter22", "hunter23"))

    assert first == again != other
    assert placeholder(b"other key", "password", "hunter22") not in first


HOSTILE = (
    *("password=", "password: ", "-eyJ", "<private>", "-----BEGIN PRIVATE KEY-----", "a://b:c/", "curl -u a:b1c "),
    *("authorization: bearer ", "[redacted password 12] token=x ", "/fm2_", "://:", "token ", "İpassword="),
)


@each_row("text", HOSTILE)
def test_no_text_makes_the_search_slow(text: str) -> None:
    """A megabyte of what begins like a secret ends; patterns that go back and forth would take hours."""
    finder.find(text * (1_000_000 // len(text)))
