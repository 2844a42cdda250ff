"""Messages of every accepted shape become one shape; what cannot be stored is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st

from memorybase.core import messages
from memorybase.core.errors import InvalidRequest
from memorybase.core.ids import CallerId
from memorybase.core.messages import (
    MAX_DEPTH,
    NewMessage,
    check_json,
    message_fingerprint,
    message_text,
    normalise,
    normalise_all,
    normalise_changes,
)

USER = UUID("6f1c1f5e-2b1d-4c07-9a55-0b8f6b1c0d11")


def made(**raw: Any) -> NewMessage:
    return normalise(raw, user_id=USER, where="messages[3]")


def refused(**raw: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        made(**raw)
    return caught.value


class TestOpenAI:
    def test_the_smallest_message(self) -> None:
        message = made(role="user", content="hello")
        assert message == NewMessage(
            id=None,
            role="user",
            is_output=False,
            content="hello",
            tool_calls=None,
            tool_call_id=None,
            name=None,
            sender_name=None,
            parent_message_id=None,
            files=[],
            metadata={},
            status="completed",
            timestamp=None,
        )

    def test_every_field(self) -> None:
        parent = uuid4()
        message = made(
            id="m-1",
            role="assistant",
            content=[{"type": "text", "text": "hi"}],
            name="bot",
            sender_name="Bot",
            parent_message_id=str(parent),
            files=["a.pdf"],
            metadata={"k": 1},
            status="stopped",
            timestamp="2026-01-07T13:57:55+08:00",
            tool_calls=[{"id": "c", "type": "function"}],
        )
        assert message.id == CallerId.of(USER, "message", "m-1")
        assert message.parent_message_id == CallerId.of(USER, "message", parent)
        assert message.timestamp == datetime(2026, 1, 7, 5, 57, 55, tzinfo=UTC)
        assert (message.files, message.metadata, message.status) == (["a.pdf"], {"k": 1}, "stopped")

    def test_developer_is_system(self) -> None:
        assert made(role="developer", content="be kind").role == "system"

    @each_row(
        ("role", "stated", "expected"),
        [
            ("assistant", None, True),
            ("assistant", False, False),
            ("user", None, False),
            ("user", True, True),
            ("system", True, False),
            ("tool", True, False),
        ],
    )
    def test_what_counts_as_output(self, role: str, stated: bool | None, expected: bool) -> None:
        assert made(role=role, content="x", is_output=stated).is_output is expected

    @each_row(
        ("role", "status", "stated", "expected"),
        [
            ("assistant", "failed", None, (False, False)),
            ("assistant", "failed", True, (True, True)),
            ("assistant", "stopped", None, (True, True)),
            ("user", "failed", None, (False, False)),
            ("user", "completed", None, (False, True)),
            ("tool", "completed", None, (False, False)),
        ],
    )
    def test_a_failed_message_counts_only_as_a_stated_output(
        self, role: str, status: str, stated: bool | None, expected: tuple[bool, bool]
    ) -> None:
        message = made(role=role, content="x", status=status, is_output=stated)
        assert (message.is_output, message.is_dialogue) == expected

    def test_null_content_needs_tool_calls(self) -> None:
        calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        assert made(role="assistant", content=None, tool_calls=calls).tool_calls == calls
        assert refused(role="assistant", content=None).field == "messages[3].content"
        assert refused(role="user").field == "messages[3].content"

    def test_a_dump_of_the_library_with_its_empty_fields_is_taken(self) -> None:
        message = made(role="assistant", content="hi", refusal=None, annotations=[], audio=None, function_call=None)
        assert (message.content, message.metadata, message.undefined) == ("hi", {}, ())

    @each_row(
        ("raw", "content", "metadata"),
        [
            ({"content": "hi", "reasoning_content": "Hm."}, "hi", {"reasoning_content": "Hm."}),
            ({"content": "hi", "cache_control": {"type": "x"}}, "hi", {"cache_control": {"type": "x"}}),
            ({"content": "hi", "images": ["iVBO"], "score": 0}, "hi", {"images": ["iVBO"], "score": 0}),
            ({"content": "hi", "colour": "red", "metadata": {"colour": "blue"}}, "hi", {"colour": "blue"}),
            ({"content": None, "thinking": "Hm."}, "", {"thinking": "Hm."}),
            ({"content": None, "refusal": "I can't."}, "I can't.", {}),
            ({"content": "hi", "refusal": "I can't."}, "hi", {"refusal": "I can't."}),
            (
                {"content": None, "audio": {"id": "a", "data": "UklG", "transcript": "Hello."}},
                "Hello.",
                {"audio": {"id": "a", "transcript": "Hello."}},
            ),
            ({"content": "hi", "name": "n" * 201}, "hi", {"name": "n" * 201}),
            ({"parts": [{"type": "text", "text": "hi"}]}, [{"type": "text", "text": "hi"}], {}),
        ],
    )
    def test_a_field_that_messages_do_not_have_is_kept_in_the_metadata(
        self, raw: dict[str, Any], content: Any, metadata: dict[str, Any]
    ) -> None:
        message = made(role="assistant", **raw)
        assert (message.content, message.metadata) == (content, metadata)
        assert set(message.undefined) == metadata.keys()

    def test_a_call_and_result_of_a_function_are_those_of_a_tool(self) -> None:
        called = {"name": "f", "arguments": "{}"}
        call = made(role="assistant", content=None, function_call=called)
        assert call.tool_calls == [{"type": "function", "function": called}]
        result = made(role="function", name="f", content=None)
        assert (result.role, result.name, result.content, result.is_output) == ("tool", "f", "", False)

    def test_an_id_may_be_an_integer(self) -> None:
        message = made(role="tool", content="x", id=7, parent_message_id=6, tool_call_id=5)
        assert message.id == CallerId.of(USER, "message", "7")
        assert message.parent_message_id == CallerId.of(USER, "message", "6")
        assert message.tool_call_id == "5"

    @each_row(
        ("field", "value"),
        [
            ("role", "narrator"),
            ("role", 7),
            ("content", 7),
            ("content", [7]),
            ("content", [{"text": "no type"}]),
            ("content", [{"type": "text"}]),
            ("tool_calls", "x"),
            ("tool_calls", ["x"]),
            ("id", True),
            ("id", 7.5),
            ("id", ""),
            ("is_output", "yes"),
            ("files", {}),
            ("metadata", []),
            ("status", "done"),
            ("timestamp", "yesterday"),
            ("timestamp", True),
            ("timestamp", -1),
            ("timestamp", 1e18),
            ("timestamp", "0001-01-01T00:00:00+14:00"),
            ("name", 7),
            ("sender_name", "x" * 201),
            ("parent_message_id", "x" * 129),
        ],
    )
    def test_a_wrong_field_is_named(self, field: str, value: Any) -> None:
        named = refused(**{"role": "user", "content": "secret words", field: value})
        assert (named.field or "").startswith(f"messages[3].{field}")
        assert "secret words" not in f"{named} {named.value} {named.details}"

    def test_content_never_comes_back_in_an_error(self) -> None:
        error = refused(role="user", content=[{"type": "text", "text": {"secret": "words"}}])
        assert "words" not in f"{error} {error.value} {error.field} {error.details}"


class TestLangflow:
    @each_row(
        ("sender", "role", "is_output"),
        [("User", "user", False), ("Machine", "assistant", True), ("AI", "assistant", True)],
    )
    def test_senders(self, sender: str, role: str, is_output: bool) -> None:
        message = made(text="hi", sender=sender, sender_name="Ada", timestamp="2026-01-07 13:57:55 UTC")
        assert (message.role, message.is_output, message.content) == (role, is_output, "hi")
        assert (message.sender_name, message.timestamp) == ("Ada", datetime(2026, 1, 7, 13, 57, 55, tzinfo=UTC))

    def test_wrong_fields_are_named(self) -> None:
        assert refused(text="hi", sender="Ghost").field == "messages[3].sender"
        assert refused(sender="User").field == "messages[3].text"
        assert made(text="hi", sender="User", mood="good").metadata == {"mood": "good"}


class TestLangChain:
    @each_row(("kind", "role"), [("human", "user"), ("ai", "assistant"), ("system", "system"), ("tool", "tool")])
    def test_types(self, kind: str, role: str) -> None:
        assert made(type=kind, content="hi").role == role

    def test_a_dump_of_the_library(self) -> None:
        message = made(
            type="ai",
            content="",
            id="run-1",
            name=None,
            example=False,
            additional_kwargs={},
            invalid_tool_calls=[],
            response_metadata={"model": "m"},
            usage_metadata=None,
            tool_calls=[{"name": "f", "args": {"a": "ä"}, "id": "c", "type": "tool_call"}],
        )
        assert message.id == CallerId.of(USER, "message", "run-1")
        assert message.tool_calls == [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": "ä"}'}}
        ]
        assert message.metadata == {"response_metadata": {"model": "m"}}

    def test_the_nested_shape(self) -> None:
        message = made(
            type="tool", data={"content": ["a", {"type": "image_url"}], "tool_call_id": "c", "status": "error"}
        )
        assert message.content == [{"type": "text", "text": "a"}, {"type": "image_url"}]
        assert (message.tool_call_id, message.status) == ("c", "failed")

    def test_wrong_fields_are_named(self) -> None:
        assert refused(type="ghost", content="x").field == "messages[3].type"
        assert made(type="ai", data={"content": "x", "mood": "good"}, kind="k").metadata == {
            "mood": "good",
            "kind": "k",
        }


class TestWhatCannotBeStored:
    @each_row("bad", ["a\x00b", "\ud800", {"k": "\x00"}, {"\x00": 1}, [["\udfff"]], float("nan"), float("inf")])
    def test_is_refused_by_its_field(self, bad: Any) -> None:
        assert refused(role="user", content="x", metadata={"k": bad}).field == "messages[3].metadata"

    def test_a_field_whose_name_cannot_be_stored(self) -> None:
        field = refused(**{"role": "user", "content": "x", "\ud800": 1}).field or ""
        assert field.encode() == b"messages[3].?"

    def test_nesting_has_an_end(self) -> None:
        deep: Any = "x"
        for _ in range(MAX_DEPTH):
            deep = [deep]
        check_json(deep, "f")
        with pytest.raises(InvalidRequest) as caught:
            check_json([deep], "f")
        assert caught.value.limit == MAX_DEPTH

    def test_neither_role_nor_sender_nor_type(self) -> None:
        assert refused(content="x").field == "messages[3].role"


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MAX_MESSAGES", 3)
    monkeypatch.setattr(messages, "MAX_MESSAGE_BYTES", 100)


@pytest.mark.usefixtures("_small")
class TestBounds:
    def test_too_many_messages(self) -> None:
        with pytest.raises(InvalidRequest) as caught:
            normalise_all([{}] * 4, user_id=USER)
        assert (caught.value.field, caught.value.value, caught.value.limit) == ("messages", 4, 3)

    def test_a_message_too_large_is_named(self) -> None:
        raw = [{"role": "user", "content": "x"}, {"role": "user", "content": "x" * 200}]
        with pytest.raises(InvalidRequest) as caught:
            normalise_all(raw, user_id=USER)
        assert (caught.value.field, caught.value.limit) == ("messages[1]", 100)

    def test_a_message_is_an_object(self) -> None:
        with pytest.raises(InvalidRequest) as caught:
            normalise_all(["x"], user_id=USER)
        assert caught.value.field == "messages[0]"


class TestTextAndFingerprint:
    def test_only_text_parts_are_text(self) -> None:
        parts = [
            {"type": "text", "text": "a"},
            {"type": "image_url", "text": "no"},
            {"type": "output_text", "text": "b"},
        ]
        assert message_text(parts) == "a\nb"
        assert (message_text("c"), message_text(None), message_text([])) == ("c", "", "")

    def test_equal_content_has_one_fingerprint(self) -> None:
        one = made(role="user", content=[{"type": "text", "text": "a"}], id="1", metadata={"a": 1})
        other = made(role="user", content=[{"text": "a", "type": "text"}], id="2", sender_name="Ada", status="failed")
        assert message_fingerprint(one) == message_fingerprint(other)

    @each_row(
        "change",
        [
            {"role": "assistant"},
            {"content": "b"},
            {"tool_calls": [{"id": "c"}]},
            {"tool_call_id": "c"},
            {"name": "n"},
            {"files": ["f"]},
        ],
    )
    def test_other_content_has_another(self, change: dict[str, Any]) -> None:
        base = {"role": "user", "content": "a"}
        assert message_fingerprint(made(**base)) != message_fingerprint(made(**{**base, **change}))

    @given(st.text(), st.text())
    def test_content_and_fingerprint_agree(self, one: str, other: str) -> None:
        storable = [text.replace("\x00", "") for text in (one, other)]
        prints = {message_fingerprint(made(role="user", content=text)) for text in storable}
        assert len(prints) == len(set(storable))


@pytest.mark.usefixtures("_small")
class TestChanges:
    def test_what_may_be_changed(self) -> None:
        changes = normalise_changes({"content": ["a"], "files": [], "metadata": {"k": 1}})
        assert changes == {"content": [{"type": "text", "text": "a"}], "files": [], "metadata": {"k": 1}}

    @each_row(
        ("field", "value"),
        [
            ("role", "user"),
            ("content", None),
            ("content", 7),
            ("files", "x"),
            ("metadata", []),
            ("content", "\x00"),
            ("content", "x" * 100),
        ],
    )
    def test_the_rest_is_refused_by_name(self, field: str, value: Any) -> None:
        with pytest.raises(InvalidRequest) as caught:
            normalise_changes({field: value})
        assert caught.value.field == field
