"""Memory bases through the API: created, counted, flushed, regenerated, compared, searched, deleted."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from harness.api import Api
from harness.chroma import delete_collections_of
from harness.rows import each_row
from harness.statements import recorded
from harness.waiting import wait_until

from api import waiting
from memorybase.core.auth import api_keys
from memorybase.core.read_models import jobs


@contextmanager
def worker(api: Api) -> Iterator[None]:
    """A worker beside the test, until the block ends."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(0.02):
            api.work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class TestCreate:
    def test_create_returns_the_defaults(self, api: Api) -> None:
        api.flow()
        ignored = {"id": str(uuid4()), "user_id": "someone", "created_at": "then"}
        made = api.memory(**ignored)
        assert made == api.get(f"/memories/{made['id']}")
        assert made["user_id"] == str(api.user_id)
        assert made["id"] != ignored["id"]
        defaults = {"threshold": 50, "auto_capture": True, "capture": "outputs", "idle_after": 600, "kb_name": "notes"}
        assert made.items() >= (defaults | {"status": "ready", "mismatch": None, "sessions": 0}).items()

    def test_a_name_in_use_is_409_with_existing_id(self, api: Api) -> None:
        first = api.memory(kb_name="kb")
        error = api.refused("POST", "/memories", 409, json={"name": "notes", "flow_id": "support"})
        assert (error["code"], error["field"], error["details"]["existing_id"]) == ("name_taken", "name", first["id"])
        error = api.refused("POST", "/memories", 409, json={"name": "other", "flow_id": "support", "kb_name": "kb"})
        assert (error["code"], error["field"]) == ("name_taken", "kb_name")
        assert error["details"]["existing_id"]
        other = api.of_user("eve")
        other.flow()
        other.memory(kb_name="kb")

    def test_put_creates_once_and_changes_nothing_of_what_exists(self, api: Api) -> None:
        api.flow()
        path = "/flows/support/memories/notes%2F1"
        made = api.call("PUT", path, expect=201, json={"capture": "all", "threshold": 7}).json()
        assert (made["name"], made["capture"], made["threshold"]) == ("notes/1", "all", 7)
        for body in ({"capture": "all", "threshold": 7}, {}, None):
            assert api.call("PUT", path, expect=200, json=body).json() == made
        kept = api.call("PUT", path, expect=200, json={"threshold": 8, "retain_days": 3, "start": "now"}).json()
        assert kept == made | {"warnings": kept["warnings"]}
        assert [warning["message"] for warning in kept["warnings"]] == [
            "threshold is 7, as before: PATCH changes it.",
            "retain_days is not set, as before: PATCH changes it.",
        ]
        for field, value in (("capture", "outputs"), ("kb_name", "kb"), ("embedding_model", "other")):
            error = api.refused("PUT", path, 409, json={field: value})
            assert (error["code"], error["field"], error["value"]) == ("conflict", field, value)
            assert error["details"]["existing_id"] == made["id"]
        api.flow("other")
        taken = api.refused("PUT", "/flows/other/memories/notes%2F1", 409)
        assert (taken["code"], taken["details"]["existing_id"]) == ("name_taken", made["id"])
        assert api.get("/memories")["items"] == [made]

    def test_an_unknown_flow_or_model_is_refused(self, api: Api) -> None:
        assert api.refused("POST", "/memories", 404, json={"name": "n", "flow_id": "x"})["field"] == "flow_id"
        api.flow()
        body = {"name": "n", "flow_id": "support", "embedding_model": "nope"}
        assert api.refused("POST", "/memories", 422, json=body)["field"] == "embedding_model"
        api.embedders.missing.add("away")
        error = api.refused("POST", "/memories", 503, json=body | {"embedding_model": "away"})
        assert error["code"] == "model_unavailable"

    def test_start_now_skips_existing_messages(self, api: Api) -> None:
        api.capture("old")
        late, whole = api.memory("late", start="now"), api.memory("whole")
        assert (late["pending_messages"], whole["pending_messages"]) == (0, 1)
        assert (late["status"], whole["status"]) == ("ready", "pending")


class TestChange:
    @pytest.fixture
    def memory_base(self, api: Api) -> str:
        base: str = api.memory()["id"]
        return base

    def test_changeable_fields_are_changed(self, api: Api) -> None:
        base = api.memory()["id"]
        changes = {"name": "renamed", "threshold": 7, "auto_capture": False, "idle_after": 0}
        assert api.patch(f"/memories/{base}", changes).items() >= changes.items()
        assert api.patch(f"/memories/{base}", {}).items() >= changes.items()

    @each_row(
        ("body", "field"),
        [
            ({"kb_name": "x"}, "kb_name"),
            ({"flow_id": "x"}, "flow_id"),
            ({"user_id": "x"}, "user_id"),
            ({"threshold": None}, "threshold"),
            ({"threshold": 0}, "threshold"),
            ({"threshold": 10_001}, "threshold"),
            ({"name": ""}, "name"),
            ({"idle_after": -1}, "idle_after"),
        ],
    )
    def test_a_field_that_cannot_be_changed_is_named(
        self, api: Api, memory_base: str, body: dict[str, Any], field: str
    ) -> None:
        assert api.refused("PATCH", f"/memories/{memory_base}", 422, json=body)["field"] == field

    def test_a_rename_to_a_name_in_use_is_409(self, api: Api) -> None:
        base, other = api.memory("a")["id"], api.memory("b", kb_name="kb-b")["id"]
        error = api.refused("PATCH", f"/memories/{base}", 409, json={"name": "b"})
        assert error["details"]["existing_id"] == other


class TestProgress:
    def test_counters_follow_ingestion(self, api: Api) -> None:
        base = api.memory(threshold=3)["id"]
        api.capture("a", "b")
        seen = api.get(f"/memories/{base}")
        assert (seen["status"], seen["pending_messages"], seen["total_processed"]) == ("pending", 2, 0)
        api.capture("c")
        assert api.get(f"/memories/{base}")["status"] == "ingesting"
        api.work()
        seen = api.get(f"/memories/{base}")
        assert (seen["status"], seen["pending_messages"], seen["total_processed"]) == ("ready", 0, 3)
        assert (seen["sessions"], seen["dead_letters"], seen["pending_capped"]) == (1, 0, False)
        assert seen["last_sync_at"]

    @pytest.mark.parametrize(("capture", "counted"), [("outputs", 1), ("all", 2)])
    def test_capture_decides_which_messages_count(self, api: Api, capture: str, counted: int) -> None:
        base = api.memory(capture=capture)["id"]
        turns = [{"role": role, "content": "x"} for role in ("system", "user", "assistant", "tool")]
        api.post("/flows/support/runs", {"session_id": "s", "messages": turns}, expect=201)
        assert api.get(f"/memories/{base}")["pending_messages"] == counted
        (session,) = api.get(f"/memories/{base}/sessions")["items"]
        assert (session["total_messages"], session["pending_messages"]) == (counted, counted)

    def test_an_outage_shows_in_the_status(self, api: Api) -> None:
        base = api.memory(threshold=1)["id"]
        api.capture("a")
        api.vectors.away = True
        api.work()
        assert api.get(f"/memories/{base}")["status"] == "unavailable"

    def test_lists_cost_the_same_number_of_queries(self, api: Api) -> None:
        counts = set()
        for number in range(4):
            api.flow(f"f{number}")
            base = api.memory(f"m{number}", flow=f"f{number}", threshold=1)["id"]
            for session in range(number + 1):
                api.capture("x", flow=f"f{number}", session=f"s{session}")
            with recorded(api.services.database.engine) as sent:
                api.get("/memories")
                api.get(f"/memories/{base}/sessions")
                api.get("/messages", memory_base_id=base)
                api.get("/sessions")
                api.get(f"/flows/f{number}/runs")
                api.get(f"/memories/{base}/jobs")
            counts.add(len(sent))
        assert len(counts) == 1


class TestSessions:
    def test_sessions_are_listed_tracked_or_not(self, api: Api) -> None:
        base = api.memory(threshold=2, auto_capture=True)["id"]
        api.capture("a", "b", session="done")
        api.work()
        api.capture("a", session="waits")
        api.patch(f"/memories/{base}", {"auto_capture": False})
        api.capture("a", session="untracked")
        done, waits, untracked = api.get(f"/memories/{base}/sessions")["items"]
        processed = {"session_id": "done", "state": "synced", "cursor_seq": 2, "total_processed": 2}
        assert done.items() >= processed.items()
        assert done["cursor_id"] == api.get("/messages", session_id="done")["items"][-1]["id"]
        assert (waits["session_id"], waits["state"], waits["pending_messages"]) == ("waits", "pending", 1)
        assert (untracked["id"], untracked["state"], untracked["pending_messages"]) == (None, "pending", 1)

    def test_a_dead_letter_is_a_failed_session(self, api: Api) -> None:
        base = api.memory(threshold=1)["id"]
        api.embedders.get("fake").reject("poison")
        api.capture("poison", session="s")
        api.work()
        (session,) = api.get(f"/memories/{base}/sessions")["items"]
        assert (session["state"], session["pending_messages"]) == ("failed", 0)
        assert api.get(f"/memories/{base}")["dead_letters"] == 1


class TestDeadLetters:
    @pytest.fixture
    def dead(self, api: Api) -> tuple[str, dict[str, Any]]:
        base = api.memory(threshold=2)["id"]
        api.embedders.get("fake").reject("poison")
        api.capture("poison", "good")
        api.work()
        (letter,) = api.get(f"/memories/{base}/dead-letters")["items"]
        return base, letter

    def test_a_dead_letter_shows_message_and_error(self, dead: tuple[str, dict[str, Any]]) -> None:
        base, letter = dead
        assert (letter["memory_base_id"], letter["session_id"], letter["attempts"]) == (base, "s1", 1)
        assert letter["message"]["content"] == "poison"
        assert letter["error"]["code"] == "text_rejected"

    def test_a_dead_letter_can_be_retried(self, api: Api, dead: tuple[str, dict[str, Any]]) -> None:
        base, letter = dead
        api.embedders.get("fake")._rejected.clear()
        (job,) = api.post(f"/memories/{base}/dead-letters/{letter['id']}/retry", expect=202)["job_ids"]
        api.work()
        assert api.get(f"/jobs/{job}")["state"] == "done"
        assert api.get(f"/memories/{base}/dead-letters")["total"] == 0
        assert api.get(f"/memories/{base}")["total_processed"] == 2

    def test_a_dead_letter_can_be_discarded(self, api: Api, dead: tuple[str, dict[str, Any]]) -> None:
        base, letter = dead
        api.delete(f"/memories/{base}/dead-letters/{letter['id']}")
        assert api.get(f"/memories/{base}/dead-letters")["total"] == api.get(f"/memories/{base}")["dead_letters"] == 0
        api.refused("POST", f"/memories/{base}/dead-letters/{letter['id']}/retry", 404)


class TestFlush:
    @pytest.mark.parametrize("path", ["flush", "update"])
    def test_flush_queues_pending_messages(self, api: Api, path: str) -> None:
        base = api.memory()["id"]
        for session in ("a", "b"):
            api.capture("x", session=session)
        answer = api.call("POST", f"/memories/{base}/{path}", expect=202).json()
        assert {job["session_id"] for job in answer["jobs"]} == {"a", "b"}
        assert ({job["state"] for job in answer["jobs"]}, answer["conflicts"]) == ({"queued"}, [])

    def test_flush_with_nothing_pending_is_200(self, api: Api) -> None:
        base = api.memory()["id"]
        nothing = {"jobs": [], "conflicts": [], "skipped": [], "deferred": 0}
        assert api.post(f"/memories/{base}/flush", {}) == nothing

    def test_a_flush_that_defers_sessions_is_202_even_after_its_jobs_ended(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memorybase.core.ingestion.flush.MAX_JOBS", 1)
        monkeypatch.setattr("memorybase.core.ingestion.flush.FLUSH_PAGE", 1)
        base = api.memory()["id"]
        for session in ("a", "b", "c"):
            api.capture("x", session=session)
        with worker(api):
            answer = api.call("POST", f"/memories/{base}/flush?wait=30", expect=202).json()
        assert ([job["state"] for job in answer["jobs"]], answer["deferred"]) == (["done"], 2)

    def test_flush_with_only_active_jobs_is_409_with_retry_after(self, api: Api) -> None:
        base = api.memory()["id"]
        api.capture("x", session="a")
        (job,) = api.post(f"/memories/{base}/flush", {"session_id": "a"}, expect=202)["jobs"]
        answer = api.call("POST", f"/memories/{base}/flush", expect=409, json={"session_id": "a"})
        error = answer.json()["error"]
        assert (error["code"], error["retryable"]) == ("ingestion_active", True)
        assert error["details"]["conflicts"] == [{"session_id": "a", "job_id": job["id"], "state": "queued"}]
        assert int(answer.headers["retry-after"]) > 0

    def test_flush_returns_jobs_and_conflicts(self, api: Api) -> None:
        base = api.memory()["id"]
        api.capture("x", session="a")
        api.post(f"/memories/{base}/flush", {"session_id": "a"}, expect=202)
        api.capture("x", session="b")
        answer = api.post(f"/memories/{base}/flush", expect=202)
        assert [job["session_id"] for job in answer["jobs"]] == ["b"]
        assert [conflict["session_id"] for conflict in answer["conflicts"]] == ["a"]

    def test_wait_returns_once_everything_is_ingested(self, api: Api) -> None:
        base = api.memory(threshold=1_000)["id"]
        for start in range(0, 300, 50):  # more than one job
            api.capture(*(f"message {n}" for n in range(start, start + 50)))
        with worker(api):
            answer = api.post(f"/memories/{base}/flush", wait=60)
        assert [job["state"] for job in answer["jobs"]] == ["done"]
        assert api.get(f"/memories/{base}")["total_processed"] == 300

    @pytest.mark.slow
    def test_wait_ends_after_the_given_seconds(self, api: Api) -> None:
        base = api.memory()["id"]
        api.capture("x")
        answer = api.post(f"/memories/{base}/flush", expect=202, wait=1)
        assert [job["state"] for job in answer["jobs"]] == ["queued"]

    def test_flush_checks_bounds(self, api: Api) -> None:
        base = api.memory()["id"]
        assert api.refused("POST", f"/memories/{base}/flush?wait=61", 422)["limit"] == 60
        assert api.refused("POST", f"/memories/{base}/flush", 422, json={"session": "a"})["field"] == "session"
        assert api.refused("POST", f"/memories/{base}/flush", 404, json={"session_id": "x"})["field"] == "session_id"


class TestJobs:
    @pytest.fixture
    def queued(self, api: Api) -> str:
        base = api.memory(threshold=2)["id"]
        api.capture("a", "b")
        job: str = api.get(f"/memories/{base}/jobs")["items"][0]["id"]
        return job

    def test_the_shape(self, api: Api, queued: str) -> None:
        job = api.get(f"/jobs/{queued}")
        assert job.items() >= {"kind": "ingest", "state": "queued", "from_seq": 0, "to_seq": 2, "total": 2}.items()
        api.work()
        job = api.get(f"/jobs/{queued}")
        assert (job["state"], job["processed"], job["attempts"]) == ("done", 2, 1)
        assert job["created_at"] <= job["started_at"] <= job["finished_at"]

    def test_filters(self, api: Api, queued: str) -> None:
        base = api.get(f"/jobs/{queued}")["memory_base_id"]
        for params, total in (({}, 1), ({"state": "queued"}, 1), ({"state": "done"}, 0), ({"session_id": "x"}, 0)):
            assert api.get(f"/memories/{base}/jobs", **params)["total"] == total
        assert api.refused("GET", f"/memories/{base}/jobs?state=lost", 422)["field"] == "state"

    def test_wait_returns_the_ended_job(self, api: Api, queued: str) -> None:
        with worker(api):
            assert api.get(f"/jobs/{queued}", wait=30)["state"] == "done"

    def test_a_waiting_call_blocks_no_other(self, api: Api, queued: str) -> None:
        waiters = [threading.Thread(target=lambda: api.get(f"/jobs/{queued}", wait=60), daemon=True) for _ in range(60)]
        for waiter in waiters:
            waiter.start()
        assert api.client.get("/health/live").status_code == 200
        assert api.get("/flows")["total"] == 1
        api.work()
        for waiter in waiters:
            waiter.join(timeout=30)
        assert not any(waiter.is_alive() for waiter in waiters)

    def test_events_until_it_ends(self, api: Api, queued: str) -> None:
        with worker(api):
            answer = api.call("GET", f"/jobs/{queued}/events")
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [block.split("\n") for block in answer.text.strip().split("\n\n")]
        assert events[0][0] == "event: job"
        assert events[-1][0] == "event: end"
        assert json.loads(events[-1][1].removeprefix("data: "))["state"] == "done"

    def test_events_end_when_their_key_is_revoked(self, api: Api, queued: str, monkeypatch: pytest.MonkeyPatch) -> None:
        key, secret = api_keys.create_key(api.services, api.user_id, name="stream", scopes=["read"])
        get_job = jobs.get_job

        def revoked_after_the_first_look(*arguments: Any) -> Any:
            monkeypatch.setattr(jobs, "get_job", get_job)
            job = get_job(*arguments)
            api_keys.revoke_key(api.services, api.user_id, key.id)
            return job

        monkeypatch.setattr(waiting, "CHECK_KEY_SECONDS", 0)
        monkeypatch.setattr(jobs, "get_job", revoked_after_the_first_look)
        answer = api.call("GET", f"/jobs/{queued}/events", headers={"Authorization": f"Bearer {secret}"})
        assert re.findall("^event: (.*)$", answer.text, re.MULTILINE) == ["job", "unauthorized"]

    def test_a_job_is_cancelled(self, api: Api, queued: str) -> None:
        base = api.get(f"/jobs/{queued}")["memory_base_id"]
        api.delete(f"/jobs/{queued}")
        assert api.get(f"/jobs/{queued}")["state"] == "cancelled"
        assert api.get(f"/memories/{base}")["pending_messages"] == 2


class TestRegenerate:
    def test_regenerate_builds_while_the_old_generation_serves(self, api: Api) -> None:
        base = api.memory(threshold=2)["id"]
        api.capture("a", "b")
        api.work()
        answer = api.post(f"/memories/{base}/regenerate", {"embedding_model": "other"}, expect=202)
        assert (answer["generation"], [job["state"] for job in answer["jobs"]]) == (2, ["queued"])
        assert api.get(f"/jobs/{answer['jobs'][0]['id']}")["kind"] == "regenerate"
        seen = api.get(f"/memories/{base}")
        assert (seen["status"], seen["total_processed"], seen["embedding_model"]) == ("regenerating", 2, "fake")
        error = api.refused("POST", f"/memories/{base}/regenerate", 409)
        assert (error["code"], error["retryable"]) == ("build_active", True)
        api.work()
        seen = api.get(f"/memories/{base}")
        assert (seen["status"], seen["total_processed"], seen["embedding_model"]) == ("ready", 2, "other")

    def test_regenerate_with_another_capture(self, api: Api) -> None:
        base = api.memory()["id"]
        api.post(f"/memories/{base}/regenerate", {"capture": "all"}, expect=202)
        api.work()
        wait_until(lambda: api.get(f"/memories/{base}")["capture"] == "all", what="the new capture")


class TestMismatch:
    def test_mismatch_is_ok_then_missing_then_unavailable(self, api: Api) -> None:
        base = api.memory(threshold=2)["id"]
        api.capture("a", "b")
        api.work()
        assert (
            api.get(f"/memories/{base}/mismatch").items() >= {"mismatch": False, "state": "ok", "expected": 2}.items()
        )
        delete_collections_of(api.vectors, base)
        found = api.get(f"/memories/{base}/mismatch")
        assert (found["mismatch"], found["missing"], len(found["missing_ids"])) == (True, 2, 2)
        seen = api.get(f"/memories/{base}")
        assert seen["mismatch"] is True
        assert seen["mismatch_checked_at"]
        api.vectors.away = True
        found = api.get(f"/memories/{base}/mismatch")
        assert (found["mismatch"], found["state"]) == (False, "unavailable")


class TestSearch:
    def test_search_finds_stored_and_pending_messages(self, api: Api) -> None:
        base = api.memory(threshold=1)["id"]
        api.capture("the cat sleeps")
        api.work()
        api.patch(f"/memories/{base}", {"threshold": 10})
        run = api.capture("the cat eats", session="s/2")["run_id"]
        for path, where in ((f"/memories/{base}/search", {}), ("/search", {"flow_id": "support"})):
            answer = api.post(path, {"query": "cat eats", **where})
            assert answer["took_ms"] >= 0
            first, second = answer["results"]
            assert (first["content"], first["pending"], first["run_id"]) == ("the cat eats", True, run)
            assert (second["content"], second["pending"], second["memory_base_id"]) == ("the cat sleeps", False, base)
            assert first["score"] > second["score"]

    def test_messages_are_excluded_by_either_id(self, api: Api) -> None:
        base = api.memory()["id"]
        messages = [{"role": "assistant", "content": "cat", "id": name} for name in ("m1", "m2")]
        stored = api.post("/flows/support/runs", {"session_id": "s", "messages": messages}, expect=201)["messages"]
        body = {"query": "cat", "exclude_message_ids": ["m1", stored[1]["id"]]}
        assert api.post(f"/memories/{base}/search", body)["results"] == []

    def test_keyword_search_works_without_the_vector_store(self, api: Api) -> None:
        base = api.memory()["id"]
        api.post(
            "/flows/support/runs",
            {"session_id": "s", "messages": [{"role": "assistant", "content": "a cat"}]},
            expect=201,
        )
        api.vectors.away = True
        found = api.post(f"/memories/{base}/search", {"query": "cats", "mode": "keyword"})["results"]
        assert [(hit["content"], hit["pending"]) for hit in found] == [("a cat", True)]

    def test_search_without_the_store_is_503(self, api: Api) -> None:
        base = api.memory(threshold=1)["id"]
        api.vectors.away = True
        error = api.refused("POST", f"/memories/{base}/search", 503, json={"query": "q"})
        assert error["code"] == "vector_store_unavailable"


class TestDelete:
    def test_delete_hides_memory_base_and_knowledge_base_at_once(self, api: Api) -> None:
        base = api.memory(threshold=1)["id"]
        api.capture("a")
        api.work()
        api.delete(f"/memories/{base}")
        for path in ("", "/sessions", "/jobs", "/mismatch", "/dead-letters"):
            api.refused("GET", f"/memories/{base}{path}", 404)
        assert api.vectors.names() == []
        assert api.get("/knowledge-bases")["total"] == 0
        assert api.get("/messages")["total"] == 1
        api.memory()


class TestKnowledgeBases:
    def test_for_retrieval_hides_knowledge_bases_of_memory_bases(self, api: Api) -> None:
        api.memory(kb_name="mine")
        made = api.post("/knowledge-bases", {"name": "hand/book"}, expect=201)
        assert (made["is_memory_base"], made["documents"], made["status"]) == (False, 0, "ready")
        assert {kb["name"] for kb in api.get("/knowledge-bases")["items"]} == {"mine", "hand/book"}
        assert [kb["name"] for kb in api.get("/knowledge-bases", for_retrieval="true")["items"]] == ["hand/book"]
        error = api.refused("POST", "/knowledge-bases", 409, json={"name": "mine"})
        assert (error["code"], error["field"]) == ("name_taken", "name")

    def test_documents_are_found(self, api: Api) -> None:
        api.post("/knowledge-bases", {"name": "hand/book"}, expect=201)
        documents = [{"id": "d1", "text": "the cat sleeps", "metadata": {"k": 1}}, {"text": "dogs bark"}]
        answer = api.post("/knowledge-bases/hand%2Fbook/documents", {"documents": documents})
        first, second = answer["documents"]
        assert (first["id"], first["status"], second["status"]) == ("d1", "created", "created")
        (hit,) = api.post("/knowledge-bases/hand%2Fbook/search", {"query": "cat", "top_k": 1})["results"]
        assert (hit["id"], hit["snippet"], hit["metadata"]) == ("d1", "the cat sleeps", {"k": 1})
        assert api.get("/knowledge-bases/hand%2Fbook")["documents"] == 2
        api.delete("/knowledge-bases/hand%2Fbook")
        api.refused("GET", "/knowledge-bases/hand%2Fbook", 404)

    def test_calls_on_a_memory_bases_knowledge_base_are_409(self, api: Api) -> None:
        api.memory(kb_name="mine")
        for method, path, body in (
            ("POST", "/documents", {"documents": [{"text": "x"}]}),
            ("POST", "/search", {"query": "x"}),
            ("POST", "/rebuild", None),
            ("DELETE", "", None),
        ):
            assert api.refused(method, f"/knowledge-bases/mine{path}", 409, json=body)["code"] == "memory_base_store"
