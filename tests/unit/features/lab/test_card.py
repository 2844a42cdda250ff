"""What a model's card and licence file state."""

from __future__ import annotations

from pathlib import Path

from harness.rows import each_row

from memorybase.core.embedding.prompts import NO_PROMPTS
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source
from memorybase.features.lab.card import E5_PREFIXES, licence_of, named_prefixes


@each_row(
    ("files", "licence"),
    [
        ({"README.md": "---\nlanguage: en\nlicense: apache-2.0\n---\nlicense: wrong\n"}, "apache-2.0"),
        ({"README.md": "---\r\nlicense: 'mit' # a comment\r\n---\r\n"}, "mit"),
        ({"README.md": "---\nlicense: other\nlicense_name: gemma\n---\n"}, "gemma"),
        ({"README.md": "license: mit\n"}, "not stated"),
        ({"LICENSE": "Apache License\n   Version 2.0, January 2004"}, "apache-2.0"),
        ({"LICENSE.txt": "Only on Sundays."}, "see LICENSE.txt"),
        ({}, "not stated"),
    ],
)
def test_the_licence_is_that_of_the_card_else_of_the_file(tmp_path: Path, files: dict[str, str], licence: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode())
    assert licence_of(tmp_path) == licence


def test_the_default_models_card_is_read() -> None:
    folder = find_source(DEFAULT_MODEL).folder
    assert licence_of(folder) == "apache-2.0"
    assert named_prefixes(folder, DEFAULT_MODEL) == NO_PROMPTS


@each_row(
    ("name", "card", "is_named"),
    [
        ("intfloat/e5-small-v2", "", True),
        ("intfloat/multilingual-e5-large", "", True),
        ("intfloat/e5-mistral-7b-instruct", "", False),
        ("someone/gate5-base", "", False),
        ("someone/mine", "Put 'query: ' before queries and 'passage: ' before passages.", True),
        ("someone/mine", "It knows the word query: and nothing else.", False),
    ],
)
def test_prefixes_are_known_from_the_card_or_the_name(tmp_path: Path, name: str, card: str, *, is_named: bool) -> None:
    (tmp_path / "README.md").write_text(card)
    assert (named_prefixes(tmp_path, name) == E5_PREFIXES) == is_named
