"""By rule: secrets of forty kinds as their makers document them, in what people and tools write, and texts that only
look like secrets.

The values are drawn when they are needed and stand in no file. `half` says how they are carried: the rules were made
on TUNING and are measured on TESTING, whose sentences, names and files are others. The same seed always gives the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable
from typing import NamedTuple

TUNING, TESTING = "tuning", "testing"
LETTERS, DIGITS, HEX = string.ascii_letters, string.digits, "0123456789abcdef"
WORDS, URL_SAFE, BASE64 = LETTERS + DIGITS, LETTERS + DIGITS + "-_", LETTERS + DIGITS + "+/"

Make = Callable[[random.Random], str]


class MadeSecret(NamedTuple):
    """A text with a secret."""

    kind: str
    text: str
    secret: str


class LookAlike(NamedTuple):
    """A text without one."""

    kind: str
    text: str


def _some(rng: random.Random, letters: str, count: int) -> str:
    return "".join(rng.choices(letters, k=count))


def _after(prefix: str, letters: str, count: int, suffix: str = "") -> Make:
    return lambda rng: prefix + _some(rng, letters, count) + suffix


def _encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _jwt(rng: random.Random) -> str:
    head = {"alg": rng.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    body = {"sub": _some(rng, DIGITS, 10), "iat": rng.randrange(10**9, 2 * 10**9), "name": "A B"}
    return f"{_encoded(head)}.{_encoded(body)}.{_some(rng, URL_SAFE, 43)}"


def _discord(rng: random.Random) -> str:
    number = base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode().rstrip("=")
    return f"{number}.{_some(rng, URL_SAFE, 6)}.{_some(rng, URL_SAFE, 38)}"


def _pem(rng: random.Random) -> str:
    lines = [_some(rng, BASE64, 64) for _ in range(rng.randrange(6, 20))]
    return "\n".join([*lines, _some(rng, BASE64, 30) + "=="])


def _password(rng: random.Random) -> str:
    """As people choose them: a word, digits, and often a sign."""
    word = rng.choice(["Falcon", "sommer", "Winter", "dragon", "kaffee", "Orange", "Tiger", "berlin"])
    drawn = word + _some(rng, DIGITS, rng.randrange(2, 5)) + rng.choice(["", "!", "?", "#x", "$Q"])
    return drawn if rng.random() < 0.5 else _some(rng, WORDS + "!%*+-_", rng.randrange(10, 20)) + "7k"


def _joined(*makes: Make) -> Make:
    return lambda rng: "".join(make(rng) for make in makes)


# By kind: those with a shape of their own.
SHAPES: dict[str, Make] = {
    "aws access key id": _after("AKIA", string.ascii_uppercase + "234567", 16),
    "github token": _after("gh" + "p_", WORDS, 36),
    "github fine-grained": _joined(_after("github" + "_pat_", WORDS, 22), _after("_", WORDS, 59)),
    "gitlab token": _after("gl" + "pat-", URL_SAFE, 20),
    "slack bot token": _joined(_after("xo" + "xb-", DIGITS, 12), _after("-", DIGITS, 12), _after("-", WORDS, 24)),
    "slack webhook": _joined(_after("T", WORDS[26:], 9), _after("/B", WORDS[26:], 9), _after("/", WORDS, 24)),
    "stripe key": _after("sk" + "_live_", WORDS, 24),
    "stripe webhook secret": _after("whsec" + "_", WORDS, 32),
    "openai key": _joined(_after("sk" + "-proj-", URL_SAFE, 74), _after("T3Blbk" + "FJ", URL_SAFE, 74)),
    "anthropic key": _after("sk" + "-ant-api03-", URL_SAFE, 93, "AA"),
    "google api key": _after("AI" + "za", URL_SAFE, 35),
    "google oauth secret": _after("GOC" + "SPX-", URL_SAFE, 28),
    "hugging face token": _after("h" + "f_", LETTERS, 34),
    "npm token": _after("np" + "m_", WORDS, 36),
    "pypi token": _after("py" + "pi-AgEIcHlwaS5vcmc", URL_SAFE, 150),
    "sendgrid key": _joined(_after("S" + "G.", URL_SAFE, 22), _after(".", URL_SAFE, 43)),
    "twilio key": _after("S" + "K", HEX, 32),
    "mailchimp key": _after("", HEX, 32, "-us14"),
    "telegram token": _joined(_after("", DIGITS[1:], 10), _after(":A" + "A", URL_SAFE, 33)),
    "discord token": _discord,
    "digitalocean token": _after("do" + "p_v1_", HEX, 64),
    "databricks token": _after("da" + "pi", HEX, 32),
    "shopify token": _after("shp" + "at_", HEX, 32),
    "linear key": _after("lin_" + "api_", WORDS, 40),
    "notion token": _after("nt" + "n_", WORDS, 46),
    "atlassian token": _after("ATA" + "TT3", URL_SAFE, 180, "=1A2B3C4D"),
    "figma token": _after("fi" + "gd_", URL_SAFE, 40),
    "vault token": _after("hv" + "s.", URL_SAFE, 90),
    "docker token": _after("dckr" + "_pat_", URL_SAFE, 27),
    "grafana token": _joined(_after("gl" + "sa_", WORDS, 32), _after("_", HEX, 8)),
    "jwt": _jwt,
}
# Those that only their surroundings tell.
PASSWORD, RANDOM_KEY, AWS_SECRET = _password, _after("", WORDS, 32), _after("", BASE64, 40)
UUID_KEY: Make = lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4))  # noqa: E731
CARRIED: dict[str, tuple[Make, dict[str, tuple[str, ...]]]] = {
    "private key": (
        _pem,
        {
            TUNING: ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",),
            TESTING: (
                "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
                "这是私钥-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----谢谢",
                "ssh key follows\n-----BEGIN EC PRIVATE KEY-----\n{}",
            ),
        },
    ),
    "connection string": (
        _password,
        {
            TUNING: ("postgresql://app:{}@db.internal:5432/shop", "DATABASE_URL=mysql://root:{}@127.0.0.1/x"),
            TESTING: (
                "celery -b amqp://worker:{}@rabbit:5672//",
                '{{"url": "mongodb+srv://admin:{}@cluster0.ab1cd.mongodb.net/prod?retryWrites=true"}}',
                "缓存在redis://default:{}@10.0.0.5:6379/0上",
            ),
        },
    ),
    "authorization header": (
        _after("", URL_SAFE, 40),
        {
            TUNING: ("Authorization: Bearer {}", 'headers = {{"Authorization": "Bearer {}"}}'),
            TESTING: (
                "> GET /v2/me\n> authorization: token {}\n> accept: */*",
                "curl -H 'Authorization: Basic {}' https://api.acme.dev",
                "X-API-Key: {}\r\nHost: acme.dev",
            ),
        },
    ),
    "password in .env": (
        _password,
        {
            TUNING: ("DEBUG=1\nDB_PASSWORD={}\nPORT=80", 'export ADMIN_PASSWORD="{}"'),
            TESTING: ("PGPASSWORD={} psql -h db", "docker run -e MYSQL_ROOT_PASSWORD={} mysql:8", "SMTP_PASSWD='{}'\n"),
        },
    ),
    "password in json": (
        _password,
        {
            TUNING: ('{{"user": "eva", "password": "{}"}}',),
            TESTING: (
                '{{"arguments": "{{\\"login\\": \\"eva\\", \\"password\\": \\"{}\\"}}"}}',
                "spring:\n  datasource:\n    password: {}\n    username: eva",
                "<add connectionString='Server=db;Database=a;User Id=sa;Password={};' />",
            ),
        },
    ),
    "password in a sentence": (
        _password,
        {
            TUNING: ("The password is {} for now.", "密码是{}。别告诉别人"),
            TESTING: (
                "ok my wifi password: {}",
                "パスワードは{}です。",
                "비밀번호는 {} 입니다",
                "login with --password {} then",
            ),
        },
    ),
    "random api key": (
        RANDOM_KEY,
        {
            TUNING: ("WEATHER_API_KEY={}", "api_key = '{}'"),
            TESTING: (
                "const client = new Client({{ apiKey: '{}' }});",
                "GET /search?q=x&api_key={}&page=2",
                "tool --access-token {} list",
                'encryption_key: "{}"',
            ),
        },
    ),
    "aws secret key": (
        AWS_SECRET,
        {
            TUNING: ("aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}"),
            TESTING: ('"SecretAccessKey": "{}",', "export AWS_SECRET_ACCESS_KEY='{}'", "secretAccessKey: {}"),
        },
    ),
    "private text": (
        lambda rng: " ".join(rng.choices(["salary", "diagnosis", "divorce", "address", "Kevin", "fever"], k=6)),
        {
            TUNING: ("note <private>{}</private> end",),
            TESTING: ("请记住<private>{}</private>好", "<private>\n{}\n</private>"),
        },
    ),
}
_PLAIN = {
    TUNING: (
        "Here is the key: {}",
        "{}",
        "KEY={}\n",
        "I put {} into the config, and it says 401.",
        '{{"value": "{}"}}',
        "令牌是{}请查收",
    ),
    TESTING: (
        "curl https://acme.dev -H 'x-token: {}'",
        "error: bad credentials ({}), retrying",
        "请用{}这个值",
        "これが{}です",
        'client = Client("{}")  # rotate me',
        "login ok\ttoken={}\tttl=3600",
        "why does `{}` not work?",
        '{{"cmd": "export T={} && make"}}',
        "see https://acme.dev/hook/{}?v=1",
    ),
}
_SLACK = "https://hooks.slack" + ".com/services/{}"
KINDS = (*SHAPES, *CARRIED)


def secrets_of(seed: int, *, half: str, each: int = 10) -> list[MadeSecret]:
    """`each` secrets of each of the forty kinds."""
    rng = random.Random(f"{seed} {half}")
    made: list[MadeSecret] = []
    for kind, make in SHAPES.items():
        for _ in range(each):
            secret, carrier = make(rng), rng.choice(_PLAIN[half])
            shown = _SLACK.format(secret) if kind == "slack webhook" else secret
            made.append(MadeSecret(kind, carrier.format(shown), secret))
    for kind, (make, carriers) in CARRIED.items():
        for _ in range(each):
            secret = make(rng)
            made.append(MadeSecret(kind, rng.choice(carriers[half]).format(secret), secret))
    return made


_PROSE = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software",
    "The key to a good password policy is that secrets are rotated and tokens expire",
    "Reset your password at the login page, or ask for a new token: both take a minute",
    "Licensed under the Apache License, Version 2.0 (the License); you may not use this file except in compliance",
    "Authorization: required. The bearer token is described in RFC 6750",
)


def look_alikes(seed: int, count: int = 2_000) -> list[LookAlike]:
    """Texts with random-looking values that are no secrets."""
    rng = random.Random(f"{seed} look-alikes")
    makers = list(_LOOK_ALIKES.items())
    return [LookAlike(makers[i % len(makers)][0], makers[i % len(makers)][1](rng)) for i in range(count)]


def _digest(rng: random.Random, name: str) -> str:
    return hashlib.new(name, rng.randbytes(16), usedforsecurity=False).hexdigest()


def _minified(rng: random.Random) -> str:
    a, b, c = (_some(rng, string.ascii_lowercase, 1) for _ in range(3))
    return rng.choice(
        [
            f"{a}.password={b}.value,{c}.token={a}.headers.authorization;if(!{b})return {c}(0x{_some(rng, HEX, 8)})",
            f'function {a}({b}){{return {b}.apiKey||{c}.get("api_key")}}var t={{token:{a},secret:{b}.secret}};',
            f"const {{accessToken:{a},secretKey:{b}}}=await {c}.json();localStorage.token={a}.access_token",
        ]
    )


def _token_words(rng: random.Random) -> str:
    number = rng.randrange(100, 200_000)
    return rng.choice(
        [
            f"max_tokens: {number}, total_tokens={number}, prompt_tokens: {number // 2}",
            f"next_page_token: {_some(rng, WORDS, 24)}",
            f"password: str | None = None  # line {number}",
            f"password = os.environ['DB_PASSWORD_{number}']",
            f"API_KEY=${{API_KEY_{number}}}",
            f"secretName: web-tls-cert-{number}",
            "Authorization: Bearer <your-token-here>",
            "postgres://user:password@localhost:5432/db",
            f"token = request.headers.get('x-token-{number}')",
            f"secret: my-app-secret-v{number % 9}",
        ]
    )


def _jwt_like(rng: random.Random) -> str:
    word = _some(rng, LETTERS, 12)
    return rng.choice(
        [
            f"eyJ{word}.payload.signature",
            f"header.{word}{word}.signature",
            f"a JWT looks like eyJ{word}.eyJ{word}.{word}",
        ]
    )


_LOOK_ALIKES: dict[str, Make] = {
    "uuid": lambda rng: f"request {UUID_KEY(rng)} took {rng.randrange(900)} ms",
    "commit": lambda rng: f"commit {_digest(rng, 'sha1')}\nMerge: {_some(rng, HEX, 7)} {_some(rng, HEX, 7)}",
    "checksum": lambda rng: (
        f"sha256:{_digest(rng, 'sha256')}  dist/app-{rng.randrange(9)}.tar.gz md5={_digest(rng, 'md5')}"
    ),
    "integrity": lambda rng: f'"integrity": "sha512-{_some(rng, BASE64, 86)}=="',
    "picture": lambda rng: f"data:image/png;base64,iVBORw0KGgo{_some(rng, BASE64, rng.randrange(200, 4_000))}",
    "order number": lambda rng: (
        f"Order {_some(rng, string.ascii_uppercase, 2)}-{_some(rng, DIGITS, 9)} (ref {_some(rng, WORDS[26:], 12)})"
    ),
    "licence": lambda rng: f"{rng.choice(_PROSE)} (c) {rng.randrange(1990, 2026)}",
    "minified": _minified,
    "jwt-like": _jwt_like,
    "phone": lambda rng: (
        f"call +49 {_some(rng, DIGITS, 3)} {_some(rng, DIGITS, 8)} or (555) {_some(rng, DIGITS, 3)}-0199"
    ),
    "token words": _token_words,
    "url": lambda rng: (
        f"https://cdn.acme.dev/a/{_some(rng, URL_SAFE, 43)}/v{rng.randrange(9)}.js?h={_some(rng, HEX, 20)}"
    ),
    "public key": lambda rng: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_some(rng, BASE64, 43)} eva@acme",
    "ids": lambda rng: f"toolu_{_some(rng, WORDS, 24)} call_{_some(rng, WORDS, 24)} msg_{_some(rng, WORDS, 24)}",
    "chinese": lambda rng: f"订单号{_some(rng, WORDS[26:], 16)}已发货。密码请自行设置。令牌已过期",
}
