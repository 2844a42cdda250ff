from __future__ import annotations

from typing import Any

from harness.exports import Json, chatgpt, chatgpt_conversation, chatgpt_node
from harness.rows import each_row
from memorybase_client.importers import chatgpt as importer
from memorybase_client.importers.records import RawRecord, Report
from memorybase_client.importers.runs import Part, runs_of

from memorybase.cli.import_runs import check


def parts_of(*conversations: Any, report: Report | None = None) -> list[Part]:
    report = report or Report()
    records = [RawRecord(f"conversations.json[{n}]", each) for n, each in enumerate(conversations)]
    return list(
        runs_of(importer.read(records, report), flow="chatgpt", into_one_flow=False, report=report, check=check)
    )


def messages_of(*conversations: Any, report: Report | None = None) -> dict[str, Json]:
    """By the id of the node, in order."""
    parts = parts_of(*conversations, report=report)
    return {message["id"].partition(":")[2]: message for part in parts for message in part.messages}


def parents_of(*conversations: Any) -> dict[str, str | None]:
    return {
        name: message["parent_message_id"] and message["parent_message_id"].partition(":")[2]
        for name, message in messages_of(*conversations).items()
    }


class TestTree:
    def test_the_thread_that_was_open_comes_last(self) -> None:
        first, _ = chatgpt()
        assert list(messages_of(first)) == ["q1", "a1-old", "a1-new", "q2", "call", "result", "a2"]
        assert list(messages_of(first | {"current_node": "a1-old"}))[-1] == "a1-old"

    def test_each_message_names_the_nearest_imported_message_above_it(self) -> None:
        assert parents_of(chatgpt()[0]) == {
            "q1": None,
            "a1-old": "q1",
            "a1-new": "q1",
            "q2": "a1-new",
            "call": "q2",
            "result": "call",
            "a2": "result",
        }

    def test_a_message_that_cannot_be_stored_does_not_break_the_thread(self) -> None:
        tree = chatgpt_conversation(
            chatgpt_node("q1", "root", "user", "question"),
            chatgpt_node("a1", "q1", "assistant", "x" * 4_000_001),
            chatgpt_node("q2", "a1", "user", "next"),
        )
        assert parents_of(tree) == {"q1": None, "q2": "q1"}

    def test_a_run_is_a_question_and_its_answers(self) -> None:
        runs: dict[str, list[str]] = {}
        for part in parts_of(chatgpt()[0]):
            runs.setdefault(part.run_id, []).extend(message["id"].partition(":")[2] for message in part.messages)
        assert runs == {"c-1#q1": ["q1", "a1-old", "a1-new"], "c-1#q2": ["q2", "call", "result", "a2"]}

    def test_a_circle_of_parents_and_a_missing_parent_lose_nothing(self) -> None:
        circle = chatgpt_conversation(
            *(chatgpt_node(name, above, "user", name) for name, above in ("ac", "ba", "cb", "ee")),
            chatgpt_node("d", "gone", "user", "d"),
        )
        assert set(messages_of(circle)) == {"a", "b", "c", "d", "e"}

    def test_a_long_thread_needs_no_recursion(self) -> None:
        nodes = [chatgpt_node("n0", "root", "user", "hi")]
        nodes += [chatgpt_node(f"n{n}", f"n{n - 1}", "user", "hi") for n in range(1, 5_000)]
        assert len(messages_of(chatgpt_conversation(*reversed(nodes)))) == 5_000


class TestMessages:
    def test_ids_of_two_conversations_differ(self) -> None:
        ids = [message["id"] for part in parts_of(*chatgpt()) for message in part.messages]
        assert len(ids) == len(set(ids)) == 9

    def test_a_tool_is_called_and_its_result_names_the_call(self) -> None:
        messages = messages_of(chatgpt()[0])
        (call,) = messages["call"]["tool_calls"]
        assert call["function"] == {"name": "python", "arguments": "print(75 / 100)"}
        # The code is the content too, so that a search finds it.
        assert (messages["call"]["content"], messages["call"]["is_output"]) == ("print(75 / 100)", False)
        assert messages["result"]["tool_call_id"] == call["id"]
        assert (messages["result"]["name"], messages["result"]["content"]) == ("python", "0.75")

    def test_a_tool_may_answer_in_several_messages(self) -> None:
        call = chatgpt_node("call", "root", "assistant", "look", recipient="web")
        results = chatgpt_node("r1", "call", "tool", "one"), chatgpt_node("r2", "r1", "tool", "two")
        messages = messages_of(chatgpt_conversation(call, *results))
        assert [messages[name]["tool_call_id"] for name in ("r1", "r2")] == ["call", "call"]

    @each_row(
        ("between", "expected"),
        [
            (chatgpt_node("m", "call", "assistant", content={"content_type": "thoughts", "thoughts": []}), "call"),
            (chatgpt_node("m", "call", "system", ""), "call"),
            (chatgpt_node("m", "call", "user", "x", metadata={"is_visually_hidden_from_conversation": True}), "call"),
            (chatgpt_node("m", "call", "assistant", "Wait."), None),
        ],
    )
    def test_a_result_keeps_its_call_behind_what_is_not_imported(self, between: Json, expected: str | None) -> None:
        call = chatgpt_node("call", "root", "assistant", "look", recipient="web")
        results = chatgpt_node("r1", "m", "tool", "one"), chatgpt_node("r2", "r1", "tool", "two")
        messages = messages_of(chatgpt_conversation(call, between, *results))
        assert [messages[name].get("tool_call_id") for name in ("r1", "r2")] == [expected, expected]

    @each_row(
        ("tools", "expected"),
        [
            (["python", "python"], ["c1", "c2"]),
            (["web", "python"], ["c2", "c1"]),  # of calls of python and of web
            (["python", "python", "python"], ["c1", "c2", "c2"]),
        ],
    )
    def test_results_of_calls_in_a_row_are_told_apart(self, tools: list[str], expected: list[str]) -> None:
        second = "web" if "web" in tools else "python"
        nodes = [
            chatgpt_node("c1", "root", "assistant", "1", recipient="python"),
            chatgpt_node("c2", "c1", "assistant", "2", recipient=second),
        ]
        for number, tool in enumerate(tools):
            author = {"role": "tool", "name": tool, "metadata": {}}
            nodes.append(chatgpt_node(f"r{number}", nodes[-1]["id"], "tool", "x", author=author))
        messages = messages_of(chatgpt_conversation(*nodes))
        assert [messages[f"r{number}"]["tool_call_id"] for number in range(len(tools))] == expected

    @each_row(
        ("said", "shown"),
        [
            (
                'Buy \ue200product_entity\ue202["turn0product1","Lumo desk lamp"]\ue201 today.',
                "Buy Lumo desk lamp today.",
            ),
            ("Buy \ue200product\ue202turn0product1\ue202Lumo\ue201.", "Buy Lumo."),
            (
                '\ue200products\ue202{"selections":[["turn0product1","Lumo"],["turn0product2","Sol"]]}\ue201',
                "Lumo, Sol",
            ),
            ("See \ue200navlist\ue202Lamps of the year\ue202turn0news1,turn0news2\ue201.", "See Lamps of the year."),
            ("See \ue200video\ue202How to solder\ue202turn0search4\ue201.", "See How to solder."),
            ("\ue203It is lit\ue204 \ue200cite\ue202turn0search3\ue201\ue206.", "It is lit."),
            ("It is lit【4†source】, and 【12:0†a.pdf】bright.", "It is lit, and bright."),
            ('A \ue200image_group\ue202{"query":["lamp"]}\ue201 \ue200finance\ue202turn0finance0\ue201', "A"),
        ],
    )
    def test_names_stay_and_marks_go(self, said: str, shown: str) -> None:
        (message,) = messages_of(chatgpt_conversation(chatgpt_node("a", "root", "assistant", said))).values()
        assert message["content"].strip() == shown

    def test_the_model_of_an_answer_may_be_that_of_the_conversation(self) -> None:
        nodes = [
            chatgpt_node("q", "root", "user", "x"),
            chatgpt_node("a", "q", "assistant", "y"),
            chatgpt_node("b", "a", "assistant", "z", metadata={"model_slug": "gpt-5"}),
        ]
        messages = messages_of(chatgpt_conversation(*nodes, default_model_slug="gpt-4o"))
        assert [each.get("metadata", {}).get("model") for each in messages.values()] == [None, "gpt-4o", "gpt-5"]

    def test_marks_of_links_become_their_names(self) -> None:
        said = (
            'Read the review by \ue200entity\ue202["people","Dana Roth",0]\ue201 first '
            "\ue200cite\ue202turn0search3\ue202turn0search8\ue201, "
            "then \ue200url\ue202the book\ue202https://x.org\ue201. \ue200odd"
        )
        (message,) = messages_of(chatgpt_conversation(chatgpt_node("a", "root", "assistant", said))).values()
        assert message["content"] == "Read the review by Dana Roth first, then the book. odd"

    def test_an_image_is_a_file_and_the_model_is_metadata(self) -> None:
        messages = messages_of(chatgpt()[0])
        assert messages["q2"]["content"] == "And here?"
        assert messages["q2"]["files"][0]["asset_pointer"] == "file-service://file-1"
        assert messages["a2"]["metadata"] == {"model": "gpt-4o"}

    def test_an_image_that_is_attached_too_is_one_file(self) -> None:
        image = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1", "width": 640}
        content = {"content_type": "multimodal_text", "parts": [image, "Look"]}
        attached = [{"id": "file_1", "name": "crumb.jpg"}, {"id": "file_2", "name": "notes.pdf"}]
        node = chatgpt_node("q", "root", "user", content=content, metadata={"attachments": attached})
        assert messages_of(chatgpt_conversation(node))["q"]["files"] == [{**image, **attached[0]}, attached[1]]

    def test_an_image_alone_is_a_message(self) -> None:
        image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
        content = {"content_type": "multimodal_text", "parts": [image]}
        message = messages_of(chatgpt_conversation(chatgpt_node("q", "root", "user", content=content)))["q"]
        assert (message["content"], len(message["files"])) == ("", 1)

    def test_a_missing_time_is_that_of_the_message_above_or_of_the_conversation(self) -> None:
        first, second = chatgpt()
        assert [message["timestamp"] for message in messages_of(second).values()] == [1700000000.0] * 2
        first["mapping"]["a2"]["message"]["create_time"] = None
        assert messages_of(first)["a2"]["timestamp"] == 1700000000.5

    @each_row(
        ("content", "text"),
        [
            ({"content_type": "tether_quote", "title": "Title", "text": "Quoted"}, "Title\nQuoted"),
            ({"content_type": "tether_browsing_display", "result": "Found"}, "Found"),
            (
                {"content_type": "multimodal_text", "parts": [{"content_type": "audio_transcription", "text": "Said"}]},
                "Said",
            ),
            ({"content_type": "from the future", "text": "Still text"}, "Still text"),
        ],
    )
    def test_every_content_with_text_is_imported(self, content: Json, text: str) -> None:
        (message,) = messages_of(chatgpt_conversation(chatgpt_node("n", "root", "tool", content=content))).values()
        assert message["content"] == text

    @each_row(
        ("node", "value"),
        [
            (chatgpt_node("n", "root", "critic", "words"), "critic"),
            (chatgpt_node("n", "root", "user", "w", metadata={"is_visually_hidden_from_conversation": True}), "text"),
            (
                chatgpt_node(
                    "n", "root", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "Hm"}]}
                ),
                "thoughts",
            ),
            (
                chatgpt_node(
                    "n",
                    "root",
                    "user",
                    content={"content_type": "user_editable_context", "user_instructions": "Be brief"},
                ),
                "user_editable_context",
            ),
            (chatgpt_node("n", "root", "user", content={"content_type": "hologram", "shape": 1}), "hologram"),
        ],
    )
    def test_what_is_not_said_in_the_conversation_is_reported(self, node: Json, value: str) -> None:
        report = Report()
        assert messages_of(chatgpt_conversation(node), report=report) == {}
        ((problem,),) = report.examples.values()
        kind = "lost" if value == "critic" else "skipped"
        assert (problem.kind, problem.where) == (kind, "conversations.json[0].mapping.n")
        assert problem.value == value

    @each_row("message", [None, {}, {"content": None}, {"author": None, "content": {}}])
    def test_an_empty_node_is_no_problem(self, message: Any) -> None:
        report = Report()
        node = {"id": "n", "parent": "root", "children": [], "message": message}
        assert messages_of(chatgpt_conversation(node), report=report) == {}
        assert report.counts == {}

    @each_row(("role", "count"), [("user", 1), ("assistant", 1), ("system", 0)])
    def test_an_empty_message_is_reported(self, role: str, count: int) -> None:
        report = Report()
        assert messages_of(chatgpt_conversation(chatgpt_node("n", "root", role, "")), report=report) == {}
        assert report.counts.get(("skipped", "the message has no content"), 0) == count

    @each_row("conversation", [None, [], "x", {}, {"id": "c"}, {"id": "c", "mapping": []}])
    def test_other_records_are_reported(self, conversation: Any) -> None:
        report = Report()
        assert messages_of(conversation, chatgpt()[1], report=report).keys() == {"q1", "a1"}
        assert report.total("lost") == 1
