"""Standing statements go with their messages: captured, edited, deleted, restored, erased, exported."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.statements import recorded
from harness.world import World

from memorybase.core import errors, ids
from memorybase.core.import_export import exporter, importer
from memorybase.core.import_export.exporter import ExportScope
from memorybase.core.ingestion.capture import CaptureResult
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Message
from memorybase.core.sessions import deletion, edits, restoring
from memorybase.features.standing_statements import backfill, statements
from memorybase.features.standing_statements.models import StandingStatement
from memorybase.features.standing_statements.statements import StandingStatementView

METRIC, FRAMEWORKS = "Always answer in metric units.", "I prefer light frameworks."


def tell(world: World, *texts: str, session: str = "s", end_user: str | None = "ada", **fields: Any) -> CaptureResult:
    said: list[Any] = [{"role": "user", "content": text, **fields} for text in texts]
    return world.say(session, *said, end_user_id=end_user)


def listed(
    world: World,
    *,
    end_user: str | None = "ada",
    session: str | None = None,
    every: bool = False,
    flow: UUID | None = None,
) -> list[StandingStatementView]:
    return statements.list_statements(
        world.services, world.user_id, flow or world.flow_id, end_user_id=end_user, session_id=session, every=every
    ).statements


def texts(world: World, **which: Any) -> list[str]:
    return [each.text for each in listed(world, **which)]


def rows(world: World) -> int:
    with world.services.database.reading() as db:
        return db.execute(sa.select(sa.func.count()).select_from(StandingStatement)).scalar_one()


def finding(world: World, *, on: bool) -> World:
    """The same world with the setting."""
    settings = world.services.settings.model_copy(update={"find_standing": on})
    return replace(world, services=replace(world.services, settings=settings))


def exported(world: World) -> bytes:
    return b"".join(exporter.export(world.services, ExportScope(world.user_id, world.flow_id)))


class TestCapture:
    def test_a_statement_is_stored_once_with_its_provenance(self, world: World) -> None:
        first = tell(world, METRIC)
        tell(world, "Now a question.")
        (statement,) = listed(world)
        assert (statement.kind, statement.text, statement.found) == ("instruction", METRIC, METRIC)
        assert (statement.message_id, statement.session_id, statement.seq) == (first.messages[0].id, "s", 1)
        assert (statement.own_words, statement.state) == (False, "active")

    def test_a_replay_adds_none(self, world: World) -> None:
        for _ in range(2):
            world.say("s", {"role": "user", "content": METRIC, "id": "m1"}, end_user_id="ada")
        assert rows(world) == 1

    def test_only_users_messages_are_read(self, world: World) -> None:
        said = [{"role": role, "content": METRIC} for role in ("assistant", "system")]
        world.say("s", *said, {"role": "tool", "content": METRIC, "tool_call_id": "c"}, end_user_id="ada")  # type: ignore[arg-type]
        assert rows(world) == 0

    def test_a_message_without_one_sends_no_statement(self, sqlite_world: World) -> None:
        world = sqlite_world
        tell(world, "What is a mile?")
        with recorded(world.services.database.engine) as sent:
            tell(world, "And a yard?")
            assert [text for text, _ in sent if "standing_statements" in text] == []
            tell(world, f"{METRIC} {FRAMEWORKS}")
        assert len([text for text, _ in sent if "standing_statements" in text]) == 1

    def test_the_setting_turns_it_off(self, sqlite_world: World) -> None:
        tell(finding(sqlite_world, on=False), METRIC)
        assert rows(sqlite_world) == 0


class TestMessages:
    def test_an_edit_keeps_what_the_message_still_says(self, world: World) -> None:
        message_id = tell(world, f"{METRIC} {FRAMEWORKS}").messages[0].id
        kept = next(each for each in listed(world) if each.text == FRAMEWORKS)
        statements.edit_statement(world.services, world.user_id, kept.id, "I like small frameworks.", by="key")
        edits.edit_message(world.services, world.user_id, message_id, {"content": f"Never use emojis. {FRAMEWORKS}"})
        assert sorted(texts(world)) == ["I like small frameworks.", "Never use emojis."]
        edits.edit_message(world.services, world.user_id, message_id, {"content": "Hello."})
        assert rows(world) == 0

    def test_a_deleted_message_takes_its_statements_and_its_restoration_brings_them_back(self, world: World) -> None:
        message_id = tell(world, f"{METRIC} {FRAMEWORKS}").messages[0].id
        gone, changed = sorted(listed(world), key=lambda each: each.text)
        statements.delete_statement(world.services, world.user_id, gone.id)
        statements.edit_statement(world.services, world.user_id, changed.id, "I like small ones.", by="key")
        edits.delete_message(world.services, world.user_id, message_id)
        assert rows(world) == 0
        restoring.restore_message(world.services, world.user_id, message_id)
        (statement,) = listed(world)
        assert (statement.text, statement.own_words, statement.changed_by) == ("I like small ones.", True, "key")

    def test_a_muted_message_says_nothing(self, world: World) -> None:
        message_id = tell(world, METRIC).messages[0].id
        edits.edit_message(world.services, world.user_id, message_id, {"muted": True})
        assert texts(world) == []
        edits.edit_message(world.services, world.user_id, message_id, {"muted": False})
        assert texts(world) == [METRIC]

    def test_they_go_with_their_session_and_the_receipt_counts_them(self, world: World) -> None:
        tell(world, METRIC)
        tell(world, FRAMEWORKS, session="other")
        erased = edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        assert (erased.standing_statements, texts(world)) == (1, [FRAMEWORKS])
        assert edits.erase_end_user(world.services, world.user_id, "ada").standing_statements == 1
        assert rows(world) == 0

    def test_they_go_with_their_flow(self, world: World) -> None:
        tell(world, METRIC)
        assert deletion.delete_flow(world.services, world.user_id, world.flow_id)
        assert rows(world) == 0

    def test_a_renamed_session_keeps_them(self, world: World) -> None:
        tell(world, METRIC, end_user=None)
        edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="t")
        assert [(each.text, each.session_id) for each in listed(world, end_user=None, session="t")] == [(METRIC, "t")]


class TestPeople:
    def test_a_deleted_statement_does_not_come_back(self, world: World) -> None:
        base = world.new_base(threshold=1)
        message = {"role": "user", "content": METRIC, "id": "m1"}
        message_id = world.say("s", message, end_user_id="ada").messages[0].id  # type: ignore[arg-type]
        statements.delete_statement(world.services, world.user_id, listed(world)[0].id, by="key")
        world.settle()
        world.say("s", message, end_user_id="ada")  # type: ignore[arg-type]
        regenerate.regenerate(world.services, world.user_id, base)
        world.settle()
        list(backfill.find_in_stored(world.services))
        edits.edit_message(world.services, world.user_id, message_id, {"content": f"Hello! {METRIC}"})
        assert texts(world) == []
        assert [(each.state, each.changed_by) for each in listed(world, every=True)] == [("deleted", "key")]

    def test_what_a_person_writes_is_marked_and_can_be_taken_back(self, world: World) -> None:
        tell(world, METRIC)
        (statement,) = listed(world)
        edited = statements.edit_statement(world.services, world.user_id, statement.id, " Use  meters. ", by="key")
        assert (edited.text, edited.found, edited.own_words, edited.changed_by) == ("Use meters.", METRIC, True, "key")
        again = statements.edit_statement(world.services, world.user_id, statement.id, None, by="key")
        assert (again.text, again.own_words) == (METRIC, False)

    @each_row("text", ["", " ", "x" * 301, "nul \x00"])
    def test_words_that_cannot_be_stored_are_refused(self, sqlite_world: World, text: str) -> None:
        tell(sqlite_world, METRIC)
        (statement,) = listed(sqlite_world)
        with pytest.raises(errors.InvalidRequest, match=r"text|Text"):
            statements.edit_statement(sqlite_world.services, sqlite_world.user_id, statement.id, text)

    def test_a_deleted_or_foreign_statement_is_not_found(self, world: World) -> None:
        tell(world, METRIC)
        (statement,) = listed(world)
        for call in (
            lambda: statements.edit_statement(world.services, world.new_user(), statement.id, "mine"),
            lambda: statements.delete_statement(world.services, world.new_user(), statement.id),
        ):
            with pytest.raises(errors.NotFound):
                call()
        assert texts(world) == [METRIC]
        statements.delete_statement(world.services, world.user_id, statement.id)
        with pytest.raises(errors.NotFound):
            statements.edit_statement(world.services, world.user_id, statement.id, "back")


class TestLists:
    def test_each_end_user_and_each_flow_has_its_own(self, world: World) -> None:
        tell(world, METRIC)
        tell(world, FRAMEWORKS, session="bobs", end_user="bob")
        tell(world, "Never use emojis.", session="nobodys", end_user=None)
        assert texts(world) == [METRIC]
        assert texts(world, end_user="bob") == [FRAMEWORKS]
        assert texts(world, end_user=None, session="nobodys") == ["Never use emojis."]
        assert texts(world, end_user=None, session="bobs") == [FRAMEWORKS]
        assert texts(world, flow=world.new_flow()) == []
        with pytest.raises(errors.SessionConflict):
            listed(world, end_user="ada", session="bobs")
        with pytest.raises(errors.InvalidRequest, match="end_user_id or session_id"):
            listed(world, end_user=None)

    def test_a_later_statement_replaces_an_earlier_one_until_it_goes(self, world: World) -> None:
        tell(world, METRIC)
        later = tell(world, "From now on use imperial units.", session="later").messages[0].id
        assert texts(world) == ["From now on use imperial units."]
        by_state = {each.state: each for each in listed(world, every=True)}
        assert by_state["replaced"].replaced_by == by_state["active"].id
        edits.delete_message(world.services, world.user_id, later)
        assert texts(world) == [METRIC]

    def test_it_is_bounded_and_keeps_the_latest(self, sqlite_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(statements, "MAX_READ", 3)
        for number in range(5):
            tell(sqlite_world, f"Always mention tool{number} before harbor{number}.")
        assert texts(sqlite_world) == [f"Always mention tool{number} before harbor{number}." for number in (4, 3, 2)]


class TestCopies:
    def test_an_import_brings_what_people_made_of_them(self, world: World) -> None:
        tell(world, f"{METRIC} {FRAMEWORKS} Never use emojis.")
        by_text = {each.text: each for each in listed(world)}
        statements.delete_statement(world.services, world.user_id, by_text[METRIC].id, by="key")
        statements.edit_statement(world.services, world.user_id, by_text[FRAMEWORKS].id, "Small ones.", by="key")
        body = exported(world)
        other = world.new_user()
        for _ in range(2):
            importer.import_lines(world.services, other, body.replace(str(world.flow_id).encode(), b"copy"))
        answer = statements.list_statements(
            world.services, other, ids.flow_id(other, "copy"), end_user_id="ada", every=True
        ).statements
        assert {each.text: (each.state, each.own_words) for each in answer} == {
            METRIC: ("deleted", False),
            "Small ones.": ("active", True),
            "Never use emojis.": ("active", False),
        }

    def test_a_change_that_is_no_change_is_refused_with_its_line(self, sqlite_world: World) -> None:
        tell(sqlite_world, METRIC)
        statements.delete_statement(sqlite_world.services, sqlite_world.user_id, listed(sqlite_world)[0].id)
        lines = [json.loads(line) for line in exported(sqlite_world).splitlines()]
        (message,) = (line for line in lines if line["type"] == "message")
        message["standing"][0]["kind"] = "order"
        with pytest.raises(errors.InvalidRequest, match="kind must be one of instruction, preference"):
            importer.import_lines(sqlite_world.services, sqlite_world.user_id, json.dumps(message).encode())


class TestStoredMessages:
    def test_earlier_messages_are_read_once(self, world: World) -> None:
        tell(finding(world, on=False), *(f"question {number}" for number in range(130)), METRIC)
        assert sum(read.new for read in backfill.find_in_stored(world.services)) == 1
        assert sum(read.new for read in backfill.find_in_stored(world.services)) == 0
        assert texts(world) == [METRIC]

    def test_what_an_earlier_version_edited_is_followed(self, world: World) -> None:
        message_id = tell(world, METRIC).messages[0].id
        with world.services.database.transaction() as db:
            db.execute(sa.update(Message).where(Message.id == message_id).values(content=FRAMEWORKS))
        list(backfill.find_in_stored(world.services))
        assert texts(world) == [FRAMEWORKS]
