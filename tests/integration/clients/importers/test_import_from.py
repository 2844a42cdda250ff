"""Samples of other systems, imported by the command line through the API."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from click.testing import Result
from harness import PostgresServer, exports
from harness.api import Api
from harness.clients import Wire, client_of
from harness.exports import Json, write_json
from harness.repositories import Repository
from harness.rows import each_row
from memorybase_client import Client, models
from memorybase_client import errors as client_errors
from memorybase_client.importers.records import Report
from memorybase_client.importers.systems import ImportSource, read_runs
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command, import_batches, import_runs
from memorybase.core import errors

SAMPLES: dict[str, Callable[[Path], Path]] = {
    "chatgpt": lambda folder: write_json(folder, "conversations.json", exports.chatgpt()),
    "claude": lambda folder: write_json(folder, "conversations.json", exports.claude()),
    "langchain": exports.langchain,
    "langflow": exports.langflow,
    "mem0": lambda folder: write_json(folder, "memories.json", exports.mem0()),
    "letta": lambda folder: write_json(folder, "harbour.af", exports.letta()),
    "zep": exports.zep,
    "agent-memory-server": exports.agent_memory_server,
}
LINE = json.dumps({"session_id": "s", "role": "user", "content": "hello"})
FOUND = {
    "chatgpt": "1 flow, 2 sessions, 3 runs, 9 messages",
    "claude": "1 flow, 2 sessions, 3 runs, 6 messages",
    "langchain": "1 flow, 2 sessions, 4 runs, 9 messages",
    "langflow": "2 flows, 2 sessions, 3 runs, 6 messages",
    "mem0": "1 flow, 3 sessions, 3 runs, 4 messages",
    "letta": "1 flow, 2 sessions, 4 runs, 7 messages",
    "zep": "1 flow, 2 sessions, 2 runs, 3 messages",
    "agent-memory-server": "1 flow, 2 sessions, 2 runs, 4 messages",
}


@pytest.fixture(autouse=True)
def _connected(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command talks to the API of the test, and a worker does what it enqueues."""

    flush = Client.flush_memory_base

    def flushed(client: Client, base_id: Any, **options: Any) -> models.FlushResult:
        try:
            return flush(client, base_id, **options)
        finally:
            api.work()

    monkeypatch.setattr(Client, "flush_memory_base", flushed)
    monkeypatch.setattr(command, "connect", lambda *_: client_of(api))


def run(*words: str | Path) -> Result:
    result = CliRunner().invoke(cli.app, ["import", *map(str, words)])
    expected = SystemExit | errors.MemorybaseError | client_errors.MemorybaseError
    if result.exception is not None and not isinstance(result.exception, expected):
        raise result.exception
    return result


def failing_after_one(patch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Small batches, of which the second fails."""
    send, sent = Client.import_lines, []

    def failing(client: Client, lines: Any, **options: Any) -> models.ImportAnswer:
        if sent:
            raise error
        sent.append(lines)
        return send(client, lines, **options)

    patch.setattr(import_batches, "BATCH_LINES", 1)
    patch.setattr(Client, "import_lines", failing)


def stored(api: Api) -> list[Json]:
    return [
        message
        for flow in api.get("/flows")["items"]
        for message in api.get("/messages", flow_id=flow["id"], size=200, order="asc")["items"]
    ]


@pytest.mark.parametrize("system", SAMPLES)
class TestEverySystem:
    @pytest.mark.slow
    def test_importing_again_stores_nothing_new(self, system: str, api: Api, tmp_path: Path) -> None:
        sample = SAMPLES[system](tmp_path)
        first = run(sample, "--from", system)
        once = stored(api)
        second = run(sample)  # recognised by its content
        count = FOUND[system].rpartition(", ")[2].split()[0]
        assert int(count) == len(once)
        assert first.output.splitlines()[0] == f"{FOUND[system]}: {count} new, 0 already there"
        assert second.output.splitlines()[0] == f"{FOUND[system]}: 0 new, {count} already there"
        assert second.output.splitlines()[1:] == first.output.splitlines()[1:]
        assert stored(api) == once
        assert (first.exit_code, second.exit_code) == (0, 0)

    @pytest.mark.slow
    def test_a_dry_run_counts_the_same_and_stores_nothing(self, system: str, api: Api, tmp_path: Path) -> None:
        sample = SAMPLES[system](tmp_path)
        said = run(sample, "--from", system, "--dry-run").output.splitlines()
        assert said[0] == f"{FOUND[system]} would be imported; nothing was stored"
        assert api.get("/flows")["total"] == 0
        real = run(sample, "--from", system).output.splitlines()
        assert [line for line in real[1:] if not line.startswith("memory base")] == said[1:]

    @pytest.mark.slow
    def test_it_continues(self, system: str, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        sample = SAMPLES[system](tmp_path)
        with monkeypatch.context() as patch:
            failing_after_one(patch, client_errors.ConnectionFailed("The connection broke"))
            assert isinstance(run(sample, "--from", system).exception, client_errors.ConnectionFailed)
        part = len(stored(api))
        said = run(sample, "--from", system).output.splitlines()[0]
        assert said.endswith(f"{len(stored(api)) - part} new, {part} already there")
        assert said.startswith(FOUND[system])


class TestWhatIsKept:
    def test_a_branched_conversation_of_chatgpt_keeps_its_branches(self, api: Api, tmp_path: Path) -> None:
        run(SAMPLES["chatgpt"](tmp_path), "--from", "chatgpt")
        (session,) = [each for each in api.get("/sessions", flow_id="chatgpt")["items"] if each["session_id"] == "c-1"]
        assert session["metadata"] == {"title": "Sourdough"}
        view = api.post("/history", {"flow_id": "chatgpt", "session_id": "c-1"})
        said = [each["content"] for each in view["messages"] if each["role"] != "tool" and not each.get("tool_calls")]
        assert said == ["How much water for 100 g of flour?", "75 g.", "[image: file]\nAnd here?", "75 %."]
        other = api.post("/history", {"flow_id": "chatgpt", "session_id": "c-1", "leaf_id": "c-1:a1-old"})
        assert [message["content"] for message in other["messages"]][-1] == "About 60 g."
        message = api.get("/messages/c-1:a1-old")
        assert message["timestamp"].startswith("2023-11-14T22:13:30")

    def test_a_conversation_that_went_on_is_continued(self, api: Api, tmp_path: Path) -> None:
        run(SAMPLES["chatgpt"](tmp_path), "--from", "chatgpt")
        longer = exports.chatgpt()
        for node in (
            exports.chatgpt_node("q3", "a2", "user", "And rye?"),
            exports.chatgpt_node("a3", "q3", "assistant", "80 %."),
        ):
            longer[0]["mapping"][node["id"]] = node
        longer[0]["current_node"] = "a3"
        said = run(write_json(tmp_path, "conversations.json", longer), "--from", "chatgpt")
        assert said.output.splitlines()[0].endswith("2 new, 9 already there")
        view = api.post("/history", {"flow_id": "chatgpt", "session_id": "c-1"})
        assert [message["content"] for message in view["messages"]][-3:] == ["75 %.", "And rye?", "80 %."]

    def test_a_title_that_was_changed_here_stays(self, api: Api, tmp_path: Path) -> None:
        sample = SAMPLES["claude"](tmp_path)
        run(sample, "--from", "claude")
        api.patch("/sessions", {"flow_id": "claude", "session_id": "k-1", "metadata": {"title": "Mine"}})
        run(sample, "--from", "claude")
        titles = [each["metadata"] for each in api.get("/sessions", flow_id="claude")["items"]]
        assert {"title": "Mine"} in titles

    def test_everything_goes_into_the_flow_and_memory_base_that_are_named(self, api: Api, tmp_path: Path) -> None:
        api.flow("mine")
        said = run(SAMPLES["claude"](tmp_path), "--from", "claude", "--flow", "mine", "--memory", "Notes")
        assert "memory base Notes: 5 ingested, 0 dead letters" in said.output
        assert [(flow["external_id"], flow["name"]) for flow in api.get("/flows")["items"]] == [("mine", "mine")]

    def test_langchains_tools_and_images_are_kept(self, api: Api, tmp_path: Path) -> None:
        run(exports.langchain(tmp_path), "--from", "langchain")
        view = api.post("/history", {"flow_id": "langchain", "session_id": "s-1"})["messages"]
        assert [message["role"] for message in view][:4] == ["user", "assistant", "tool", "assistant"]
        assert view[1]["tool_calls"][0]["function"] == {"name": "multiply", "arguments": '{"a": 6, "b": 7}'}
        assert view[2]["tool_call_id"] == "call-1"
        said = api.get("/messages", flow_id="langchain", session_id="s-2", order="asc")["items"]
        assert [(each["role"], each["external_id"]) for each in said] == [
            ("system", "s-2:4"),
            ("user", "s-2:5"),
            ("tool", "s-2:6"),
            ("assistant", "s-2:7"),
        ]
        assert said[1]["content"][1]["type"] == "image_url"

    def test_langchains_table_in_postgresql_is_imported(self, api: Api, postgres_server: PostgresServer) -> None:
        url = postgres_server.url(postgres_server.create_database())
        engine = sa.create_engine(url)
        session = "44444444-4444-4444-8444-444444444444"
        with engine.begin() as db:  # as PostgresChatMessageHistory.create_tables does
            db.execute(
                sa.text(
                    "CREATE TABLE chat (id SERIAL PRIMARY KEY, session_id UUID NOT NULL, "
                    "message JSONB NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT NOW())"
                )
            )
            for message in exports.langchain_messages():
                values = {"s": session, "m": json.dumps(message), "t": "2026-03-01T10:00:00+02:00"}
                statement = "INSERT INTO chat (session_id, message, created_at) VALUES (:s, CAST(:m AS JSONB), :t)"
                db.execute(sa.text(statement), values)
        engine.dispose()
        plain = url.replace("postgresql+psycopg://", "postgresql://")
        words = (plain, "--from", "langchain", "--table", "chat")
        assert run(*words).output.splitlines()[0].endswith("9 new, 0 already there")
        assert run(*words).output.splitlines()[0].endswith("0 new, 9 already there")
        (message, *_) = stored(api)
        assert (message["session_id"], message["external_id"]) == (session, f"{session}:1")
        assert message["timestamp"].startswith("2026-03-01T08:00:00")

    def test_langflows_flows_runs_and_messages_keep_their_ids(self, api: Api, tmp_path: Path) -> None:
        run(exports.langflow(tmp_path), "--from", "langflow")
        flows = {flow["id"]: flow["name"] for flow in api.get("/flows")["items"]}
        assert flows == {exports.LANGFLOW_FLOW: "Garden", exports.LANGFLOW_OTHER: "Garden"}
        names = {memory["name"] for memory in api.get("/memories")["items"]}
        assert any(name != "Garden" and name.startswith("Garden ") for name in names)
        question, answer, _, failed = api.get("/messages", flow_id=exports.LANGFLOW_FLOW, order="asc")["items"]
        assert (question["id"], question["sender_name"]) == ("00000000-0000-4000-8000-000000000001", "Ada")
        assert (question["files"], question["is_output"]) == (["talk/garden.png"], False)
        assert question["timestamp"].startswith("2026-03-01T10:00:01")
        assert question["run_id"] == answer["run_id"] != failed["run_id"]
        assert answer["metadata"]["source"] == {"id": "Agent-1", "display_name": "Agent", "source": "gpt"}
        assert answer["metadata"]["content_blocks"][0]["title"] == "Agent Steps"
        assert (failed["status"], failed["metadata"]) == ("failed", {"category": "error"})
        assert {each["session_id"] for each in stored(api)} == {"talk", exports.LANGFLOW_OTHER}

    def test_tables_in_postgresql_give_the_same(self, tmp_path: Path, postgres_server: PostgresServer) -> None:
        run(exports.langflow(tmp_path), "--from", "langflow")
        url = postgres_server.url(postgres_server.create_database())
        types: dict[str, sa.types.TypeEngine[Any]] = dict.fromkeys(("id", "flow_id", "run_id"), sa.Uuid(as_uuid=False))
        types |= dict.fromkeys(("files", "properties", "content_blocks", "session_metadata"), sa.JSON())
        types |= {"timestamp": sa.DateTime(), "error": sa.Boolean(), "edit": sa.Boolean(), "is_output": sa.Boolean()}
        rows = exports.langflow_rows()
        for row in rows:
            row["timestamp"] = datetime.fromisoformat(row["timestamp"].removesuffix(" UTC"))
        tables = sa.MetaData()
        message = sa.Table("message", tables, *(sa.Column(name, types.get(name, sa.Text())) for name in rows[0]))
        engine = sa.create_engine(url)
        with engine.begin() as db:
            tables.create_all(db)
            db.execute(message.insert(), rows)
        engine.dispose()
        assert run(url, "--from", "langflow").output.splitlines()[0].endswith("0 new, 6 already there")
        part = next(read_runs("langflow", ImportSource(url), Report()))
        assert part.messages[0]["timestamp"] == "2026-03-01T10:00:01"

    def test_langflows_answers_give_the_same_as_its_table(self, api: Api, tmp_path: Path) -> None:
        run(exports.langflow(tmp_path), "--from", "langflow")
        saved = write_json(tmp_path, "messages.json", exports.langflow_rows())
        assert run(saved, "--from", "langflow").output.splitlines()[0].endswith("0 new, 6 already there")
        assert len(stored(api)) == 6

    def test_memories_belong_to_their_end_users(self, api: Api, tmp_path: Path) -> None:
        run(SAMPLES["mem0"](tmp_path), "--from", "mem0")
        run(SAMPLES["agent-memory-server"](tmp_path), "--from", "agent-memory-server")
        sessions = {
            (flow, each["session_id"], each["end_user_id"])
            for flow in ("mem0", "kitchen")
            for each in api.get("/sessions", flow_id=flow)["items"]
        }
        assert sessions == {
            ("mem0", "ada/r1", "ada"),
            ("mem0", "ada", "ada"),
            ("mem0", "ada/cook", "ada"),
            ("kitchen", "chat-1", "ada"),
            ("kitchen", "ada/chat-1/memories", "ada"),
        }
        base = api.get("/memories", flow_id="kitchen")["items"][0]["id"]
        found = api.post(f"/memories/{base}/search", {"query": "Ada prefers tea", "end_user_id": "ada"})["results"]
        assert found[0]["content"] == "Ada prefers tea."
        assert found[0]["metadata"] == {"memory_type": "semantic", "topics": ["drinks"]}

    def test_later_files_of_an_agent_add_up(self, api: Api, tmp_path: Path) -> None:
        run(SAMPLES["letta"](tmp_path), "--from", "letta")
        later = exports.letta()
        messages = later["agents"][0]["messages"]
        new = {"id": "message-0", "role": "user", "content": "Bye", "created_at": "2026-03-03T00:00:00+00:00"}
        later["agents"][0]["messages"] = [*messages[4:], new]
        later["blocks"][0]["value"] = "Ada has two boats."
        said = run(write_json(tmp_path, "later.af", later), "--from", "letta")
        assert said.output.splitlines()[0].endswith("2 new, 2 already there")
        assert {each["session_id"] for each in stored(api)} == {"harbour", "harbour/blocks"}

    def test_zeps_times_names_and_metadata_are_kept(self, api: Api, tmp_path: Path) -> None:
        run(exports.zep(tmp_path), "--from", "zep")
        question, *_ = api.get("/messages", flow_id="zep", end_user_id="ada", order="asc")["items"]
        assert (question["sender_name"], question["metadata"]) == ("Ada", {"mood": "glad"})
        assert question["timestamp"].startswith("2026-03-01T10:00:01")
        (episode,) = api.get("/messages", flow_id="zep", session_id="harbour")["items"]
        assert episode["metadata"] == {"source": "text", "episode": "note"}


class TestWhatDoesNotFit:
    def test_what_occurs_twice_in_a_source_is_stored_once(self, api: Api, tmp_path: Path) -> None:
        memory = exports.mem0()["results"][0]
        file = write_json(tmp_path, "twice.json", {"results": [memory, memory]})
        said = run(file, "--from", "mem0").output.splitlines()[0]
        assert said == "1 flow, 1 session, 1 run, 2 messages: 1 new, 1 already there"
        assert len(stored(api)) == 1

    def test_what_the_api_refuses_is_reported_and_the_rest_is_stored(self, api: Api, tmp_path: Path) -> None:
        sample = exports.claude()
        run(write_json(tmp_path, "conversations.json", sample), "--from", "claude")
        message = sample[0]["chat_messages"][2]
        message["content"][0]["text"] = "Thank you"  # another text for the same id
        new = exports.claude_message("m-9", "assistant", {"type": "text", "text": "Welcome"}, parent_message_uuid="m-3")
        large = exports.claude_message("m-10", "assistant", {"type": "text", "text": "x" * 60_000})
        sample[0]["chat_messages"] += [new, large]
        said = run(write_json(tmp_path, "conversations.json", sample), "--from", "claude")
        assert said.output.splitlines()[0].endswith("1 new, 5 already there, 2 refused")
        assert "conversations.json[0].chat_messages[2] (field: messages.id, value: m-3)" in said.output
        assert "could not be imported: 1\n" in said.output  # the large one
        assert isinstance(said.exception, errors.InvalidRequest)
        assert api.get("/messages/m-3")["content"] == "Thanks"
        assert api.get("/messages/m-9")["content"] == "Welcome"

    def test_the_report_file_has_every_problem(self, tmp_path: Path) -> None:
        report = tmp_path / "report.jsonl"
        sample = write_json(tmp_path, "conversations.json", [*exports.claude(), {"uuid": 3}, None])
        said = run(sample, "--from", "claude", "--dry-run", "--report", report)
        problems = [json.loads(line) for line in report.read_text().splitlines()]
        assert [problem["where"] for problem in problems] == [
            "conversations.json[0].chat_messages[1].content[0]",
            "conversations.json[1].chat_messages[1]",  # without a text
            "conversations.json[2]",
            "conversations.json[3]",
        ]
        assert "could not be imported: 2\n" in said.output
        assert "not imported: 2\n" in said.output
        assert f"every one of them is in {report}" in said.output
        assert "2 records or messages of" in str(said.exception)

    def test_an_empty_report_file_is_said_to_be_empty(self, tmp_path: Path) -> None:
        report = tmp_path / "report.jsonl"
        sample = write_json(tmp_path, "memories.json", exports.mem0())
        said = run(sample, "--from", "mem0", "--dry-run", "--report", report)
        assert said.output.splitlines()[-1] == f"all of it fits; {report} is empty"
        assert report.read_text() == ""

    def test_an_incomplete_file_is_imported_up_to_there_and_is_an_error(self, api: Api, tmp_path: Path) -> None:
        sample = SAMPLES["chatgpt"](tmp_path)
        sample.write_bytes(sample.read_bytes()[:-10])
        result = run(sample, "--from", "chatgpt")
        assert isinstance(result.exception, errors.InvalidRequest)
        assert "conversations.json ends within the element [1]" in str(result.exception)
        assert len(stored(api)) == 7

    @each_row(
        ("name", "content", "options", "said"),
        [
            ("a.json", "[]", "--from chatgpt", "a.json has no message in the format of chatgpt."),
            ("b.json", "hello", "--from chatgpt", "b.json has no message in the format of chatgpt."),
            ("c.json", json.dumps(exports.claude()), "--from chatgpt", "it looks like claude. Leave --from out"),
            ("d.json", json.dumps(exports.chatgpt()), "--from claude", "it looks like chatgpt. Leave --from out"),
            ("e.jsonl", "", "", "e.jsonl has no message in a format that is recognised"),
            ("f.jsonl", "\n\n", "--from jsonl", "f.jsonl has no message."),
            ("g.json", '{"hello": 1}', "", "has no message in a format that is recognised. Name it with --from"),
            ("h.csv", "a,b\n1,2\n", "", "h.csv cannot be read: a record must be valid JSON (Expecting value"),
            ("i.json", '[{"mapping": {', "", "i.json ends within the element [0]: it is incomplete"),
            ("j.zip", "no archive", "", "j.zip is not a ZIP archive, or it is incomplete"),
            ("k.jsonl", f"{LINE}\n{LINE[:20]}", "", "k.jsonl line 2: the line must be valid JSON"),
            ("l.jsonl", LINE[:20], "", "l.jsonl line 1: the line must be valid JSON"),
            ("m.jsonl", f"{LINE}\n{LINE.replace('user', 'boss')}", "", "m.jsonl line 2: role must be one of user, "),
            ("n.jsonl", f"{LINE}\n{LINE.replace('hello', 'x' * 5_000_000)}", "", "n.jsonl line 2: a message must"),
            (
                "o.jsonl",
                f"{LINE}\n{LINE.replace('hello', chr(233))}".encode("latin-1"),
                "",
                "o.jsonl line 2 is not UTF-8; convert the file: iconv -f latin1",
            ),
            (
                "p.json",
                json.dumps(exports.chatgpt()[:1]).replace("flour", chr(233)).encode("latin-1"),
                "",
                "p.json cannot be read: p.json[0]: a record must be UTF-8 (convert the file: iconv",
            ),
        ],
    )
    def test_a_file_that_cannot_be_imported_is_an_error_that_says_why_and_creates_nothing(
        self, name: str, content: str | bytes, options: str, said: str, api: Api, tmp_path: Path
    ) -> None:
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        result = run(file, *options.split())
        assert said in str(result.exception)
        assert api.get("/flows")["total"] == 0

    def test_a_conversation_that_is_lost_is_no_success(self, api: Api, tmp_path: Path) -> None:
        text = json.dumps(exports.chatgpt(), ensure_ascii=False).replace("Hi!", "\u00e9").encode("latin-1")
        file = tmp_path / "conversations.json"
        file.write_bytes(text)
        said = run(file)
        assert (said.exit_code, len(stored(api))) == (1, 7)
        assert "conversations.json[1] (value: byte " in said.output
        assert "1 record or message of" in str(said.exception)

    @pytest.mark.slow
    def test_options_that_do_not_apply_are_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "own.jsonl"
        file.write_text('{"session_id": "s", "role": "user", "content": "x"}')
        assert "--table does not apply" in str(run(file, "--table", "t").exception)
        assert "--table needs a database" in str(run(file, "--from", "langchain", "--table", "t").exception)
        assert "--memory needs --flow" in str(run(file, "--from", "langflow", "--memory", "m").exception)
        assert "--header does not apply" in str(run(file, "--header", "X-API-Key: k").exception)
        assert "needs --from" in str(run("https://example.com/m").exception)
        assert "--header needs an address" in str(run(file, "--from", "langchain", "--header", "X: k").exception)
        assert "not a database" in str(run(exports.langchain(tmp_path), "--from", "claude").exception)

    def test_the_memory_base_of_another_flow_is_refused(self, api: Api, tmp_path: Path) -> None:
        api.flow()
        api.memory("Notes")
        result = run(SAMPLES["claude"](tmp_path), "--from", "claude", "--memory", "Notes")
        assert "The memory base Notes belongs to another flow" in str(result.exception)


class TestOwnFormat:
    def write(self, folder: Path, count: int, **more: Any) -> Path:
        file = folder / "own.jsonl"
        file.write_text(
            "".join(json.dumps(json.loads(LINE) | {"content": f"{n}", **more}) + "\n" for n in range(count))
        )
        return file

    def test_a_dry_run_counts_and_stores_nothing(self, api: Api, tmp_path: Path) -> None:
        said = run(self.write(tmp_path, 1), "--dry-run").output
        assert said == "1 flow, 1 session, 1 run, 1 message would be imported; nothing was stored\n"
        assert api.get("/flows")["total"] == 0

    def test_an_archive_of_lines_is_imported_in_few_requests(
        self, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wire = Wire(api)
        monkeypatch.setattr(command, "connect", lambda *_: client_of(api, wire))
        file = tmp_path / "own.zip"
        with zipfile.ZipFile(file, "w") as archive:
            archive.write(self.write(tmp_path, 100, end_user_id="ada"), "talk.jsonl")
        said = run(file).output.splitlines()
        assert said == [
            "1 flow, 1 session, 100 runs, 100 messages: 100 new, 0 already there",
            "memory base own: 100 ingested, 0 dead letters",
        ]
        assert wire.paths.count("/import") == 1
        assert not [path for path in wire.paths if path.endswith("/runs")]
        assert {each["end_user_id"] for each in stored(api)} == {"ada"}

    def test_without_a_worker_the_import_says_what_waits(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(import_runs, "ingest", lambda client, base: client.get_memory_base(base.id))
        said = run(self.write(tmp_path, 3))
        assert said.exit_code == 0
        assert said.output.splitlines()[-1] == "3 messages stored; 3 are being ingested"

    def test_what_did_not_fit_is_listed_also_if_nothing_is_ingested(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stalled(*_: Any) -> None:
            raise errors.NotReady("No worker is running")

        monkeypatch.setattr(import_runs, "ingest", stalled)
        conversation = {
            "uuid": "k",
            "chat_messages": [{"uuid": "a", "sender": "human", "text": "x"}, {"sender": "dog"}],
        }
        said = run(write_json(tmp_path, "conversations.json", [conversation]), "--from", "claude")
        assert said.exit_code == 1
        assert "could not be imported: 1" in said.output

    def test_ctrl_c_says_what_is_stored_and_how_to_go_on(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = self.write(tmp_path, 3)
        with monkeypatch.context() as patch:
            failing_after_one(patch, KeyboardInterrupt())
            said = run(file)
        assert (said.exit_code, said.output) == (130, "interrupted: 1 message is stored; run again to continue\n")
        assert run(file).output.startswith("1 flow, 1 session, 3 runs, 3 messages: 2 new, 1 already there\n")

    def test_one_refused_message_among_many_is_named_by_its_line(self, api: Api, tmp_path: Path) -> None:
        run(self.write(tmp_path, 30))
        file = self.write(tmp_path, 33)
        file.write_text(file.read_text().replace('"11"', '"eleven"'))
        said = run(file)
        assert said.output.startswith("1 flow, 1 session, 33 runs, 33 messages: 3 new, 29 already there, 1 refused\n")
        assert "such as own.jsonl line 12 (field: messages.id" in said.output
        assert [each["content"] for each in stored(api)] == [str(n) for n in range(33)]
        assert said.exit_code == 0  # it is stored, as it was

    def test_a_flow_exists_from_its_first_run(self, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        send, sent = Client.import_lines, []

        def recorded(client: Client, lines: Any, **options: Any) -> models.ImportAnswer:
            sent.append([json.loads(line)["type"] for line in lines])
            assert len(sent) > 1 or api.get("/flows")["total"] == 0
            return send(client, lines, **options)

        monkeypatch.setattr(Client, "import_lines", recorded)
        file = self.write(tmp_path, 33)
        lines = file.read_text().splitlines()
        for at in (0, 11):  # one id, two contents: the second is refused in the request that creates the flow
            lines[at] = json.dumps(json.loads(lines[at]) | {"id": "same"})
        file.write_text("\n".join(lines))
        said = run(file)
        assert said.output.startswith("1 flow, 1 session, 33 runs, 33 messages: 32 new, 0 already there, 1 refused\n")
        assert "such as own.jsonl line 12 (field: messages.id" in said.output
        assert [types.count("flow") for types in sent] == [1] + [0] * (len(sent) - 1)
        assert len(sent) > 1

    def test_with_a_limited_key_run_by_run(self, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        limited = api.limited_key(flow_ids=[UUID(api.get(f"/flows/{api.flow()}")["id"])])
        monkeypatch.setattr(command, "connect", lambda *_: client_of(limited))
        said = run(self.write(tmp_path, 2), "--flow", "support")
        assert said.output.startswith("1 flow, 1 session, 2 runs, 2 messages: 2 new, 0 already there\n")


class TestCommits:
    """Of a repository, into the flow of the coding agents."""

    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    def test_only_new_ones_are_added_and_found_by_path_and_author(
        self, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository = Repository(tmp_path / "shop")
        for number in range(40):
            repository.commit(f"Change the part {number}", f"parts/part_{number}.py")
        repository.commit("Notify once a batch", "worker/queue.py", "worker/tasks.py")
        first = run("--from", "git", repository.path)
        monkeypatch.chdir(repository.path)
        second = run("--from", "git")
        repository.commit("Retry late ones", "worker/retries.py")
        third = run("--from", "git")
        whole = run("--from", "git", "--all")

        assert first.output.splitlines()[0] == "1 flow, 1 session, 1 run, 41 messages: 41 new, 0 already there"
        assert second.output.startswith("0 new: the flow has the commits of this repository")
        assert third.output.splitlines()[0] == "1 flow, 1 session, 1 run, 1 message: 1 new, 0 already there"
        assert whole.output.splitlines()[0].endswith("0 new, 42 already there")
        assert first.exit_code == second.exit_code == third.exit_code == whole.exit_code == 0
        for question, text in (
            ("when did we change worker/queue.py", "Notify once a batch"),
            ("worker/retries.py", "Retry late ones"),
        ):
            (hit, *_) = api.post("/search", {"flow_id": "coding-agent", "query": question})["results"]
            assert hit["content"].startswith(text)
            assert (hit["role"], hit["sender_name"], hit["metadata"]["project"]) == (
                "assistant",
                "Ada Lovelace",
                str(repository.path),
            )

    def test_what_is_no_repository_is_an_error_and_stores_nothing(self, api: Api, tmp_path: Path) -> None:
        for words, text in (
            (("--from", "git", tmp_path), "must be in a git repository"),
            (("--from", "git", "--table", "x", tmp_path), "--table does not apply to git"),
            ((), "FILE is missing"),
        ):
            assert text in str(run(*words).exception)
        assert api.get("/flows")["total"] == 0
