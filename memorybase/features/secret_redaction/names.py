"""Secrets without a shape of their own, which the name beside them tells: assignments, JSON, .env lines, options of
commands, headers, and sentences such as "the password is ...". How random a value looks counts only beside such a name.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

# By the kind of secret. Names of keys need values that look random; those of passwords need less.
_PASSWORDS = (
    *("password", "passwd", "pwd", "passphrase", "passcode", "passwort", "kennwort", "contraseña", "senha"),
    *("mot de passe", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호", "암호"),
)
_KEYS = (
    *("secret", "token", "credential", "密钥", "密鑰", "令牌", "トークン"),
    *(f"{word}{by}key" for word in ("api", "access", "private", "auth", "account") for by in ("_", "-", "", " ")),
    *(f"{word}{by}key" for word in ("encryption", "signing", "license", "master") for by in ("_", "-", "")),
)
WORDS = (*_PASSWORDS, *_KEYS)
# By a part of the word, so that a text without the part is not searched for any of them. None: not ASCII.
_BY_PART: dict[str | None, list[str]] = {}
for _word in WORDS:
    _part = next((each for each in ("pass", "key", "") if each in _word), "") if _word.isascii() else None
    _BY_PART.setdefault(_part, []).append(_word)
_IS_PASSWORD = re.compile("|".join(_PASSWORDS), re.IGNORECASE)

_AFTER = re.compile(
    r"(?P<rest>[A-Za-z0-9_-]{0,40}+)(?P<closing>\\{0,3}[\"'`]?\]?)"
    r"(?P<sep>[ \t]{0,4}(?::=|=>|={1,2}|:|\uff1a|\uff1d|是|为|為|は|が|은|는|이)[ \t]{0,4}"
    r"|[ \t]{1,4}(?:is|ist|es|est)[ \t:]{1,4}|[ \t]{1,4})"
    r"(?:(?P<quote>\\{0,3}[\"'`「“])(?P<quoted>[^\r\n\"'`\\」”]{1,400}+)(?=\\{0,3}[\"'`」”])|(?P<bare>[!-~]{1,400}+))",
    re.ASCII,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The last word after the telling one, and the word before it, that make a name one of something else.
_ABOUT = _words(
    "count type id ids name names url uri path file field length len limit policy reset hint expires expiry "
    "expired expiration at ttl endpoint budget usage arn ref version hash hashed label title text prompt format "
    "strength min max size hidden visible input error message param params parameter header prefix suffix index "
    "cost price rate class provider manager store source"
)
_OF_ELSE = _words(
    "max min num total public page next continuation cursor idempotency cancel cancellation pad eos bos unk sep "
    "cls mask input output prompt completion stop tokenizer tokeniser per forgot reset show hide"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_NAME_CHARACTERS = string.ascii_letters + string.digits + "_.-"
_STAND_INS = re.compile(
    r"example|changeme|change[_-]me|placeholder|dummy|redacted|your|insert|todo|replace|fake|sample|xxxx|\.\.\.|…|"
    r"^(?:<.*|\$.*|%.*|\{\{?.*|\*+|#.*|none|null|nil|true|false|undefined|string|str|password|passwd|pass|pwd|secret|"
    r"token|test|foo|bar|baz|empty|required|optional|any|unset|n/a)$",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_PIECE = re.compile(r"(?:[A-Za-z]*|\d{1,8}|v?\d{1,3}[a-z]?|[A-Za-z]{2,12}\d{1,3})", re.ASCII)
_SPLIT = re.compile(r"[-_./:@\\,]")
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_CODE = re.compile(r"[(\[{]|=>|->|::|\+\+|&&|\|\|")
_BARE_END = re.compile(r"[&\"'`<>;,]|\\[nrt]")
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_SYMBOLS = frozenset("!@#$%^&*+?~")

# Headers, and options with a name and a password, which have their own form.
AUTHORIZATION = re.compile(
    r"authorization(?P<closing>\\{0,3}[\"'`]?\]?)\s{0,4}[:=,]\s{0,4}(?:\\{0,3}[\"'`])?"
    r"(?P<scheme>(?:bearer|basic|token|apikey|api-key|key|digest)\s{1,3})?(?P<s>[A-Za-z0-9._~+/=-]{8,4000}+)",
    re.ASCII | re.IGNORECASE,
)
BEARER = re.compile(r"bearer\s{1,3}(?P<s>[A-Za-z0-9._~+/=-]{16,4000}+)", re.ASCII | re.IGNORECASE)
BASIC = re.compile(r"\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}+:(?P<s>[^\s\"']{3,200}+)")
_CALLERS = ("curl", "wget", "http")
CONNECTION = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{1,30}+://[^\s:/@?#\"'<>]{0,64}+:(?P<s>[^\s/\"'<>]{1,200})@"
    r"(?=[A-Za-z0-9\[_.$%{-])",
    re.ASCII,
)


class Named(NamedTuple):
    """A secret beside its name, and where it is."""

    kind: str
    start: int
    end: int


def find(text: str, lower: str) -> Iterator[Named]:
    """The secrets beside telling names. `lower`: the text in lower case, of the same length."""
    for word in _present(lower):
        at = lower.find(word)
        while at >= 0:
            end = at + len(word)
            found = _AFTER.match(text, end)
            if found is not None and (named := _named(text, at, end, found)) is not None:
                yield named
                end = named.end
            at = lower.find(word, end)
    yield from _headers(text, lower)


def _present(lower: str) -> Iterator[str]:
    is_ascii = lower.isascii()
    for part, words in _BY_PART.items():
        if (part in lower) if part is not None else not is_ascii:
            yield from words


def kind_of(name: str, value: str) -> str | None:
    """The kind of a secret that is a field's whole value; None if it is none."""
    if any(each.isspace() for each in value) or not 4 <= len(value) <= 4_000:
        return None
    lower = name.lower()
    word = next((each for each in _present(lower) if each in lower), None)
    if word is None:
        return None
    before, _, rest = lower.partition(word)
    return _kind(name, word) if _is_name(before, rest) and _is_secret(value, word, _is_env(name)) else None


def _headers(text: str, lower: str) -> Iterator[Named]:
    for literals, pattern, kind, accepts in _HEADERS:
        if not any(literal in lower for literal in literals):
            continue
        for found in pattern.finditer(text):
            if not is_stand_in(found["s"]) and accepts(found, lower):
                yield Named(kind, found.start("s"), found.end("s"))


def _is_authorization(found: re.Match[str], _: str) -> bool:
    secret = found["s"]
    return _mixes(secret) or len(secret) > 24 if found["scheme"] else _looks_random(secret)


def _is_of_caller(found: re.Match[str], lower: str) -> bool:
    """Whether the option with a name and a password is one of a command that calls a server."""
    line = lower[max(0, found.start() - 200) : found.start()]
    return any(each in line for each in _CALLERS)


# What the text has, the pattern, the kind, and what has the last word.
_HEADERS = (
    (("authorization",), AUTHORIZATION, "authorization", _is_authorization),
    (("bearer ",), BEARER, "authorization", lambda found, _: _looks_random(found["s"])),
    (("://",), CONNECTION, "connection-password", lambda found, _: not _CODE.search(found["s"])),
    ((" -u", " --user"), BASIC, "authorization", _is_of_caller),
)


def _named(text: str, at: int, end: int, found: re.Match[str]) -> Named | None:
    before = text[max(0, at - 60) : at]
    before = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    is_option = before.startswith("--") and not found["closing"]
    is_blank = not found["sep"].strip()
    if not _is_name(before, found["rest"]) or (is_blank and not is_option):
        return None
    word, name = text[at:end].lower(), before.lstrip("-.") + text[at:end] + found["rest"]
    group = "quoted" if found["quoted"] is not None else "bare"
    value, start = found[group], found.start(group)
    is_env = found["sep"] == "=" and _is_env(name)
    if group == "bare":
        value = _bare(text, value, start, is_env=is_env)
    if not value or not _is_secret(value, word, is_env):
        return None
    return Named(_kind(name, word), start, start + len(value))


def _bare(text: str, value: str, start: int, *, is_env: bool) -> str:
    """A value without quotes, to its end; empty if it is code."""
    if is_env:
        return value if not _CODE.match(value) else ""
    value = _BARE_END.split(value, maxsplit=1)[0]
    end = start + len(value)
    if _CODE.search(value) or text[end : end + 1] in {"(", "["}:
        return ""
    return value.rstrip(".!?:)]}")


def _is_name(before: str, rest: str) -> bool:
    """Whether the letters around the word still name a secret, such as in `db_password_2`, not in `token_count`."""
    if rest[:1].islower() and rest != "s":  # another word, such as tokenizer
        return False
    words, others = _WORD.findall(rest), _WORD.findall(before)
    if words and (rest == "s" or words[-1].lower() in _ABOUT):
        return False
    return not (others and others[-1].lower() in _OF_ELSE)


def _is_env(name: str) -> bool:
    return _ENV_NAME.fullmatch(name) is not None


def _kind(name: str, word: str) -> str:
    folded = name.lower().replace("_", "").replace("-", "").replace(" ", "")
    if "secretaccesskey" in folded:
        return "aws-secret-key"
    if _IS_PASSWORD.search(word):
        return "password"
    if "key" in word:
        return "api-key"
    return "token" if word in {"token", "令牌", "トークン"} else "secret"


def _is_secret(value: str, word: str, is_env: bool) -> bool:
    mixes = _mixes(value)
    if not (mixes or is_env or _SYMBOLS & set(value)) or is_stand_in(value):
        return False
    if _IS_PASSWORD.search(word):
        return _is_password(value, word, is_env)
    if _UUID.fullmatch(value):
        return is_env or "key" in word or "secret" in word
    return (is_env and len(value) >= 8 and mixes and not is_name_like(value)) or _looks_random(value)


def _is_password(value: str, word: str, is_env: bool) -> bool:
    if word == "pwd" and value[0] in "/~.":  # the folder of a shell
        return False
    if is_env:
        return len(value) >= 4
    return 6 <= len(value) <= 128 and " " not in value and (_mixes(value) or value[0] not in "@#&*")


def is_stand_in(value: str) -> bool:
    """Whether the value only stands for a secret, such as `<password>`, `changeme` or `$TOKEN`."""
    return _STAND_INS.search(value, 0, 64) is not None or len(set(value)) < 3


def is_name_like(value: str) -> bool:
    """Words, numbers and versions with separators, as names of things have them."""
    return all(_PIECE.fullmatch(each) for each in _SPLIT.split(value))


def _mixes(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def _looks_random(value: str) -> bool:
    if len(value) < 16 or " " in value or not _mixes(value) or is_name_like(value) or is_stand_in(value):
        return False
    if value.startswith(("/", "./", "http:", "https:", "file:", "sha256:", "sha512-", "data:")):
        return False
    return _entropy(value) >= 3.0  # bits a character; hexadecimal digits have up to 4


def _entropy(value: str) -> float:
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())
