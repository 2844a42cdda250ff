"""Texts of every kind that a model reads, above all what tools return. Made from a seed, and from this repository."""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from made.languages import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
WORDS = (
    "order invoice customer shipping address returned value request failed connection timeout retry server user "
    "session token message update delete create list item price total amount date status open closed pending"
).split()
NAMES = ("Anna Smith", "Bert Meier", "Chloe Okafor", "Dmitri Tanaka", "Erika Novak")
HEX = "0123456789abcdef"
ALPHANUMERIC = string.ascii_letters + string.digits
# Prose, code and JSON, for which the estimate is within ten percent.
CLOSE = ("English prose", "Python", "JSON, indented", "JSON, one line", "JSON, minified", "OpenAPI document")


def texts_by_kind(seed: int = 7) -> dict[str, str]:
    """A text of some thousand tokens for each kind, and a few sentences for each language."""
    return {kind: make(random.Random(f"{seed} {kind}")) for kind, make in KINDS.items()} | LANGUAGES


def _repository(pattern: str, *, characters: int = 60_000) -> str:
    files = sorted(ROOT.glob(pattern))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)[:characters]


def _lines(count: int, line: Callable[[], str]) -> str:
    return "\n".join(line() for _ in range(count))


def _text(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _moment(rng: random.Random) -> str:
    moment = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(milliseconds=rng.randrange(10**9))
    return moment.isoformat(timespec="milliseconds")


def _rows(rng: random.Random, count: int = 100) -> list[dict[str, Any]]:
    return [
        {
            "id": rng.randrange(10**6),
            "uuid": _uuid(rng),
            "customer": rng.choice(NAMES),
            "email": f"{rng.choice(WORDS)}.{rng.choice(WORDS)}@example.com",
            "amount": round(rng.uniform(1, 999), 2),
            "is_active": rng.random() < 0.5,
            "created_at": _moment(rng),
            "tags": rng.sample(WORDS, 2),
            "address": {"city": rng.choice(("Basel", "Lyon", "Osaka")), "zip": _text(rng, string.digits, 5)},
        }
        for _ in range(count)
    ]


def _url(rng: random.Random) -> str:
    path = "/".join(rng.choices(WORDS, k=rng.randrange(1, 4)))
    ends = ("", f"?id={rng.randrange(10**6)}&ref={_text(rng, ALPHANUMERIC, 8)}", f"/{_text(rng, HEX, 12)}", ".html")
    return f"https://{rng.choice(('www.example.com', 'api.example.org'))}/{path}{rng.choice(ends)}"


def _log_line(rng: random.Random) -> str:
    level, logger = rng.choice(("INFO", "WARNING", "ERROR")), ".".join(rng.choices(WORDS, k=2))
    words = " ".join(rng.choices(WORDS, k=6))
    return f"{_moment(rng)} {level} [{logger}] {words} id={_text(rng, HEX, 8)} ms={rng.randrange(5000)}"


def _frame(rng: random.Random) -> str:
    one, two, three = rng.sample(WORDS, 3)
    file = f'  File "/srv/app/{one}/{two}_{three}.py", line {rng.randrange(900)}, in {two}_{one}'
    return f"{file}\n    return self.{two}({one}, {three}={one}[{rng.randrange(9)}])"


def _csv(rng: random.Random) -> str:
    fields = ("id", "customer", "email", "amount", "created_at")
    return "\n".join([",".join(fields), *(",".join(str(row[field]) for field in fields) for row in _rows(rng))])


def _table(rng: random.Random) -> str:
    rows = (f"| {row['id']} | {row['customer']} | {row['amount']} | {row['tags'][0]} |" for row in _rows(rng))
    return "\n".join(["| id | customer | amount | status |", "|---|---|---:|---|", *rows])


KINDS: dict[str, Callable[[random.Random], str]] = {
    "English prose": lambda _: _repository("docs/explanation/*.md"),
    "Python": lambda _: _repository("memorybase/core/search/*.py"),
    "OpenAPI document": lambda _: _repository("docs/reference/openapi.json"),
    "JSON, indented": lambda rng: json.dumps(_rows(rng), indent=2),
    "JSON, one line": lambda rng: json.dumps(_rows(rng)),
    "JSON, minified": lambda rng: json.dumps(_rows(rng), separators=(",", ":")),
    "UUIDs": lambda rng: _lines(300, lambda: _uuid(rng)),
    "digits": lambda rng: _text(rng, string.digits, 6_000),
    "numbers": lambda rng: " ".join(str(rng.uniform(-100, 100)) for _ in range(500)),
    "URLs": lambda rng: _lines(300, lambda: _url(rng)),
    "base64": lambda rng: base64.b64encode(rng.randbytes(6_000)).decode(),
    "hexadecimal": lambda rng: rng.randbytes(4_000).hex(),
    "random letters": lambda rng: " ".join(_text(rng, ALPHANUMERIC, 16) for _ in range(400)),
    "random punctuation": lambda rng: _text(rng, string.punctuation, 3_000),
    "log lines": lambda rng: _lines(200, lambda: _log_line(rng)),
    "stack traces": lambda rng: "Traceback (most recent call last):\n" + _lines(150, lambda: _frame(rng)),
    "CSV": _csv,
    "markdown table": _table,
    "identifiers": lambda rng: " ".join("_".join(rng.sample(WORDS, 3)) for _ in range(500)),
    "emoji": lambda rng: "".join(rng.choices("😀😂🥰😎🤔👍🎉🚀🔥💡✨🙏😭🐱🍕🏠📦💻", k=800)),
    "text with emoji": lambda rng: " ".join(
        word + rng.choice(("", "", " 😀", " 🚀!")) for word in rng.choices(WORDS, k=800)
    ),
}
