"""Keyword and hybrid search: the index is exact after every change of a message, and each signal moves the score."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.index import assert_index_exact
from harness.rows import each_row
from harness.waiting import wait_until
from harness.world import World

from memorybase.cli import doctor
from memorybase.core import errors, ids
from memorybase.core.keyword_index import analyzer as keywords
from memorybase.core.keyword_index import index
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Posting, Speaker
from memorybase.core.search import keyword_search
from memorybase.core.search import search as answer
from memorybase.core.search.bands import MIN_SCORE
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.scoring import ENOUGH_EVIDENCE, EVIDENT, SIGNALS
from memorybase.core.search.signals import MORE_WORDS
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits
from memorybase.core.vectors.store import CollectionRef, VectorHit

LONG_AGO = datetime(2023, 5, 8, 12, tzinfo=UTC)


def search(world: World, base: UUID, query: str, **wanted: Any) -> list[Hit]:
    request = SearchRequest(memory_base_id=base, query=query, **wanted)
    return answer.search(world.services, world.user_id, request).results


def contents(hits: list[Hit]) -> list[str]:
    return [hit.content for hit in hits]


def signal(hit: Hit, name: str) -> float:
    assert hit.parts is not None
    value: float = hit.parts["signals"][name]["value"]
    return value


def said(sender: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "sender_name": sender, "content": content, **fields}


class TestIndex:
    def test_the_index_follows_captures_edits_deletions_and_renames(self, world: World) -> None:
        world.new_base(threshold=2)
        first = world.say(
            "s", said("Ada", "the cat and the other cat"), "a dog", {"role": "user", "content": ""}
        ).messages
        world.say("t", {"role": "system", "content": "you are a cat"}, said("Bob", "cats everywhere"))
        assert_index_exact(world)
        world.say("s", said("Ada", "the cat and the other cat"), said("Eve", "and more"))
        edits.edit_message(world.services, world.user_id, first[0].id, {"content": "now a bird"})
        assert_index_exact(world)
        edits.edit_message(world.services, world.user_id, first[0].id, {"metadata": {"only": "this"}})
        edits.edit_message(world.services, world.user_id, first[2].id, {"content": "no longer empty"})
        edits.delete_message(world.services, world.user_id, first[1].id)
        assert_index_exact(world)
        edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="u")
        world.say("u", "after the rename")
        assert_index_exact(world)
        edits.delete_session(world.services, world.user_id, world.flow_id, "u")
        assert_index_exact(world)
        world.say("u", "begun anew")
        assert_index_exact(world)

    def test_on_conflict_update_updates_the_index(self, world: World) -> None:
        world.say("s", {"id": "m", "role": "assistant", "content": "a cat"})
        world.say("s", {"id": "m", "role": "assistant", "content": "a dog"}, on_conflict="update")
        assert_index_exact(world)

    def test_a_deleted_flow_leaves_nothing_in_the_index(self, world: World) -> None:
        base = world.new_base()
        for number in range(3):
            world.say(f"s{number}", said("Ada", "a cat"))
        session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
        assert [world.scalar(sa.select(sa.func.count()).select_from(t)) for t in (Posting, Speaker)] == [0, 0]
        with pytest.raises(errors.NotFound):
            search(world, base, "cat", mode="keyword")

    def test_a_rolled_back_capture_leaves_nothing_in_the_index(self, world: World) -> None:
        world.say("s", {"id": "m", "role": "assistant", "content": "a cat"})
        with pytest.raises(errors.MessageConflict):
            world.say("s", "a new one", {"id": "m", "role": "assistant", "content": "a dog"})
        assert_index_exact(world)


class TestReindex:
    def test_messages_of_another_language_are_reindexed(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(index, "REINDEX_PAGE", 2)
        settings = world.services.settings.model_copy(update={"keyword_language": "german"})
        german = replace(world, services=replace(world.services, settings=settings))
        base = world.new_base(threshold=1)
        world.say("mixed", "die Katzen schlafen", {"role": "system", "content": "ein Hund"}, "viele Bilder")
        world.say("old", said("Ada", "die Häuser"))
        german.say("mixed", "ein Haus")
        german.say("new", "noch ein Haus")
        assert index.waiting_for_reindex(german.services) == (2, 4)

        pages = index.reindex(german.services)
        next(pages)
        pages.close()
        left = index.waiting_for_reindex(german.services)
        assert left.documents >= 3  # the session of two pages still waits, started or not
        assert sum(index.reindex(german.services)) == left.documents

        assert_index_exact(world, "german")
        assert index.waiting_for_reindex(german.services) == (0, 0)
        assert list(index.reindex(german.services)) == []
        german.settle()
        assert set(contents(search(german, base, "Haus", mode="keyword"))) >= {"die Häuser", "ein Haus"}

    def test_doctor_reports_messages_of_other_languages_and_earlier_versions(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (check,) = [each for each in doctor.CHECKS if each.name == "keyword index"]

        def reported(language: str) -> tuple[bool, str, str | None]:
            settings = world.services.settings.model_copy(update={"keyword_language": language})
            monkeypatch.setattr(doctor.DoctorContext, "services", replace(world.services, settings=settings))
            result = check.run(doctor.DoctorContext(settings, None))
            return result.ok, result.detail, result.fix

        assert reported("german") == (True, "complete, in german", "")
        assert reported("detect")[1] == "complete, each text in its own language"
        assert reported("none")[1] == "complete, words as they are written"
        with monkeypatch.context() as earlier:
            earlier.setattr(keywords, "REVISION", keywords.REVISION - 1)
            world.say("s", "ein Hund")
            assert reported("detect")[0]
        fix = "fix: memorybase reindex"
        assert reported("german") == (False, "1 session indexed in another language or by an earlier version", fix)
        assert reported("detect") == (False, "1 session indexed in another language or by an earlier version", fix)
        world.say("s", "eine Katze")
        assert not reported("detect")[0]
        assert sum(index.reindex(world.services)) == 2
        assert reported("detect")[0]
        assert_index_exact(world)


class TestWords:
    def test_stems_match_and_rarer_terms_weigh_more(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", *(f"the garden number {n}" for n in range(8)), "the cats were running")
        world.settle()
        assert contents(search(world, base, "running cat", mode="keyword"))[0] == "the cats were running"
        assert contents(search(world, base, "garden cat", mode="keyword", top_k=1)) == ["the cats were running"]

    def test_pending_messages_are_found_at_once_and_marked(self, world: World) -> None:
        base = world.new_base(threshold=50)
        world.say("s", "the zebra is striped")
        for mode in ("keyword", "hybrid"):
            assert [(hit.content, hit.pending) for hit in search(world, base, "zebras", mode=mode)] == [
                ("the zebra is striped", True)
            ]
            assert search(world, base, "zebras", mode=mode, include_pending=False) == []

    def test_edits_and_deletions_apply_at_once(self, world: World) -> None:
        base = world.new_base(threshold=1)
        (message,) = world.say("s", "the zebra is striped").messages
        world.settle()
        edits.edit_message(world.services, world.user_id, message.id, {"content": "the lion has a mane"})
        assert search(world, base, "zebra", mode="keyword") == []
        assert contents(search(world, base, "lion", mode="keyword")) == ["the lion has a mane"]
        edits.delete_message(world.services, world.user_id, message.id)
        assert search(world, base, "lion", mode="keyword") == []

    def test_keyword_scores_survive_a_regenerate_and_need_no_store(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", *(f"the {word} is here" for word in ("cat", "dog", "bird")))
        world.settle()
        before = [(hit.content, hit.score) for hit in search(world, base, "cat bird", mode="keyword")]
        assert len(before) == 3
        regenerate.regenerate(world.services, world.user_id, base)
        world.settle()
        world.vectors.away = True
        assert [(hit.content, hit.score) for hit in search(world, base, "cat bird", mode="keyword")] == before
        with pytest.raises(errors.VectorStoreUnavailable):
            search(world, base, "cat bird")

    def test_a_memory_base_from_now_on_excludes_earlier_messages(self, world: World) -> None:
        world.say("s", "the old zebra")
        base = world.new_base(threshold=1, start="now")
        world.say("s", "the new zebra")
        world.settle()
        for mode in ("keyword", "hybrid"):
            assert contents(search(world, base, "zebra", mode=mode)) == ["the new zebra"]

    def test_only_counted_messages_are_found_but_the_question_before_scores(self, world: World) -> None:
        base = world.new_base(threshold=1, capture="outputs")
        world.say("s", {"role": "user", "content": "Where does the zebra live?"}, "In Africa", "Something else")
        world.settle()
        assert contents(search(world, base, "zebra", mode="keyword"))[0] == "In Africa"
        assert "Where does the zebra live?" not in contents(search(world, base, "zebra"))

    def test_every_filter_holds(self, world: World) -> None:
        base = world.new_base(threshold=1, capture="all")
        stored = world.say("s", {"role": "user", "content": "zebra one", "metadata": {"k": 1}}, "zebra two").messages
        world.say("t", "zebra three", end_user_id="ada")
        world.settle()
        for mode in ("keyword", "hybrid"):
            found = {
                name: set(contents(search(world, base, "zebra", mode=mode, **{name: value})))
                for name, value in {
                    "session_id": "t",
                    "end_user_id": "ada",
                    "roles": ["user"],
                    "metadata": {"k": 1},
                    "exclude_message_ids": [stored[0].id, stored[1].id],
                    "since": datetime.now(UTC) + timedelta(days=1),
                }.items()
            }
            assert found == {
                "session_id": {"zebra three"},
                "end_user_id": {"zebra three"},
                "roles": {"zebra one"},
                "metadata": {"zebra one"},
                "exclude_message_ids": {"zebra three"},
                "since": set(),
            }
        assert search(world, base, "zebra", session_id="nowhere") == []

    def test_a_common_term_scores_candidates_of_rare_ones(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = world.new_base(threshold=1)
        world.say("s", *(f"garden number {n}" for n in range(12)), "the garden of the zebra")
        world.say("t", "hello", "hello again", "a lone zebra")
        world.settle()
        whole = [(hit.content, hit.score) for hit in search(world, base, "zebra garden", mode="keyword", top_k=2)]
        monkeypatch.setattr(keyword_search, "POSTINGS_READ", 4)
        cut = [(hit.content, hit.score) for hit in search(world, base, "zebra garden", mode="keyword", top_k=2)]
        assert (
            [content for content, _ in cut]
            == [content for content, _ in whole]
            == ["the garden of the zebra", "a lone zebra"]
        )
        assert len(search(world, base, "garden", mode="keyword")) > 0

    def test_a_query_without_terms_is_no_error(self, world: World, subtests: pytest.Subtests) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "something")
        world.settle()
        for query in ("the and of", "\u2603 ?!", "zzz"):
            with subtests.test(query):
                assert search(world, base, query, mode="keyword") == []
                assert contents(search(world, base, query)) == ["something"]

    def test_an_empty_memory_base_has_no_results(self, world: World) -> None:
        assert search(world, world.new_base(), "anything") == []


class TestSignals:
    def test_the_parts_add_up_to_the_score(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", said("Ada", "I bought three cats last week"), said("Bob", "How nice?"))
        world.settle()
        hit = search(world, base, "How many cats has Ada bought?", explain=True)[0]
        assert hit.parts is not None
        assert hit.parts["signals"].keys() == SIGNALS.keys()
        total = hit.parts["bias"] + sum(each["share"] for each in hit.parts["signals"].values())
        share, evidence = 1 / (1 + math.exp(-total)), hit.parts["evidence"]
        assert evidence >= ENOUGH_EVIDENCE
        assert hit.score == pytest.approx(MIN_SCORE + (1 - MIN_SCORE) * share * evidence, abs=1e-4)
        assert (signal(hit, "speaker"), signal(hit, "time"), signal(hit, "wish")) == (1, 0, 0)
        assert 0 < hit.score < 1
        by_words = search(world, base, "How many cats has Ada bought?", mode="keyword", explain=True)[0]
        assert by_words.parts is not None
        total = by_words.parts["bias"] + sum(each["share"] for each in by_words.parts["signals"].values())
        assert by_words.parts["evidence"] is None
        assert signal(by_words, "dense") == 0, "no model knows a word, so words count more"
        assert signal(by_words, "nearby") == pytest.approx((1 + MORE_WORDS) * signal(hit, "nearby"), abs=1e-5)
        assert by_words.score == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-4)

    def test_messages_of_a_named_speaker_come_first(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", said("Ada", "I like tea"), said("Bob", "I like tea"))
        world.settle()
        assert [hit.sender_name for hit in search(world, base, "What does Bob like? tea")] == ["Bob", "Ada"]
        assert [hit.sender_name for hit in search(world, base, "What does Ada like? tea")] == ["Ada", "Bob"]
        both = search(world, base, "Do Ada and Bob like tea?", explain=True)
        assert [signal(hit, "speaker") for hit in both] == [0, 0]

    def test_what_only_a_rare_name_answers_recalls_only_messages_with_it(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the Kestrel sails on", *(f"cats drink tea at house {n}" for n in range(30)))
        world.settle()
        best, *others = search(
            world, base, "whose grumpy harbourmaster scolded captain Kestrel beside windmills?", explain=True
        )
        assert best.parts is not None
        assert (best.content, best.parts["evidence"]) == ("the Kestrel sails on", EVIDENT)
        assert best.score >= MIN_SCORE
        assert "lacks_name" not in best.parts
        assert others
        assert all(hit.parts is not None and hit.parts["lacks_name"] and hit.score < MIN_SCORE for hit in others)

    def test_a_date_in_the_question_favors_messages_of_that_date(self, world: World) -> None:
        base = world.new_base(threshold=1)
        for month in (3, 5, 7):
            moment = LONG_AGO.replace(month=month).isoformat()
            world.say(f"s{month}", {"role": "assistant", "content": "we went hiking", "timestamp": moment})
        world.settle()
        first = search(world, base, "hiking in May 2023", explain=True)[0]
        assert (first.session_id, signal(first, "date")) == ("s5", 1)

    def test_a_half_life_fades_half_of_the_share(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("old", {"role": "assistant", "content": "we went hiking", "timestamp": LONG_AGO.isoformat()})
        world.say("new", {"role": "assistant", "content": "we went hiking"})
        world.settle()
        plain = {hit.session_id: hit.score for hit in search(world, base, "hiking")}
        faded = search(world, base, "hiking", half_life_days=10)
        assert [hit.session_id for hit in faded] == ["new", "old"]
        assert faded[1].score - MIN_SCORE == pytest.approx((plain["old"] - MIN_SCORE) / 2, rel=1e-3)  # still recalled
        assert faded[0].score == pytest.approx(plain["new"], rel=1e-3)

    def test_min_score_applies_to_the_fused_score(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "the zebra is striped", "the weather is grey")
        world.settle()
        best, other = search(world, base, "striped zebra")
        assert contents(search(world, base, "striped zebra", min_score=best.score)) == ["the zebra is striped"]
        assert search(world, base, "striped zebra", min_score=min(1.0, best.score + 0.01)) == []
        assert other.score < best.score

    def test_keyword_candidates_get_a_cosine_too(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keyword_search, "KEYWORD_CANDIDATES", {"hybrid": 5})
        monkeypatch.setattr("memorybase.core.search.vector_search.FIRST_FETCH", 5)
        base = world.new_base(threshold=1)
        world.say("s", *(f"the weather is grey {n}" for n in range(200)), "zebra")
        world.settle()
        world.vectors.calls.clear()
        hit = search(world, base, "is the weather the zebra", explain=True)
        (zebra,) = [each for each in hit if each.content == "zebra"]
        assert signal(zebra, "dense") > 0
        assert world.vectors.calls["fetch"] == 1


class TestTransactions:
    """A read transaction is a connection of the pool and, on PostgreSQL, round trips."""

    @pytest.fixture
    def begun(self, world: World) -> Iterator[list[object]]:
        """The transactions that searches begin."""
        begun: list[object] = []
        listener = (world.services.database.engine, "begin", begun.append)
        sa.event.listen(*listener)
        yield begun
        sa.event.remove(*listener)

    def test_a_search_by_words_is_one_and_one_by_vectors_two(self, world: World, begun: list[object]) -> None:
        for _ in range(2):
            world.new_base(threshold=3)
        asked = said("Ada", "Where is the zebra?", role="user", id="asked")
        world.say("s", asked, "the zebra is striped", "Ada asked where the zebra is", "the zebra is striped")
        world.settle()
        world.say("s", "the zebra is pending")
        for mode, most in (("keyword", 1), ("dense", 2), ("hybrid", 2)):
            begun.clear()
            excluded = ids.CallerId.of(world.user_id, "message", "asked")
            request = SearchRequest(
                flow_id=world.flow_id,
                query="What about the zebra?",
                mode=mode,
                session_id="s",
                neighbors=1,
                fold_alike=True,
                exclude_message_ids=[excluded],
            )
            hits = answer.search_uncharged(world.services, world.user_id, request).results
            assert len(begun) == most, mode
            assert len(hits) == 3
            around = [turn["content"] for hit in hits for turn in (*hit.before, *hit.after)]
            assert around
            assert asked["content"] not in around

    def test_none_is_open_while_model_or_store_works(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memorybase.core.search.vector_search.FIRST_FETCH", 1)
        base = world.new_base(threshold=1)
        world.say("s", *(f"the zebra is number {number}" for number in range(9)), {"role": "user", "content": "grey"})
        world.settle()
        pool, query = world.services.database.engine.pool, world.vectors.query
        limits: list[int] = []

        def idle(*_args: object) -> None:
            wait_until(lambda: pool.checkedout() == 0)  # type: ignore[attr-defined]

        def ask(ref: CollectionRef, vector: Any, limit: int, *rest: Any, **options: Any) -> list[VectorHit]:
            idle()
            limits.append(limit)
            return query(ref, vector, limit, *rest, **options)

        world.embedder.before_embed = idle
        monkeypatch.setattr(world.vectors, "query", ask)
        assert contents(search(world, base, "zebra", mode="dense", roles=["user"], top_k=1)) == ["grey"]
        assert len(limits) > 1  # of too few chunks that pass, the store is asked for more
        assert len(search(world, base, "is the zebra grey")) == 10


def test_a_flow_search_covers_all_memory_bases_and_returns_each_message_once(world: World) -> None:
    for _ in range(2):
        world.new_base(threshold=1)
    world.say("s", "the zebra is striped")
    world.settle()
    for mode in ("keyword", "hybrid"):
        request = SearchRequest(flow_id=world.flow_id, query="zebra", mode=mode)
        assert len(answer.search(world.services, world.user_id, request).results) == 1


class TestKeywords:
    SAID = (
        "We went sailing in a boat near the old lighthouse.",
        "Was it windy?",
        "A little, and it rained later.",
        "What do you cook tonight?",
        "Pasta, and there is cake for dessert.",
    )

    @pytest.fixture
    def base(self, world: World) -> UUID:
        base = world.new_base()
        world.capture("s", [world.message(said("Ann", content)) for content in self.SAID])
        return base

    @each_row(("query", "expected"), [("boat", 0), ("boats", 0), ("old lighthouse", 0), ("cake", 4)])
    def test_one_to_three_words_find_the_message_that_has_them(
        self, world: World, base: UUID, query: str, expected: int
    ) -> None:
        best, *others = search(world, base, query)
        assert best.content == self.SAID[expected]
        assert best.score > 3 * MIN_SCORE
        assert all(hit.score < best.score / 3 for hit in others), "the turns around it only have the words nearby"

    @each_row("query", ["zeppelin", "purple zeppelin"])
    def test_words_that_no_message_has_find_only_weak_results(self, world: World, base: UUID, query: str) -> None:
        assert all(hit.score < MIN_SCORE for hit in search(world, base, query))
