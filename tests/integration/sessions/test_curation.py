"""Mute, pin, edit with history, delete with a receipt, restore."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.index import assert_index_exact
from harness.world import World

from memorybase.core import errors
from memorybase.core.conversation.context import ContextRequest, RecallOptions, build_context
from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Base, MessageChange, Posting, RestorableMessage
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import sessions
from memorybase.core.search import keyword_search
from memorybase.core.search import search as message_search
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import curation, edits, restoring
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions.curation import Action, BulkAnswer, ChangeView
from memorybase.core.sessions.restoring import DeletedMessageView

S = "s"
ANNA = Attribution("anna's key", "it was wrong")
MODES = ("dense", "hybrid", "keyword")
TEXTS = ("berth twelve has shore power", "berth nine has water", "the diesel pump takes cards")


def said(world: World, *texts: str, **request: Any) -> list[UUID]:
    return [message.id for message in world.say(S, *texts, **request).messages]


def find(world: World, base: UUID, query: str, **wanted: Any) -> list[UUID]:
    request = SearchRequest(query=query, memory_base_id=base, **wanted)
    return [hit.message_id for hit in message_search.search(world.services, world.user_id, request).results]


def change(world: World, message_id: UUID, **changes: Any) -> list[UUID]:
    return edits.edit_message(world.services, world.user_id, message_id, changes, ANNA)


def delete(world: World, message_id: UUID) -> edits.DeletionReceipt:
    return edits.delete_message(world.services, world.user_id, message_id, ANNA)


def restore(world: World, message_id: UUID) -> list[UUID]:
    return restoring.restore_message(world.services, world.user_id, message_id, ANNA)


def act(world: World, action: Action, ids: list[UUID]) -> BulkAnswer:
    return curation.act(world.services, world.user_id, action, ids, ANNA)


def history(world: World, message_id: UUID) -> list[ChangeView]:
    return curation.history(world.services, world.user_id, message_id, PageRequest()).items


def deleted(world: World, **which: Any) -> list[DeletedMessageView]:
    return restoring.list_deleted(world.services, world.user_id, PageRequest(), **which).items


def rows(world: World, table: type[Any]) -> list[Any]:
    return list(world.scalars(sa.select(table)))


class TestMute:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("ingested", [True, False])
    def test_a_muted_message_is_not_found(self, world: World, mode: str, ingested: bool) -> None:
        base = world.new_base(threshold=1 if ingested else 1000)
        muted, *others = said(world, *TEXTS)
        world.settle()
        assert muted in find(world, base, "berth twelve shore power", mode=mode)

        assert change(world, muted, muted=True) == []

        found = find(world, base, "berth twelve shore power", mode=mode, top_k=10)
        assert muted not in found
        assert others[0] in found
        assert len(find(world, base, "berth twelve shore power", mode=mode, top_k=1)) == 1  # it takes no place
        change(world, muted, muted=False)
        assert muted in find(world, base, "berth twelve shore power", mode=mode)

    def test_an_edited_muted_message_is_not_found_while_its_edit_is_pending(self, world: World) -> None:
        base = world.new_base(threshold=1)
        muted = said(world, *TEXTS)[0]
        world.settle()
        change(world, muted, content="berth twelve has no shore power", muted=True)
        for mode in MODES:
            assert muted not in find(world, base, "berth twelve shore power", mode=mode)
        world.settle()
        for mode in MODES:
            assert muted not in find(world, base, "berth twelve shore power", mode=mode)
        change(world, muted, muted=False)
        assert muted in find(world, base, "berth twelve shore power")

    def test_a_muted_message_is_no_neighbor(self, world: World) -> None:
        base = world.new_base(threshold=1)
        before, hit, after = said(world, "alpha", "berth twelve", "omega")
        world.settle()
        change(world, before, muted=True)
        request = SearchRequest(query="berth twelve", memory_base_id=base, neighbors=1, top_k=1)
        (found,) = message_search.search(world.services, world.user_id, request).results
        assert found.message_id == hit
        assert (found.before, [turn["message_id"] for turn in found.after]) == ([], [after])

    def test_a_muted_message_is_not_recalled_into_a_context_and_stays_in_its_history(self, world: World) -> None:
        world.new_base(threshold=1)
        said(world, {"role": "user", "content": "hello"}, "berth twelve has shore power", "berth nine has water")
        world.settle()
        change(world, world.messages(S)[1].id, muted=True)

        def context(session_id: str, query: str | None) -> str:
            request = ContextRequest(
                flow_id=world.flow_id,
                session_id=session_id,
                token_budget=2_000,
                query=query,
                recall=RecallOptions(scope="flow"),
            )
            return build_context(world.services, world.user_id, request).text

        recalled = context("another", "which berth has water")
        assert "berth nine" in recalled
        assert "berth twelve" not in recalled
        assert "berth twelve" in context(S, None)

    def test_muting_leaves_the_stores_as_they_are(self, world: World) -> None:
        base = world.new_base(threshold=1)
        muted = said(world, *TEXTS)[0]
        world.settle()
        before = world.stored(base)
        change(world, muted, muted=True)
        world.rest()
        assert world.stored(base) == before
        world.assert_all_ingested(base)
        assert [message.version for message in world.messages(S)] == [1, 1, 1]

    def test_searches_while_messages_are_muted_and_unmuted_raise_nothing(self, world: World) -> None:
        base = world.new_base(threshold=1)
        ids = said(world, *TEXTS)
        world.settle()
        change(world, ids[0], muted=True)

        def flip(number: int) -> None:
            change(world, ids[1], muted=bool(number % 2))

        with ThreadPoolExecutor(2) as pool:
            flipping = pool.map(flip, range(20))
            for _ in range(20):
                assert ids[0] not in find(world, base, "berth twelve shore power")
            list(flipping)


class TestPin:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_relevant_pinned_message_comes_first(self, world: World, mode: str) -> None:
        base = world.new_base(threshold=1)
        first, second, _ = said(world, "berth twelve has shore power", "berth nine has shore water", "zebra okapi")
        world.settle()
        query = "shore power has berth twelve"  # no exact match, which is before pins
        assert find(world, base, query, mode=mode)[:2] == [first, second]
        change(world, second, pinned=True)
        assert find(world, base, query, mode=mode)[:2] == [second, first]
        assert find(world, base, query, mode=mode, top_k=1) == [second]
        change(world, second, pinned=False)
        assert find(world, base, query, mode=mode)[:2] == [first, second]

    @pytest.mark.parametrize("mode", MODES)
    def test_a_pin_lifts_no_weak_message(self, world: World, mode: str) -> None:
        base = world.new_base(threshold=1)
        first, weak = said(world, "berth twelve has shore power", "zebra quagga okapi")
        world.settle()
        change(world, weak, pinned=True)
        found = find(world, base, "berth twelve has shore power", mode=mode)
        assert found[0] == first

    def test_a_pin_lifts_no_message_below_the_callers_limit(self, world: World) -> None:
        base = world.new_base(threshold=1)
        query = "berth twelve has shore power"
        first, second = said(world, query, "berth nine has shore water")
        world.settle()
        change(world, second, pinned=True)
        request = SearchRequest(query=query, memory_base_id=base)
        scores = {
            hit.message_id: hit.score for hit in message_search.search(world.services, world.user_id, request).results
        }
        assert find(world, base, query, min_score=(scores[first] + scores[second]) / 2) == [first]

    def test_a_pinned_message_is_always_scored(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keyword_search, "KEYWORD_CANDIDATES", {"keyword": 2})
        base = world.new_base(threshold=1)
        pinned = said(world, *["berth twelve has shore power"] * 8, *[f"zebra {n}" for n in range(40)])[0]
        world.settle()
        query = "berth twelve shore power"
        assert pinned not in find(world, base, query, mode="keyword", top_k=2)
        change(world, pinned, pinned=True)
        assert find(world, base, query, mode="keyword", top_k=2)[0] == pinned

    def test_a_pinned_message_of_another_end_user_is_no_candidate(self, world: World) -> None:
        base = world.new_base(threshold=1)
        (hers,) = [m.id for m in world.say("hers", "berth twelve", end_user_id="anna").messages]
        (his,) = [m.id for m in world.say("his", "berth twelve", end_user_id="ben").messages]
        world.settle()
        change(world, hers, pinned=True)
        assert find(world, base, "berth twelve", end_user_id="ben") == [his]
        assert find(world, base, "berth twelve", session_id="his") == [his]

    def test_a_muted_pinned_message_is_not_found(self, world: World) -> None:
        base = world.new_base(threshold=1)
        ids = said(world, *TEXTS)
        world.settle()
        change(world, ids[0], pinned=True, muted=True)
        for mode in MODES:
            assert ids[0] not in find(world, base, "berth twelve shore power", mode=mode)


class TestHistory:
    def test_each_change_says_by_whom_why_and_what_it_replaced(self, world: World) -> None:
        (message,) = said(world, "berth twelve has no power")
        change(world, message, content="berth twelve has shore power", metadata={"checked": True})
        change(world, message, muted=True)
        change(world, message, content="berth twelve has water", pinned=True)

        changes = history(world, message)

        assert [each.action for each in changes] == ["pin", "edit", "mute", "edit"]
        assert {(each.by, each.reason) for each in changes} == {("anna's key", "it was wrong")}
        assert [each.version for each in changes] == [3, 3, 2, 2]
        assert changes[3].former == {"content": "berth twelve has no power", "metadata": {}}
        assert changes[1].former == {"content": "berth twelve has shore power"}
        pieces = [(piece.kind, piece.text) for piece in changes[3].difference or []]
        assert pieces == [("same", "berth twelve has "), ("removed", "no"), ("added", "shore"), ("same", " power")]
        assert changes[2].former is None
        assert changes[2].difference is None

    def test_each_page_compares_with_the_next_edit(self, world: World) -> None:
        (message,) = said(world, "text 0")
        for number in range(1, 6):
            change(world, message, content=f"text {number}")
            change(world, message, metadata={"number": number})
        shown: list[str] = []
        for page in range(1, 4):
            part = curation.history(world.services, world.user_id, message, PageRequest(page=page, size=4))
            shown += [
                "".join(p.text for p in each.difference if p.kind != "removed")
                for each in part.items
                if each.difference is not None
            ]
        assert shown == ["text 5", "text 4", "text 3", "text 2", "text 1"]

    def test_what_changes_nothing_is_no_change(self, world: World) -> None:
        (message,) = said(world, "text")
        change(world, message, muted=False)
        change(world, message, content="text")
        assert history(world, message) == []

    def test_a_capture_that_posts_other_content_keeps_the_former(self, world: World) -> None:
        raw = {"id": "m1", "role": "assistant", "content": "old"}
        (message,) = said(world, raw)
        world.say(S, raw | {"content": "new"}, on_conflict="update", by="the bot")
        (edit,) = history(world, message)
        assert (edit.action, edit.by, edit.former) == ("edit", "the bot", {"content": "old"})

    def test_a_reason_is_bounded(self) -> None:
        with pytest.raises(errors.InvalidRequest) as raised:
            curation.check_reason("x" * 501)
        assert (raised.value.field, raised.value.limit) == ("reason", 500)
        assert curation.check_reason("  ") is None


class TestDeleteAndRestore:
    def test_a_deletion_has_a_receipt(self, world: World) -> None:
        base = world.new_base(threshold=1)
        message = said(world, *TEXTS)[0]
        world.settle()
        receipt = delete(world, message)
        assert (receipt.message_id, receipt.by, receipt.reason) == (message, "anna's key", "it was wrong")
        assert [(each.memory_base_id, each.chunks) for each in receipt.removed] == [(base, 1)]
        assert receipt.restorable_until == receipt.deleted_at + timedelta(days=30)
        (listed,) = deleted(world, memory_base_id=base)
        assert (listed.id, listed.content, listed.session_id) == (message, TEXTS[0], S)
        assert (listed.by, listed.reason, listed.removed) == (receipt.by, receipt.reason, receipt.removed)

    @pytest.mark.parametrize("repaired", [True, False])
    @pytest.mark.parametrize("threshold", [1, 1000])
    def test_a_restored_message_is_ingested_again(self, world: World, threshold: int, repaired: bool) -> None:
        base = world.new_base(threshold=threshold)
        message, *others = said(world, *TEXTS)
        world.settle()
        before = {m.id: m for m in world.messages(S)}[message]
        delete(world, message)
        if repaired:
            world.rest()
        assert message not in find(world, base, TEXTS[0])

        restore(world, message)

        for mode in MODES:
            assert find(world, base, TEXTS[0], mode=mode)[0] == message
        world.rest()
        for mode in MODES:
            assert find(world, base, TEXTS[0], mode=mode)[0] == message
        after = {m.id: m for m in world.messages(S)}[message]
        same = attrgetter("seq", "position", "role", "content", "files", "meta", "fingerprint", "run_id")
        assert same(after) == same(before)
        assert (after.timestamp, after.captured_at) == (before.timestamp, before.captured_at)
        assert after.version > before.version
        if threshold == 1:
            world.assert_all_ingested(base)
            assert world.row(base, S).total_processed == 1 + len(others)
        assert_index_exact(world)
        assert [each.action for each in history(world, message)] == ["restore", "delete"]
        assert deleted(world) == []

    def test_what_was_muted_or_pinned_is_so_after_a_restore(self, world: World) -> None:
        base = world.new_base(threshold=1)
        muted, pinned, _ = said(world, *TEXTS)
        change(world, muted, muted=True)
        change(world, pinned, pinned=True)
        world.settle()
        for each in (muted, pinned):
            delete(world, each)
            restore(world, each)
        assert muted not in find(world, base, TEXTS[0])
        assert [(m.muted, m.pinned) for m in world.messages(S)] == [(True, False), (False, True), (False, False)]

    def test_a_restore_beyond_the_target_is_pending_and_ingested_when_the_session_is_idle(self, world: World) -> None:
        base = world.new_base(threshold=2)
        said(world, "one", "two")
        world.settle()
        (third,) = said(world, "three")
        delete(world, third)
        world.settle()
        world.pass_time(700)
        world.settle()
        restore(world, third)
        world.pass_time(700)
        world.rest()
        assert third in {entry.message_id for entry in world.ledger(base)}
        world.assert_all_ingested(base)

    def test_a_build_holds_what_was_restored_meanwhile(self, world: World) -> None:
        base = world.new_base(threshold=1)
        message = said(world, *TEXTS)[0]
        world.settle()
        delete(world, message)
        regenerate.regenerate(world.services, world.user_id, base)
        restore(world, message)
        world.rest()
        assert find(world, base, TEXTS[0])[0] == message
        world.assert_all_ingested(base)

    def test_a_restored_message_is_not_stored_twice_by_a_replay(self, world: World) -> None:
        raw = {"id": "m1", "role": "assistant", "content": "text"}
        (message,) = said(world, raw)
        delete(world, message)
        assert world.say(S, raw).messages[0].deleted
        restore(world, message)
        answer = world.say(S, raw)
        assert [(m.id, m.created, m.deleted) for m in answer.messages] == [(message, False, False)]
        delete(world, message)
        restore(world, message)
        assert len(world.messages(S)) == 1

    def test_an_id_captured_again_elsewhere_is_not_overwritten(self, world: World) -> None:
        raw = {"id": "m1", "role": "assistant", "content": "text"}
        (message,) = said(world, raw)
        delete(world, message)
        world.say("other", raw | {"content": "other text"})
        with pytest.raises(errors.MessageConflict):
            restore(world, message)
        assert [m.content for m in world.messages("other")] == ["other text"]

    def test_a_message_is_restored_into_its_renamed_session(self, world: World) -> None:
        (message,) = said(world, "text")
        delete(world, message)
        edits.update_session(world.services, world.user_id, world.flow_id, S, new_session_id="t")
        assert [each.session_id for each in deleted(world)] == ["t"]
        restore(world, message)
        assert [m.id for m in world.messages("t")] == [message]

    def test_two_restores_at_once_store_it_once(self, world: World) -> None:
        (message, _) = said(world, "one", "two")
        delete(world, message)

        def attempt(_: int) -> bool:
            try:
                restore(world, message)
            except errors.NotFound:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(attempt, range(4))) == 1
        assert len(world.messages(S)) == 2


SECRET = "Xylophone-7713"


def leave_traces(world: World) -> UUID:
    """A secret in a message, in a former version of another, and in one that was deleted."""
    end_user = {"end_user_id": "anna"}
    kept, edited, gone = said(world, "all is well", f"the code is {SECRET}", f"again {SECRET}", **end_user)
    change(world, edited, content="no code here")
    change(world, kept, muted=True)
    delete(world, gone)
    assert traces(world)
    return gone


def traces(world: World) -> list[str]:
    """The tables with the secret anywhere."""
    with world.services.database.reading() as db:
        return [
            table.name
            for table in Base.metadata.sorted_tables
            for row in db.execute(sa.select(table))
            if SECRET.lower() in repr(row).lower()
        ]


class TestErasure:
    @pytest.mark.parametrize(
        "erase",
        [
            lambda world: edits.erase_end_user(world.services, world.user_id, "anna"),
            lambda world: edits.delete_session(world.services, world.user_id, world.flow_id, S),
            lambda world: session_deletion.delete_flow(world.services, world.user_id, world.flow_id),
        ],
        ids=["end user", "session", "flow"],
    )
    def test_nothing_is_left(self, world: World, erase: Callable[[World], object]) -> None:
        world.new_base(threshold=1)
        leave_traces(world)
        world.settle()
        erase(world)
        world.rest()
        assert traces(world) == []
        assert rows(world, RestorableMessage) == []
        assert rows(world, MessageChange) == []
        assert rows(world, Posting) == []

    def test_the_receipt_counts_what_was_deleted_before(self, world: World) -> None:
        leave_traces(world)
        receipt = edits.erase_end_user(world.services, world.user_id, "anna")
        assert (receipt.messages, receipt.message_changes, receipt.restorable_messages) == (2, 3, 1)

    def test_a_session_that_only_has_deleted_messages_is_erased(self, world: World) -> None:
        (message,) = said(world, SECRET, end_user_id="anna")
        delete(world, message)
        edits.erase_end_user(world.services, world.user_id, "anna")
        assert traces(world) == []

    def test_the_sweeper_empties_what_is_older_than_the_retention(self, world: World) -> None:
        gone = leave_traces(world)
        world.sweep()
        assert [each.id for each in deleted(world)] == [gone]
        world.pass_time(30 * 86_400 + 1)
        with pytest.raises(errors.NotFound):
            restore(world, gone)  # also before the sweeper comes
        assert deleted(world) == []
        assert world.sweep().done["deleted_emptied"] == 1
        assert rows(world, RestorableMessage) == []
        assert gone not in {each.message_id for each in rows(world, MessageChange)}

    def test_a_purge_leaves_nothing_of_one_message(self, world: World) -> None:
        gone = leave_traces(world)
        restoring.purge_message(world.services, world.user_id, gone)
        assert rows(world, RestorableMessage) == []
        assert gone not in {each.message_id for each in rows(world, MessageChange)}
        assert world.say(S, "more").messages  # and its id still stays deleted

    def test_without_retention_a_deletion_is_at_once(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        at_once = world.services.settings.model_copy(update={"deleted_retention_days": 0})
        monkeypatch.setattr(world, "services", replace(world.services, settings=at_once))
        (message,) = said(world, f"the code is {SECRET}")
        change(world, message, content=f"still {SECRET}")
        receipt = delete(world, message)
        assert receipt.restorable_until is None
        assert rows(world, RestorableMessage) == []
        assert traces(world) == []
        with pytest.raises(errors.NotFound):
            restore(world, message)


class TestManyAtOnce:
    def test_each_message_has_a_result(self, world: World) -> None:
        ids = said(world, *TEXTS)
        unknown = uuid4()
        answer = act(world, "mute", [ids[0], unknown, ids[1], ids[0]])
        assert [(each.message_id, each.done) for each in answer.results] == [
            (ids[0], True),
            (unknown, False),
            (ids[1], True),
        ]
        assert (answer.done, answer.failed) == (2, 1)
        assert (answer.results[1].error or {})["code"] == "not_found"
        assert [m.muted for m in world.messages(S)] == [True, True, False]

    @pytest.mark.parametrize("action", ["mute", "pin", "delete"])
    def test_a_batch_is_undone(self, world: World, action: Action) -> None:
        base = world.new_base(threshold=1)
        ids = said(world, *TEXTS)
        act(world, action, ids[:1])  # alone, before: the batch below does not change it again
        answer = act(world, action, ids)
        before = [m.version for m in world.messages(S)]
        undone = curation.undo(world.services, world.user_id, answer.batch_id, ANNA)
        assert (undone.done, undone.failed, undone.after) == (2, 0, None)
        messages = world.messages(S)
        if action == "delete":
            assert [m.id for m in messages] == ids[1:]
        else:
            flags = [m.muted if action == "mute" else m.pinned for m in messages]
            assert flags == [True, False, False]
            assert [m.version for m in messages] == before
        world.rest()
        world.assert_all_ingested(base)

    def test_an_edit_is_undone(self, world: World) -> None:
        (message,) = said(world, "old")
        batch = uuid4()
        edits.edit_message(world.services, world.user_id, message, {"content": "new"}, Attribution("k", None, batch))
        curation.undo(world.services, world.user_id, batch, ANNA)
        assert [m.content for m in world.messages(S)] == ["old"]
        assert [each.action for each in history(world, message)] == ["edit", "edit"]

    def test_another_user_undoes_nothing(self, world: World) -> None:
        ids = said(world, *TEXTS)
        answer = act(world, "delete", ids)
        undone = curation.undo(world.services, world.new_user(), answer.batch_id, ANNA)
        assert (undone.done, undone.failed) == (0, 0), "it is not said that there is a batch"
        assert world.messages(S) == []

    def test_a_batch_is_bounded(self, world: World) -> None:
        with pytest.raises(errors.InvalidRequest) as raised:
            act(world, "mute", [uuid4() for _ in range(501)])
        assert (raised.value.field, raised.value.limit) == ("ids", 500)


class TestLists:
    def messages(self, world: World, **query: Any) -> list[UUID]:
        wanted = MessageQuery(flow_id=world.flow_id, **query)
        return [m.id for m in sessions.list_messages(world.services, world.user_id, wanted, PageRequest()).items]

    def test_messages_by_state(self, world: World) -> None:
        muted, pinned, _ = said(world, *TEXTS)
        change(world, muted, muted=True)
        change(world, pinned, pinned=True)
        assert self.messages(world, state="muted") == [muted]
        assert self.messages(world, state="pinned") == [pinned]
        with pytest.raises(errors.InvalidRequest) as raised:
            self.messages(world, state="failed")
        assert raised.value.field == "state"

    def test_messages_that_could_not_be_embedded(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.embedder.reject("poison")
        failed, _ = said(world, "poison", "fine")
        world.rest()
        assert self.messages(world, state="failed", memory_base_id=base) == [failed]
        change(world, failed, content="cured")
        world.rest()
        assert self.messages(world, state="failed", memory_base_id=base) == []

    def test_messages_by_words(self, world: World) -> None:
        twelve, nine, pump = said(world, *TEXTS)
        assert self.messages(world, find="berth") == [twelve, nine]
        assert self.messages(world, find="powers of berths") == [twelve]
        assert self.messages(world, find="the") == []
        assert self.messages(world, find="diesel berth") == []
        assert self.messages(world, find="CARDS") == [pump]
        with pytest.raises(errors.InvalidRequest):
            sessions.list_messages(world.services, world.user_id, MessageQuery(find="berth"), PageRequest())
