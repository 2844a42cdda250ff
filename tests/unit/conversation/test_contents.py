"""The content of a message: files, images, tool results, truncation, tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from harness.records import ids, log, numbered, record
from harness.rows import each_row

from memorybase.core.conversation import ESTIMATE, FileRef, Record, TextCounter, ToolResultClearing
from memorybase.core.conversation.view.budget import MARK, clip, clip_longest
from memorybase.core.conversation.view.clearing import clear_tool_results, keep_newest_images
from memorybase.core.conversation.view.files import read_files, remote_images, url_label
from memorybase.core.conversation.view.records import parts_of, with_files
from memorybase.core.conversation.view.token_counters import counter_named
from memorybase.core.errors import InvalidRequest, ModelUnavailable

WORDS = TextCounter("words", lambda text: len(text.split()))


def image(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"https://example.org/a/{name}?token=secret", **more}}


# Files


@each_row(
    ("raw", "ref", "kind", "label"),
    [
        ({"type": "image", "transfer_method": "local_file", "upload_file_id": "f1"}, "local:f1", "image", "f1"),
        ({"type": "audio", "transfer_method": "tool_file", "tool_file_id": "f2"}, "tool:f2", "audio", "f2"),
        (
            {"url": "https://x.org/d/file.pdf?s=1", "metadata": {}, "content_type": "application/pdf"},
            "remote:https://x.org/d/file.pdf?s=1",
            "document",
            "file.pdf",
        ),
        (
            {"url": "https://x.org/1", "file_name": "cat.png", "content_type": "image/png", "file_size": 9},
            "remote:https://x.org/1",
            "image",
            "cat.png",
        ),
    ],
)
def test_a_file_is_read_in_both_shapes_and_converted_back(raw: dict[str, Any], ref: str, kind: str, label: str) -> None:
    file = FileRef.from_mapping(raw)

    assert (file.ref, file.type, file.label) == (ref, kind, label)
    assert FileRef.from_mapping(file.to_mapping()) == file
    restored = FileRef.from_ref(ref)
    assert restored is not None
    assert (restored.transfer_method, restored.pointer) == (file.transfer_method, file.pointer)


@each_row(
    ("raw", "field"),
    [
        ({"type": "image", "transfer_method": "local_file"}, "files.upload_file_id"),
        ({"url": "ftp://x.org/1"}, "files.url"),
        ({"url": "https://x.org", "type": "film"}, "files.type"),
        ({"url": "https://x.org", "transfer_method": "post"}, "files.transfer_method"),
    ],
)
def test_an_invalid_file_is_refused_with_its_field(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        FileRef.from_mapping(raw)
    assert caught.value.field == field


def test_a_reference_with_an_unknown_prefix_is_none() -> None:
    assert FileRef.from_ref("nothing") is None
    assert FileRef.from_ref("ftp:x") is None


def test_stored_files_of_any_shape_are_read_and_what_is_none_left_out() -> None:
    paste = {"file_name": "paste.txt", "file_type": "txt", "extracted_content": "bloomery"}
    stored = ["flow/cat.png", "https://x.org/a.mp3?key=1", {"url": "https://x.org/b"}, {"odd": 1}, paste, 7, None, ""]

    files = read_files(stored)

    assert [(file.type, file.transfer_method, file.label) for file in files] == [
        ("image", "local_file", "cat.png"),
        ("audio", "remote_url", "a.mp3"),
        ("document", "remote_url", "b"),
        ("document", "local_file", "file"),
        ("document", "local_file", "paste.txt"),
    ]
    assert files[-1].stub == "[document: paste.txt]\nbloomery"


@each_row(
    ("stored", "stub"),
    [
        ({"type": "file", "file": {"filename": "a.pdf"}}, "[document: a.pdf]"),
        ({"path": "/tmp/b.png"}, "[image: b.png]"),
        ({"uri": "file:///c.mp3", "mimeType": "audio/mpeg"}, "[audio: c.mp3]"),
    ],
)
def test_the_name_of_a_file_is_found_where_others_have_it(stored: dict[str, Any], stub: str) -> None:
    assert [file.stub for file in read_files([stored])] == [stub]


def test_files_precede_the_text_and_a_missing_one_becomes_a_stub() -> None:
    photo = FileRef(type="image", transfer_method="remote_url", pointer="https://x.org/cat.png?key=1")
    sound = FileRef(type="audio", transfer_method="local_file", pointer="f1", name="talk.mp3")
    odd = FileRef(type="custom", transfer_method="tool_file", pointer="f2", name="x.bin")
    question = replace(record("u1", 1), files=[photo, sound, odd])

    shown, is_stub = with_files(question, remote_images)

    assert is_stub
    assert shown.content == [
        {"type": "image_url", "image_url": {"url": "https://x.org/cat.png?key=1", "detail": "high"}},
        {"type": "text", "text": "[audio: talk.mp3]"},
        {"type": "text", "text": "[Unsupported file type: x.bin (custom)]"},
        {"type": "text", "text": "u1"},
    ]
    blind, _ = with_files(question, lambda _: None)
    assert blind.content == "[image: cat.png]\n[audio: talk.mp3]\n[Unsupported file type: x.bin (custom)]\nu1"


# Images


@each_row(("budget", "left"), [(9, "1a 1b 3a 5a"), (3, "1b 3a 5a"), (2, "3a 5a"), (1, "5a"), (0, "")])
def test_the_newest_images_are_kept_and_no_message_is_dropped(budget: int, left: str) -> None:
    pictures = {"m1": ["1a", "1b"], "m3": ["3a"], "m5": ["5a"]}
    records = [
        one.with_content([*map(image, pictures[one.id]), {"type": "text", "text": one.id}])
        if one.id in pictures
        else one
        for one in numbered(6)
    ]

    shown = keep_newest_images(records, budget)

    seen = [part["image_url"]["url"] for one in shown for part in parts_of(one.content) if part["type"] != "text"]
    assert [url.split("/")[-1].split("?")[0] for url in seen] == left.split()
    assert ids(shown) == ids(records)
    everything = str([one.content for one in shown])
    for name in {"1a", "1b", "3a", "5a"} - set(left.split()):
        assert f"[image: {name}]" in everything


@each_row(
    ("url", "label"),
    [
        ("https://x.org/a/cat.png?key=1#top", "cat.png"),
        ("https://ann:secret@x.org/", "x.org"),
        ("http://[broken", "[broken"),
        ("", "file"),
        ("data:image/png;base64,AAAA", "file"),
    ],
)
def test_the_label_of_a_url_holds_no_secret(url: str, label: str) -> None:
    assert url_label(url) == label


def test_a_stub_holds_no_data_and_no_secret() -> None:
    data = record("u1", 1).with_content([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])
    linked = record("u1", 1).with_content([image("cat.png"), {"type": "text", "text": "look"}])

    assert keep_newest_images([data], 0)[0].content == "[image: file]"
    assert keep_newest_images([linked], 0)[0].content == "[image: cat.png]\nlook"


# Tool results


def test_tool_results_are_cleared_and_their_calls_stay() -> None:
    records = log("u1 A1[t1] T1 a1")
    records[2] = replace(records[2], name="search", content="five thousand tokens")

    shown = clear_tool_results(records, ToolResultClearing())

    assert (shown[2].content, shown[2].tool_call_id, shown[2].name) == ("", "t1", "search")
    assert shown[:2] == records[:2]


@each_row(
    ("clearing", "cleared"),
    [
        (ToolResultClearing(), "T1 T2"),
        (ToolResultClearing(keep_last_n=1), "T1"),
        (ToolResultClearing(keep_last_n=9), ""),
        (ToolResultClearing(exclude_tools=frozenset({"search"})), ""),  # named by the call alone
        (ToolResultClearing(placeholder="[cleared]"), "T1 T2"),
    ],
)
def test_an_unfinished_turn_keeps_its_tool_results(clearing: ToolResultClearing, cleared: str) -> None:
    records = log("u1 A1[t1] T1 a1 u2 A2[t2] T2 a2 u3 A3[t3] T3")

    shown = clear_tool_results(records, clearing)

    assert ids(one for one in shown if one.content == clearing.placeholder) == cleared
    assert shown[-1] == records[-1]


# Tokens


@each_row(
    ("changed", "tokens"),
    [
        ({"content": "two words"}, 3 + 2),
        ({"content": None}, 3),
        ({"content": "two words", "name": "Ann"}, 3 + 2 + 1 + 1),
        ({"content": None, "tool_calls": [{"id": "t", "function": {"name": "f", "arguments": "a b c"}}]}, 3 + 8 + 4),
        ({"content": None, "tool_calls": [{"id": "t", "name": "f", "args": {"q": "x y"}}]}, 3 + 8 + 4),
        ({"role": "tool", "content": "one", "tool_call_id": "t"}, 3 + 1 + 8),
        ({"content": [{"type": "text", "text": "a b"}, image("1")]}, 3 + 2 + 765),
        ({"content": [image("1", detail="low")]}, 3 + 85),
        ({"content": [{"type": "input_audio", "input_audio": {}}]}, 3 + 1000),
    ],
)
def test_everything_that_is_sent_counts(changed: dict[str, Any], tokens: int) -> None:
    assert WORDS.count(replace(Record(id="1", seq=1, role="assistant"), **changed)) == tokens


@each_row(
    ("text", "tokens"), [("", 0), ("a", 1), ("word", 1), ("two words", 2), ("\u4f60", 1), ("\u4f60\u597d\u4e16", 2)]
)
def test_the_estimate_needs_no_model(text: str, tokens: int) -> None:
    assert ESTIMATE.count(record("u1", 1).with_content(text)) == 3 + tokens
    assert counter_named("estimate") is ESTIMATE


def test_the_tokenizer_of_the_bundled_model_counts() -> None:
    counter = counter_named("hf:all-MiniLM-L6-v2")

    assert counter.name == "hf:all-MiniLM-L6-v2"
    assert counter.count(record("u1", 1).with_content("Hello world, memorybase!")) == 3 + 6
    long = " ".join(["word"] * 1000)  # beyond what the model itself reads
    assert counter.count(record("u1", 1).with_content(long)) == 3 + 1000


@each_row(
    ("name", "error"),
    [
        ("words", InvalidRequest),
        ("hf:", InvalidRequest),
        ("hf:/no/such/folder", ModelUnavailable),
        ("tiktoken:o200k_base", ModelUnavailable),
    ],
)
def test_an_unknown_or_missing_counter_is_an_error(name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        counter_named(name)


# Clipping


def test_a_message_is_truncated_in_its_middle() -> None:
    text = "start " + "filler " * 200 + "end"
    long = record("a1", 1).with_content(text)
    limit = ESTIMATE.count(long) // 4

    cut = clip(long, ESTIMATE, limit)

    assert cut is not None
    assert isinstance(cut.content, str)
    assert limit - 3 <= ESTIMATE.count(cut) <= limit
    assert cut.content.startswith("start ")
    assert cut.content.endswith("end")
    assert MARK in cut.content
    assert clip(long, ESTIMATE, 4) is None
    assert clip(long.with_content([image("1")]), ESTIMATE, 10) is None
    both = clip_longest([record("u1", 1), long], ESTIMATE, limit)
    assert both is not None
    assert both[0] == record("u1", 1)
    assert sum(map(ESTIMATE.count, both)) <= limit
    assert clip_longest([], ESTIMATE, limit) is None
