from __future__ import annotations

from typing import Any

from harness.exports import Json, claude, claude_message
from harness.rows import each_row
from memorybase_client.importers import claude as importer
from memorybase_client.importers.records import RawRecord, Report
from memorybase_client.importers.runs import runs_of

from memorybase.cli.import_runs import check


def messages_of(*conversations: Any, report: Report | None = None) -> dict[str, Json]:
    report = report or Report()
    records = [RawRecord(f"conversations.json[{n}]", each) for n, each in enumerate(conversations)]
    parts = runs_of(importer.read(records, report), flow="claude", into_one_flow=False, report=report, check=check)
    return {message["id"]: message for part in parts for message in part.messages}


def conversation(*messages: Json) -> Json:
    return {"uuid": "k", "name": "n", "created_at": "2024-05-01T09:59:00Z", "chat_messages": list(messages)}


class TestMessages:
    def test_an_answer_with_a_tool_is_split_at_its_result(self) -> None:
        messages = messages_of(claude()[0])
        assert list(messages) == ["m-1", "m-2#1", "m-2#2", "m-2", "m-3"]
        said, result, answer = messages["m-2#1"], messages["m-2#2"], messages["m-2"]
        assert (said["role"], said["content"], said["is_output"]) == ("assistant", "I look it up.", False)
        (call,) = said["tool_calls"]
        assert call["function"] == {"name": "web_search", "arguments": '{"query": "leeks"}'}
        assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "tu-1", "sow in April")
        assert (answer["content"], "tool_calls" in answer) == ("Sow them in April.", False)

    def test_parents_lead_through_the_pieces(self) -> None:
        parents = {name: message["parent_message_id"] for name, message in messages_of(claude()[0]).items()}
        assert parents == {"m-1": None, "m-2#1": "m-1", "m-2#2": "m-2#1", "m-2": "m-2#2", "m-3": "m-2"}

    def test_without_parents_the_order_of_the_file_counts(self) -> None:
        (message,) = messages_of(claude()[1]).values()
        assert message == {
            "id": "m-4",
            "role": "user",
            "content": "Only text",
            "timestamp": "2024-05-01T10:00:00.000000Z",
        }

    def test_the_thread_that_was_open_comes_last(self) -> None:
        def message(name: str, above: str) -> Json:
            return claude_message(name, "human", {"type": "text", "text": name}, parent_message_uuid=above)

        tree = [message("h1", "0"), message("b1", "h1"), message("h2", "b1"), message("b1r", "h1")]
        opened = {**conversation(*tree), "current_leaf_message_uuid": "h2"}
        assert list(messages_of(opened)) == ["h1", "b1r", "b1", "h2"]

    def test_the_text_of_an_attachment_is_said(self) -> None:
        message = messages_of(claude()[0])["m-1"]
        assert message["content"].endswith("\n\nclay soil")
        assert message["files"] == [{"file_name": "garden.txt"}]

    def test_text_beside_blocks_of_unknown_types_is_imported(self) -> None:
        said = claude_message("m", "human", {"type": "voice_note"}) | {"text": "Sow leeks."}
        assert messages_of(conversation(said))["m"]["content"] == "Sow leeks."

    def test_an_attachment_without_words_is_a_message(self) -> None:
        (message,) = messages_of(conversation(claude_message("m", "human", files=[{"file_name": "a.png"}]))).values()
        assert (message["content"], message["files"]) == ("", [{"file_name": "a.png"}])

    def test_results_without_ids_answer_their_calls_in_order(self) -> None:
        use, result = {"type": "tool_use", "name": "t", "input": {}}, {"type": "tool_result", "content": "done"}
        messages = list(messages_of(conversation(claude_message("m", "assistant", use, use, result, result))).values())
        assert [call["id"] for call in messages[0]["tool_calls"]] == ["m-0", "m-1"]
        assert [message["tool_call_id"] for message in messages[1:]] == ["m-0", "m-1"]
        assert [message["id"] for message in messages] == ["m#1", "m#2", "m"]

    def test_content_of_other_types_is_reported(self) -> None:
        report = Report()
        messages_of(claude()[0], report=report)
        assert report.counts == {("skipped", "content of the type thinking is not imported"): 1}

    def test_an_empty_message_is_reported(self) -> None:
        report = Report()
        empty = claude_message("m", "human", {"type": "text", "text": ""})
        thought = claude_message("n", "assistant", {"type": "thinking", "thinking": "hm"})
        assert messages_of(conversation(empty, thought), report=report) == {}
        assert report.counts == {  # once for each message
            ("skipped", "the message has no content"): 1,
            ("skipped", "content of the type thinking is not imported"): 1,
        }

    @each_row("message", [None, "x", {}, claude_message("m", "robot"), {"sender": "human", "text": "no id"}])
    def test_other_messages_are_reported_and_the_rest_is_kept(self, message: Any) -> None:
        report = Report()
        kept = claude_message("kept", "human", {"type": "text", "text": "hello"})
        assert list(messages_of(conversation(message, kept), report=report)) == ["kept"]
        assert report.total("lost") == 1

    def test_other_records_are_reported(self) -> None:
        report = Report()
        assert messages_of(None, {"uuid": "k"}, claude()[1], report=report).keys() == {"m-4"}
        assert report.total("lost") == 2
