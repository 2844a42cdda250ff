"""Every request that the OpenAPI document allows or forbids gets a response that the document describes, never a 500.

The API runs over parts in memory, as one user who has something of everything; ids in paths, queries and bodies are
often those of real things, so that the calls get further than 404.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from harness.api import Api, open_api
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi import checks

from api.app import create_app
from memorybase.core.settings import Settings

pytestmark = pytest.mark.slow

EXAMPLES = 4  # of each operation and each mode, the same in each run; with --hypothesis-profile=long at random
# Left out: schemathesis waits for the end of a response, and the stream of a queued job has none.
STREAMS = {"/v1/jobs/{job_id}/events"}
# These answer 503 by design while no worker runs; 503 is in the document.
UNREADY = {"/v1/health/ready"}
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    # Not positive_data_acceptance: bounds that are settings, and rules between two fields, are not in the document.
]

# A body of lines is sent as it is; schemathesis knows how for JSON alone.
schemathesis.serializer("application/x-ndjson")(lambda _context, value: {"data": str(value).encode(errors="replace")})


@pytest.fixture(scope="module")
def operations() -> list[APIOperation[Any]]:
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", create_app())
    found = [operation.ok() for operation in schema.get_all_operations() if operation.ok().path not in STREAMS]
    # The export first, while there is little to export.
    return sorted(found, key=lambda operation: operation.path != "/v1/export")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    chosen = Settings(
        data_dir=tmp_path_factory.mktemp("fuzz"),
        embedding_model="fake",
        allowed_embedding_models=["other"],
        api_key="the-key-from-the-settings",
        rate_limit_per_second=0,
    )
    with open_api(chosen) as opened:
        opened.embedders.get().reject("poison")
        yield opened


def furnish(api: Api) -> dict[str, str]:
    """A new row of each kind, by the name of its id parameter."""
    new = uuid4().hex
    flow = api.flow(f"flow-{new}")
    base = api.memory(f"notes-{new}", flow, threshold=1)["id"]
    said = [{"role": "assistant", "content": text, "id": f"{text}-{new}"} for text in ("poison", "cat")]
    body = {"session_id": "s", "run_id": f"run-{new}", "messages": said}
    for former in api.get("/webhooks")["items"]:  # a user has few
        api.delete(f"/webhooks/{former['id']}")
    hook = {"url": "https://example.com/hook", "event_types": ["job.completed"]}
    webhook = api.post("/webhooks", hook, expect=201)["id"]
    api.post(f"/flows/{flow}/runs", body, expect=201)
    api.work()
    api.capture("waits", flow=flow, session="s2")
    api.call("PUT", f"/flows/{flow}/chat-memories/node", json={"name": "n", "chat_id": "{{ c }}"}, expect=201)
    api.post(f"/flows/{flow}/chat-memories/node/messages", {"chat_id": "c", "messages": said}, expect=201)
    api.post("/knowledge-bases", {"name": f"book-{new}"}, expect=201)
    api.post(f"/knowledge-bases/book-{new}/documents", {"documents": [{"text": "cat"}]})
    return {
        "flow_id": flow,
        "memory_base_id": base,
        "run_id": f"run-{new}",
        "message_id": f"cat-{new}",
        "session_id": "s",
        "node_id": "node",
        "chat_id": "c",
        "name": f"book-{new}",
        "job_id": api.get(f"/memories/{base}/jobs")["items"][0]["id"],
        "dead_letter_id": api.get(f"/memories/{base}/dead-letters")["items"][0]["id"],
        "key_id": api.post("/keys", {"name": "new", "scopes": ["read"]}, expect=201)["id"],
        "webhook_id": webhook,
        "delivery_id": api.get(f"/webhooks/{webhook}/deliveries")["items"][0]["id"],
    }


def aim_at(case: schemathesis.Case, real: dict[str, str]) -> None:
    """Replace the ids of a generated case by ids of existing rows."""
    body = case.body if isinstance(case.body, dict) else {}
    for position in (case.path_parameters, case.query, body):
        for name in position or ():
            if (
                name in real
                and isinstance(position[name], str)
                and (name != "name" or position is case.path_parameters)
            ):
                position[name] = real[name]


def wait_for_nothing(case: schemathesis.Case) -> None:
    """No worker runs, so a waiting call would wait until its timeout."""
    if case.query and re.fullmatch(r"[1-9]\d?", str(case.query.get("wait"))):
        case.query["wait"] = 0


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.name.lower())
def test_every_answer_is_in_the_document(
    api: Api, operations: list[APIOperation[Any]], mode: GenerationMode, subtests: pytest.Subtests
) -> None:
    for operation in operations:
        # Where nothing is taken, nothing could be wrong.
        if mode is GenerationMode.POSITIVE or takes_anything(operation):
            with subtests.test(str(operation.definition.raw["operationId"])):
                ask(api, operation, mode)


def ask(api: Api, operation: APIOperation[Any], mode: GenerationMode) -> None:
    real = furnish(api)

    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.generate],
        derandomize=not is_long(),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=operation.as_strategy(generation_mode=mode), aim=st.booleans())
    def ask_cases(case: schemathesis.Case, aim: bool) -> None:
        wait_for_nothing(case)
        if aim:
            aim_at(case, real)
        answer = case.call(app=api.client.app, headers={"Authorization": f"Bearer {api.secret}"})
        if case.operation.path not in UNREADY:
            case.validate_response(answer, checks=[not_a_server_error])
        # With a real id in its place, a case may be wrong no longer.
        case.validate_response(answer, checks=CHECKS if aim else [*CHECKS, checks.negative_data_rejection])

    ask_cases()


def is_long() -> bool:
    return settings.get_current_profile_name() == "long"


def takes_anything(operation: APIOperation[Any]) -> bool:
    return "{" in operation.path or bool(operation.definition.raw.keys() & {"parameters", "requestBody"})
