"""Export and import with the same ids; erasure with a correct receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness.api import Api, open_api
from harness.clients import client_of
from harness.rows import each_row
from harness.world import World
from memorybase_client import Client, _lines
from memorybase_client import errors as client_errors
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command, export_file
from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.import_export import exporter, lines
from memorybase.core.models import Flow, LedgerEntry, SessionSummary
from memorybase.core.sessions import edits
from memorybase.core.settings import Settings

Json = dict[str, Any]
OTHERS = ("chat_memories", "chats", "chat_messages", "summaries", "node_executions", "memory_uses")
NO_CHATS = dict.fromkeys(OTHERS, 0)
NONE = {"created": 0, "known": 0, "deleted": 0}
GIVEN_ANEW = {"captured_at", "edited_at", "version", "created_at", "last_captured_at", "seq"}


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, api_settings: Settings) -> Iterator[Api]:
    """The API on each database."""
    if request.param == "postgresql":
        api_settings = api_settings.model_copy(update={"database_url": request.getfixturevalue("ready_postgres_url")})
    with open_api(api_settings) as api:
        yield api


@pytest.fixture
def away(tmp_path: Path, api_settings: Settings) -> Iterator[Api]:
    """A second installation."""
    stated = api_settings.model_dump(exclude={"data_dir", "database_url"})
    with open_api(Settings(data_dir=tmp_path / "away", **stated)) as api:
        yield api


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lines, "PAGE", 2)
    (tmp_path / "away").mkdir(exist_ok=True)


def filled(api: Api) -> None:
    """Two flows with external and generated ids, a parent message, tool calls, an unusual separator and an edit."""
    api.call("PUT", "/flows/a%2Fflow", json={"name": "a/flow"}, expect=201)
    api.flow("other")
    question = {"id": "q-1", "role": "user", "content": "line\u2028separator \u00e4", "metadata": {"deep": {"x": [1]}}}
    answer = {"id": "a-1", "role": "assistant", "content": "yes", "parent_message_id": "q-1", "sender_name": "Bot"}
    answer |= {"timestamp": "2024-02-03T04:05:06+00:00", "files": [{"name": "f"}]}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]}
    result = {"role": "tool", "content": [{"type": "text", "text": "42"}], "tool_call_id": "c", "name": "sum"}
    runs = "/flows/a%2Fflow/runs"
    body = {"session_id": "s", "run_id": "r-1", "end_user_id": "ada", "messages": [question, answer]}
    api.post(runs, body, expect=201)
    api.post(runs, {"session_id": "s", "end_user_id": "ada", "messages": [call, result]}, expect=201)
    api.post(runs, {"session_id": "s", "run_id": "empty", "messages": []}, expect=201)
    api.post(runs, {"session_id": "t", "messages": [{"role": "user", "content": str(n)} for n in range(5)]}, expect=201)
    api.capture("elsewhere", flow="other", session="s", end_user_id="ada")
    api.patch("/sessions", {"flow_id": "a/flow", "session_id": "s", "metadata": {"topic": "sums"}})
    api.patch("/messages/q-1", {"content": "edited"})


def remembered(api: Api) -> None:
    """A session with executions, a summary, and memory uses of each and of a chat."""
    api.flow("f")
    for number in range(6):
        question = {"id": f"q-{number}", "role": "user", "content": f"the secret {number}"}
        said = [question, {"role": "assistant", "content": f"answer {number}"}]
        run = {"session_id": "s", "run_id": f"r-{number}", "end_user_id": "ada", "messages": said}
        api.post("/flows/f/runs", run, expect=201)
    for number in (0, 1):
        context = [{"role": "user", "content": f"q{number}"}, {"role": "assistant", "content": f"a{number}"}]
        body = {"flow_id": "f", "session_id": "s", "run_id": f"r-{number}", "node_id": "llm", "status": "succeeded"}
        body |= {"outputs": {"text": f"a{number}", "context": context}}
        api.call("PUT", f"/node-executions/e-{number}", json=body, expect=201)
    api.call("PUT", "/node-executions/failed", json=body | {"node_id": "other", "status": "failed"}, expect=201)
    api.post("/history", {"flow_id": "f", "session_id": "s", "run_id": "r-1", "node_id": "llm", "mode": "node"})
    leaf = api.get("/messages", run_id="r-0", role="assistant")["items"][0]["id"]
    api.post("/history", {"flow_id": "f", "session_id": "s", "run_id": "r-2", "node_id": "llm", "leaf_id": leaf})
    asked = {"flow_id": "f", "session_id": "s", "token_budget": 4_000, "preset": "flowx_5"}
    api.post("/context", asked)
    with api.services.database.transaction() as db:
        (summary,) = db.scalars(sa.select(SessionSummary))
        summary.text, summary.to_seq = "summed up", summary.requested_seq
        summary.last_message_id = summary.requested_message_id
    api.post("/context", asked | {"run_id": "r-5", "node_id": "agent"})
    api.call("PUT", "/flows/f/chat-memories/n", json={"name": "n", "chat_id": "c"}, expect=201)
    body = {"chat_id": "c", "end_user_id": "ada", "messages": [{"role": "user", "content": "x", "id": "x"}]}
    api.post("/flows/f/chat-memories/n/messages", body, expect=201)
    for run_id in ("r-5", "never captured"):
        api.post("/flows/f/chat-memories/n/view", {"chat_id": "c", "run_id": run_id})


def exported(api: Api, **query: Any) -> list[Json]:
    answer = api.call("GET", "/export", params=query)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.content.split(b"\n") if line]


def of(kind: str, lines: list[Json]) -> list[Json]:
    return [line for line in lines if line["type"] == kind]


def imported(api: Api, lines: list[Json], *, expect: int = 200, **query: Any) -> Json:
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    answer: Json = api.call("POST", "/import", content=body, params=query, expect=expect).json()
    return answer


def kept(line: Json) -> Json:
    return {name: value for name, value in line.items() if name not in GIVEN_ANEW}


class TestExport:
    def test_an_export_has_every_field_of_everything_once(self, home: Api) -> None:
        filled(home)
        lines = exported(home)
        assert (lines[0]["type"], lines[0]["format"]) == ("export", 1)
        assert lines[-1] == {"type": "end", "flows": 2, "sessions": 3, "runs": 5, "messages": 10} | NO_CHATS
        assert [len(of(kind, lines)) for kind in ("flow", "session", "run", "message")] == [2, 3, 5, 10]
        shown = {each["id"]: each for each in home.get("/messages", size=200)["items"]}
        for line in of("message", lines):
            item = shown.pop(line["id"])
            for name in item.keys() - {"ingested", "timestamp", "captured_at", "edited_at"}:
                assert line[name] == item[name], name
        assert shown == {}
        (reply,) = [line for line in of("message", lines) if line["external_id"] == "a-1"]
        assert (reply["parent_external_id"], reply["run_external_id"]) == ("q-1", "r-1")

    def test_lines_are_in_an_order_that_can_be_stored(self, home: Api) -> None:
        filled(home)
        seen: set[tuple[str, ...]] = set()
        for line in exported(home)[1:-1]:
            kind, flow = line["type"], line.get("flow_id", "")
            session = ("session", flow, line.get("session_id", ""))
            needed = [("flow", flow), session, ("run", line.get("run_id", ""))]
            assert seen.issuperset(needed[: ["flow", "session", "run", "message"].index(kind)])
            seen.add(session if kind == "session" else (kind, line["id"]))

    def test_an_export_can_be_filtered(self, home: Api) -> None:
        filled(home)
        base = home.memory(flow="other")["id"]
        assert exported(home, flow_id="a/flow")[-1]["messages"] == 9
        of_base = {"type": "end", "flows": 1, "sessions": 1, "runs": 1, "messages": 1}
        assert exported(home, memory_base_id=base)[-1] == of_base | NO_CHATS
        ada = exported(home, end_user_id="ada")
        assert (ada[-1]["sessions"], ada[-1]["messages"]) == (2, 5)
        assert {line["end_user_id"] for line in of("message", ada)} == {"ada"}
        assert exported(home, end_user_id="nobody")[-1]["flows"] == 0
        refused = home.refused("GET", "/export", 422, params={"memory_base_id": base, "flow_id": "a/flow"})
        assert refused["field"] == "flow_id"
        assert home.refused("GET", "/export", 404, params={"flow_id": "nowhere"})["code"] == "not_found"

    def test_deleted_data_is_not_exported(self, home: Api) -> None:
        filled(home)
        home.delete("/sessions", flow_id="a/flow", session_id="t", expect=200)
        assert exported(home)[-1]["sessions"] == 2
        with home.services.database.transaction() as db:
            db.execute(sa.update(Flow).where(Flow.external_id == "other").values(deleting_at=Flow.created_at))
        assert (exported(home)[-1]["flows"], exported(home)[-1]["sessions"]) == (1, 1)

    def test_another_users_data_is_not_exported(self, home: Api) -> None:
        filled(home)
        base = home.memory(flow="other")["id"]
        (flow,) = [line["id"] for line in of("flow", exported(home)) if line["external_id"] == "other"]
        stranger = home.of_user("stranger")
        assert exported(stranger)[-1] == {"type": "end", "flows": 0, "sessions": 0, "runs": 0, "messages": 0} | NO_CHATS
        for which in ({"flow_id": flow}, {"memory_base_id": base}):
            assert stranger.refused("GET", "/export", 404, params=which)["code"] == "not_found"

    def test_an_answer_to_another_users_message_does_not_name_it(self, home: Api) -> None:
        home.flow()
        stranger = home.of_user("stranger")
        stranger.flow("theirs")
        raw = {"id": "their-name-for-it", "role": "user", "content": "x"}
        theirs = stranger.post("/flows/theirs/runs", {"session_id": "s", "messages": [raw]}, expect=201)
        parent = theirs["messages"][0]["id"]
        answer = {"role": "assistant", "content": "y", "parent_message_id": parent}
        home.post("/flows/support/runs", {"session_id": "s", "messages": [answer]}, expect=201)
        (line,) = of("message", exported(home))
        assert (line["parent_message_id"], line["parent_external_id"]) == (parent, None)


class TestImport:
    def test_an_import_elsewhere_exports_the_same(self, home: Api, away: Api) -> None:
        filled(home)
        lines = exported(home)
        answer = imported(away, lines)
        of_nodes = {kind: {"created": 0, "known": 0} for kind in ("node_executions", "memory_uses")}
        chats = {"chat_memories": 0, "chat_messages": NONE}
        counted = {"lines": len(lines), "flows": 2, "sessions": 3, "runs": 5, "messages": NONE | {"created": 10}}
        assert answer == counted | chats | of_nodes
        again = exported(away)
        assert again[-1] == lines[-1]
        ours = {"id", "run_id", "flow_id", "parent_message_id"}  # of what has an id of its owner's: by user
        plain = [{k: v for k, v in kept(line).items() if k not in ours} for line in of("message", lines)]
        assert sorted(map(repr, plain)) == sorted(
            repr({k: v for k, v in kept(line).items() if k not in ours}) for line in of("message", again)
        )
        nameless = {line["id"] for line in of("message", lines) if line["external_id"] is None}
        assert len(nameless) == 8
        assert nameless <= {line["id"] for line in of("message", again)}
        reply = away.get("/messages/a-1")
        assert reply["parent_message_id"] == away.get("/messages/q-1")["id"]
        assert away.get("/runs/empty")["messages"] == 0
        (session,) = [s for s in away.get("/sessions")["items"] if s["metadata"]]
        assert session["metadata"] == {"topic": "sums"}

    @pytest.mark.slow
    def test_chats_are_exported_and_imported(self, home: Api, away: Api) -> None:
        home.flow("a")
        node = "/flows/a/chat-memories/n%2F1"
        home.call("PUT", node, json={"name": "notes", "chat_id": "{{ c }}", "max_messages": 7}, expect=201)
        for number, user in ((1, "ada"), (2, None)):
            for run_id in ("r", None, None):
                said = [{"role": "user", "content": "x", "id": f"{number}{run_id}"}, {"role": "user", "content": "y"}]
                body = {"chat_id": f"c{number}", "run_id": run_id, "end_user_id": user, "messages": said[not run_id :]}
                home.post(f"{node}/messages", body, expect=201)
        lines = exported(home)
        assert lines[-1]["chat_messages"] == 8
        assert {line["chat_id"] for line in of("chat_message", exported(home, end_user_id="ada"))} == {"c1"}

        answer = imported(away, lines)
        assert (answer["chat_memories"], answer["chat_messages"]) == (1, {"created": 8, "known": 0, "deleted": 0})
        assert imported(away, lines)["chat_messages"] == {"created": 0, "known": 8, "deleted": 0}
        assert away.get(node)["max_messages"] == 7
        given_anew = {"id", "flow_id", "request_id", "created_at"}
        there, here = (
            [repr({k: v for k, v in line.items() if k not in given_anew}) for line in of("chat_message", each)]
            for each in (exported(away), lines)
        )
        assert sorted(there) == sorted(here)
        newest = {"chat_id": "c1", "mode": "latest_request", "roles": ["user", "assistant"]}
        gone = away.delete(f"{node}/messages", **newest, expect=200)
        assert len(gone.json()["deleted"]) == 1, "what one call has written stays one request"
        assert away.delete("/end-users/ada", expect=200).json()["chats"] == 1
        for broken in ({"node_id": " "}, {"max_messages": "many"}):
            line = of("chat_memory", lines)[0] | broken
            assert imported(away, [line], expect=422)["error"]["field"] == f"line 1.{next(iter(broken))}"

    def test_node_executions_and_memory_uses_are_exported_and_imported(self, home: Api, away: Api) -> None:
        remembered(home)
        everything = exported(home)
        assert [everything[-1][kind] for kind in ("summaries", "node_executions", "memory_uses")] == [1, 3, 5]
        for first in (True, False):
            answer = imported(away, everything)
            for kind, count in (("node_executions", 3), ("memory_uses", 5)):
                assert answer[kind] == {"created": count * first, "known": count * (not first)}
        asked = {"flow_id": "f", "session_id": "s", "mode": "node", "node_id": "llm"}
        assert [api.post("/history", asked)["messages"] for api in (away, home)] == [
            [{"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"}]
        ] * 2
        for run in ("r-2", "r-5"):
            ours, theirs = (api.get(f"/flows/f/runs/{run}/memory")["nodes"] for api in (home, away))
            shown = [[(node["node_id"], node["at"]) for node in nodes] for nodes in (ours, theirs)]
            assert shown[0] == shown[1]
        (given,) = away.get("/flows/f/runs/r-2/memory")["nodes"]
        assert [message["content"] for message in given["messages"]] == ["the secret 0", "answer 0"]
        away.delete("/messages/q-0", expect=200)
        (given,) = away.get("/flows/f/runs/r-2/memory")["nodes"]
        assert [message["content"] for message in given["messages"]] == ["[deleted]", "answer 0"]
        assert "summed up" in str(home.get("/flows/f/runs/r-5/memory"))
        assert "summed up" not in str(away.get("/flows/f/runs/r-5/memory")), "made anew there"
        assert imported(away, everything)["memory_uses"]["created"] == 0

    def test_a_memory_use_keeps_for_whom_it_was_asked(self, home: Api, away: Api) -> None:
        home.flow("f")
        asked = {"flow_id": "f", "token_budget": 1_000, "node_id": "llm", "query": "Who am I?"}
        for person, session in (("ada", "not stored"), ("ada", "s"), ("ben", "another")):
            home.post("/context", asked | {"session_id": session, "run_id": f"r of {session}", "end_user_id": person})
        home.capture("hello", flow="f", session="s", run_id="r of s", end_user_id="ada")

        imported(away, exported(home, end_user_id="ada"))

        def uses(api: Api, **query: Any) -> set[tuple[str, str, str]]:
            lines = of("memory_use", exported(api, **query))
            return {(line["session_id"], line["end_user_id"], line["run_external_id"]) for line in lines}

        assert uses(home, end_user_id="ada") == uses(away) == {("s", "ada", "r of s"), ("not stored", "ada", None)}
        assert len(uses(home)) == 3
        assert away.delete("/end-users/ada", expect=200).json()["memory_uses"] == 2
        assert uses(away) == set()

    def test_node_memory_can_be_imported_in_parts(self, home: Api, away: Api) -> None:
        remembered(home)
        lines_out = exported(home)
        rest = [line for line in lines_out if line["type"] in ("node_execution", "memory_use")]
        for line in [*of("flow", lines_out), *rest, *rest]:
            imported(away, [line])
        assert [len(of(line, exported(away))) for line in ("node_execution", "memory_use")] == [3, 5]
        bad = {"node_execution": ("status", "fine"), "memory_use": ("sources", [])}
        for line in (of("node_execution", rest)[0], next(use for use in of("memory_use", rest) if use["messages"])):
            name, value = bad[line["type"]]
            assert imported(away, [line | {name: value}], expect=422)["error"]["field"] == f"line 1.{name}"
        use = of("memory_use", rest)[0]
        for field, name, value in (
            ("external_ids", "message", ["a"]),
            ("report", "kept", 5),
            ("report", "removed", ["x"]),
        ):
            odd = use | {field: {name: value}}
            error = imported(away, [of("flow", lines_out)[0], odd], expect=422)["error"]
            assert error["field"] == f"line 2.{field}.{name}"

    def test_repeating_changes_nothing(self, home: Api) -> None:
        filled(home)
        before = exported(home)
        answer = imported(home, before)
        assert answer["messages"] == {"created": 0, "known": 10, "deleted": 0}
        assert exported(home)[1:] == before[1:]

    def test_an_import_restores_erased_data_with_its_ids(self, home: Api) -> None:
        filled(home)
        before = exported(home)
        home.delete("/sessions", flow_id="a/flow", session_id="s", expect=200)
        assert imported(home, before)["messages"] == {"created": 4, "known": 6, "deleted": 0}
        stored, old = (sorted(repr(kept(x)) for x in of("message", each)) for each in (exported(home), before))
        assert stored == old

    def test_an_export_can_be_imported_in_parts(self, home: Api, away: Api) -> None:
        filled(home)
        lines = exported(home)
        created = 0
        for line in lines:  # one line a request, each twice: as a client does that loses every answer
            created += imported(away, [line])["messages"]["created"]
            assert imported(away, [line])["messages"]["created"] == 0
        assert created == 10
        assert exported(away)[-1] == lines[-1]

    def test_other_content_for_a_known_id_conflicts(self, home: Api) -> None:
        filled(home)
        lines = exported(home)
        home.patch("/messages/a-1", {"content": "edited since"})
        (line,) = [each for each in of("message", lines) if each["external_id"] == "a-1"]
        assert imported(home, lines)["messages"]["known"] == 10  # equal to what was captured
        line["content"] = "a third text"
        refused = imported(home, lines, expect=409)["error"]
        at = refused["details"]["line"] - 1
        assert (refused["code"], lines[at]["type"]) == ("message_conflict", "run")
        before = {"created": 0, "known": len(of("message", lines[:at])), "deleted": 0}
        assert refused["details"]["messages"] == before
        imported(home, lines, on_conflict="keep")
        assert home.get("/messages/a-1")["content"] == "edited since"
        imported(home, lines, on_conflict="update")
        assert home.get("/messages/a-1")["content"] == "a third text"

    def test_existing_objects_keep_their_name_and_metadata(self, home: Api) -> None:
        filled(home)
        before = exported(home)
        home.call("PUT", "/flows/a%2Fflow", json={"name": "renamed since"})
        home.patch("/sessions", {"flow_id": "a/flow", "session_id": "s", "metadata": {"topic": "changed since"}})
        imported(home, before)
        assert {line["name"] for line in of("flow", exported(home))} == {"renamed since", "other"}
        (session,) = [line for line in of("session", exported(home)) if line["metadata"]]
        assert session["metadata"] == {"topic": "changed since"}

    def test_an_empty_session_has_its_end_user_and_keeps_it(self, home: Api) -> None:
        home.flow()
        line = {"type": "session", "flow_id": "support", "session_id": "s", "end_user_id": "ada"}
        imported(home, [line])
        imported(home, [line])
        assert [session["end_user_id"] for session in of("session", exported(home))] == ["ada"]
        refused = imported(home, [line | {"end_user_id": "eve"}], expect=409)["error"]
        assert (refused["code"], refused["details"]["line"]) == ("session_conflict", 1)

    def test_runs_with_more_messages_than_a_request_allows(self, home: Api) -> None:
        filled(home)
        lines = exported(home)
        (message,) = [line for line in of("message", lines) if line["external_id"] == "a-1"]
        many = [message | {"external_id": f"m-{n}", "id": f"m-{n}"} for n in range(51)]  # a request holds 50
        assert imported(home, [*of("flow", lines), *many])["messages"]["created"] == 51
        message["content"] = "x" * 50_001
        assert imported(home, [message], expect=422)["error"]["field"] == "line 1"

    def test_an_import_triggers_like_a_capture(self, home: Api, away: Api) -> None:
        filled(home)
        away.call("PUT", "/flows/a%2Fflow", json={"name": "mine"}, expect=201)
        base = away.memory(flow="a/flow", threshold=1, capture="all")["id"]
        imported(away, exported(home))
        away.work()
        assert away.get(f"/memories/{base}")["total_processed"] == 8

    @each_row(
        ("line", "field"),
        [
            ("{", "line 2"),
            ("[]", "line 2"),
            ('{"type": "surprise"}', "line 2.type"),
            ('{"type": []}', "line 2.type"),
            ('{"type": "export", "format": 2}', "line 2.format"),
            ('{"type": "flow", "id": "x", "name": 3}', "line 2.name"),
            ('{"type": "flow", "id": null, "name": "n"}', "line 2.id"),
            ('{"type": "session", "flow_id": "f"}', "line 2.session_id"),
            ('{"type": "session", "flow_id": "f", "session_id": "\\u0000"}', "line 2.session_id"),
            ('{"type": "session", "flow_id": "f", "session_id": "s", "metadata": [1]}', "line 2.metadata"),
            ('{"type": "session", "flow_id": "f", "session_id": "s", "metadata": {"k": "\\u0000"}}', "line 2.metadata"),
            ('{"type": "run", "flow_id": "f", "session_id": "s"}', "line 2.id"),
            ('{"type": "message", "flow_id": "f", "session_id": "s", "run_id": "r", "role": "user"}', "line 2.id"),
            (
                '{"type": "message", "flow_id": "f", "session_id": "s", "run_id": "r", "id": "i", "role": "king"}',
                "line 2.role",
            ),
        ],
    )
    def test_an_invalid_line_is_named_and_nothing_is_stored(self, api: Api, line: str, field: str) -> None:
        body = '{"type": "flow", "id": "f", "name": "f"}\n' + line
        refused = api.refused("POST", "/import", 422, content=body.encode())
        assert (refused["field"], refused["details"]) == (field, {"line": 2})
        assert api.get("/flows")["total"] == 0

    def test_lines_without_their_flow_are_404(self, api: Api) -> None:
        line = b'{"type": "session", "flow_id": "f", "session_id": "s"}'
        details = api.refused("POST", "/import", 404, content=line)["details"]
        assert details == {"line": 1, "messages": NONE}

    def test_runs_of_a_session_are_stored_in_one_transaction(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        waits: list[bool] = []
        begin = Database.transaction

        def transaction(database: Database, *, durable: bool = True, apart: bool = False) -> Any:
            waits.append(durable)
            return begin(database, durable=durable, apart=apart)

        api.flow()
        line = {"type": "message", "flow_id": "support", "session_id": "s", "role": "user", "content": "x"}
        lines = [{**line, "id": str(n), "run_id": str(n)} for n in range(5)]
        with monkeypatch.context() as patch:
            patch.setattr(Database, "transaction", transaction)
            imported(api, lines)
            assert waits == [False, True]
            new = [{**line, "id": "5", "run_id": "5"}, {**line, "id": "6", "run_id": "6"}]
            refused = imported(api, [*lines, new[0], {**lines[0], "content": "other"}, new[1]], expect=409)["error"]
        assert (waits.count(True), waits[-1]) == (2, True)
        del refused["details"]["message_id"]
        assert refused["details"] == {"line": 7, "messages": {"created": 1, "known": 5, "deleted": 0}}
        stored = api.get("/messages", flow_id="support", order="asc")["items"]
        assert [(each["external_id"], each["seq"]) for each in stored] == [(str(n), n + 1) for n in range(6)]
        runs = {run["run_id"]: run["external_id"] for run in api.get("/flows/support/runs")["items"]}
        assert [runs[each["run_id"]] for each in stored] == [str(n) for n in range(6)]

    def test_read_keys_can_export_but_not_import(self, api: Api) -> None:
        reader = api.of_user("local", "read")
        assert exported(reader)[-1]["type"] == "end"
        assert reader.refused("POST", "/import", 403, content=b"")["code"] == "forbidden"


class TestErasure:
    def test_the_receipt_counts_everything(self, home: Api) -> None:
        filled(home)
        bases = [home.memory(name, flow="a/flow", capture="all")["id"] for name in ("one", "two")]
        for base in bases:
            home.post(f"/memories/{base}/flush", expect=202)
        home.work()
        with home.services.database.reading() as db:
            held = db.scalar(sa.select(sa.func.sum(LedgerEntry.chunks)))
        receipt = home.delete("/end-users/ada", expect=200).json()
        assert (receipt["sessions"], receipt["runs"], receipt["messages"]) == (2, 4, 5)
        assert receipt["chunks"] == held - 10 > 0  # the other session's five, in each of the two
        assert (receipt["pending_repairs"], len(receipt["job_ids"])) == (2, 2)
        assert home.get("/messages", end_user_id="ada")["total"] == 0
        home.work()
        assert all(home.get(f"/memories/{base}/mismatch")["found"] == 5 for base in bases)
        assert {home.get(f"/jobs/{job}")["state"] for job in receipt["job_ids"]} == {"done"}
        assert home.refused("DELETE", "/end-users/ada", 404)["field"] == "end_user_id"

    def test_the_receipt_is_kept_without_the_id(self, home: Api) -> None:
        filled(home)
        answer = home.delete("/end-users/ada", expect=200).json()
        (kept,) = home.get("/erasures")["items"]
        assert kept == answer | {"job_ids": []} == home.get(f"/erasures/{answer['id']}")
        assert (kept["operation"], kept["flow_id"], kept["messages"]) == ("erase_end_user", None, 5)
        assert "ada" not in str(kept)
        assert {each["code"] for each in kept["remaining"]} >= {"store_log", "vectors", "audit_log", "backups"}
        assert [home.get("/erasures", end_user_id=each)["total"] for each in ("ada", "ben")] == [1, 0]
        assert home.get("/retention/passes")["total"] == 0

        home.flow("pantry")
        home.capture("apples", flow="pantry", session="s9")
        deleted = home.delete("/sessions", flow_id="pantry", session_id="s9", expect=200).json()
        assert home.get("/erasures")["items"] == [deleted | {"job_ids": []}, kept]
        assert (deleted["operation"], deleted["sessions"], deleted["runs"]) == ("delete_session", 1, 1)
        assert home.refused("GET", f"/erasures/{uuid4()}", 404)["code"] == "not_found"

    def test_the_receipt_counts_executions_and_memory_uses(self, home: Api) -> None:
        remembered(home)
        receipt = home.delete("/end-users/ada", expect=200).json()
        counted = ("node_executions", "context_messages", "memory_uses", "summaries", "chats", "chat_messages")
        assert [receipt[name] for name in counted] == [3, 6, 5, 1, 1, 1]
        left = exported(home)
        assert [len(of(kind, left)) for kind in ("summary", "node_execution", "memory_use")] == [0, 0, 0]

    def test_no_text_is_left_after_erasure(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the secret", end_user_id="ada/1")
        world.say("s2", "not hers")
        world.settle()
        receipt = edits.erase_end_user(world.services, world.user_id, "ada/1")
        assert (receipt.sessions, receipt.messages, receipt.chunks, receipt.pending_repairs) == (1, 1, 1, 1)
        world.settle()
        world.sweep()
        assert [m.session_id for m in world.messages()] == ["s2"]
        assert [r.text for r in world.vectors.records(world.ref(base)).values()] == ["not hers"]
        with world.services.database.reading() as db:
            left = db.execute(sa.text("SELECT count(*) FROM sessions WHERE end_user_id = 'ada/1'")).scalar_one()
        assert left == 0

    def test_a_repair_after_an_active_job_is_pending_too(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "one")
        world.settle()
        world.say("s", "two")
        receipt = edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        assert (receipt.messages, receipt.chunks, receipt.pending_repairs, receipt.job_ids) == (2, 1, 1, [])
        world.settle()
        assert world.stored(base) == set()

    def test_only_the_callers_end_user_is_erased(self, world: World) -> None:
        world.say("s", "mine", end_user_id="ada")
        with pytest.raises(errors.NotFound):
            edits.erase_end_user(world.services, world.new_user(), "ada")
        assert len(world.messages()) == 1

    def test_more_sessions_than_a_page_are_erased(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memorybase.core.sessions.edits.ERASE_PAGE", 2)
        for n in range(5):
            world.say(f"s{n}", "x", end_user_id="ada")
        assert edits.erase_end_user(world.services, world.user_id, "ada").sessions == 5
        assert world.messages() == []

    def test_a_session_that_fails_does_not_keep_the_others(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memorybase.core.sessions.edits.ERASE_PAGE", 2)
        for n in range(5):
            world.say(f"s{n}", "x", end_user_id="ada")
        erase = edits.erase_session

        failing = {"s0", "s1"}

        def fails(services: Any, user_id: Any, flow_id: Any, session_id: str) -> Any:
            if session_id in failing:
                raise errors.DatabaseUnavailable("It takes too long")
            return erase(services, user_id, flow_id, session_id)

        monkeypatch.setattr("memorybase.core.sessions.edits.erase_session", fails)
        with pytest.raises(errors.DatabaseUnavailable):
            edits.erase_end_user(world.services, world.user_id, "ada")
        assert {message.session_id for message in world.messages()} == failing
        failing.clear()
        assert edits.erase_end_user(world.services, world.user_id, "ada").sessions == 2

    def test_ids_with_slashes_and_invalid_ids(self, api: Api) -> None:
        api.flow()
        api.capture("x", end_user_id="a/b")
        assert api.refused("DELETE", "/end-users/a%00", 422)["field"] == "end_user_id"
        assert api.delete("/end-users/a%2Fb", expect=200).json()["sessions"] == 1


class TestCommands:
    @pytest.fixture
    def connected(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        def to(api: Api) -> None:
            for module in (export_file, command):
                monkeypatch.setattr(module, "connect", lambda *_: client_of(api))

        return to

    def test_an_export_is_imported_by_the_command_line(
        self, api: Api, away: Api, connected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_lines, "PART_LINES", 3)
        filled(api)
        connected(api)
        file = tmp_path / "all.jsonl"
        said = CliRunner().invoke(cli.app, ["export", str(file)])
        assert said.output.strip() == f"2 flows, 3 sessions, 5 runs, 10 messages written to {file}"
        assert list(tmp_path.glob("*.part")) == []
        connected(away)
        for wanted in ("10 new, 0 already there", "0 new, 10 already there"):
            said = CliRunner().invoke(cli.app, ["import", str(file)])
            assert said.output.strip() == f"2 flows, 3 sessions, 5 runs; messages: {wanted}"
        assert exported(away)[-1] == exported(api)[-1]

    def test_an_import_that_is_refused_names_the_line_of_the_file(
        self, api: Api, connected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_lines, "PART_LINES", 3)
        filled(api)
        connected(api)
        file = tmp_path / "all.jsonl"
        CliRunner().invoke(cli.app, ["export", str(file)])
        lines = [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
        # The flows come in the order of their ids, which are random.
        at = next(at for at, line in enumerate(lines) if line.get("external_id") == "a-1")
        lines[at]["content"] = "no"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        said = CliRunner().invoke(cli.app, ["import", str(file)])
        assert isinstance(said.exception, errors.InvalidRequest)
        assert said.exception.message.startswith(f"{file}, from line {at // 3 * 3 + 1} on: ")

    def test_a_broken_export_replaces_nothing(
        self, api: Api, connected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connected(api)
        file = tmp_path / "all.jsonl"
        file.write_text("precious")
        whole = exporter.export

        def broken(*arguments: Any) -> Iterator[bytes]:
            yield next(whole(*arguments))

        monkeypatch.setattr(exporter, "export", broken)
        said = CliRunner().invoke(cli.app, ["export", str(file)])
        assert isinstance(said.exception, errors.NotReady)
        assert file.read_text() == "precious"
        assert file.with_name("all.jsonl.part").read_bytes()

    @each_row(
        ("where", "lines", "failure", "said"),
        [
            ("folder", 1, None, "folder must be a file, not a folder."),
            ("file/all.jsonl", 1, None, "all.jsonl.part cannot be written: Not a directory."),
            ("all.jsonl", 1, client_errors.UnexpectedAnswer("Half an answer"), "Half an answer"),
            ("all.jsonl", 0, client_errors.NotFound("There is no flow"), "There is no flow"),
            ("all.jsonl", 0, client_errors.StreamBroken("The connection broke"), "The connection broke"),
        ],
    )
    def test_an_export_that_cannot_be_made_leaves_nothing(
        self,
        api: Api,
        connected: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        where: str,
        lines: int,
        failure: Exception | None,
        said: str,
    ) -> None:
        connected(api)
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "file").touch()

        def failing(*_: Any, **__: Any) -> Iterator[dict[str, Any]]:
            yield from [{"type": "message", "content": "private"}] * lines
            if failure is not None:
                raise failure

        monkeypatch.setattr(Client, "export_lines", failing)
        found = CliRunner().invoke(cli.app, ["export", str(tmp_path / where)]).exception
        assert isinstance(found, errors.InvalidRequest | client_errors.MemorybaseError)
        assert found.message.endswith(said)
        assert {path.name for path in tmp_path.rglob("*")} == {"folder", "file"}

    def test_an_export_that_is_missing_is_named(self, api: Api, connected: Any, tmp_path: Path) -> None:
        connected(api)
        missing = tmp_path / "all.jsonl"
        found = CliRunner().invoke(cli.app, ["import", "--from", "export", str(missing)]).exception
        assert isinstance(found, errors.InvalidRequest)
        assert found.message == f"{missing} cannot be read: No such file or directory."

    def test_options_of_other_sources_are_refused(self, api: Api, connected: Any, tmp_path: Path) -> None:
        connected(api)
        file = tmp_path / "all.jsonl"
        CliRunner().invoke(cli.app, ["export", str(file)])
        said = CliRunner().invoke(cli.app, ["import", str(file), "--flow", "f"])
        assert isinstance(said.exception, errors.InvalidRequest)

    def test_an_interrupted_export_leaves_no_file(
        self, api: Api, connected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connected(api)

        def interrupted(*_: Any, **__: Any) -> Iterator[dict[str, Any]]:
            yield {"type": "export"}
            raise KeyboardInterrupt

        monkeypatch.setattr(Client, "export_lines", interrupted)
        said = CliRunner().invoke(cli.app, ["export", str(tmp_path / "all.jsonl")])
        assert (said.exit_code, list(tmp_path.glob("all*"))) == (130, [])
        assert "all.jsonl was not written" in said.output
