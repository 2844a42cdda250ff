"""A view can go to a model unchanged: calls, results and parts as chat completions take them."""

from __future__ import annotations

from typing import Any

import pytest
from harness.records import log
from harness.rows import each_row
from harness.what_models_take import refusals

from memorybase.core.conversation import Record, ViewOptions
from memorybase.core.conversation.view.build import View, build_view
from memorybase.core.conversation.view.files import read_files
from memorybase.core.conversation.view.limits import Limits

PNG = "data:image/png;base64,iVBORw0KGgo="


def view(*messages: dict[str, Any], **options: Any) -> View:
    records = [Record.from_openai(each, id=f"m{seq}", seq=seq) for seq, each in enumerate(messages, start=1)]
    return build_view(records, ViewOptions(**options))


def asked(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts) or "Which apples?"}


def called(*calls: str) -> dict[str, Any]:
    """Each call is `id` or `id:shelf`."""
    return {"role": "assistant", "content": None, "tool_calls": [_call(each) for each in calls]}


def _call(word: str) -> dict[str, Any]:
    identity, _, shelf = word.partition(":")
    return {"id": identity, "type": "function", "function": {"name": "look", "arguments": f'{{"shelf": {shelf or 1}}}'}}


def result(identity: str, content: Any = "fruit") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts) or "Here."}


@each_row(
    ("words", "expected"),
    [
        # Calls of one moment that were stored apart, then their results.
        ("u1 A1[t1] A2[t2] T1 T2 a1", "u1 A1[t1,t2] T1 T2 a1"),
        ("u1 A1[t1] A2[t2] T2 T1 a1", "u1 A1[t1,t2] T2 T1 a1"),
        ("u1 A1[t1] a1 A2[t2] T1 T2", "u1 A1[t1,t2] T1 T2 a1"),
        # One call after the other.
        ("u1 A1[t1] T1 A2[t2] T2 a1", "u1 A1[t1] T1 A2[t2] T2 a1"),
        # A late result.
        ("u1 A1[t1] u2 T1 a2", "u1 A1[t1] T1 u2 a2"),
        ("u1 A1[t1,t2] T1 u2 T2 a2", "u1 A1[t1,t2] T1 T2 u2 a2"),
        # Calls without results; what was said beside them stays.
        ("u1 A1[t1] A2[t2] T2 a1", "u1 a0 A1[t2] T2 a1"),
        ("u1 A1[t1] u2 A2[t2] T2", "u1 a0 u2 A2[t2] T2"),
        ("T1 u1 A1[t1] T1 T1 a1", "u1 A1[t1] T1 a1"),
        # The end of the log may still get results.
        ("u1 A1[t1] A2[t2]", "u1 A1[t1,t2]"),
        ("u1 A1[t1] a1 A2[t2]", "u1 a1 A1[t1,t2]"),
        ("u1 A1[t1,t2] u2 T1", "u1 u2 A1[t1,t2] T1"),
    ],
)
def test_results_stand_right_after_one_message_with_their_calls(words: str, expected: str) -> None:
    for align in ("none", "user_first", "strict"):
        seen = build_view(log(words), ViewOptions(align=align))  # type: ignore[arg-type]
        assert refusals(seen.messages) == []
        if align == "none":
            shown = [(one.role, [call["id"] for call in one.tool_calls], one.tool_call_id) for one in seen.records]
            assert shown == [(one.role, [c["id"] for c in one.tool_calls], one.tool_call_id) for one in log(expected)]


def test_a_joined_message_names_all_that_it_stands_for() -> None:
    seen = build_view(log("u1 A1[t1] A2[t2] T1 T2"), ViewOptions(align="none"))

    assert [source.message_ids for source in seen.sources] == [("u1",), ("A1", "A2"), ("T1",), ("T2",)]
    assert seen.report.kept == ("u1", "A1", "A2", "T1", "T2")
    assert seen.messages[1]["content"] == "A1\nA2"


@pytest.mark.parametrize("identity", ["c", ""])
def test_calls_with_one_id_keep_their_results(identity: str) -> None:
    for stored in ([called(f"{identity}:1", f"{identity}:2")], [called(f"{identity}:1"), called(f"{identity}:2")]):
        seen = view(asked(), *stored, result(identity, "apples"), result(identity, "pears"), said())

        assert refusals(seen.messages) == []
        by_id = {one["tool_call_id"]: one["content"] for one in seen.messages if one["role"] == "tool"}
        arguments = {call["id"]: call["function"]["arguments"] for call in seen.messages[1]["tool_calls"]}
        assert {arguments[each]: by_id[each] for each in arguments} == {
            '{"shelf": 1}': "apples",
            '{"shelf": 2}': "pears",
        }


def test_a_result_in_several_messages_is_one() -> None:
    seen = view(asked(), called("c"), result("c", "apples"), result("c", "pears"), result("c", "apples"), said())

    assert refusals(seen.messages) == []
    assert [(one["role"], one["content"]) for one in seen.messages[2:]] == [
        ("tool", "apples\npears"),
        ("assistant", "Here."),
    ]
    assert seen.sources[2].message_ids == ("m3", "m4")
    assert [(one.id, one.reason) for one in seen.report.removed] == [("m5", "tool_result_without_call")]


def test_an_id_may_be_used_again_in_a_later_turn() -> None:
    messages = [asked(), called("c"), result("c", "apples"), said(), asked(), called("c"), result("c", "pears")]

    assert [one.get("tool_call_id") for one in view(*messages).messages] == [None, None, "c", None, None, None, "c"]


@each_row(
    ("message", "expected"),
    [
        (asked({"type": "input_text", "text": "Hi"}), "Hi"),
        (said({"type": "output_text", "text": "Hi", "annotations": []}), "Hi"),
        (
            asked({"type": "text", "text": "See"}, {"type": "input_image", "image_url": PNG, "detail": "low"}),
            [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}],
        ),
        (
            asked({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}),
            [{"type": "image_url", "image_url": {"url": PNG}}],
        ),
        (asked({"type": "input_image", "file_id": "file-1"}), "[image]"),
        (
            asked({"type": "input_file", "file_id": "file-1", "filename": "a.pdf"}),
            [{"type": "file", "file": {"file_id": "file-1", "filename": "a.pdf"}}],
        ),
        (asked({"type": "input_file", "file_url": "https://x.org/a.pdf?key=1"}), "[file: a.pdf]"),
        (asked({"type": "document", "title": "a", "source": {"type": "text", "data": "Long"}}), "a\nLong"),
        (said({"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": "Hi"}), "Hi"),
        (said({"type": "image_url", "image_url": {"url": "https://x.org/cat.png"}}), "[image: cat.png]"),
        (said({"type": "refusal", "refusal": "No"}), [{"type": "refusal", "refusal": "No"}]),
        (asked({"type": "voice_note", "name": "a.ogg"}), "[voice_note: a.ogg]"),
        # The AI SDK's parts, of its pages and of its models.
        (asked({"type": "file", "mediaType": "application/pdf", "url": "https://x.org/a.pdf"}), "[document: a.pdf]"),
        (asked({"type": "file", "mediaType": "application/pdf", "data": "https://x.org/a.pdf"}), "[document: a.pdf]"),
        (
            asked({"type": "file", "mediaType": "application/pdf", "data": "JVBE", "filename": "a.pdf"}),
            [{"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"}}],
        ),
        (
            asked({"type": "file", "mediaType": "image/png", "url": "https://x.org/a.png"}),
            [{"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}],
        ),
        (asked({"type": "file", "mediaType": "audio/mpeg", "data": "SUQz", "filename": "a.mp3"}), "[audio: a.mp3]"),
        (asked({"type": "image", "image": PNG}), [{"type": "image_url", "image_url": {"url": PNG}}]),
        (
            asked({"type": "image", "image": "iVBORw0KGgo=", "mediaType": "image/png"}),
            [{"type": "image_url", "image_url": {"url": PNG}}],
        ),
        (asked({"type": "image", "image": {"0": 137}}), "[image]"),
        (asked({"type": "file", "file": {"filename": "a.pdf"}}), "[file: a.pdf]"),
    ],
)
def test_parts_of_other_makers_are_translated_or_a_line_replaces_them(message: dict[str, Any], expected: Any) -> None:
    question = {"role": "user", "content": "?"}

    for output in ("openai", "langchain"):
        seen = view(question, message, format=output)
        assert seen.messages[-1]["content"] == expected
        assert seen.report.replaced_parts == (expected == "Hi" and message["content"][0]["type"] == "thinking") + (
            isinstance(expected, str) and expected.startswith("[")
        )


def test_a_message_of_thoughts_alone_is_empty() -> None:
    seen = view(asked(), said({"type": "redacted_thinking", "data": "x"}), said())

    assert [one["content"] for one in seen.messages] == ["Which apples?", "Here."]
    assert [(one.id, one.reason) for one in seen.report.removed] == [("m2", "empty")]


def test_calls_and_results_in_parts_become_messages() -> None:
    look = {"type": "text", "text": "Let me look"}
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {"shelf": 1}}
    answer = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "apples"}]}

    seen = view(asked(), said(look, use), asked(answer, {"type": "text", "text": "So?"}))

    assert refusals(seen.messages) == []
    assert [one["role"] for one in seen.messages] == ["user", "assistant", "tool", "user"]
    assert seen.messages[1]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"shelf": 1}'}
    assert [one["content"] for one in seen.messages[1:]] == ["Let me look", "apples", "So?"]
    assert [source.message_ids for source in seen.sources[2:]] == [("m3",), ("m3",)]
    # LangChain names a call in the content and beside it.
    twice = {**said(look, use), "tool_calls": called("c")["tool_calls"]}
    assert len(view(asked(), twice, result("c")).messages[1]["tool_calls"]) == 1


@each_row(
    ("output", "expected"),
    [
        ({"output": {"type": "text", "value": "apples"}}, "apples"),
        ({"output": {"type": "json", "value": {"fruit": ["apples"]}}}, '{"fruit": ["apples"]}'),
        ({"output": {"type": "content", "value": [{"type": "text", "text": "apples"}]}}, "apples"),
        ({"result": ["apples"]}, '["apples"]'),
        ({"result": "apples", "isError": True}, "apples"),
    ],
)
def test_calls_and_results_in_the_parts_of_the_ai_sdk_become_messages(output: dict[str, Any], expected: str) -> None:
    calls = [
        {"type": "tool-call", "toolCallId": each, "toolName": "look", "input": {"shelf": 1}} for each in ("c", "d")
    ]
    results = [{"type": "tool-result", "toolCallId": each, "toolName": "look", **output} for each in ("c", "d")]

    seen = view(asked(), said(*calls), {"role": "tool", "content": results}, said())

    assert refusals(seen.messages) == []
    assert [one["role"] for one in seen.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert seen.messages[1]["tool_calls"][1]["function"] == {"name": "look", "arguments": '{"shelf": 1}'}
    assert [one["content"] for one in seen.messages[2:4]] == [expected, expected]
    assert seen.report.replaced_parts == 0


@each_row(
    ("inner", "expected"),
    [
        ({"type": "text"}, '{"type": "text"}'),
        ({"type": "text", "text": None}, '{"type": "text", "text": null}'),
        ({"type": "input_text", "text": ["a"]}, '{"type": "input_text", "text": ["a"]}'),
        ({"name": "é"}, '{"name": "é"}'),
        ({"text": "apples"}, "apples"),
        ({"type": ["x"], "text": "apples"}, "apples"),
        ({"type": {"x": 1}, "image_url": PNG}, f'{{"type": {{"x": 1}}, "image_url": "{PNG}"}}'),
        ({"type": "tool_reference", "tool_name": "look"}, "[tool_reference]"),
        ({"type": "image"}, "[image]"),
        ({"type": "file", "file": []}, "[file]"),
        ({"type": "tool_use", "id": "d", "name": "look", "input": {}}, "[tool_use: look]"),
        ({"type": "tool_result", "tool_use_id": "d", "content": "apples"}, "apples"),
        (
            {"type": "tool_result", "content": [{"type": "tool-result", "output": [1]}, {"type": "text"}]},
            '[1]\n{"type": "text"}',
        ),
        ({"type": "tool-result", "toolCallId": "d"}, ""),
        (None, "null"),
        (True, "true"),
        ([["a"]], '[["a"]]'),
        ("apples", "apples"),
    ],
)
def test_whatever_is_in_a_result_is_read(inner: Any, expected: str) -> None:
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    both = [inner, {"type": "text", "text": "pears"}]
    for parts in ([inner], both):
        for answer in (
            {"type": "tool_result", "tool_use_id": "c", "content": parts},
            {"type": "tool_result", "tool_use_id": "c", "content": {"type": "content", "value": parts}},
            {"type": "tool-result", "toolCallId": "c", "output": {"type": "content", "value": parts}},
        ):
            for role in ("user", "tool"):
                for output in ("openai", "langchain", "text"):
                    seen = view(asked(), said(use), {"role": role, "content": [answer]}, said(), format=output)

                    result = seen.messages[2]
                    assert result["tool_call_id"] == "c"
                    assert result["content"] == (expected if parts is not both else f"{expected}\npears")
                    assert output == "langchain" or refusals(seen.messages) == []


def test_a_tool_of_an_ai_sdk_page_is_its_call_and_its_result() -> None:
    shelf = {"toolCallId": "c", "input": {"shelf": 1}}
    done = {"type": "tool-look", "state": "output-available", "output": {"fruit": "apples"}, **shelf}
    failed = {"type": "dynamic-tool", "toolName": "look", "errorText": "dark", **shelf, "toolCallId": "d"}
    text = {"type": "text", "text": "Apples."}

    seen = view(asked(), said({"type": "step-start"}, done, failed, text), asked())

    assert refusals(seen.messages) == []
    assert [one["role"] for one in seen.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert seen.messages[1]["content"] == "Apples."
    assert [call["function"]["name"] for call in seen.messages[1]["tool_calls"]] == ["look", "look"]
    assert [one["content"] for one in seen.messages[2:4]] == ['{"fruit": "apples"}', "dark"]


def test_an_image_of_a_result_is_moved_into_a_users_message() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}

    seen = view(asked(), called("a", "b"), result("a", [image]), result("b", "pears"), said())

    assert refusals(seen.messages) == []
    assert [one["role"] for one in seen.messages] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert seen.messages[2]["content"] == "[image] in the next message"
    assert seen.messages[4]["content"] == [image]
    assert seen.sources[4].message_ids == ("m3",)


def test_a_file_of_an_answer_is_a_line_and_one_of_a_result_is_moved() -> None:
    def with_file(message: dict[str, Any], seq: int) -> Record:
        files = read_files([{"url": "https://x.org/cat.png", "content_type": "image/png"}])
        return Record.from_openai(message, id=f"m{seq}", seq=seq, files=files)

    seen = build_view([with_file(each, seq) for seq, each in enumerate([asked(), called("c"), result("c"), said()], 1)])

    assert refusals(seen.messages) == []
    assert [one["role"] for one in seen.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert [one["content"] for one in seen.messages[1::3]] == ["[image: cat.png]", "[image: cat.png]\nHere."]
    assert seen.report.replaced_parts == 2


@each_row(
    ("model", "metadata", "expected"),
    [
        (None, {"reasoning_content": "Shelf 1 first."}, "Shelf 1 first."),
        ("deepseek-reasoner", {"reasoning_content": "Shelf 1 first."}, "Shelf 1 first."),
        ("moonshotai/Kimi-K2", {"additional_kwargs": {"reasoning_content": "Shelf 1."}}, "Shelf 1."),
        ("gpt-5", {"reasoning_content": "Shelf 1 first."}, None),
        (None, {"reasoning_content": ["Shelf 1 first."]}, None),
    ],
)
def test_calls_come_with_their_reasoning_if_the_model_wants_it(
    model: str | None, metadata: dict[str, Any], expected: str | None
) -> None:
    messages = [asked(), called("c"), result("c"), said()]
    records = [
        Record.from_openai(each, id=f"m{seq}", seq=seq, metadata=metadata) for seq, each in enumerate(messages, start=1)
    ]
    for shape in ("openai", "langchain"):
        shown = build_view(records, ViewOptions(model=model, format=shape))
        assert [each.get("reasoning_content") for each in shown.messages] == [None, expected, None, None]
    without = build_view(records, ViewOptions(model="gpt-5"))
    assert (shown.report.tokens_after > without.report.tokens_after) is (expected is not None)


def test_what_is_pruned_message_by_message_is_accepted_too() -> None:
    seen = build_view(log("u1 A1[t1] T1 u2"), ViewOptions(limits=Limits(max_messages=2, prune="message")))

    assert refusals(seen.messages) == []
    assert [(one.id, one.reason) for one in seen.report.removed][-1] == ("T1", "tool_result_without_call")


def test_a_system_prompt_of_each_run_stands_once_and_first() -> None:
    prompt, other = {"role": "system", "content": "Be brief."}, {"role": "system", "content": "The shop is closed."}
    turns = [prompt, asked(), said(), other, prompt, asked(), said(), prompt, asked(), said()]

    seen = view(*turns)
    roles = " ".join(one["role"] for one in seen.messages)
    assert roles == "system user assistant system user assistant user assistant"
    assert [one.id for one in seen.report.removed if one.reason == "repeated"] == ["m1", "m5"]
    trimmed = view(*turns, limits=Limits(max_turns=1, prune="turn"))
    assert [one["content"] for one in trimmed.messages] == ["Be brief.", "Which apples?", "Here."]


@each_row(
    ("earlier", "later", "is_one"),
    [
        ("Be brief. Today is 2026-03-01.", "Be brief. Today is 2026-03-02.", True),
        ("Be brief. Today is Sunday, 1 March 2026.", "Be brief. Today is Monday, 2 March 2026.", True),
        ("Be brief. Today is Sunday March 1st, 2026.", "Be brief. Today is Monday March 2nd, 2026.", True),
        ("Be brief. It is 2026-03-01T09:30:00Z.", "Be brief. It is 2026-03-02T10:31:07.5+01:00.", True),
        ("Heute ist der 1. März 2026, 9:30.", "Heute ist der 2. März 2026, 17:05.", True),
        ("Be brief. (2026-03-01, 9:30 am)", "Be brief. (2026-03-01, 10:00 pm)", True),
        ("今日は2026年3月1日です。", "今日は2026年3月2日です。", True),
        ("Be brief.", "Be brief.\n", True),
        ("Be brief.", "Be brief.\r\n\r\nBe kind.", False),
        ("Use 3 sentences.", "Use 5 sentences.", False),
        ("Nothing before 2026-03-01.", "Nothing after 2026-03-01.", False),
    ],
)
def test_a_system_prompt_may_have_another_date_in_each_run(earlier: str, later: str, is_one: bool) -> None:
    prompts = [{"role": "system", "content": each} for each in (earlier, later)]

    seen = view(prompts[0], asked(), said(), prompts[1], asked(), said())

    shown = [one["content"] for one in seen.messages if one["role"] == "system"]
    assert shown == ([later] if is_one else [earlier, later])
