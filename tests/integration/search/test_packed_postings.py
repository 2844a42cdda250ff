"""Postings packed in blocks: every answer stays, and the index exact, whatever is written before and after."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa
from harness.index import assert_index_exact, stored_postings, wanted_postings
from harness.statements import recorded
from harness.world import World

from memorybase.core.database.paging import PageRequest
from memorybase.core.keyword_index import index, orphans, packing
from memorybase.core.models import Message, Posting, Session
from memorybase.core.queries import posting_blocks, text_filter
from memorybase.core.queries import sessions as session_queries
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.queries.runs import RunFilter
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.read_models import runs, sessions
from memorybase.core.search import keyword_search
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.sessions import edits

WORDS = ("harbour", "granite", "lantern", "meadow", "orchid", "pepper", "quarry", "saddle", "winter", "zebra")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of some twenty messages reach over several blocks and pages; counts are never cached."""
    monkeypatch.setattr(posting_blocks, "BLOCK", 8)
    monkeypatch.setattr(packing, "PAGE", 5)
    monkeypatch.setattr(keyword_search, "CACHE_ABOVE", 10**9)


def pack(world: World) -> None:
    """Pack all there is, as if every session were idle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "IDLE_SECONDS", -60.0)
        while packing.pack(world.services) >= packing.PAGES_A_PASS:
            pass
    assert unpacked(world) == 0


def collect(world: World) -> int:
    """Walk over the whole index: rows that named a message that is gone."""
    walk = world.services.state.of(orphans.Walk)
    walk.after, walk.not_before = orphans.FIRST, 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orphans, "PAGE", 10)
        removed = 0
        while not walk.not_before:
            removed += orphans.collect(world.services)
    return removed


def unpacked(world: World) -> int:
    return world.scalar(sa.select(sa.func.count()).where(Session.last_seq > Session.packed_seq)) or 0


def blocks(world: World) -> int:
    return world.scalar(sa.select(sa.func.count()).where(Posting.packed.is_not(None))) or 0


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, weights=range(1, 11), k=6)) + f" number{rng.randrange(15)}"


def talk(world: World, rng: random.Random, *, turns: int) -> None:
    for _ in range(turns):
        question = {"role": "user", "content": sentence(rng)}
        number = rng.randrange(4)
        world.say(f"session {number}", question, sentence(rng), end_user_id=f"person {number % 2}")


def answers(world: World, base: Any) -> dict[str, Any]:
    """All that reads the index."""
    page = PageRequest(size=50)
    services, user_id = world.services, world.user_id

    def searched(query: str, **wanted: Any) -> Any:
        request = SearchRequest(memory_base_id=base, query=query, mode="keyword", top_k=20, **wanted)
        return [(hit.message_id, hit.score) for hit in search(services, user_id, request).results]

    def listed(text: str) -> Any:
        in_sessions = sessions.list_sessions(services, user_id, SessionFilter(text=text, order="recent"), page)
        in_runs = runs.list_runs(services, user_id, RunFilter(text=text), page)
        find = MessageQuery(flow_id=world.flow_id, find=text)
        in_messages = sessions.list_messages(services, user_id, find, page)
        return [found.items for found in (in_sessions, in_runs, in_messages)]

    queries = (
        "zebra number5",
        "harbour granite number7",
        "number3 number11",
        "winter saddle pepper",
        "nothing of that",
    )
    found = {query: [searched(query), listed(query)] for query in queries}
    found["in a session"] = searched("zebra harbour", session_id="session 1")
    found["of a person"] = searched("zebra harbour", end_user_id="person 1")
    return found


@pytest.mark.parametrize(("rare", "read"), [(text_filter.RARE, keyword_search.POSTINGS_READ), (3, 20)])
def test_packing_changes_no_answer(world: World, monkeypatch: pytest.MonkeyPatch, rare: int, read: int) -> None:
    monkeypatch.setattr(text_filter, "RARE", rare)
    monkeypatch.setattr(keyword_search, "POSTINGS_READ", read)
    base = world.new_base()
    talk(world, random.Random(1), turns=20)
    before = answers(world, base)
    assert all(any(each) for name, each in before.items() if name != "nothing of that")
    pack(world)
    assert blocks(world) > 20
    rows = [(row.term, row.position) for row in world.scalars(sa.select(Posting))]
    in_blocks = {(term, at if at < 0 else posting_blocks.key(at)) for term, at in rows}
    assert len(in_blocks) == len(rows), "a term has several rows in one block"
    assert_index_exact(world)
    assert answers(world, base) == before


def test_the_index_is_exact_whatever_is_changed_before_and_after(world: World) -> None:
    rng = random.Random(2)
    steps: list[Callable[[], None]] = [
        lambda: talk(world, rng, turns=2),
        lambda: edits.edit_message(world.services, world.user_id, any_message(world, rng), {"content": sentence(rng)}),
        lambda: edits.delete_message(world.services, world.user_id, any_message(world, rng)),
        lambda: pack(world),
    ]
    talk(world, rng, turns=10)
    for _ in range(30):
        rng.choices(steps, weights=(3, 3, 2, 1))[0]()
    pack(world)
    assert_index_exact(world)
    for number in range(4):
        edits.delete_session(world.services, world.user_id, world.flow_id, f"session {number}")
        assert_index_exact(world)
    assert blocks(world) == 0


def any_message(world: World, rng: random.Random) -> Any:
    found = sessions.list_messages(
        world.services, world.user_id, MessageQuery(flow_id=world.flow_id), PageRequest(size=200)
    )
    return rng.choice(found.items).id


def test_what_is_captured_edited_and_deleted_meanwhile_is_in_it_once(world: World) -> None:
    rng, ended = random.Random(3), Event()
    talk(world, rng, turns=10)

    def change() -> None:
        mine = random.Random(4)
        for _ in range(8):
            talk(world, mine, turns=1)
            edits.edit_message(world.services, world.user_id, any_message(world, mine), {"content": sentence(mine)})
            edits.delete_message(world.services, world.user_id, any_message(world, mine))
        ended.set()

    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "IDLE_SECONDS", -60.0)
        changing = pool.submit(change)
        while not ended.is_set() and not changing.done():
            packing.pack(world.services)
            collect(world)
        changing.result()
    assert blocks(world) > 0
    assert_index_exact(world)


@pytest.mark.both_databases
def test_postings_whose_message_is_gone_are_collected(world: World) -> None:
    rng = random.Random(6)
    talk(world, rng, turns=15)
    pack(world)
    talk(world, rng, turns=5)
    assert collect(world) == 0
    with world.services.database.transaction() as db:  # as a version did that left their postings
        is_gone = sa.or_(Message.session_id == "session 3", Message.seq % 3 == 0)
        assert db.execute(sa.delete(Message).where(is_gone)).rowcount > 10  # type: ignore[attr-defined]
    with world.services.database.reading() as db:
        wanted = wanted_postings(db)
        assert wanted.items() < stored_postings(db).items()
    assert collect(world) > 0
    with world.services.database.reading() as db:
        assert stored_postings(db) == wanted
    assert collect(world) == 0


def test_the_walk_over_the_index_begins_anywhere_and_rests_at_its_end(world: World) -> None:
    world.say("s", "zebra", "harbour")
    pack(world)
    assert world.sweep().done["orphans_removed"] == 0
    with recorded(world.services.database.engine, "SELECT") as sent:
        assert orphans.collect(world.services) == 0
    assert sent == []
    assert world.services.state.of(orphans.Walk).after == orphans.FIRST


def test_a_block_has_any_count_at_any_offset() -> None:
    postings = [(position, times) for position in range(8) for times in (1, 78, 79, 255)]
    for position, times in postings:
        assert posting_blocks.unpack([-1], [posting_blocks.pack([(position, times)])]).tolist() == [[position, times]]


def test_a_frequent_word_stays_frequent(world: World) -> None:
    world.say("s", " ".join(["zebra"] * 300), "a zebra")
    pack(world)
    assert_index_exact(world)
    text = SessionFilter(text="zebra", order="recent")
    assert len(sessions.list_sessions(world.services, world.user_id, text, PageRequest()).items) == 1


def test_recent_messages_stay_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "PAGE", 4)
    world.say("s", "zebra", "zebra", "zebra")
    assert world.sweep().done["packed"] == 0
    world.say("s", "zebra")
    assert world.sweep().done["packed"] == 1
    assert unpacked(world) == 0
    world.say("s", "zebra")
    with world.services.database.transaction() as db:
        db.execute(
            sa.update(Session).values(last_captured_at=datetime.now(UTC) - timedelta(seconds=packing.IDLE_SECONDS))
        )
    assert world.sweep().done["packed"] == 1
    assert_index_exact(world)


def test_a_session_that_is_indexed_anew_is_packed_anew(world: World) -> None:
    talk(world, random.Random(5), turns=10)
    pack(world)
    german = world.services.settings.model_copy(update={"keyword_language": "german"})
    world.services = replace(world.services, settings=german)
    assert sum(index.reindex(world.services)) == 20
    assert blocks(world) == 0
    assert_index_exact(world, "german")
    pack(world)
    assert blocks(world) > 0
    assert_index_exact(world, "german")


def test_a_pass_ends_and_is_followed_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "PAGE", 1)
    monkeypatch.setattr(packing, "PAGES_A_PASS", 3)
    world.say("s", *["zebra"] * 5)
    first, second = world.sweep(), world.sweep()
    assert (first.done["packed"], first.is_behind) == (3, True)
    assert (second.done["packed"], second.is_behind) == (2, False)


def test_a_session_that_is_gone_is_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "PAGE", 1)
    world.say("s", "zebra")
    monkeypatch.setattr(session_queries, "lock_session", lambda *_: None)
    assert packing.pack(world.services) == packing.PAGES_A_PASS
