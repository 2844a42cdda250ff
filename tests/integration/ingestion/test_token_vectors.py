"""Token vectors follow the messages: written with the ledger, replaced by repairs, deleted, reused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.cli import doctor
from memorybase.cli.reconcile import describe
from memorybase.core import errors
from memorybase.core.memory_bases import consistency, deletion, reconcile, regenerate
from memorybase.core.models import TokenVectors
from memorybase.core.search import search as answer
from memorybase.core.search import signals
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits


def stored(world: World) -> dict[UUID, TokenVectors]:
    return {each.message_id: each for each in world.scalars(sa.select(TokenVectors))}


def search(world: World, base: UUID, query: str, **wanted: Any) -> list[Hit]:
    request = SearchRequest(memory_base_id=base, query=query, explain=True, **wanted)
    return answer.search(world.services, world.user_id, request).results


def signal(hit: Hit, name: str) -> float:
    assert hit.parts is not None
    return float(hit.parts["signals"][name]["value"])


def without_token_vectors(world: World) -> World:
    settings = world.services.settings.model_copy(update={"token_vectors": False})
    return replace(world, services=replace(world.services, settings=settings))


def lose(world: World, message_id: UUID) -> None:
    world.execute(sa.delete(TokenVectors).where(TokenVectors.message_id == message_id))


def doctor_check(world: World) -> doctor.Result:
    context = doctor.DoctorContext(world.services.settings, None)
    context.__dict__["services"] = world.services
    (check,) = [each for each in doctor.CHECKS if each.name == "token vectors"]
    return check.run(context)


class TestKeeping:
    def test_each_message_has_token_vectors_of_its_first_chunk_and_version(self, world: World) -> None:
        base = world.new_base(threshold=1)
        short, long, blank = world.say("s", "the cat sleeps", "word " * 600, "   ").messages
        world.assert_settled(base)
        found = stored(world)
        assert found.keys() == {short.id, long.id}
        size = world.embedder.dimension // 4
        assert (len(found[short.id].vectors), len(found[long.id].vectors)) == (3 * size, 128 * size)
        assert found[short.id].version == 1
        assert blank.id not in found

    def test_edits_replace_and_deletions_remove_token_vectors(self, world: World) -> None:
        base = world.new_base(threshold=1)
        first, second = world.say("s", "the cat sleeps", "a dog").messages
        world.settle()
        edits.edit_message(world.services, world.user_id, first.id, {"content": "one bird"})
        assert signal(search(world, base, "bird")[0], "match") == signals.UNKNOWN_MATCH  # not embedded yet
        edits.delete_message(world.services, world.user_id, second.id)
        world.settle()
        world.assert_exact(base)
        ((only, vectors),) = stored(world).items()
        assert (only, vectors.version) == (first.id, 2)
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        world.settle()
        assert stored(world) == {}

    @pytest.mark.parametrize("way", ["base", "flow"])
    def test_deletions_leave_no_token_vectors(self, world: World, way: str) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the cat sleeps")
        world.settle()
        if way == "base":
            assert deletion.delete_memory_base(world.services, world.user_id, base)
        else:
            assert session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
        assert stored(world) == {}

    def test_a_regenerate_reuses_token_vectors_without_embedding(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the cat sleeps", "word " * 600)
        world.settle()
        before = {id_: each.vectors for id_, each in stored(world).items()}
        world.embedder.embedded.clear()
        regenerate.regenerate(world.services, world.user_id, base)
        world.assert_settled(base)
        assert world.embedder.embedded == []
        world.pass_time(3_600)
        world.settle()
        assert {id_: (each.generation, each.vectors) for id_, each in stored(world).items()} == {
            id_: (2, vectors) for id_, vectors in before.items()
        }

    def test_a_generation_without_token_vectors_is_searched_and_regenerated(self, world: World) -> None:
        off = without_token_vectors(world)
        base = off.new_base(threshold=1)
        off.say("s", "the cat sleeps", "word " * 600)
        off.settle()
        assert stored(world) == {}
        hit = search(world, base, "cat")[0]
        assert (hit.content, signal(hit, "match")) == ("the cat sleeps", signals.UNKNOWN_MATCH)
        world.embedder.embedded.clear()
        regenerate.regenerate(world.services, world.user_id, base)
        world.assert_settled(base)
        assert len(world.embedder.embedded) == 2  # the first chunk of each; the other vectors are reused
        assert len(stored(world)) == 2
        assert signal(search(world, base, "cat")[0], "match") == pytest.approx(1, abs=0.02)
        assert signal(search(off, base, "cat")[0], "match") == signals.UNKNOWN_MATCH

    def test_another_encoding_is_not_compared_or_mixed(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the cat sleeps")
        world.settle()
        assert doctor_check(world).detail == doctor.IN_ORDER
        monkeypatch.setattr(type(world.embedder), "token_encoding", "int2x32/another")
        assert signal(search(world, base, "cat")[0], "match") == signals.UNKNOWN_MATCH
        world.say("s", "a second cat")
        world.settle()
        assert sorted(bool(each.vectors) for each in stored(world).values()) == [False, True]
        assert consistency.check_mismatch(world.services, world.user_id, base).state == "ok"  # no repair could add them
        found = doctor_check(world)
        assert (found.ok, found.detail) == (
            True,
            "1 memory base without them, or with former ones; regenerate for better results",
        )
        regenerate.regenerate(world.services, world.user_id, base)
        world.assert_settled(base)
        assert signal(search(world, base, "second")[0], "match") == pytest.approx(1, abs=0.02)
        assert doctor_check(world).detail == doctor.IN_ORDER


class TestRepair:
    def test_lost_token_vectors_are_a_mismatch_for_reconcile_and_doctor(self, world: World) -> None:
        base = world.new_base(threshold=1)
        first, _ = world.say("s", "the cat sleeps", "a dog").messages
        world.settle()
        assert consistency.check_mismatch(world.services, world.user_id, base).state == "ok"
        lose(world, first.id)
        found = consistency.check_mismatch(world.services, world.user_id, base)
        assert (found.state, found.missing, found.missing_token_vectors) == ("mismatch", 0, 1)
        result = doctor_check(world)
        assert (result.ok, result.detail, result.fix) == (
            False,
            "missing for 1 message",
            "fix: memorybase reconcile --repair",
        )

        done = reconcile.reconcile_base(world.services, base, repair=True)
        assert done is not None
        assert "1 messages without token vectors" in describe(done, repair=True)
        world.assert_settled(base)
        assert len(stored(world)) == 2
        assert consistency.check_mismatch(world.services, world.user_id, base).state == "ok"
        assert doctor_check(world).detail == doctor.IN_ORDER

    def test_the_cursor_never_moves_without_token_vectors(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the cat sleeps")

        def fail(*_: object, **__: object) -> None:
            raise errors.DatabaseUnavailable

        with monkeypatch.context() as patch:
            patch.setattr("memorybase.core.queries.token_vectors.record", fail)
            world.drain()
        assert (stored(world), world.row(base, "s").cursor_seq) == ({}, 0)
        world.pass_time(3_600)
        world.assert_settled(base)


class TestSearch:
    def test_each_token_counts_by_the_rarity_of_its_word(self, world: World) -> None:
        base = world.new_base(threshold=1)
        for number, text in enumerate([*(f"the garden number {n}" for n in range(30)), "a zebra", "the garden"]):
            world.say(f"s{number}", text)
        world.settle()
        own = {hit.content: signal(hit, "match") for hit in search(world, base, "garden zebra", top_k=50)}
        assert own["a zebra"] > 0.6 > own["the garden"]

    def test_matches_in_short_neighboring_turns_count(self, world: World) -> None:
        base = world.new_base(threshold=1)
        filler = " ".join(f"filler{n}" for n in range(400))
        ask = {"role": "user", "content": "Which animal is striped?"}
        world.say("s", ask, "It lives in Africa", "Nothing more")
        world.say("t", {"role": "user", "content": f"Which animal is striped? {filler}"}, "It lives in Asia")
        world.settle()
        hits = {hit.content: hit for hit in search(world, base, "striped animal", top_k=50)}
        near, beside_long = hits["It lives in Africa"], hits["It lives in Asia"]
        assert signal(near, "match") > 0.9
        assert signal(beside_long, "match") < 0.5
        later = hits["Nothing more"]
        assert signal(later, "match") > 0.9  # the assistant continues; the user's question is two turns before

    def test_turns_of_another_session_do_not_count(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "striped animals", {"role": "user", "content": "striped animals?"})
        world.say("t", "In Africa")
        world.settle()
        (hit,) = [hit for hit in search(world, base, "striped", top_k=9) if hit.session_id == "t"]
        assert signal(hit, "match") < 0.5

    def test_pending_messages_are_ranked_without_token_vectors(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the zebra is striped")
        world.settle()
        pending = world.new_base(threshold=100)
        hit = search(world, pending, "zebra")[0]
        assert (hit.pending, signal(hit, "match")) == (True, signals.UNKNOWN_MATCH)
        assert not search(world, base, "zebra")[0].pending

    def test_names_have_no_weight_and_no_words_are_no_error(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", {"role": "assistant", "sender_name": "Ada", "content": "I like tea"})
        world.settle()
        assert signal(search(world, base, "Ada")[0], "match") == 0
        assert signal(search(world, base, "\u2603 ?!")[0], "match") == 0
