"""Dify's memory configuration and the places of a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from memorybase.conversation import Prefixes
from memorybase.conversation.history.prompt import (
    MemoryConfig,
    Window,
    chat_prompt,
    completion_prompt,
    readable,
    rest_tokens,
    row_limit,
)
from memorybase.errors import InvalidRequest, NoPromptFound

SYSTEM = {"role": "system", "content": "Be brief."}
HISTORY = [{"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"}]
IMAGE = {"type": "image_url", "image_url": {"url": "https://x.org/1.png"}}
AUDIO = {"type": "input_audio", "input_audio": {}}


@pytest.mark.parametrize(
    ("window", "limit"),
    [
        (Window(enabled=True, size=3), 3),
        (Window(enabled=False, size=2), None),
        (Window(enabled=True, size=0), None),
        (Window(enabled=True), None),
        (Window(), None),
    ],
)
def test_a_window_limits_where_it_is_enabled_and_has_a_size(window: Window, limit: int | None) -> None:
    assert window.limit == limit


@pytest.mark.parametrize(
    ("limit", "rows"), [(None, 500), (0, 500), (-3, 500), (1, 1), (100, 100), (500, 500), (9999, 500)]
)
def test_rows_are_bounded(limit: int | None, rows: int) -> None:
    assert row_limit(limit) == rows


@pytest.mark.parametrize(
    ("context", "reply", "prompt", "rest"),
    [(62, 50, 6, 6), (100, 50, 95, 0), (200, 30, 20, 150), (None, 50, 6, 2000), (0, 50, 6, 2000)],
)
def test_history_gets_what_prompt_and_reply_leave(context: int | None, reply: int, prompt: int, rest: int) -> None:
    assert rest_tokens(context, reply_tokens=reply, prompt_tokens=prompt) == rest


def test_a_configuration_is_read_from_json() -> None:
    raw = {
        "role_prefix": {"user": "H", "assistant": "A"},
        "window": {"enabled": True, "size": 3},
        "query_prompt_template": "Asked: {{#sys.query#}}",
        "mode": "node",
    }

    config = MemoryConfig.from_mapping(raw)

    assert config == MemoryConfig(
        role_prefix=Prefixes("H", "A"),
        window=Window(enabled=True, size=3),
        query_prompt_template="Asked: {{#sys.query#}}",
        mode="node",
    )
    assert config.query("why?") == "Asked: why?"
    assert MemoryConfig.from_mapping({}) == MemoryConfig()
    assert MemoryConfig().query("why?") == "why?"


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"mode": "app"}, "memory.mode"),
        ({"window": 3}, "memory.window"),
        ({"window": {"enabled": True, "size": "3"}}, "memory.window.size"),
        ({"role_prefix": "H"}, "memory.role_prefix"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused_by_name(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        MemoryConfig.from_mapping(raw)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("mode", "conversation", "node", "missing"),
    [
        ("conversation", "c", None, None),
        ("conversation", None, "n", "conversation_id"),
        ("node", "c", "n", None),
        ("node", "c", None, "node_id"),
        ("node", "", "n", "conversation_id"),
    ],
)
def test_without_a_conversation_or_node_there_is_no_memory_or_an_error(
    mode: Any, conversation: str | None, node: str | None, missing: str | None
) -> None:
    config = MemoryConfig(mode=mode)

    assert config.applies(conversation_id=conversation, node_id=node) == (missing is None)
    if missing is not None:
        with pytest.raises(InvalidRequest) as caught:
            config.applies(conversation_id=conversation, node_id=node, on_missing="error")
        assert caught.value.field == missing


def test_a_chat_model_reads_template_history_query_and_files() -> None:
    config = MemoryConfig(query_prompt_template="Asked: {{#sys.query#}}")

    messages = chat_prompt([SYSTEM], HISTORY, config=config, query="q2", files=[IMAGE])

    assert messages == [
        SYSTEM,
        *HISTORY,
        {"role": "user", "content": [IMAGE, {"type": "text", "text": "Asked: q2"}]},
    ]


def test_without_memory_there_is_neither_history_nor_query() -> None:
    question = {"role": "user", "content": "fixed"}

    assert chat_prompt([SYSTEM, question], HISTORY, config=None, query="q2") == [SYSTEM, question]
    assert chat_prompt([SYSTEM], HISTORY, config=None, files=[IMAGE])[-1] == {"role": "user", "content": [IMAGE]}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Before #histories# after", "Before H: q1\nA: a1 after"),
        ("Before {{#histories#}} after", "Before H: q1\nA: a1 after"),
        ("Only this", "H: q1\nA: a1\nOnly this"),
    ],
)
def test_a_completion_model_reads_history_in_its_place_or_in_front(template: str, expected: str) -> None:
    config = MemoryConfig(role_prefix=Prefixes("H", "A"))

    assert completion_prompt(template, "H: q1\nA: a1", config=config) == expected
    assert completion_prompt(template, "H: q1\nA: a1", config=None) == template


def test_a_completion_model_needs_prefixes_and_a_prompt() -> None:
    with pytest.raises(InvalidRequest) as caught:
        completion_prompt("x", "", config=MemoryConfig())
    assert caught.value.field == "role_prefix"
    with pytest.raises(NoPromptFound):
        completion_prompt(" ", "", config=None)


def test_a_model_gets_only_what_it_can_read() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "t1"}]}
    result = {"role": "tool", "content": "", "tool_call_id": "t1"}
    both = {"role": "user", "content": [IMAGE, {"type": "text", "text": "look"}]}
    blank = {"role": "assistant", "content": ""}

    assert readable([both, blank, call, result], frozenset()) == [{"role": "user", "content": "look"}, call, result]
    assert readable([both], frozenset({"image"})) == [both]
    with pytest.raises(NoPromptFound) as caught:
        readable([{"role": "user", "content": [IMAGE, AUDIO]}, blank], frozenset())
    assert caught.value.status_code == 422
