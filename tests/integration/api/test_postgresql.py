"""Every read of the API on PostgreSQL, which is stricter than SQLite about types, groups and texts."""

from __future__ import annotations

from harness.api import Api


def test_every_read_works_on_postgresql(postgres_api: Api) -> None:
    api = postgres_api
    base = api.memory(threshold=3)["id"]
    api.embedders.get().reject("poison")
    api.capture("a", "poison", "c", run_id="r1", end_user_id="ada")
    api.work()
    run = api.capture("d", session="s2", run_id="r2")
    api.capture("e", session="s2")

    seen = api.get(f"/memories/{base}")
    assert (seen["status"], seen["pending_messages"], seen["total_processed"]) == ("pending", 2, 2)
    assert (seen["sessions"], seen["dead_letters"]) == (2, 1)
    assert api.get("/memories", flow_id="support")["items"] == [seen]
    first, second = api.get(f"/memories/{base}/sessions")["items"]
    assert (first["state"], first["total_messages"], first["total_processed"]) == ("failed", 3, 2)
    assert (second["state"], second["pending_messages"]) == ("pending", 2)
    assert api.get("/messages", memory_base_id=base, ingested="true", end_user_id="ada")["total"] == 2
    assert (
        api.get("/messages", since="2020-01-01", until="2100-01-01", is_output="true", role="assistant")["total"] == 5
    )
    assert api.get(f"/messages/{run['messages'][0]['id']}")["content"] == "d"
    assert [each["external_id"] for each in api.get("/flows/support/runs")["items"][1:]] == ["r2", "r1"]
    assert api.get("/runs/r1")["messages"] == 3
    assert api.get("/sessions", end_user_id="ada")["total"] == 1
    assert api.get(f"/memories/{base}/jobs", state="done")["total"] == 1
    assert api.get(f"/memories/{base}/dead-letters")["items"][0]["message"]["content"] == "poison"
    assert api.get("/knowledge-bases")["items"][0]["name"] == "notes"
    answer = api.post(f"/memories/{base}/flush", wait=1, expect=202)
    assert [job["session_id"] for job in answer["jobs"]] == ["s2"]
    assert api.get(f"/memories/{base}")["status"] == "ingesting"


def test_cursors_work_on_postgresql(postgres_api: Api) -> None:
    api = postgres_api
    for name in "abc":
        api.flow(name)
        api.capture("x", "y", flow=name)
    for path, key in (("/flows", "id"), ("/messages", "id"), ("/sessions", "id"), ("/flows/a/runs", "run_id")):
        whole = [item[key] for item in api.get(path)["items"]]
        walked, cursor = [], {}
        while cursor is not None:
            page = api.get(path, size=1, **cursor)
            walked += [item[key] for item in page["items"]]
            cursor = {"cursor": page["next_cursor"]} if "next_cursor" in page else None
        assert walked == whole


def test_the_use_of_a_key_is_recorded_and_keys_are_revoked(postgres_api: Api) -> None:
    made = postgres_api.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)
    assert postgres_api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 200
    assert {key["name"] for key in postgres_api.get("/keys")["items"] if key["last_used_at"]} == {"local", "ci"}
    postgres_api.delete(f"/keys/{made['id']}")
    assert postgres_api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 401
