"""Lists over all flows: sessions and runs with their state, filtered by text, state and time; end users."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.world import World

from memorybase.core import errors
from memorybase.core.conversation import Record, build_view
from memorybase.core.conversation.memory_use import record
from memorybase.core.conversation.memory_use.provenance import ViewOrigin
from memorybase.core.database.paging import Keyset, Page, PageRequest
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Capture, MemoryBase, Run, Session
from memorybase.core.queries import session_lists
from memorybase.core.queries.coverage import RANKED, SearchState
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.queries.runs import RunFilter
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.read_models import end_users, memory_bases, run_story, runs, sessions
from memorybase.core.read_models.runs import RecalledView, RunView
from memorybase.core.read_models.sessions import SessionView
from memorybase.core.sessions import edits
from memorybase.features.splox import memories, message_log
from memorybase.features.splox.config import ChatMemoryConfig
from memorybase.features.splox.memories import ChatSelector, MemoryKey

ALL = PageRequest()


def asked(question: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"role": "user", "content": question}, {"role": "assistant", "content": answer}


def list_sessions(world: World, request: PageRequest = ALL, **wanted: Any) -> Page[SessionView]:
    wanted = {"order": "recent", **wanted}
    return sessions.list_sessions(world.services, world.user_id, SessionFilter(**wanted), request)


def list_runs(world: World, request: PageRequest = ALL, **wanted: Any) -> Page[RunView]:
    return runs.list_runs(world.services, world.user_id, RunFilter(**wanted), request)


def ids(page: Page[SessionView]) -> list[str]:
    return [session.session_id for session in page.items]


def state_of(world: World, session_id: str = "s") -> tuple[SearchState, list[SearchState]]:
    """Of the session, and of its runs, oldest first."""
    (session,) = [each for each in list_sessions(world).items if each.session_id == session_id]
    listed = list_runs(world, session_id=session_id).items
    assert {run.run_id: run.state for run in listed} == {run.run_id: story_state(world, run.run_id) for run in listed}
    return session.state, [run.state for run in listed][::-1]


def story_state(world: World, run_id: UUID) -> SearchState:
    """The worst state in the story of the run, which counts its messages one by one."""
    bases = memory_bases.list_memory_bases(world.services, world.user_id, ALL).items
    awaited = {base.id for base in bases if base.auto_capture} or {base.id for base in bases}
    story = run_story.run_story(world.services, world.user_id, world.flow_id, run_id)
    states = [each.state for each in story.memories if each.memory_base_id in awaited]
    return max(states, key=RANKED.index, default=SearchState.NOT_COUNTED)


def test_a_total_is_counted_up_to_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybase.core.database.paging.MAX_TOTAL", 3)
    wanted = MessageQuery(flow_id=world.flow_id)
    totals = []
    for text in ("one", "two", "three", "four"):
        world.say("s", text)
        page = sessions.list_messages(world.services, world.user_id, wanted, ALL)
        totals.append((len(page.items), page.total, page.total_capped))
    assert totals == [(1, 1, False), (2, 2, False), (3, 3, False), (4, 3, True)]


class TestStates:
    def test_without_a_memory_base_there_is_no_state(self, world: World) -> None:
        world.say("s", *asked("Which berth?", "Berth 12."))
        assert state_of(world) == (SearchState.NOT_COUNTED, [SearchState.NOT_COUNTED])

    def test_a_message_below_the_threshold_waits_and_is_then_ingested(self, world: World) -> None:
        world.new_base(threshold=3)
        world.say("s", *asked("Which berth?", "Berth 12."))
        assert state_of(world) == (SearchState.WAITING, [SearchState.WAITING])
        world.say("s", *asked("And now?", "Berth 13."))
        assert state_of(world) == (SearchState.INGESTING, [SearchState.INGESTING, SearchState.INGESTING])
        world.settle()
        assert state_of(world) == (SearchState.SEARCHABLE, [SearchState.SEARCHABLE, SearchState.SEARCHABLE])
        world.say("s", *asked("And tomorrow?", "Berth 14."))
        assert state_of(world) == (
            SearchState.WAITING,
            [SearchState.SEARCHABLE, SearchState.SEARCHABLE, SearchState.WAITING],
        )

    def test_the_worst_memory_base_decides(self, world: World) -> None:
        eager, _lazy = world.new_base(threshold=1), world.new_base(threshold=1000)
        world.say("s", *asked("Which berth?", "Berth 12."))
        world.settle()
        assert world.ledger(eager)
        assert state_of(world) == (SearchState.WAITING, [SearchState.WAITING])

    def test_a_memory_base_that_is_off_decides_only_without_another_one(self, world: World) -> None:
        world.new_base(threshold=1, auto_capture=False)
        world.say("s", "one")
        assert state_of(world) == (SearchState.WAITING, [SearchState.WAITING])
        world.new_base(threshold=1)
        world.say("s", "two")
        world.settle()
        assert state_of(world) == (SearchState.SEARCHABLE, [SearchState.SEARCHABLE, SearchState.SEARCHABLE])

    def test_a_question_that_does_not_count_keeps_nothing_waiting(self, world: World) -> None:
        world.new_base(threshold=1, capture=Capture.OUTPUTS)
        world.say("s", "Berth 12.", {"role": "user", "content": "Thanks"})
        world.settle()
        assert state_of(world) == (SearchState.SEARCHABLE, [SearchState.SEARCHABLE])

    def test_a_dead_letter_makes_its_run_and_its_session_failed(self, world: World) -> None:
        world.new_base(threshold=1)
        world.embedder.reject("poison")
        world.say("s", "fine")
        world.say("s", "poison")
        world.settle()
        assert state_of(world) == (SearchState.FAILED, [SearchState.SEARCHABLE, SearchState.FAILED])

    def test_an_edit_is_updating_until_the_repair_is_done(self, world: World) -> None:
        world.new_base(threshold=1)
        captured = world.say("s", "Berth 12.")
        world.settle()
        edits.edit_message(world.services, world.user_id, captured.messages[0].id, {"content": "Berth 13."})
        assert state_of(world) == (SearchState.UPDATING, [SearchState.UPDATING])
        assert ids(list_sessions(world, state=SearchState.UPDATING)) == ["s"]
        world.settle()
        assert state_of(world)[0] == SearchState.SEARCHABLE

    def test_a_memory_base_that_starts_later_does_not_hold_what_was_before(self, world: World) -> None:
        world.say("s", "before")
        world.new_base(threshold=1, start="now")
        assert state_of(world) == (SearchState.SKIPPED, [SearchState.SKIPPED])
        world.say("s", "after")
        world.settle()
        assert state_of(world) == (SearchState.SEARCHABLE, [SearchState.SKIPPED, SearchState.SEARCHABLE])

    def test_what_comes_during_a_rebuild_is_being_ingested(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "before")
        world.settle()
        regenerate.regenerate(world.services, world.user_id, base)
        world.say("s", "during")
        assert state_of(world) == (SearchState.INGESTING, [SearchState.SEARCHABLE, SearchState.INGESTING])
        world.settle()
        assert state_of(world)[0] == SearchState.SEARCHABLE

    def test_a_memory_base_that_lost_vectors_is_not_called_searchable(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "x")
        world.settle()
        with world.services.database.transaction() as db:
            db.get_one(MemoryBase, base).mismatch = True
        assert state_of(world) == (SearchState.LOST, [SearchState.LOST])
        assert ids(list_sessions(world, state=SearchState.LOST)) == ["s"]
        assert len(list_runs(world, state=SearchState.LOST).items) == 1

    def test_a_filter_by_state_finds_what_the_list_shows(self, world: World) -> None:
        world.new_base(threshold=2)
        world.embedder.reject("poison")
        world.say("waits", "one")
        world.say("done", "one", "two")
        world.say("dead", "poison", "two")
        world.settle()
        world.say("works", "one", "two")
        shown = {session.session_id: session.state for session in list_sessions(world).items}
        assert set(shown.values()) == {
            SearchState.WAITING,
            SearchState.SEARCHABLE,
            SearchState.FAILED,
            SearchState.INGESTING,
        }
        for state in SearchState:
            wanted = sorted(name for name, each in shown.items() if each == state)
            assert sorted(ids(list_sessions(world, state=state))) == wanted
            assert sorted(run.session_id for run in list_runs(world, state=state).items) == wanted


class TestFilters:
    def test_all_flows_latest_first_or_one(self, world: World) -> None:
        other = world.new_flow()
        world.say("a", "x")
        world.say("b", "x", flow_id=other)
        world.say("a", "y")
        assert ids(list_sessions(world)) == ["a", "b"]
        assert ids(list_sessions(world, flow_id=other)) == ["b"]
        assert [run.session_id for run in list_runs(world).items] == ["a", "b", "a"]
        assert [run.session_id for run in list_runs(world, flow_id=other).items] == ["b"]
        with pytest.raises(errors.NotFound):
            list_runs(world, flow_id=UUID(int=1))

    def test_by_end_user_and_time(self, world: World) -> None:
        world.say("a", "x", end_user_id="anna")
        world.say("b", "x", end_user_id="bert")
        middle = datetime.now(UTC) + timedelta(hours=1)
        with world.services.database.transaction() as db:
            for table, column in ((Session, "last_captured_at"), (Run, "created_at")):
                later = sa.update(table).where(table.session_id == "b")
                db.execute(later.values({column: middle + timedelta(hours=1)}))
        assert ids(list_sessions(world, end_user_id="anna")) == ["a"]
        assert [run.session_id for run in list_runs(world, end_user_id="bert").items] == ["b"]
        assert ids(list_sessions(world, since=middle)) == ["b"]
        assert ids(list_sessions(world, until=middle)) == ["a"]
        assert [run.session_id for run in list_runs(world, since=middle).items] == ["b"]
        assert [run.session_id for run in list_runs(world, until=middle).items] == ["a"]

    def test_text_finds_words_of_messages_in_any_flow_and_parts_of_ids_and_titles(self, world: World) -> None:
        other = world.new_flow()
        world.say("customer-17", *asked("Which berth has shore power?", "Berth 12."), end_user_id="Goran")
        world.say("b", *asked("Is there a sailmaker?", "Members like Harbour Sails."), flow_id=other)
        edits.update_session(world.services, world.user_id, other, "b", metadata={"title": "The rigging"})
        for text, wanted in {
            "berths": ["customer-17"],
            "SAILMAKER": ["b"],
            "power berth": ["customer-17"],
            "berth sailmaker": [],
            "mer-1": ["customer-17"],
            "gora": ["customer-17"],
            "RIGG": ["b"],
            "of": [],
            "100%": [],
        }.items():
            assert ids(list_sessions(world, text=text)) == wanted, text
        assert [run.session_id for run in list_runs(world, text="sailmaker harbour").items] == ["b"]
        assert [run.session_id for run in list_runs(world, text="customer-1").items] == ["customer-17"]
        assert [run.session_id for run in list_runs(world, text="gora").items] == ["customer-17"]
        assert [run.session_id for run in list_runs(world, text="rigg").items] == ["b"]
        assert ids(list_sessions(world, text="sailmaker", flow_id=world.flow_id)) == []

    def test_words_need_not_be_in_one_message_of_a_session_or_a_run(self, world: World) -> None:
        world.say("s", *asked("zebra", "giraffe"))
        world.say("s", "lion")
        assert ids(list_sessions(world, text="zebra lion")) == ["s"]
        assert list_runs(world, text="zebra lion").items == []
        assert len(list_runs(world, text="zebra giraffe").items) == 1

    def test_a_frequent_word_is_looked_for_in_a_bounded_number_of_rows(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memorybase.core.queries.text_filter.RARE", 1)
        monkeypatch.setattr(session_lists, "CHUNKS", (2, 2))
        for number in range(9):
            world.say(f"s{number}", "berth" if number in {1, 2} else "other")
        seen, cursor, totals = [], None, []
        while True:
            page = list_sessions(world, replace(ALL, cursor=cursor), text="berth")
            seen += ids(page)
            totals.append((page.total, page.total_capped))
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == ["s2", "s1"]
        assert totals == [(0, True), (2, True), (0, True)]  # s8 to s5, s4 to s1, s0

    def test_a_full_page_continues_where_it_ends(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(session_lists, "CHUNKS", (3, 3))
        world.new_base(threshold=1000)
        for number in range(8):
            world.say(f"s{number}", "x")
        for size in (1, 2, 3, 7):
            seen, cursor = [], None
            while True:
                page = list_sessions(world, PageRequest(size=size, cursor=cursor), state=SearchState.WAITING)
                seen += ids(page)
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert seen == [f"s{number}" for number in reversed(range(8))]
        second = list_sessions(world, PageRequest(page=2, size=2), state=SearchState.WAITING)
        assert ids(second) == ["s5", "s4"]

    def test_another_users_sessions_and_words_are_not_found(self, world: World) -> None:
        stranger = world.new_user()
        world.say("s", "berth")
        for text in (None, "berth", "s"):
            found = sessions.list_sessions(world.services, stranger, SessionFilter(text=text), ALL)
            assert (found.items, found.total) == ([], 0)
            assert runs.list_runs(world.services, stranger, RunFilter(text=text), ALL).items == []
        assert end_users.list_end_users(world.services, stranger, ALL).items == []


class TestRuns:
    def test_a_run_shows_its_last_question_and_answer(self, world: World) -> None:
        world.say(
            "s",
            *asked("first?", "no"),
            *asked("  second\n question?", "x" * 400),
            {"role": "tool", "content": "1", "tool_call_id": "c"},
        )
        (run,) = list_runs(world).items
        assert (run.question, run.messages) == ("second question?", 5)
        assert run.answer == "x" * 299 + "\u2026"
        (session,) = list_sessions(world).items
        assert session.title == "first?"
        edits.update_session(world.services, world.user_id, world.flow_id, "s", metadata={"title": "Berths"})
        assert list_sessions(world).items[0].title == "Berths"

    def test_what_its_models_were_given_is_added_up(self, world: World) -> None:
        captured = world.say("s", "x")
        first, second = (str(uuid4()) for _ in range(2))
        tokens = 0
        for node, recalled in {"route": [first], "answer": [first, second]}.items():
            records = [
                Record(id="m", seq=1, role="system", content="memories", kind="recall", message_ids=recalled),
                Record(id=str(captured.messages[0].id), seq=2, role="user", content="x"),
            ]
            view = build_view(records)
            tokens += sum(source.tokens for source in view.sources if source.kind == "recall")
            use = record.NewUse(run_id=captured.run_id, node_id=node, view=view, origin=ViewOrigin(session_id="s"))
            record.record_use(world.services, world.user_id, world.flow_id, use)
        (run,) = list_runs(world).items
        assert run.given == RecalledView(nodes=2, memories=2, tokens=tokens)
        assert tokens > 0

    def test_a_run_without_text_shows_none(self, world: World) -> None:
        world.say("s", {"role": "assistant", "content": ""})
        (run,) = list_runs(world).items
        assert (run.question, run.answer, run.given) == (None, None, None)
        assert list_sessions(world).items[0].title is None

    def test_the_time_until_searchable_is_that_of_the_last_message(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "one", "two")
        assert list_runs(world).items[0].searchable_after_seconds is None
        world.settle()
        delay = list_runs(world).items[0].searchable_after_seconds
        assert delay is not None
        assert 0 <= delay < 60


class TestEndUsers:
    def add_chat(self, world: World, chat_id: str, end_user_id: str) -> None:
        key = MemoryKey(world.user_id, world.flow_id, "node")
        memories.put_memory(world.services, key, ChatMemoryConfig(name="Chat", chat_id="{{ chat }}"))
        said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
        message_log.post_messages(world.services, key, ChatSelector(chat_id), said, end_user_id=end_user_id)

    def test_a_person_may_be_known_from_chats_alone(self, world: World) -> None:
        self.add_chat(world, "c1", "anna")
        self.add_chat(world, "c2", "anna")
        (person,) = end_users.list_end_users(world.services, world.user_id, ALL).items
        assert (person.end_user_id, person.sessions, person.chats, person.messages) == ("anna", 0, 2, 0)
        known = end_users.get_end_user(world.services, world.user_id, "anna")
        assert (known.sessions, known.chats, known.chat_messages, known.memories) == (0, 2, 4, [])
        assert [(each.node_id, each.name, each.chats, each.messages) for each in known.chat_memories] == [
            ("node", "Chat", 2, 4)
        ]

    def test_persons_are_listed_with_what_they_have(self, world: World) -> None:
        other = world.new_flow()
        world.say("a", "x", "y", end_user_id="anna")
        world.say("b", "x", end_user_id="bert")
        world.say("c", "x", end_user_id="anna", flow_id=other)
        world.say("d", "x")
        page = end_users.list_end_users(world.services, world.user_id, ALL)
        assert [(p.end_user_id, p.sessions, p.messages) for p in page.items] == [("anna", 2, 3), ("bert", 1, 1)]
        assert page.total == 2
        of_flow = end_users.list_end_users(world.services, world.user_id, ALL, flow_id=other)
        assert [(p.end_user_id, p.sessions, p.messages) for p in of_flow.items] == [("anna", 1, 1)]
        found = end_users.list_end_users(world.services, world.user_id, ALL, text="ER")
        assert [p.end_user_id for p in found.items] == ["bert"]
        assert end_users.list_end_users(world.services, world.user_id, ALL, text="e_t").items == []

    @pytest.mark.parametrize("order", ["recent", "sessions"])
    def test_a_cursor_walks_all(self, world: World, order: Any) -> None:
        for number in range(5):
            for session in range(number % 2 + 1):
                world.say(f"s{number}-{session}", "x", end_user_id=f"p{number}")
        seen, cursor = [], None
        while True:
            request = PageRequest(size=2, cursor=cursor)
            page = end_users.list_end_users(world.services, world.user_id, request, order=order)
            seen += [person.end_user_id for person in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == (["p4", "p3", "p2", "p1", "p0"] if order == "recent" else ["p3", "p1", "p4", "p2", "p0"])

    def test_everything_known_of_a_person_is_counted_and_gone_after_erasure(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("a", "x", "y", end_user_id="anna")
        world.say("b", "z", end_user_id="anna")
        world.say("c", "z", end_user_id="bert")
        world.settle()
        known = end_users.get_end_user(world.services, world.user_id, "anna")
        assert (known.flows, known.sessions, known.runs, known.messages, known.chats) == (1, 2, 2, 3, 0)
        assert [(held.memory_base_id, held.messages) for held in known.memories] == [(base, 3)]
        with pytest.raises(errors.NotFound):
            end_users.get_end_user(world.services, world.new_user(), "anna")
        edits.erase_end_user(world.services, world.user_id, "anna")
        with pytest.raises(errors.NotFound):
            end_users.get_end_user(world.services, world.user_id, "anna")
        assert [p.end_user_id for p in end_users.list_end_users(world.services, world.user_id, ALL).items] == ["bert"]


@each_row("end_user_id", ["\ud800", "a\x00"])
def test_a_cursor_with_a_text_that_no_database_has_is_refused(world: World, end_user_id: str) -> None:
    keyset = Keyset("end-users", (Session.last_captured_at, Session.end_user_id), descending=True)
    request = PageRequest(cursor=keyset.encode([datetime.now(UTC), end_user_id]))
    with pytest.raises(errors.InvalidRequest, match="cursor is not valid"):
        end_users.list_end_users(world.services, world.user_id, request)


def test_a_cursor_of_another_order_is_refused(world: World) -> None:
    world.say("a", "x")
    world.say("b", "x")
    cursor = list_sessions(world, PageRequest(size=1)).next_cursor
    with pytest.raises(errors.InvalidRequest, match="another list"):
        list_sessions(world, PageRequest(cursor=cursor), order="created")
