"""Claude's memory tool on a real stack, called as the SDK's tool runner does, beside the SDK's tool for local files."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool
from guides import run_guide, set_environment
from memorybase_client import Client
from memorybase_client.integrations.anthropic_memory import AsyncMemorybaseMemoryTool, MemorybaseMemoryTool
from model_provider import Provider, serve_provider
from stack import Stack

NOTES = "/memories/notes.md"
MODEL: dict[str, Any] = {"model": "fake", "max_tokens": 100}


@pytest.fixture
def tool(client: Client, flow: str) -> MemorybaseMemoryTool:
    return MemorybaseMemoryTool(client, flow)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serve_provider() as opened:
        yield opened


def said(tool: Any, command: str, path: str = NOTES, **fields: Any) -> str:
    """What the model is told."""
    given = fields if command == "rename" else {"path": path, **fields}
    try:
        return str(tool.call({"command": command, **given}))
    except ToolError as error:
        return f"Error: {error}"


def text_of(client: Client, flow: str, path: str = NOTES) -> Any:
    (found,) = [each for each in client.list_messages(flow_id=flow) if each.metadata["path"] == path]
    return found.content


COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": NOTES},
    {"command": "create", "path": NOTES, "file_text": "one\ntwo\nthree\n"},
    {"command": "create", "path": NOTES, "file_text": "again"},
    {"command": "create", "path": "/memories/people/team/anna.md", "file_text": "Anna\r\nberth 12\r\n"},
    {"command": "create", "path": "/memories/people/ben.md", "file_text": ""},
    {"command": "create", "path": "/memories/.hidden/x.md", "file_text": "x"},
    {"command": "create", "path": "/memories/a/b/c/deep.md", "file_text": "deep"},
    {"command": "create", "path": "/memories/people", "file_text": "a directory"},
    {"command": "create", "path": "/memories", "file_text": "the root"},
    {"command": "create", "path": "/etc/passwd", "file_text": "elsewhere"},
    {"command": "create", "path": "/memories/../../etc/passwd", "file_text": "elsewhere"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/people"},
    {"command": "view", "path": NOTES},
    {"command": "view", "path": NOTES, "view_range": [2, 3]},
    {"command": "view", "path": NOTES, "view_range": [2, -1]},
    {"command": "view", "path": NOTES, "view_range": [0, 99]},
    {"command": "view", "path": "/memories/people/ben.md"},
    {"command": "str_replace", "path": NOTES, "old_str": "two\nthree", "new_str": "2\n3"},
    {"command": "str_replace", "path": NOTES, "old_str": "four", "new_str": "4"},
    {"command": "str_replace", "path": NOTES, "old_str": "n", "new_str": ""},
    {"command": "str_replace", "path": "/memories/people/team/anna.md", "old_str": "n", "new_str": "N"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "n", "new_str": "N"},
    {"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": NOTES, "insert_line": 4, "insert_text": "last"},
    {"command": "insert", "path": NOTES, "insert_line": 6, "insert_text": "too far"},
    {"command": "insert", "path": NOTES, "insert_line": -1, "insert_text": "too near"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/people/ben.md", "insert_line": 0, "insert_text": "Ben"},
    {"command": "insert", "path": "/memories/people/team/anna.md", "insert_line": 1, "insert_text": "x"},
    {"command": "view", "path": NOTES},
    {"command": "view", "path": "/memories/people/ben.md"},
    {"command": "view", "path": "/memories/people/team/anna.md"},
    {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/team"},
    {"command": "rename", "old_path": NOTES, "new_path": "/memories/team/ben.md"},
    {"command": "rename", "old_path": NOTES, "new_path": "/memories/archive/2026/notes.md"},
    {"command": "rename", "old_path": NOTES, "new_path": "/memories/elsewhere.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/team/team/anna.md"},
    {"command": "delete", "path": "/memories/team"},
    {"command": "delete", "path": "/memories/team"},
    {"command": "delete", "path": "/memories"},
    {"command": "create", "path": "/memories/team", "file_text": "a file now"},
    {"command": "view", "path": "/memories/team"},
]


def test_it_says_what_the_tool_for_local_files_of_the_sdk_says(tool: MemorybaseMemoryTool, tmp_path: Path) -> None:
    local = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in COMMANDS:
        assert comparable(said(tool, **command)) == comparable(said(local, **command)), command


def comparable(text: str) -> str:
    """Without the sizes of directories, which are those of the disk in the one, and of the files in the other."""
    return re.sub(r"^[\d.]+[BKMG](?=\t(\S*/|/memories|/memories/people)$)", "SIZE", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "path", ["/memoriesx/a.md", "memories/a.md", "/memories/a/../../b.md", "/memories/..", "/memories/a\nb.md", ""]
)
def test_a_path_outside_of_the_directory_is_refused(tool: MemorybaseMemoryTool, path: str) -> None:
    for command, fields in (("create", {"file_text": "x"}), ("view", {}), ("delete", {})):
        assert re.match("Error: Path .*(must|escape)", said(tool, command, path, **fields))
    assert said(tool, "rename", old_path=path, new_path=NOTES).startswith("Error: Path ")


def test_an_empty_text_is_not_replaced(tool: MemorybaseMemoryTool) -> None:
    said(tool, "create", file_text="one")
    assert said(tool, "str_replace", old_str="", new_str="x").endswith("old_str must not be empty.")


def test_slashes_and_dots_in_a_path_name_the_same_file(tool: MemorybaseMemoryTool) -> None:
    said(tool, "create", "/memories//./notes.md", file_text="one")
    assert said(tool, "view", "/memories/notes.md/").endswith("     1\tone")


def test_nothing_is_in_a_file_or_in_what_is_moved(tool: MemorybaseMemoryTool) -> None:
    said(tool, "create", file_text="one")
    assert "is not a directory" in said(tool, "create", f"{NOTES}/x.md", file_text="x")
    assert "is not a directory" in said(tool, "rename", old_path=NOTES, new_path=f"{NOTES}/x.md")
    assert said(tool, "view").endswith("     1\tone")


def test_the_tool_runner_of_the_sdk_calls_it(provider: Provider, client: Client, flow: str) -> None:
    use_memory(provider)
    with anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0) as claude:
        runner = claude.beta.messages.tool_runner(
            **MODEL, messages=[{"role": "user", "content": "Remember."}], tools=[MemorybaseMemoryTool(client, flow)]
        )
        assert runner.until_done().content[0].text == "Done."
    check_results(provider)


def test_the_tool_runner_of_the_asynchronous_sdk_calls_it(provider: Provider, client: Client, flow: str) -> None:
    async def main() -> None:
        tool = AsyncMemorybaseMemoryTool(client, flow)
        async with anthropic.AsyncAnthropic(api_key="k", base_url=provider.url, max_retries=0) as claude:
            runner = claude.beta.messages.tool_runner(
                **MODEL, messages=[{"role": "user", "content": "Remember."}], tools=[tool]
            )
            await runner.until_done()

    use_memory(provider)
    asyncio.run(main())
    check_results(provider)


def use_memory(provider: Provider) -> None:
    provider.use("memory", command="create", path=NOTES, file_text="Berth 12.")
    provider.use("memory", command="str_replace", path=NOTES, old_str="Berth 13", new_str="Berth 14")


def check_results(provider: Provider) -> None:
    assert provider.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    stored, refused = [request["messages"][-1]["content"][0] for request in provider.requests[1:]]
    assert stored["content"] == f"File created successfully at: {NOTES}"
    assert not stored.get("is_error")
    assert refused["is_error"]
    assert "did not appear verbatim" in str(refused["content"])


def test_programs_that_edit_at_the_same_time_lose_nothing(client: Client, flow: str) -> None:
    said(MemorybaseMemoryTool(client, flow), "create", file_text="first\n")
    told: list[str] = []

    def edit(name: str) -> None:
        told.append(said(MemorybaseMemoryTool(client, flow), "insert", insert_line=1, insert_text=name))

    threads = [threading.Thread(target=edit, args=[f"program {number}"]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [f"The file {NOTES} has been edited."] * 6
    lines = text_of(client, flow).splitlines()
    assert lines[0] == "first"
    assert sorted(lines[1:]) == [f"program {number}" for number in range(6)]


def test_an_edit_is_made_on_the_text_that_another_program_wrote_meanwhile(
    tool: MemorybaseMemoryTool, client: Client, flow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(tool, "create", file_text="berth: 12\nboat: Aurora\n")
    meanwhile(monkeypatch, client, "edit_message", "str_replace", old_str="Aurora", new_str="Borea")
    assert "edited" in said(tool, "str_replace", old_str="12", new_str="14")
    assert text_of(client, flow) == "berth: 14\nboat: Borea\n"

    meanwhile(monkeypatch, client, "edit_message", "str_replace", old_str="14", new_str="15")
    assert "did not appear verbatim" in said(tool, "str_replace", old_str="14", new_str="16")
    meanwhile(monkeypatch, client, "edit_message", "delete")
    assert "does not exist" in said(tool, "insert", insert_line=0, insert_text="x")


def meanwhile(
    patch: pytest.MonkeyPatch, client: Client, call: str, command: str, path: str = NOTES, **fields: Any
) -> None:
    """Another program's command comes right before the next such call of the client."""
    original = getattr(client, call)

    def late(*arguments: Any, **named: Any) -> Any:
        patch.setattr(client, call, original)
        flow_id = named.get("flow_id") or arguments[0]
        assert not said(MemorybaseMemoryTool(client, flow_id), command, path, **fields).startswith("Error")
        return original(*arguments, **named)

    patch.setattr(client, call, late)


def test_of_two_that_create_a_file_at_the_same_time_one_does(
    tool: MemorybaseMemoryTool, client: Client, flow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(tool, "create", "/memories/other.md", file_text="x")
    meanwhile(monkeypatch, client, "capture_run", "create", file_text="theirs")
    assert said(tool, "create", file_text="ours") == f"Error: File {NOTES} already exists"
    assert text_of(client, flow) == "theirs"


def test_a_file_is_not_moved_to_a_path_that_another_program_takes(
    tool: MemorybaseMemoryTool, client: Client, flow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(tool, "create", file_text="ours")
    meanwhile(monkeypatch, client, "edit_message", "create", "/memories/new.md", file_text="theirs")
    assert said(tool, "rename", old_path=NOTES, new_path="/memories/new.md").endswith("already exists")
    assert [text_of(client, flow), text_of(client, flow, "/memories/new.md")] == ["ours", "theirs"]


def test_an_edit_that_the_client_repeats_is_made_once(
    tool: MemorybaseMemoryTool, client: Client, flow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = client.edit_message

    def repeated(*arguments: Any, **fields: Any) -> Any:  # the first answer was lost
        edit(*arguments, **fields)
        return edit(*arguments, **fields)

    said(tool, "create", file_text="one\n")
    monkeypatch.setattr(client, "edit_message", repeated)
    assert said(tool, "insert", insert_line=1, insert_text="two") == f"The file {NOTES} has been edited."
    assert text_of(client, flow) == "one\ntwo\n"


def test_each_end_user_has_files_that_are_found_and_erased(client: Client, flow: str) -> None:
    anna, ben = f"anna-{flow}", "b" * 128
    tools = {name: MemorybaseMemoryTool(client, flow, end_user_id=name) for name in (anna, ben, None)}
    for name, tool in tools.items():
        assert "created" in said(tool, "create", file_text=f"The boat of {name} lies at berth 12.")
    found = client.search_flow(flow_id=flow, query="Where does the boat lie?", end_user_id=anna).results
    assert [hit.content for hit in found] == [f"The boat of {anna} lies at berth 12."]
    client.erase_end_user(anna)
    assert "does not exist" in said(tools[anna], "view")
    assert f"boat of {ben}" in said(tools[ben], "view")
    assert "boat of None" in said(tools[None], "view")


def test_a_file_has_a_history_and_comes_back_after_its_deletion(
    tool: MemorybaseMemoryTool, client: Client, flow: str
) -> None:
    said(tool, "create", file_text="berth 12")
    said(tool, "str_replace", old_str="12", new_str="14")
    said(tool, "rename", old_path=NOTES, new_path="/memories/boat.md")
    (message,) = client.list_messages(flow_id=flow)
    changes = list(client.get_message_history(message.id, flow_id=flow))
    assert [change.reason for change in changes] == ["memory tool: rename", "memory tool: str_replace"]
    assert said(tool, "delete", "/memories/boat.md") == "Successfully deleted /memories/boat.md"
    assert said(tool, "create", "/memories/boat.md", file_text="new").startswith("File created")
    said(tool, "delete", "/memories/boat.md")
    client.restore_message(message.id, flow_id=flow)
    assert said(tool, "view", "/memories/boat.md").endswith("     1\tberth 14")


def test_an_outage_is_never_an_empty_memory(stack: Stack, flow: str) -> None:
    tool = MemorybaseMemoryTool(Client("http://127.0.0.1:9", stack.key, tries=1), flow)
    for command, fields in (("view", {}), ("insert", {"insert_line": 0, "insert_text": "x"}), ("delete", {})):
        assert said(tool, command, **fields).startswith(
            "Error: Memory is unavailable at the moment (connection_failed)"
        )


def test_the_model_is_told_what_the_server_refuses(tool: MemorybaseMemoryTool) -> None:
    assert said(tool, "create", file_text="x" * 20_000_000).endswith("too large. (bound: 16000000)")


def test_characters_that_cannot_be_stored_are_replaced(tool: MemorybaseMemoryTool, client: Client, flow: str) -> None:
    said(tool, "create", file_text="a\0b\ud800c\n")
    assert text_of(client, flow) == "a\N{REPLACEMENT CHARACTER}b?c\n"


def test_the_guide_shows_what_it_prints(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider() as provider:
        for _ in range(2):
            provider.use("memory", command="create", path=NOTES, file_text="The boat lies at berth 12.")
            provider.say("Noted.")
            provider.use("memory", command="view", path=NOTES)
            provider.say("Your boat lies at berth 12.")
        set_environment(monkeypatch, stack, tmp_path)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        run_guide("python-frameworks.md", mark="anthropic_memory")
        assert "1\\tThe boat lies at berth 12." in provider.shown
