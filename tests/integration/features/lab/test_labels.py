"""Labels: marking, listing, exporting; they go with their messages. `memorybase evaluate --labels` measures on them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from harness.api import Api, open_api
from harness.clients import client_of
from harness.plain_browser import Page, mounted
from harness.rows import each_row
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command
from memorybase.core.settings import Settings
from memorybase.features.lab import labels, routes

Json = dict[str, Any]

QUESTION = "which berth has shore power"
SECRET = f"{QUESTION}, the password: hunter2Xylophone7713"


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, api_settings: Settings) -> Iterator[Api]:
    """The API on both databases, with a session of two messages of Ada's."""
    if request.param == "postgresql":
        api_settings = api_settings.model_copy(update={"database_url": request.getfixturevalue("ready_postgres_url")})
    with open_api(api_settings) as opened:
        opened.flow()
        opened.memory(capture="all")
        said = [{"id": name, "role": "assistant", "content": f"berth {name}"} for name in ("m1", "m2")]
        opened.post("/flows/support/runs", {"session_id": "s", "end_user_id": "ada", "messages": said}, expect=201)
        yield opened


def mark(api: Api, message: str = "m1", *, right: bool = True, **fields: Any) -> Json:
    body = {"flow_id": "support", "message_id": message, "query": QUESTION, "right": right} | fields
    made: Json = api.post("/labels", body)
    return made


def exported(api: Api) -> list[Json]:
    text = api.call("GET", "/labels/export", params={"flow_id": "support"}).text
    return [json.loads(line) for line in text.splitlines()]


class TestMarks:
    def test_a_label_says_what_who_and_when(self, home: Api) -> None:
        label = mark(home, settings={"mode": "keyword"})
        key = home.get("/keys")["items"][0]["name"]
        assert label | {"id": None, "flow_id": None, "message_id": None, "marked_at": None} == {
            "id": None,
            "flow_id": None,
            "message_id": None,
            "marked_at": None,
            "message_external_id": "m1",
            "message_version": 1,
            "current_version": 1,
            "query": QUESTION,
            "session_id": None,
            "end_user_id": None,
            "settings": {"mode": "keyword"},
            "right": True,
            "marked_by": key,
        }
        assert home.get("/labels")["items"] == [label]

    def test_a_second_mark_of_the_same_pair_replaces_the_first(self, home: Api) -> None:
        first, second = mark(home), mark(home, right=False)
        assert first["id"] == second["id"]
        assert [label["right"] for label in home.get("/labels")["items"]] == [False]

    def test_another_person_is_another_question(self, home: Api) -> None:
        mark(home)
        mark(home, end_user_id="ada")
        assert [question.get("end_user_id") for question in exported(home)].count("ada") == 1
        assert len(exported(home)) == 2

    def test_lists_filter_and_page(self, home: Api) -> None:
        right, wrong = mark(home), mark(home, "m2", right=False)
        assert home.get("/labels", right="false")["items"] == [wrong]
        first = home.get("/labels", flow_id="support", size=1)
        rest = home.get("/labels", flow_id="support", size=1, cursor=first["next_cursor"])
        assert first["items"] + rest["items"] == [wrong, right]

    def test_a_removed_label_is_gone(self, home: Api) -> None:
        label = mark(home)
        home.delete(f"/labels/{label['id']}")
        assert home.get("/labels")["items"] == []
        home.refused("DELETE", f"/labels/{label['id']}", 404)

    def test_an_edit_shows_in_the_versions(self, home: Api) -> None:
        mark(home)
        home.patch("/messages/m1?flow_id=support", {"content": "berth 13"})
        (label,) = home.get("/labels")["items"]
        assert (label["message_version"], label["current_version"]) == (1, 2)

    def test_a_question_follows_its_session_to_another_id(self, home: Api) -> None:
        mark(home, session_id="t", right=False)  # of no session yet
        mark(home)
        first = mark(home, session_id="s")
        mark(home, "m2", session_id="s", right=False)
        mark(home, session_id="s", end_user_id="ada")
        secret = mark(home, session_id="s", query=SECRET)
        home.patch("/sessions", {"flow_id": "support", "session_id": "s", "new_session_id": "t"})
        assert sorted(each["session_id"] or "" for each in home.get("/labels")["items"]) == ["", "t", "t", "t", "t"]
        questions = [(each.get("session_id", ""), len(each["evidence"]), len(each["wrong"])) for each in exported(home)]
        assert sorted(questions) == [("", 1, 0), ("t", 1, 0), ("t", 1, 0), ("t", 1, 1)]
        assert mark(home, session_id="t")["id"] == first["id"]
        assert mark(home, session_id="t", query=SECRET)["id"] == secret["id"]

    @each_row(
        ("changes", "field", "status"),
        [
            ({"message_id": "m404"}, "message_id", 404),
            ({"query": " "}, "query", 422),
            ({"settings": {"x": 8_001 * "y"}}, "settings", 422),
            ({"flow_id": "other"}, "flow_id", 404),
        ],
    )
    def test_what_is_not_valid_is_named(self, home: Api, changes: Json, field: str, status: int) -> None:
        body = {"flow_id": "support", "message_id": "m1", "query": QUESTION, "right": True} | changes
        assert home.refused("POST", "/labels", status, json=body)["field"] == field


class TestDeletion:
    def test_labels_go_with_their_message(self, home: Api) -> None:
        mark(home)
        kept = mark(home, "m2")
        home.delete("/messages/m1", expect=200, flow_id="support")
        assert home.get("/labels")["items"] == [kept]

    def test_erasing_a_person_removes_the_labels_of_their_messages(self, home: Api) -> None:
        mark(home)
        home.delete("/end-users/ada", expect=200)
        assert home.get("/labels")["items"] == []

    def test_labels_go_with_their_session_and_flow(self, home: Api) -> None:
        mark(home)
        home.delete("/sessions", expect=200, flow_id="support", session_id="s")
        assert home.get("/labels")["items"] == []
        home.capture("berth 3", session="t")
        mark(home, home.get("/messages", flow_id="support", session_id="t")["items"][0]["id"])
        home.call("DELETE", "/flows/support", expect=(202, 204))
        assert home.get("/labels")["items"] == []


class TestExport:
    def test_a_question_has_its_right_and_its_wrong_messages(self, home: Api) -> None:
        right, wrong = mark(home), mark(home, "m2", right=False)
        assert exported(home) == [
            {"question": QUESTION, "evidence": [right["message_id"]], "wrong": [wrong["message_id"]]}
        ]
        base = home.get("/memories")["items"][0]["id"]
        by_base = home.call("GET", "/labels/export", params={"memory_base_id": base}).text
        assert [json.loads(line) for line in by_base.splitlines()] == exported(home)

    def test_its_bounds_are_described(self) -> None:
        described = " ".join((routes.export_labels.__doc__ or "").split())
        for bound in (f"{labels.MAX_EXPORTED:,} labels", f"{labels.MAX_OF_QUESTION} right"):
            assert f"up to {bound}" in described

    def test_a_flow_or_a_memory_base_is_needed(self, home: Api) -> None:
        assert home.refused("GET", "/labels/export", 422)["field"] == "flow_id"


class TestPlayground:
    def test_each_result_has_its_mark_which_a_second_click_takes_away(self, home: Api) -> None:
        here = f"/playground?q={QUESTION}&flow=support"
        with mounted(home):
            page = Page(home)
            assert pressed(results(page)) == {"m1": [], "m2": []}
            ids = {each["external_id"]: each["id"] for each in home.get("/messages")["items"]}
            form = {"message": ids["m1"], "q": QUESTION, "here": here}
            page.post("/playground/label", verdict="wrong", **form)
            assert pressed(results(page)) == {"m1": ["Wrong"], "m2": []}
            (label,) = home.get("/labels")["items"]
            assert (label["message_external_id"], label["right"], label["settings"]["mode"]) == ("m1", False, "hybrid")
            page.post("/playground/label", verdict="none", label_id=label["id"], **form)
            assert pressed(results(page)) == {"m1": [], "m2": []}


def results(page: Page) -> str:
    return page.get(f"/playground/results?q={QUESTION}&flow=support")


def pressed(results: str) -> dict[str, list[str]]:
    """By result the buttons that are pressed, of the two that each has."""
    found = {}
    for result in results.split('<li class="hit')[1:]:
        buttons = re.findall('aria-pressed="(true|false)" aria-label="(Right|Wrong) for this question"', result)
        assert [name for _, name in buttons] == ["Right", "Wrong"]
        name = re.search("m[12]", re.sub("<[^>]*>", "", result))
        assert name is not None
        found[name[0]] = [button for is_pressed, button in buttons if is_pressed == "true"]
    return dict(sorted(found.items()))


class TestEvaluate:
    @pytest.fixture(autouse=True)
    def connected(self, home: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(command, "connect", lambda *_: client_of(home))

    def run(self, *words: str) -> tuple[int, str, BaseException | None]:
        result = CliRunner().invoke(cli.app, ["evaluate", "--memory", "notes", *words])
        return result.exit_code, result.output, result.exception

    def test_labels_measure_any_setting(self, home: Api) -> None:
        mark(home, query="berth m1")
        mark(home, "m2", query="berth m1", right=False)
        code, said, _ = self.run("--labels", "--mode", "keyword")
        assert code == 0, said
        assert "1 questions, 1 with evidence, 0 without an answer" in said
        assert "keyword has 1 of 1 results marked wrong among its first 10." in said
        ndcg = next(line.split()[1] for line in said.splitlines() if line.startswith("keyword "))
        assert ndcg == "1.000"
        _, without, _ = self.run("--labels", "--mode", "keyword", "--weights", "words=0,meaning=0,around=0,kind=0")
        changed = next(line.split()[1] for line in without.splitlines() if line.startswith("keyword "))
        assert changed < ndcg  # both score the same, and the later message comes first

    @each_row(
        ("words", "message"),
        [
            ((), "Either FILE or --labels must be given."),
            (("--labels",), "No result of notes is marked"),
            (("--labels", "--weights", "words"), "--weights must be as"),
        ],
    )
    def test_what_is_missing_is_named(self, words: tuple[str, ...], message: str) -> None:
        code, _, exception = self.run(*words)
        assert code == 1
        assert message in str(exception)
